// What a successor carries from the logs before it: every `<plugin>.carried.v1` names the entry of an earlier log that
// it rests on, and is compared with that entry. log/FORMAT.md §1.3

import { equal, isJsonObject, parseJson, toHex } from '../../log/index.ts';
import type { Json } from '../../log/index.ts';
import { leafHashOf } from '../../log/operate.ts';
import type { Replayed } from '../../log/operate.ts';
import { MirrorTrouble } from '../mirror/tiled.ts';
import { Finding, type ShownEntry } from './finding.ts';
import { leafAt } from './leaf-hashes.ts';

/** An earlier log of the kind, as far as it was checked. */
export interface EarlierLog {
  readonly origin: string;
  readonly vkey: string;
  readonly size: number;
  /** The entry that closed it; null for a log that is open or was lost. */
  readonly closing: { readonly index: number } | null;
  end(): { readonly note: string } | null;
  /** The leaf hashes of its entries, one after the other. */
  leafHashes(): Promise<Uint8Array>;
  /** The bytes of an entry as the server hands them out now. */
  served(index: number): Promise<Uint8Array | null>;
  /** An entry with its path. */
  entry(index: number): Promise<ShownEntry>;
}

/** Finds an earlier log by its number: null where it is not followed, `unread` where this look could not read it. */
export type FindEarlier = (number: number) => EarlierLog | 'unread' | null;

/** The log that carries, under the note that is being checked. */
interface Carrying {
  readonly number: number;
  readonly vkey: string;
  readonly note: string;
  entry(index: number): Promise<ShownEntry>;
}

/** One entry of the successor and what it names. */
interface Claim {
  readonly index: number;
  /** Null where `rests_on` names no entry. */
  readonly rests_on: RestsOn | null;
}

interface RestsOn {
  readonly log_number: number;
  readonly at: number;
  readonly entry_id: string | null;
  readonly leaf_hash: string | null;
}

/** A claim that does not hold, in words, and the entry of the earlier log that shows it. */
interface Broken {
  readonly detail: string;
  readonly shown: number | null;
}

/** An entry type by which a plugin carries (log/FORMAT.md §1.3). */
const CARRIED = /\.carried\.v[1-9][0-9]*$/;

/** Collects the carried entries of one log until they are compared. */
export class Carried {
  readonly #earlier: FindEarlier;
  /** By the number of the log that they name; 0 where they name none. */
  readonly #claims = new Map<number, Claim[]>();

  constructor(earlier: FindEarlier = () => null) {
    this.#earlier = earlier;
  }

  /** Whether there are entries that were not compared yet. */
  get waiting(): boolean {
    return this.#claims.size > 0;
  }

  take({ index, statement }: Replayed): void {
    const { type, rests_on } = statement;
    if (typeof type !== 'string' || !CARRIED.test(type)) return;
    const named = restsOn(rests_on);
    const number = named?.log_number ?? 0;
    const claims = this.#claims.get(number) ?? [];
    claims.push({ index, rests_on: named });
    this.#claims.set(number, claims);
  }

  /** Forgets what was taken: it was not the log's. */
  drop(): void {
    this.#claims.clear();
  }

  /**
   * Compares what was taken.
   *
   * @throws Finding for the first entry that names none; MirrorTrouble where an earlier log could not be read
   */
  async compare(own: Carrying): Promise<void> {
    for (const [number, claims] of this.#claims) {
      const [first] = claims;
      if (first === undefined) continue;
      if (number < 1 || number >= own.number) {
        const detail =
          number < 1 ? 'names no entry' : `names log ${String(number)}, not an earlier one`;
        throw await findingOf(own, null, first.index, { detail, shown: null });
      }
      const log = this.#earlier(number);
      if (log === 'unread') {
        const what = `log ${String(number)} of the kind was not read`;
        throw new MirrorTrouble(`${what}: what was carried from it is compared once it is`);
      }
      if (log !== null) await compareWith(log, claims, own);
    }
    this.#claims.clear();
  }
}

async function compareWith(log: EarlierLog, claims: Claim[], own: Carrying): Promise<void> {
  const leaves = await log.leafHashes();
  // In the order of the earlier log, so that each of its bundles is fetched once.
  claims.sort((a, b) => (a.rests_on?.at ?? 0) - (b.rests_on?.at ?? 0));
  for (const { index, rests_on } of claims) {
    if (rests_on === null) continue;
    const broken = await brokenBy(rests_on, log, leaves, rests_on.log_number === own.number - 1);
    if (broken !== null) throw await findingOf(own, log, index, broken);
  }
}

/** `served`: the log that is carried from was served when the entry was made. */
async function brokenBy(
  { at, entry_id, leaf_hash }: RestsOn,
  log: EarlierLog,
  leaves: Uint8Array,
  served: boolean,
): Promise<Broken | null> {
  const name = `entry ${String(at)} of ${log.origin}`;
  const leaf = at < log.size ? leafAt(leaves, at) : null;
  if (leaf === null) {
    // One that was lost may have had more entries than anybody has read.
    if (log.closing === null) return null;
    return { detail: `names ${name}, which ends before`, shown: log.closing.index };
  }
  if (served && (entry_id === null || leaf_hash === null)) {
    return { detail: `names ${name} without its id and leaf hash`, shown: at };
  }
  if (leaf_hash !== null && leaf_hash !== toHex(leaf)) {
    return { detail: `names ${name} with another leaf hash`, shown: at };
  }
  if (entry_id === null) return null;
  const bytes = await log.served(at);
  // Withheld or replaced: the look at that log judges it, and the leaf hash names the entry.
  if (bytes === null || !equal(leafHashOf(bytes), leaf)) return null;
  const entry = parseJson(bytes);
  const own = isJsonObject(entry) ? entry['entry_id'] : null;
  return own === entry_id ? null : { detail: `names ${name} with another id`, shown: at };
}

async function findingOf(
  own: Carrying,
  log: EarlierLog | null,
  index: number,
  { detail, shown }: Broken,
): Promise<Finding> {
  const entries: ShownEntry[] = [];
  const [notes, vkeys] = [[own.note], [own.vkey]];
  const end = log?.end() ?? null;
  if (log !== null && end !== null && shown !== null) {
    entries.push({ ...(await log.entry(shown)), note: 0 });
    notes.unshift(end.note);
    vkeys.unshift(log.vkey);
  }
  entries.push(await own.entry(index));
  const proof = entries.every(({ path }) => path !== undefined) ? 'signed' : 'observed';
  const told = `entry ${String(index)} was carried over and ${detail}`;
  return new Finding('carried', told, proof, { notes, vkeys, entries });
}

function restsOn(value: Json | undefined): RestsOn | null {
  if (value === undefined || !isJsonObject(value)) return null;
  const { log_number, index, entry_id = null, leaf_hash = null } = value;
  const named = isCount(log_number) && log_number > 0 && isCount(index);
  if (!named || !isTextOrNull(entry_id) || !isTextOrNull(leaf_hash)) return null;
  return { log_number, at: index, entry_id, leaf_hash };
}

const isCount = (value: Json | undefined): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

const isTextOrNull = (value: Json): value is string | null =>
  value === null || typeof value === 'string';
