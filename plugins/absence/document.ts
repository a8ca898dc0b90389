// Absence documents as the service answers them: the log's proof with a plain-English `statement` added. Witness
// entries commit to the SHA-256 of the document, so the texts in this file must not change. log/FORMAT.md §6;
// gateway/API.md §9.3, §9.5.

import { createHash } from 'node:crypto';
import { canonical, FORMAT } from '../contract/index.ts';
import type { Json, JsonObject } from '../contract/index.ts';
import type { Verdict } from './entries.ts';

/** `does_not_assert` of every document. */
const DOES_NOT_ASSERT: readonly string[] = Object.freeze([
  'that nothing happened which was never logged',
  'anything about acts outside the declared surface, under another entity, or in another log',
  'anything about a time before or after the window',
  'that what the entries of the log say is true',
]);

/** A document with `statement` and `does_not_assert`, and the values for its entry. */
export interface Worded {
  readonly document: JsonObject;
  /** The document as JSON, with its members in canonical order. */
  readonly text: string;
  readonly document_sha256: string;
  readonly verdict: Verdict;
  readonly checkpoint_size: number;
}

/** Parts that all documents under the same signed note share. */
interface UnderNote {
  readonly note: string;
  /** The text up to and including the note, as it is sent: ASCII, so that V8 stores one byte per character. */
  readonly ascii: string;
  /** The same text in canonical UTF-8, as it is hashed. */
  readonly hashed: Buffer;
  /** The first sentence of the statement. */
  readonly opening: string;
  /** The last sentences of the statement. */
  readonly vouchers: readonly string[];
}

/** Adds the statement to documents. Parts that documents of the same tree share are serialised once. */
export class Wording {
  /** The shared parts of the newest note. */
  #under: UnderNote | undefined;
  /** Canonical texts of shared parts, which the log returns as frozen objects. */
  readonly #shared = new WeakMap<object, string>();

  /** Adds the statement to a document of the log. */
  worded(found: JsonObject): Worded {
    const { ascii, hashed, opening, vouchers } = this.#underNote(found);
    const statement = [opening, ...sentencesOf(found), ...vouchers].join(' ');
    const document = Object.assign({}, found, { statement, does_not_assert: DOES_NOT_ASSERT });
    const rest = this.#rest(document);
    return {
      document,
      text: ascii + rest,
      document_sha256: createHash('sha256').update(hashed).update(rest).digest('hex'),
      verdict: found['verdict'] as Verdict,
      checkpoint_size: openedOf(found['map_head']).index + 1,
    };
  }

  /** The JSON text of a document that `worded` made before; the bytes are the same. */
  textOf(document: JsonObject): string {
    return this.#underNote(document).ascii + this.#rest(document);
  }

  /** The canonical text of a value; frozen parts are cached. */
  canonical(value: Json): string {
    if (typeof value !== 'object' || value === null) return canonical(value);
    const known = this.#shared.get(value);
    if (known !== undefined) return known;
    if (Object.isFrozen(value)) {
      const text = canonical(value);
      this.#shared.set(value, text);
      return text;
    }
    if (Array.isArray(value)) {
      return `[${value.map((item: Json) => this.canonical(item)).join(',')}]`;
    }
    return `{${this.#members(value as JsonObject)}`;
  }

  /** The canonical text after `checkpoint`, which is the first member in canonical order. */
  #rest(document: JsonObject): string {
    return this.#members(document, 'checkpoint');
  }

  /** The members of an object in canonical order, except `without`, and the closing brace. */
  #members(object: JsonObject, without?: string): string {
    let text = '';
    for (const name of Object.keys(object).sort()) {
      if (name === without) continue;
      const member = this.canonical(object[name] as Json);
      text += `${text === '' ? '' : ','}${canonical(name)}:${member}`;
    }
    return `${text}}`;
  }

  #underNote({ checkpoint, map_head }: JsonObject): UnderNote {
    const note = checkpoint as string;
    if (this.#under?.note === note) return this.#under;
    const text = `{"checkpoint":${canonical(note)},`;
    const escaped = text.replace(
      /[^ -~]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    const { index, entry } = openedOf(map_head);
    const { origin, issued_at_ms } = JSON.parse(entry) as {
      readonly origin: string;
      readonly issued_at_ms: number;
    };
    this.#under = {
      note,
      ascii: Buffer.from(escaped, 'latin1').toString('latin1'),
      hashed: Buffer.from(text),
      opening: `According to log ${origin} at size ${String(index + 1)}, whose map head is of ${time(issued_at_ms)}:`,
      vouchers: vouchersOf(origin, note),
    };
    return this.#under;
  }
}

