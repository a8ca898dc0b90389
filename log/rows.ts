// JSON rows of one key space, read through what rounds in flight have written.

import type { Json } from './encoding/json-types.ts';
import { rowKey } from './store/layout.ts';
import { Overlay } from './store/overlay.ts';
import { write, type Store, type Write } from './store/store.ts';

/** The rows of the core or of the plugins: synchronous reads at the sequence point, writes by round. */
export class Rows {
  readonly pending = new Overlay<Json>();
  readonly #store: Store;
  readonly #letter: number;

  constructor(store: Store, letter: number) {
    this.#store = store;
    this.#letter = letter;
  }

  /** As of the entry before, durable or not. */
  get(key: string): Json | undefined {
    const pending = this.pending.get(key);
    return pending === undefined ? this.durable(key) : (pending ?? undefined);
  }

  /** As of the last durable round. */
  durable(key: string): Json | undefined {
    const bytes = this.#store.get(rowKey(this.#letter, key));
    return bytes === undefined
      ? undefined
      : (JSON.parse(
          Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
        ) as Json);
  }

  set(key: string, value: Json | null, round: number): void {
    this.pending.set(key, value, round);
  }

  /** The writes that a round adds to its batch. */
  *writes(round: number): Iterable<Write> {
    for (const [key, value] of this.pending.written(round)) {
      yield write(
        rowKey(this.#letter, key),
        value === null ? null : Buffer.from(JSON.stringify(value)),
      );
    }
  }
}
