// The chains of records, one for each session. They are computed from the entries on request. Intermediate chain hashes
// ("marks") are cached in memory, so that a record in the middle of a chain does not need the whole chain again.

import { LRUCache } from 'lru-cache';
import { knownEntry, toHex } from '../../contract/index.ts';
import type { ChainKey, JsonObject, LogView } from '../../contract/index.ts';
import { agentOf, airRecord } from './mapping.ts';
import type { AirIssuer, AirMapping } from './mapping.ts';
import { NO_CHAIN, placeRecord } from './record.ts';
import type { AirPlace } from './record.ts';

/** Number of records between two marks, which is the most that is computed again for one record. */
const MARK_EVERY = 512;
const MAX_MARKS = 50_000;
/** Entries read in one call; other requests are served between the calls. */
const PAGE = 128;

/** A record with its place on the chain and its canonical form. */
export interface PlacedRecord {
  readonly index: number;
  /** The exact text of the entry. */
  readonly entry: string;
  readonly canonical: string;
  readonly issued_at_ms: number;
  readonly place: AirPlace;
}

/** A cached point of a chain: the chain hash before record `seq`, and the index of the entry before it. */
interface Mark {
  readonly seq: number;
  readonly after: number;
  readonly hash: Uint8Array;
}

const START: Mark = { seq: 0, after: -1, hash: NO_CHAIN };

/** Makes the records of a service, with its mapping and issuer. */
export class AirChains {
  readonly #mapping: AirMapping;
  readonly #issuer: (log: LogView) => AirIssuer;
  readonly #marks = new LRUCache<string, Mark[]>({
    max: 10_000,
    maxSize: MAX_MARKS,
    sizeCalculation: (marks) => marks.length + 1,
  });

  constructor(mapping: AirMapping, issuer: (log: LogView) => AirIssuer) {
    this.#mapping = mapping;
    this.#issuer = issuer;
  }

  /** The record of a published entry. */
  async record(log: LogView, index: number): Promise<PlacedRecord> {
    const { statement } = entryAt(log, index);
    const { sequence_number } = agentOf(statement);
    const session_ref = statement['session_ref'];
    if (sequence_number === 0 || typeof session_ref !== 'string') {
      return this.#place(log, index, NO_CHAIN);
    }
    const mark = this.#nearest(log, session_ref, sequence_number);
    let hash = mark.hash;
    for await (const page of this.pages(log, session_ref, sequence_number, mark)) {
      hash = page.at(-1)?.place.chain_hash ?? hash;
    }
    return this.#place(log, index, hash);
  }

  /** The records of a session from a mark, the first unless given, up to number `end` and without it; in pages. */
  async *pages(
    log: LogView,
    session_ref: string,
    end: number,
    { seq, after, hash }: Mark = START,
  ): AsyncGenerator<PlacedRecord[]> {
    const key: ChainKey = ['session', session_ref];
    const { map_head_ms: to_ms } = log.published();
    const at = { seq, after, hash };
    const issuer = this.#issuer(log);
    while (at.seq < end) {
      const limit = Math.min(PAGE, end - at.seq);
      const rows = await log.chain({ key, from_ms: 0, to_ms }, { after: at.after, limit });
      if (rows.length === 0)
        throw new Error('a session has fewer entries than its chain head states');
      const page: PlacedRecord[] = [];
      for (const { index } of rows) {
        const placed = this.#place(log, index, at.hash, issuer);
        page.push(placed);
        at.seq += 1;
        at.after = index;
        at.hash = placed.place.chain_hash;
        if (at.seq % MARK_EVERY === 0) this.#mark(log, session_ref, { ...at });
      }
      yield page;
    }
  }

  #place(log: LogView, index: number, prev: Uint8Array, issuer = this.#issuer(log)): PlacedRecord {
    const { entry, statement } = entryAt(log, index);
    const entry_hash = toHex(log.leafHash(index));
    const record = airRecord({ statement, entry_hash }, issuer, this.#mapping);
    // The members are already in canonical order.
    const canonical = JSON.stringify(record);
    const time = record['action_timestamp_ms'] as number;
    const place = placeRecord(canonical, time, agentOf(statement), prev);
    return { index, entry, canonical, issued_at_ms: statement['issued_at_ms'] as number, place };
  }

  #nearest(log: LogView, session_ref: string, seq: number): Mark {
    const marks = this.#marks.get(this.#markName(log, session_ref)) ?? [];
    return marks.findLast((mark) => mark.seq <= seq) ?? START;
  }

  /** Marks are kept per signing key, because the key's kid is in every record and so in every chain hash. */
  #markName(log: LogView, session_ref: string): string {
    return `${log.origin} ${session_ref} ${this.#issuer(log).operator_pubkey_id}`;
  }

  /** Adds a mark, keeping the marks of a session sorted and unique. */
  #mark(log: LogView, session_ref: string, mark: Mark): void {
    const name = this.#markName(log, session_ref);
    const marks = this.#marks.get(name) ?? [];
    if ((marks.at(-1)?.seq ?? 0) < mark.seq) this.#marks.set(name, [...marks, mark]);
  }
}

function entryAt(log: LogView, index: number): { entry: string; statement: JsonObject } {
  const entry = knownEntry(log.entry(index), index);
  return { entry, statement: JSON.parse(entry) as JsonObject };
}