const openedOf = (opened: Json | undefined): { readonly index: number; readonly entry: string } =>
  opened as unknown as { readonly index: number; readonly entry: string };

const time = (ms: number): string => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${String(ms)} ms` : date.toISOString();
};

/** The sentences about the finding, and about the claimed times that the window covers. */
function sentencesOf({ question, verdict, entries, more, coverage }: JsonObject): string[] {
  const { key, from_ms, to_ms } = question as unknown as {
    readonly key: readonly string[];
    readonly from_ms: number;
    readonly to_ms: number;
  };
  const [, entity = '', surface = ''] = key;
  const count = Array.isArray(entries) ? entries.length : 0;
  const chain = `surface ${surface} of entity ${entity}`;
  const window = `with a log time from ${time(from_ms)} to ${time(to_ms)}`;
  const seen = { chain, window, count, more: more === true, promised: coverage !== undefined };
  const found = finding(verdict as Verdict, seen);
  return verdict === 'ABSENT' ? [found, eventTimes(from_ms, to_ms)] : [found];
}

interface Seen {
  readonly chain: string;
  readonly window: string;
  readonly count: number;
  readonly more: boolean;
  /** Whether manifests promise heartbeats; only then a document of absence has `coverage`. */
  readonly promised: boolean;
}

function finding(verdict: Verdict, { chain, window, count, more, promised }: Seen): string {
  const nothing = `nothing was logged for ${chain} ${window}`;
  switch (verdict) {
    case 'PRESENT':
      return more
        ? `more than ${String(count)} entries were logged for ${chain} ${window}; the first ${String(count)} are shown.`
        : `${String(count)} ${count === 1 ? 'entry was' : 'entries were'} logged for ${chain} ${window}, and no other.`;
    case 'UNDECLARED':
      return `${nothing}, but no manifest in force declares the surface over the whole window, so the absence of acts is not_established (field visibility).`;
    case 'UNDERSAMPLED':
      return `${nothing} and the surface was declared, but no unbroken run of heartbeats covers the window as the manifest promises, so the absence of acts is not_established (observation completeness).`;
    case 'ABSENT':
      return promised
        ? `${nothing}; the surface was declared all along, and the heartbeats that its manifests promise cover the window.`
        : `${nothing}; the surface was declared all along, and no heartbeats were promised: that it was watched is not_established (observation completeness).`;
  }
}

/** The sentence about the claimed event times that a window of log time covers (log/FORMAT.md §6). */
function eventTimes(from_ms: number, to_ms: number): string {
  const from = from_ms + FORMAT.skew_ms;
  const to = to_ms - FORMAT.max_lag_ms;
  const rule = 'Log time is when the log took an entry, which may be up to a day after its act:';
  return from <= to
    ? `${rule} the window covers acts with a claimed time from ${time(from)} to ${time(to)}.`
    : `${rule} the window is too short to cover any claimed time of an act for certain.`;
}

/** The sentences about cosignatures: the signature lines of the note other than the log's own. */
function vouchersOf(origin: string, note: string): string[] {
  const names = [...note.matchAll(/^— (\S+) \S+$/gmu)]
    .map(([, name = '']) => name)
    .filter((name) => name !== origin);
  const maps = names.filter((name) => name.endsWith('/map')).length;
  const witnesses = names.length - maps;
  return [
    witnesses === 0
      ? 'witnessed: 0, so that the log shows this history to everyone rests on the log alone.'
      : `witnessed: ${String(witnesses)}, so many witnesses cosigned the checkpoint as part of one history.`,
    maps === 0
      ? 'map_verified: 0, so that its links and map were computed honestly rests on the log alone.'
      : `map_verified: ${String(maps)}, so many monitors computed every link and the map again before they cosigned.`,
  ];
}
