// What the monitor says: lines for people or JSON lines for programs, one for each event.

import type { JsonObject } from '../../log/index.ts';
import type { ShownEntry } from './finding.ts';
import type { Look } from './follower.ts';
import type { Pin } from './pins.ts';
import type { Unwitnessed } from './clock-rules.ts';
import type { Watched } from './watch.ts';

/** Says what happens, of a log named such as `live/1`. */
export interface Report {
  pinned(log: string, pin: Pin): void;
  checked(log: string, origin: string, look: Look): void;
  trouble(log: string, reason: string): void;
  /** A finding that was kept in a file. */
  violation(log: string, document: JsonObject, path: string): void;
  /** A new entry on a chain that is watched. */
  watched(log: string, entry: Watched): void;
  /** The cosignatures of the newest checkpoint became too few or too old; null when they no longer are. */
  cosignatures(log: string, unwitnessed: Unwitnessed | null): void;
  note(log: string, text: string): void;
}

/** The members of a finding's document that are shown. */
interface Shown {
  readonly rule: string;
  readonly detail: string;
  readonly proof: string;
  readonly notes: readonly string[];
  readonly entries: readonly ShownEntry[];
  readonly withheld?: readonly string[];
}

/** The text of an entry, or what is known of one that is not text or was withheld. */
function textOf({ index, entry, entry_base64, leaf_hash }: ShownEntry): string {
  if (entry !== undefined) return entry;
  const which = `entry ${String(index)}`;
  if (entry_base64 !== undefined) return `${which}, base64: ${entry_base64}`;
  return `${which}, withheld${leaf_hash === undefined ? '' : `; its leaf hash is ${leaf_hash}`}`;
}

const rate = ({ entries, seconds }: Look): number =>
  seconds > 0 ? Math.round(entries / seconds) : 0;

/** Lines to read; nothing where nothing is new, unless `every` look is wanted. */
export function textReport(every: boolean): Report {
  const say = (log: string, text: string): void => {
    console.log(`${log}  ${text}`);
  };
  return {
    pinned: (log, { vkey, vkey_ml_dsa, source }) => {
      const second = vkey_ml_dsa === undefined ? '' : ' and the ML-DSA-44 key of the log';
      say(log, `trusting ${vkey}${second} from now on (${source})`);
    },
    checked: (log, origin, look) => {
      if (!every && look.entries === 0 && !look.stale) return;
      const stale = look.stale ? ', served an older checkpoint' : '';
      const speed = look.entries > 0 ? `, ${String(rate(look))}/s` : '';
      const size = `${String(look.size)} entries (${String(look.entries)} new${speed})`;
      const { ml_dsa } = look;
      const second =
        ml_dsa === undefined
          ? ''
          : `, ${ml_dsa ? 'signed with ML-DSA-44 too' : 'not signed with ML-DSA-44'}`;
      say(log, `ok  ${origin}  ${size}${stale}${second}`);
    },
    trouble: (log, reason) => {
      process.stderr.write(`${log}  no answer to check: ${reason}\n`);
    },
    violation: (log, document, path) => {
      const { rule, detail, proof, notes, entries, withheld } = document as unknown as Shown;
      say(log, `VIOLATION of ${rule}: ${detail}`);
      say(
        log,
        proof === 'signed'
          ? 'the log has signed what proves it:'
          : 'this is what it served, which another party cannot check:',
      );
      for (const note of notes) console.log(`\n${note.trimEnd()}`);
      for (const shown of entries) console.log(`\n${textOf(shown)}`);
      if (withheld !== undefined) console.log(`\nnot handed out: ${withheld.join(', ')}`);
      console.log(`\nkept in ${path}; the monitor holds until that file is moved away`);
    },
    watched: (log, { keys, index, entry_id, type, receipt }) => {
      const chains = keys.map((key) => JSON.stringify(key)).join(' ');
      say(log, `new entry ${String(index)} on ${chains}: ${type} ${entry_id}`);
      console.log(JSON.stringify(receipt));
    },
    cosignatures: (log, unwitnessed) => {
      const { detail } = unwitnessed ?? {};
      say(log, detail === undefined ? 'cosignatures are well again' : `COSIGNATURES: ${detail}`);
    },
    note: say,
  };
}

/** One JSON object a line. */
export function jsonReport(): Report {
  const say = (event: string, log: string, members: JsonObject): void => {
    console.log(JSON.stringify({ event, log, at_ms: Date.now(), ...members }));
  };
  return {
    pinned: (log, pin) => {
      say('pinned', log, { ...pin });
    },
    checked: (log, origin, look) => {
      say('checked', log, { origin, ...look, entries_per_s: rate(look) });
    },
    trouble: (log, reason) => {
      say('trouble', log, { reason });
    },
    violation: (log, document, path) => {
      say('violation', log, { ...document, path });
    },
    watched: (log, entry) => {
      say('watched', log, { ...entry, keys: entry.keys.map((key) => [...key]) });
    },
    cosignatures: (log, unwitnessed) => {
      say('cosignatures', log, { ...(unwitnessed ?? { problem: null }) });
    },
    note: (log, text) => {
      say('note', log, { text });
    },
  };
}
