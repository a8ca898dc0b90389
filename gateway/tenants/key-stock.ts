// Keys for disclosures, drawn ahead: they are on disk before anything is sealed with them, so that an answer waits for
// the log's batch alone. A key is taken once; what a crash leaves unused is never taken.

import { randomBytes } from 'node:crypto';
import { KEY_BYTES } from './sealing.ts';
import type { SyncedLevel } from './synced-level.ts';

/** Keys of one synced write: enough to last while it and the register's own are under way. */
const BLOCK = 2048;
/** With fewer the next block is drawn, while these last. */
const LOW = BLOCK / 2;

/** Bytes of the name under which a key stands in its database; random, so that a database that is lost takes none again. */
export const KEY_ID_BYTES = 16;

/** A key of AES-256 that is on disk, and its name. */
export interface StockedKey {
  readonly id: Uint8Array;
  readonly key: Uint8Array;
}

/** Row of a key. */
export const keyRow = (id: Uint8Array): string => Buffer.from(id).toString('hex');

/** Keys that nobody has taken. */
export class KeyStock {
  readonly #db: SyncedLevel;
  #keys: StockedKey[] = [];
  #drawing: Promise<void> | null = null;

  constructor(db: SyncedLevel) {
    this.#db = db;
  }

  /** Takes so many keys, at once where they are there; `log_unavailable` when the disk takes no more of them. */
  take(count: number): readonly StockedKey[] | Promise<readonly StockedKey[]> {
    if (this.#keys.length < count) return this.#waitFor(count);
    const taken = this.#keys.splice(-count);
    // Whoever finds none hears why.
    if (this.#keys.length < LOW) this.#draw().catch(() => undefined);
    return taken;
  }

  /** Takes keys back with which nothing was sealed. */
  putBack(keys: readonly StockedKey[]): void {
    this.#keys.push(...keys);
  }

  /** Deletes the keys that nobody took; on a disk that refuses they stay, as after a crash, and open nothing. */
  async close(): Promise<void> {
    await this.#drawing?.catch(() => undefined);
    const unused = this.#keys.map(({ id }) => keyRow(id));
    this.#keys = [];
    if (unused.length > 0) await this.#db.delete(unused).catch(() => undefined);
  }

  async #waitFor(count: number): Promise<readonly StockedKey[]> {
    while (this.#keys.length < count) await this.#draw();
    return this.take(count);
  }

  #draw(): Promise<void> {
    return (this.#drawing ??= this.#drawBlock().finally(() => {
      this.#drawing = null;
    }));
  }

  async #drawBlock(): Promise<void> {
    const secret = randomBytes(BLOCK * (KEY_ID_BYTES + KEY_BYTES));
    const drawn = Array.from({ length: BLOCK }, (_, i): StockedKey => {
      const at = i * (KEY_ID_BYTES + KEY_BYTES);
      const from = at + KEY_ID_BYTES;
      return { id: secret.subarray(at, from), key: secret.subarray(from, from + KEY_BYTES) };
    });
    const rows = drawn.map(({ id, key }) => ({ key: keyRow(id), value: key }));
    await this.#db.put(rows, { fresh: true });
    this.#keys.push(...drawn);
  }
}
