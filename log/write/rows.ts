// JSON rows of one key space. A read looks at the writes of rounds in flight, then at a cache, then at the store.
// Without the cache, a row that every entry changes would be read from disk and parsed for each entry.

import { LRUCache } from 'lru-cache';
import type { Json } from '../encoding/json.ts';
import { rowKey } from '../store/layout.ts';
import { write } from '../store/store.ts';
import type { Store, Write } from '../store/store.ts';

/** Size of the cache of one key space, in bytes of JSON text. */
const REMEMBERED_BYTES = 16 * 1024 * 1024;
/** Bytes that a cached row costs in addition to its text. */
const ROW_BYTES = 200;

/** The value of a row. None is null, because null deletes. */
type Value = Exclude<Json, null>;

/** The rows of the core or of the plugins: synchronous reads at the sequence point, writes by round. */
export class Rows {
  readonly pending = new Overlay<Json>();
  readonly #store: Store;
  readonly #letter: number;
  readonly #remembered = new LRUCache<string, Value>({ maxSize: REMEMBERED_BYTES });
  /** Bytes of the rows that rounds write, until they are durable; oldest first. */
  readonly #sizes: { readonly round: number; readonly sizes: Map<string, number> }[] = [];

  constructor(store: Store, letter: number) {
    this.#store = store;
    this.#letter = letter;
  }

  /** The row as of the previous entry, durable or not. */
  get(key: string): Json | undefined {
    const pending = this.pending.get(key);
    return pending === undefined ? this.durable(key) : (pending ?? undefined);
  }

  /** The row as of the last durable round. Callers must not change it. */
  durable(key: string): Json | undefined {
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const bytes = this.#store.get(rowKey(this.#letter, key));
    // Not remembered: the store answers for absent keys from memory, and most of them are asked for once.
    if (bytes === undefined) return undefined;
    const { buffer, byteOffset, length } = bytes;
    const value = JSON.parse(Buffer.from(buffer, byteOffset, length).toString()) as Value;
    this.#remember(key, value, length);
    return value;
  }

  set(key: string, value: Json | null, round: number): void {
    this.pending.set(key, value, round);
  }

  /** The writes that a round adds to its batch. */
  *writes(round: number): Iterable<Write> {
    const sizes = new Map<string, number>();
    this.#sizes.push({ round, sizes });
    for (const [key, value] of this.pending.written(round)) {
      const bytes = value === null ? null : Buffer.from(JSON.stringify(value));
      sizes.set(key, bytes?.length ?? 0);
      yield write(rowKey(this.#letter, key), bytes);
    }
  }

  /** Drops the writes of a durable round: from now on its rows are read from the store. */
  settle(round: number): void {
    const sizes = this.#sizes[0]?.round === round ? this.#sizes.shift()?.sizes : undefined;
    for (const [key, value] of this.pending.written(round)) {
      // Only rows that were read before are cached. Most written rows are never read, and would evict those that are.
      if (!this.#remembered.has(key)) continue;
      const size = sizes?.get(key);
      if (size === undefined || value === null) this.#remembered.delete(key);
      else this.#remember(key, value, size);
    }
    this.pending.settle(round);
  }

  /** Drops a row from the cache, because another node has changed it in the store. */
  forget(key: string): void {
    this.#remembered.delete(key);
  }

  #remember(key: string, value: Value, bytes: number): void {
    this.#remembered.set(key, value, { size: bytes + key.length + ROW_BYTES });
  }
}

// The writes of rounds in flight, which the database does not hold yet. Later groups read them; those of a refused
// group are rolled back; those of a durable round are dropped.

/** The last values of one round, by key; its batch must not hold what a later round makes of a key. */
interface Layer<V> {
  readonly round: number;
  readonly values: Map<string, V | null>;
}

interface Undo<V> {
  readonly values: Map<string, V | null>;
  readonly key: string;
  readonly before: V | null | undefined;
}

/** Pending values by key; null means a deleted one. Rounds write in the order of their numbers. */
export class Overlay<V> {
  /** Oldest first. Rounds in flight are few, so that a read looks through them and a durable one is dropped whole. */
  readonly #layers: Layer<V>[] = [];
  #journal: Undo<V>[] = [];

  /** undefined when no round in flight wrote the key. */
  get(key: string): V | null | undefined {
    for (let at = this.#layers.length - 1; at >= 0; at -= 1) {
      const value = this.#layers[at]?.values.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  set(key: string, value: V | null, round: number): void {
    const { values } = this.#layer(round);
    this.#journal.push({ values, key, before: values.get(key) });
    values.set(key, value);
  }

  /** Marks the point to which `rollback` returns. */
  begin(): void {
    this.#journal = [];
  }

  rollback(): void {
    for (const { values, key, before } of this.#journal.reverse()) {
      if (before === undefined) values.delete(key);
      else values.set(key, before);
    }
    this.#journal = [];
  }

  /** The last values of a round, each key once. */
  written(round: number): Iterable<[string, V | null]> {
    return this.#layers.find((layer) => layer.round === round)?.values.entries() ?? [];
  }

  /** Drops the writes of a durable round. */
  settle(round: number): void {
    const at = this.#layers.findIndex((layer) => layer.round === round);
    if (at >= 0) this.#layers.splice(at, 1);
  }

  clear(): void {
    this.#layers.length = 0;
    this.#journal = [];
  }

  #layer(round: number): Layer<V> {
    const newest = this.#layers.at(-1);
    if (newest?.round === round) return newest;
    if (newest !== undefined && newest.round > round) {
      throw new Error(`round ${String(round)} writes after round ${String(newest.round)}`);
    }
    const layer = { round, values: new Map<string, V | null>() };
    this.#layers.push(layer);
    return layer;
  }
}
