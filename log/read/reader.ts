// Point reads of durable entries, and of published tiles and bundles. Every entry is compared with its leaf hash before
// it is returned: a damaged block is `store_corrupt`, never an answer.

import { LRUCache } from 'lru-cache';
import { equal } from '../encoding/bytes.ts';
import { native } from '../crypto/native.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import type { Engine } from '../write/engine.ts';
import { LogError } from '../errors.ts';
import { encodeBundle, TILE_WIDTH, tileWidth } from '../merkle/tile.ts';
import { HASH_BYTES } from '../merkle/hash.ts';
import { lookupRows, type Page, type Question } from './lookup.ts';
import { rootAt } from '../merkle/prove.ts';
import {
  MANIFESTS,
  manifestHashRow,
  manifestIndexRow,
  ownedBy,
  ownedCountRow,
  OWNERS,
  TENANTS,
} from '../write/state.ts';
import {
  ATTACHED_ROW,
  CORE_ROW,
  leafKey,
  noteKey,
  PLUGIN_ROW,
  readIndex,
  readRowKey,
  rowKey,
} from '../store/layout.ts';
import type { ChainRow } from '../types.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/u;
const BUNDLE_CACHE_BYTES = 16 * 1024 * 1024;
const DEFAULT_ROWS = 100;

const isIndex = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** Whether a tree of this size contains the tile up to this width. */
const isTile = (size: number, level: number, n: number, width: number): boolean =>
  [level, n, width].every(isIndex) && width > 0 && width <= tileWidth(size, level, n);

/** Which rows of a key space to read: those with a prefix, in order, after a key. */
export interface RowRange {
  readonly limit?: number;
  readonly after?: string;
  readonly reverse?: boolean;
}

/** The reads of a log. */
export class Reader {
  readonly #engine: () => Engine;
  /** Cached, because full bundles never change and many monitors read the newest ones at about the same time. */
  readonly #bundles = new LRUCache<number, Uint8Array>({
    maxSize: BUNDLE_CACHE_BYTES,
    sizeCalculation: (bundle) => bundle.length,
  });

  readonly #ids: IdSearch;

  constructor(engine: () => Engine) {
    this.#engine = engine;
    const idOf = (statement: JsonObject): string => statement['entry_id'] as string;
    this.#ids = new IdSearch(
      (index) => idOf(engine().core.storedStatementAt(index)),
      (index) => idOf(engine().core.statementAt(index)),
    );
  }

  size(): number {
    return this.#engine().core.durable;
  }

  entry(index: number): string | null {
    const { core } = this.#engine();
    return isIndex(index) && index < core.durable ? core.entryText(index) : null;
  }

  indexOfEntry(entry_id: string): number | null {
    if (!UUID.test(entry_id)) return null;
    const { recent, durable } = this.#engine().core;
    const found = recent.indexOf(entry_id);
    return found === undefined ? this.#ids.find(entry_id, durable) : found;
  }

  indexOfHash(leaf_hash: Uint8Array): number | null {
    const { core } = this.#engine();
    if (leaf_hash.length !== HASH_BYTES) return null;
    const value = core.store.get(leafKey(leaf_hash));
    if (value === undefined) return null;
    const index = readIndex(value);
    // The store shows a batch shortly before its entries are acknowledged.
    if (index >= core.durable) return null;
    return equal(this.leafHash(index), leaf_hash) ? index : null;
  }

  leafHash(index: number): Uint8Array {
    const { core } = this.#engine();
    if (!isIndex(index) || index >= core.durable) {
      throw new LogError('out_of_range', `index is not from 0 to ${String(core.durable - 1)}`);
    }
    return core.tiles.subtree(0, index);
  }

  checkpointAt(size: number): string | null {
    const { core, publisher } = this.#engine();
    if (size === publisher.visible.size) return publisher.visible.note;
    if (!Number.isSafeInteger(size) || size <= 0 || size > publisher.visible.size) return null;
    const note = core.store.get(noteKey(size));
    return note === undefined ? null : Buffer.from(note).toString('utf8');
  }

  tile(level: number, n: number, width: number): Uint8Array | null {
    const { core, publisher } = this.#engine();
    if (!isTile(publisher.visible.size, level, n, width)) return null;
    return core.tiles.tile(level, n, width);
  }

  bundle(n: number, width: number): Promise<Uint8Array | null> {
    const { core, publisher } = this.#engine();
    if (!isTile(publisher.visible.size, 0, n, width)) return Promise.resolve(null);
    const full = width === TILE_WIDTH;
    const known = full ? this.#bundles.get(n) : undefined;
    if (known !== undefined) return Promise.resolve(known);
    const entries: Buffer[] = [];
    for (let i = 0; i < width; i += 1) {
      entries.push(core.entryBytes(n * TILE_WIDTH + i));
    }
    const bundle = encodeBundle(entries);
    if (full) this.#bundles.set(n, bundle);
    return Promise.resolve(bundle);
  }

  rootAt(size: number): Uint8Array {
    const { core } = this.#engine();
    if (!Number.isSafeInteger(size) || size < 0 || size > core.durable) {
      throw new LogError('out_of_range', `size is not from 0 to ${String(core.durable)}`);
    }
    return rootAt(core.tiles, native, size);
  }

  async chain(question: Question, page?: Page): Promise<readonly ChainRow[]> {
    const { core, publisher } = this.#engine();
    const { rows } = await lookupRows(core, publisher.visible, question, page);
    return rows;
  }

  manifestOfHash(surface_manifest_hash: string): number | null {
    const found = this.#engine().core.coreRows.durable(manifestHashRow(surface_manifest_hash));
    return typeof found === 'number' ? found : null;
  }

  async manifests({ after, limit }: { after?: number; limit?: number } = {}): Promise<
    readonly number[]
  > {
    const range = {
      ...(limit === undefined ? {} : { limit }),
      ...(after === undefined ? {} : { after: manifestIndexRow(after) }),
    };
    const rows = await this.#rowsOf(CORE_ROW, MANIFESTS, range);
    return rows.map(([key]) => Number(key.slice(MANIFESTS.length)));
  }

  async entitiesOf(tenant_ref: string, limit?: number, after?: string): Promise<readonly string[]> {
    const { coreRows } = this.#engine().core;
    if (coreRows.durable(ownedCountRow(tenant_ref)) === undefined) return [];
    const prefix = ownedBy(tenant_ref);
    const from = after === undefined ? {} : { after: prefix + after };
    const range = { ...(limit === undefined ? {} : { limit }), ...from };
    const rows = await this.#rowsOf(CORE_ROW, prefix, range);
    return rows.map(([key]) => key.slice(prefix.length));
  }

  async owners(
    range: { limit?: number; after?: string } = {},
  ): Promise<readonly (readonly [string, string])[]> {
    const { after, ...rest } = range;
    const from = after === undefined ? {} : { after: OWNERS + after };
    const rows = await this.#rowsOf(CORE_ROW, OWNERS, { ...rest, ...from });
    return rows.map(([key, value]) => [
      key.slice(OWNERS.length),
      JSON.parse(Buffer.from(value).toString()) as string,
    ]);
  }

  tenantEntry(tenant_ref: string): number | null {
    const found = this.#engine().core.coreRows.durable(TENANTS + tenant_ref);
    return typeof found === 'number' ? found : null;
  }

  row(key: string): Json | undefined {
    return this.#engine().core.pluginRows.durable(key);
  }

  async rows(prefix: string, range: RowRange = {}): Promise<readonly (readonly [string, Json])[]> {
    const found = await this.#rowsOf(PLUGIN_ROW, prefix, range);
    return found.map(([key, value]) => [key, JSON.parse(Buffer.from(value).toString()) as Json]);
  }

  attached(key: string): Uint8Array | undefined {
    return this.#engine().core.store.get(rowKey(ATTACHED_ROW, key));
  }

  async hasTenants(): Promise<boolean> {
    return (await this.#rowsOf(CORE_ROW, TENANTS, { limit: 1 })).length > 0;
  }

  attachedRows(
    prefix: string,
    range: RowRange = {},
  ): Promise<readonly (readonly [string, Uint8Array])[]> {
    return this.#rowsOf(ATTACHED_ROW, prefix, range);
  }

  async #rowsOf(
    letter: number,
    prefix: string,
    { limit = DEFAULT_ROWS, after, reverse = false }: RowRange,
  ): Promise<[string, Uint8Array][]> {
    if (!isIndex(limit)) throw new LogError('out_of_range', 'limit is not a number of rows');
    // Row keys are ASCII, so this bound lies behind every key of the prefix.
    const end = rowKey(letter, `${prefix}\u007f`);
    const start = rowKey(letter, prefix);
    const past =
      after === undefined ? undefined : rowKey(letter, reverse ? after : `${after}\u0000`);
    const rows: [string, Uint8Array][] = [];
    const gte = reverse ? start : (past ?? start);
    const lt = reverse ? (past ?? end) : end;
    for await (const [key, value] of this.#engine().core.store.scan({ gte, lt, reverse, limit })) {
      rows.push([readRowKey(key), value]);
    }
    return rows;
  }
}

