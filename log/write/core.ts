// The in-memory state of one open log, loaded from its store. After a failed batch it is discarded and loaded again,
// because only the store knows what was written.

import { LRUCache } from 'lru-cache';
import type { LogClock } from './clock.ts';
import { Declarations } from '../rules/declarations.ts';
import { equal } from '../encoding/bytes.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import type { Fold } from '../map/fold.ts';
import { decodeHead } from '../map/head.ts';
import { RightEdge } from '../merkle/edge.ts';
import { TileHashes } from '../merkle/tile-hashes.ts';
import { Rows, Overlay } from './rows.ts';
import { KeyRows, START, SurfaceRows, Tenants } from './state.ts';
import type { Position } from './state.ts';
import { leafHashOf, readEntry } from './statement.ts';
import {
  CORE_ROW,
  entryKey,
  headKey,
  metaKey,
  PLUGIN_ROW,
  rowKey,
  tileKey,
} from '../store/layout.ts';
import type { Store } from '../store/store.ts';
import type { EntryType, Kind } from '../types.ts';

/** The head of a chain whose last entry is not hashed yet. */
export interface PendingHead {
  readonly count: number;
  readonly last_index: number;
  readonly last_ms: number;
}

/** How many durable heads are cached. */
const REMEMBERED_HEADS = 32_768;

/** How many bytes of entries are cached after a read. Few, because an export reads every entry of a session once. */
const READ_BYTES = 256 * 1024;

/** What a core is made of. */
export interface CoreParts {
  readonly kind: Kind;
  /** The origin that entry 0 states; for a new log, the one that it is created with. */
  readonly origin: string;
  readonly store: Store;
  readonly clock: LogClock;
  readonly fold: Fold;
  readonly types: readonly EntryType[];
}

/** The in-memory state of one open log. Only the sequencer changes it. */
export class Core {
  readonly kind: Kind;
  readonly origin: string;
  readonly store: Store;
  readonly clock: LogClock;
  readonly fold: Fold;
  /** When a rule of a plugin last failed, on the monotonic clock, by the plugin's name. */
  readonly failures = new Map<string, number>();
  readonly declarations = new Declarations();
  readonly coreRows: Rows;
  readonly pluginRows: Rows;
  readonly keys: KeyRows;
  readonly surfaces: SurfaceRows;
  readonly tenants: Tenants;
  readonly heads = new Overlay<PendingHead>();
  /** Cache of the heads that changed last, because most entries extend a chain that was extended shortly before. */
  readonly #durableHeads = new LRUCache<string, PendingHead>({ max: REMEMBERED_HEADS });
  readonly tiles: TileHashes;
  readonly recent = new RecentEntries();
  /**
   * Cache of the entries that were read last and compared with their leaf hashes: decisions and policies are read
   * often.
   */
  readonly #read = new LRUCache<number, Buffer>({
    maxSize: READ_BYTES,
    sizeCalculation: ({ length }) => length,
  });
  edge = new RightEdge();
  /** Includes every placed entry, durable or not. */
  position: Position = START;
  /** Entries that are durable. */
  durable = 0;

  constructor(parts: CoreParts) {
    this.kind = parts.kind;
    this.origin = parts.origin;
    this.store = parts.store;
    this.clock = parts.clock;
    this.fold = parts.fold;
    this.coreRows = new Rows(parts.store, CORE_ROW);
    this.pluginRows = new Rows(parts.store, PLUGIN_ROW);
    this.keys = new KeyRows(this.coreRows);
    this.tenants = new Tenants(this.coreRows);
    this.surfaces = new SurfaceRows(this.coreRows);
    this.tiles = new TileHashes(
      (level, n, width) => this.storedTile(level, n, width),
      () => this.durable,
    );
    for (const type of parts.types) this.declarations.bring(type);
  }

  /** Reads position, right edge and declared types. The cost does not grow with the log. */
  async load(): Promise<void> {
    const state = this.store.get(metaKey('state'));
    if (state === undefined) return;
    this.position = JSON.parse(Buffer.from(state).toString()) as Position;
    this.durable = this.position.size;
    this.edge = RightEdge.restore(this.position.size, (level, n, width) => {
      const tile = this.storedTile(level, n, width);
      if (tile === null)
        throw new LogError('store_corrupt', `tile ${String(level)}/${String(n)} is missing`);
      return tile;
    });
    const from = rowKey(CORE_ROW, 'type/');
    for await (const [, value] of this.store.scan({ gte: from, lt: rowKey(CORE_ROW, 'type0') })) {
      const text = this.entryText(JSON.parse(Buffer.from(value).toString()) as number);
      this.declarations.apply(readEntry(text).statement);
    }
  }

  /** A stored hash tile, cut to a width; null if the stored tile is narrower. */
  storedTile(level: number, n: number, width: number): Uint8Array | null {
    const tile = this.store.get(tileKey(level, n));
    if (tile === undefined || tile.length < width * 32) return null;
    return tile.subarray(0, width * 32);
  }

  /** The bytes of a durable entry, compared with its leaf hash; a missing or damaged entry is `store_corrupt`. */
  entryBytes(index: number): Buffer {
    const recent = this.recent.at(index);
    if (recent !== undefined) return recent;
    const bytes = this.#storedBytes(index);
    if (!equal(leafHashOf(bytes), this.tiles.subtree(0, index))) throw damaged(this.origin, index);
    return bytes;
  }

  #storedBytes(index: number): Buffer {
    const bytes = this.store.get(entryKey(index));
    if (bytes === undefined) throw damaged(this.origin, index);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The text of a durable entry. Throws the errors of `entryBytes`. */
  entryText(index: number): string {
    let bytes = this.recent.at(index) ?? this.#read.get(index);
    if (bytes === undefined) {
      bytes = this.entryBytes(index);
      this.#read.set(index, bytes);
    }
    return bytes.toString('utf8');
  }

  statementAt(index: number): JsonObject {
    return readEntry(this.entryText(index)).statement;
  }

  /**
   * The stored statement without a comparison with its leaf hash, for a search that compares the entry that it finds.
   */
  storedStatementAt(index: number): JsonObject {
    return readEntry(this.#storedBytes(index).toString()).statement;
  }

  /**
   * The head of a chain as of the previous entry, durable or not; null for a chain without entries. `id` is the
   * skey as latin1 text.
   */
  head(id: string, skey: Uint8Array): PendingHead | null {
    const known = this.heads.get(id) ?? this.#durableHeads.get(id);
    if (known !== undefined) return known;
    const stored = this.store.get(headKey(skey));
    return stored === undefined ? null : decodeHead(stored);
  }

  /** Marks the point to which `rollback` returns, so that a group is placed as a whole or not at all. */
  begin(): () => void {
    const position = this.position;
    const overlays: Overlay<Json | PendingHead>[] = [
      this.coreRows.pending,
      this.pluginRows.pending,
      this.heads,
    ];
    for (const overlay of overlays) overlay.begin();
    this.declarations.begin();
    return () => {
      this.position = position;
      this.keys.forget();
      this.declarations.rollback();
      for (const overlay of overlays) overlay.rollback();
    };
  }

  /** Applies a durable round and its entries. */
  settle(round: number, size: number, written: readonly Written[] = []): void {
    this.durable = size;
    for (const entry of written) this.recent.add(entry);
    this.coreRows.settle(round);
    this.pluginRows.settle(round);
    for (const [id, head] of this.heads.written(round)) {
      // Not cached: a chain of one entry, such as a payment's, rarely gets a second one.
      if (head !== null && head.count > 1) this.#durableHeads.set(id, head);
    }
    this.heads.settle(round);
  }

  /**
   * Takes over the position after a round of another node, which the store has. Rows were forgotten before.
   *
   * @param heads the chains that the round extended, each skey as latin1 text
   */
  adopt(position: Position, heads: readonly string[]): void {
    this.position = position;
    this.durable = position.size;
    this.keys.forget();
    for (const id of heads) this.#durableHeads.delete(id);
  }
}

