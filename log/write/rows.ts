// JSON rows of one key space, read through what rounds in flight have written, then through what was read or
// written last: a row that every entry moves on would be read from disk and parsed for each.

import { LRUCache } from 'lru-cache';
import type { Json } from '../encoding/json-types.ts';
import { rowKey } from '../store/layout.ts';
import { Overlay } from '../store/overlay.ts';
import { write, type Store, type Write } from '../store/store.ts';

/** What the remembered rows of one key space may take, in bytes of their text. */
const REMEMBERED_BYTES = 16 * 1024 * 1024;
/** A remembered row costs this much beside its text. */
const ROW_BYTES = 200;

/** A row as it is on disk; undefined for one that is not there. Boxed, since the cache holds no undefined. */
interface Remembered {
  readonly value: Json | undefined;
}

/** The rows of the core or of the plugins: synchronous reads at the sequence point, writes by round. */
export class Rows {
  readonly pending = new Overlay<Json>();
  readonly #store: Store;
  readonly #letter: number;
  readonly #remembered = new LRUCache<string, Remembered>({ maxSize: REMEMBERED_BYTES });
  /** Bytes of the rows that rounds write, until they are durable; oldest first. */
  readonly #sizes: { readonly round: number; readonly sizes: Map<string, number> }[] = [];

  constructor(store: Store, letter: number) {
    this.#store = store;
    this.#letter = letter;
  }

  /** As of the entry before, durable or not. */
  get(key: string): Json | undefined {
    const pending = this.pending.get(key);
    return pending === undefined ? this.durable(key) : (pending ?? undefined);
  }

  /** As of the last durable round. Whoever reads a row may not change it. */
  durable(key: string): Json | undefined {
    const known = this.#remembered.get(key);
    if (known !== undefined) return known.value;
    const bytes = this.#store.get(rowKey(this.#letter, key));
    const value =
      bytes === undefined
        ? undefined
        : (JSON.parse(
            Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
          ) as Json);
    this.#remember(key, value, bytes?.length ?? 0);
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

  /** The round is durable: the disk answers for its rows from now on. */
  settle(round: number): void {
    const sizes = this.#sizes[0]?.round === round ? this.#sizes.shift()?.sizes : undefined;
    for (const [key, value] of this.pending.written(round)) {
      // A row that nobody has read is most often one that nobody will: remembering each would cost more than
      // it saves, and push out those that are read.
      if (!this.#remembered.has(key)) continue;
      const size = sizes?.get(key);
      if (size === undefined) this.#remembered.delete(key);
      else this.#remember(key, value ?? undefined, size);
    }
    this.pending.settle(round);
  }

  #remember(key: string, value: Json | undefined, bytes: number): void {
    this.#remembered.set(key, { value }, { size: bytes + key.length + ROW_BYTES });
  }
}