// Finding the entry with an id. Ids strictly increase with the index (write/clock.ts, RFC 9562 §5.7), so a binary
// search over the entries finds it without an index of its own.

/** Size of the cache of ids by index. It holds the first steps of every search and the last steps of most. */
const REMEMBERED = 16_384;

/** Size of the cache of indexes by id: later entries often name the same decision. */
const FOUND = 4096;

/** Reads the id of an entry. */
export type IdAt = (index: number) => string;

/** Searches the ids of one log, whose entries never change. */
export class IdSearch {
  readonly #ids = new LRUCache<number, string>({ max: REMEMBERED });
  readonly #found = new LRUCache<string, number>({ max: FOUND });
  readonly #stored: IdAt;
  readonly #compared: IdAt;

  /** `stored` reads an entry without comparing it; `compared` compares it with its leaf hash. */
  constructor(stored: IdAt, compared: IdAt) {
    this.#stored = stored;
    this.#compared = compared;
  }

  /**
   * The index of an id among the first `size` entries, or null.
   *
   * @throws LogError `store_corrupt` when the entries on disk are not those of the log
   */
  find(entry_id: string, size: number): number | null {
    const found = this.#found.get(entry_id);
    if (found !== undefined && found < size) return found;
    // Steps of powers of two visit the same indexes at every size, so that the first ones stay in the cache.
    let last = -1;
    for (let step = 2 ** Math.floor(Math.log2(size)); step >= 1; step /= 2) {
      const at = last + step;
      if (at < size && this.#idAt(at) <= entry_id) last = at;
    }
    // The search read entries without comparing them. The entry found is compared with the tree and, if it has another
    // id, its neighbour too.
    const before = last < 0 ? '' : this.#compared(last);
    if (before === entry_id) {
      this.#found.set(entry_id, last);
      return last;
    }
    const next = last + 1;
    if (before < entry_id && (next >= size || this.#compared(next) > entry_id)) return null;
    throw new LogError('store_corrupt', `the ids around entry ${String(next)} are out of order`);
  }

  #idAt(index: number): string {
    const known = this.#ids.get(index);
    if (known !== undefined) return known;
    const id = this.#stored(index);
    this.#ids.set(index, id);
    return id;
  }
}
