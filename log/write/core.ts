// Everything that stands in memory of one open log, loaded from its store. After a failed batch it is
// dropped and loaded again: what the store holds is the only truth.

import { LRUCache } from 'lru-cache';
import type { LogClock } from './clock.ts';
import { Declarations } from '../rules/declarations.ts';
import { equal } from '../encoding/bytes.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';
import type { Fold } from '../map/fold.ts';
import { decodeHead } from '../map/head.ts';
import { RightEdge } from '../merkle/edge.ts';
import { TileHashes } from '../merkle/tile-hashes.ts';
import { RecentEntries, type Written } from './recent-entries.ts';
import { Rows } from './rows.ts';
import { KeyRows, START, SurfaceRows, Tenants, type Position } from './state.ts';
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
import { Overlay } from '../store/overlay.ts';
import type { Store } from '../store/store.ts';
import type { EntryType, Kind } from '../types.ts';

/** The head of a chain while its last entry is not hashed yet. */
export interface PendingHead {
  readonly count: number;
  readonly last_index: number;
  readonly last_ms: number;
}

/** How many durable heads are remembered without asking the store. */
const REMEMBERED_HEADS = 32_768;

/** How many bytes of entries that were read are remembered: few, since an export reads all of a session once. */
const READ_BYTES = 256 * 1024;

/** What a core is made of. */
export interface CoreParts {
  readonly kind: Kind;
  /** Of entry 0; for a new log, the one it is created with. */
  readonly origin: string;
  readonly store: Store;
  readonly clock: LogClock;
  readonly fold: Fold;
  readonly types: readonly EntryType[];
}

/** One open log's memory. Only the sequencer changes it. */
export class Core {
  readonly kind: Kind;
  readonly origin: string;
  readonly store: Store;
  readonly clock: LogClock;
  readonly fold: Fold;
  /** When a rule of a plugin failed last, by the plugin's name, on the monotonic clock. */
  readonly failures = new Map<string, number>();
  readonly declarations = new Declarations();
  readonly coreRows: Rows;
  readonly pluginRows: Rows;
  readonly keys: KeyRows;
  readonly surfaces: SurfaceRows;
  readonly tenants: Tenants;
  readonly heads = new Overlay<PendingHead>();
  /** Of the chains that moved last: most entries stand on a chain that has just had one. */
  readonly #durableHeads = new LRUCache<string, PendingHead>({ max: REMEMBERED_HEADS });
  readonly tiles: TileHashes;
  readonly recent = new RecentEntries();
  /** Of those read last, compared with their leaf hashes: a decision, a policy is read again and again. */
  readonly #read = new LRUCache<number, Buffer>({
    maxSize: READ_BYTES,
    sizeCalculation: ({ length }) => length,
  });
  edge = new RightEdge();
  /** As of everything placed, durable or not. */
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

  /** Reads position, right edge and declared types; cost does not grow with the log. */
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

  /** A hash tile as far as it is stored, cut to a width; null when it is shorter. */
  storedTile(level: number, n: number, width: number): Uint8Array | null {
    const tile = this.store.get(tileKey(level, n));
    if (tile === undefined || tile.length < width * 32) return null;
    return tile.subarray(0, width * 32);
  }

  /** The bytes of a durable entry, compared with its leaf hash; a hole or damage is `store_corrupt`. */
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

  /** The text of a durable entry; throws as `entryBytes` does. */
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

  /** The statement as it is stored, compared with nothing: for a search whose end is compared. */
  storedStatementAt(index: number): JsonObject {
    return readEntry(this.#storedBytes(index).toString()).statement;
  }

  /**
   * The head of a chain as of the entry before, durable or not; null for a chain without entries. `id` is the
   * skey as latin1 text.
   */
  head(id: string, skey: Uint8Array): PendingHead | null {
    const known = this.heads.get(id) ?? this.#durableHeads.get(id);
    if (known !== undefined) return known;
    const stored = this.store.get(headKey(skey));
    return stored === undefined ? null : decodeHead(stored);
  }

  /** Marks a point that `rollback` comes back to: a group is placed whole or not at all. */
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

  /** A round is durable, and with it the entries that it wrote. */
  settle(round: number, size: number, written: readonly Written[] = []): void {
    this.durable = size;
    for (const entry of written) this.recent.add(entry);
    this.coreRows.settle(round);
    this.pluginRows.settle(round);
    for (const [id, head] of this.heads.written(round)) {
      // A chain of one entry, such as a payment's, most often stays one.
      if (head !== null && head.count > 1) this.#durableHeads.set(id, head);
    }
    this.heads.settle(round);
  }
}

const damaged = (origin: string, index: number): LogError =>
  new LogError(
    'store_corrupt',
    `entry ${String(index)} of ${origin} is missing or damaged: restore it from a mirror`,
  );