const damaged = (origin: string, index: number): LogError =>
  new LogError(
    'store_corrupt',
    `entry ${String(index)} of ${origin} is missing or damaged: restore it from a mirror`,
  );

// A cache of the entries that became durable last. New entries are read soon: by callers that check a receipt, by acts
// that name a decision, and by monitors at the end of the log.

/** Limits of the cache: entries, and bytes of their texts. */
const MOST_ENTRIES = 8192;
const MOST_BYTES = 8 * 1024 * 1024;

/** An entry as it is on disk. */
export interface Written {
  readonly index: number;
  readonly entry_id: string;
  readonly bytes: Buffer;
}

/** A run of entries without a gap, which ends with the last durable one. */
export class RecentEntries {
  readonly #slots = new Array<Written | undefined>(MOST_ENTRIES).fill(undefined);
  /** Index of the first cached entry, and the index after the last. */
  #from = 0;
  #to = 0;
  #bytes = 0;

  /** Adds the next durable entry. An entry that does not follow the last one begins a new run. */
  add(entry: Written): void {
    const { index, bytes } = entry;
    if (index !== this.#to) {
      while (this.#from < this.#to) this.#dropFirst();
      this.#from = this.#to = index;
    }
    if (this.#to - this.#from === MOST_ENTRIES) this.#dropFirst();
    this.#slots[index % MOST_ENTRIES] = entry;
    this.#to += 1;
    this.#bytes += bytes.length;
    while (this.#bytes > MOST_BYTES) this.#dropFirst();
  }

  /** The bytes of an entry; undefined if it is not cached. */
  at(index: number): Buffer | undefined {
    return this.#entry(index)?.bytes;
  }

  /** The index of an id; null where there is none, undefined where an older entry may have it. */
  indexOf(entry_id: string): number | null | undefined {
    const first = this.#entry(this.#from);
    if (first === undefined || entry_id < first.entry_id) return undefined;
    let [low, high] = [this.#from, this.#to];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#entry(middle)?.entry_id ?? '') <= entry_id) low = middle;
      else high = middle;
    }
    return this.#entry(low)?.entry_id === entry_id ? low : null;
  }

  #entry(index: number): Written | undefined {
    return index >= this.#from && index < this.#to ? this.#slots[index % MOST_ENTRIES] : undefined;
  }

  #dropFirst(): void {
    const slot = this.#from % MOST_ENTRIES;
    this.#bytes -= this.#slots[slot]?.bytes.length ?? 0;
    this.#slots[slot] = undefined;
    this.#from += 1;
  }
}
