// The private store of disclosures: the salt and value behind each commitment, sealed under a random key
// for each entry. The sealed text goes into the log's batch as a row of its own; the keys stand in a database
// beside it that no backup holds, so that destroying a key destroys the text wherever it is (gateway/API.md §1.2).
//
// Every method takes all served logs of a kind: after a succession the sealed row of an entry stands in the closed
// log, and the entry that says that it was erased may stand in the one that takes entries.

import type { Disclosure, Log, PendingRow, Register } from '../../log/index.ts';
import { KEY_ID_BYTES, keyRow, KeyStock } from './key-stock.ts';
import type { StockedKey } from './key-stock.ts';
import { SealPool } from './seal-pool.ts';
import { openSealed } from './sealing.ts';
import { erasureOf } from './erasure.ts';
import { acceptLevel } from './level-care.ts';
import type { LevelPlace } from './level-rows.ts';
import { SyncedLevel } from './synced-level.ts';

/** What opens one entry's commitments, by member. */
export type EntryDisclosures = Readonly<Record<string, Disclosure>>;

/** Row of a sealed text: id of its key[16] ‖ what `sealBatch` made of it. */
const rowKey = (entry_id: string): string => `sealed/${entry_id}`;

/** Row of a text sealed by a release that kept the key under the entry's id, and the row without the key's. */
const olderRowKey = (entry_id: string): string => `disclosure/${entry_id}`;

/** A sealed text, and the row of its key. */
interface SealedRow {
  readonly keyRow: string;
  readonly sealed: Uint8Array;
}

/** The database of their keys in the register. */
export const privatePlace = (register: Register): LevelPlace => ({ name: 'private', register });

/** Accepts a database of keys that lost some, as a new and empty one has: their disclosures are gone. */
export const acceptDisclosures = (folder: string, register: Register): Promise<void> =>
  acceptLevel(folder, privatePlace(register));

/** Sealed disclosures and their keys. */
export class Disclosures {
  readonly #db: SyncedLevel;
  readonly #pool: SealPool;
  readonly #stock: KeyStock;

  private constructor(db: SyncedLevel, pool: SealPool) {
    this.#db = db;
    this.#pool = pool;
    this.#stock = new KeyStock(db);
  }

  /**
   * Opens the key database in a folder, which is made when missing and never heard of; seals on a thread of its own,
   * or here.
   *
   * @throws LogError `log_locked`, `store_corrupt`, `log_rolled_back`: see `SyncedLevel.open`
   */
  static async open(
    folder: string,
    { register, ...options }: { readonly threads: boolean; readonly register: Register },
  ): Promise<Disclosures> {
    const db = await SyncedLevel.open(folder, privatePlace(register));
    return new Disclosures(db, new SealPool(options));
  }

  /** Whether a key did not read since the start. */
  get damaged(): boolean {
    return this.#db.damaged;
  }

  /**
   * Takes keys for so many entries, which are on disk by then; `log_unavailable` when the disk refuses. What is not
   * used goes back.
   */
  async reserve(count: number): Promise<Reserved> {
    return new Reserved(this.#pool, this.#stock, [...(await this.#stock.take(count))]);
  }

  /**
   * The disclosures of an entry; none where there never were any, or where the log says that they were erased,
   * whether or not their key was destroyed by then.
   */
  open(logs: readonly Log[], entry_id: string): Promise<EntryDisclosures> {
    return new Promise((resolve) => {
      resolve(erasureOf(logs, entry_id) === null ? this.#opened(logs, entry_id) : {});
    });
  }

  #opened(logs: readonly Log[], entry_id: string): EntryDisclosures {
    const row = sealedRow(logs, entry_id);
    const key = row === null ? undefined : this.#db.get(row.keyRow);
    if (row === null || key === undefined) return {};
    return JSON.parse(openSealed(entry_id, key, row.sealed)) as EntryDisclosures;
  }

  /** Whether the texts behind an entry were kept: sealed, whether or not their key still is. */
  kept(logs: readonly Log[], entry_id: string): boolean {
    return sealedRow(logs, entry_id) !== null;
  }

  /** Whether the key that opens the texts behind an entry is still stored. */
  hasKey(logs: readonly Log[], entry_id: string): boolean {
    const row = sealedRow(logs, entry_id);
    return row !== null && this.#db.get(row.keyRow) !== undefined;
  }

  /**
   * Destroys the key of an entry, and with it the text wherever its sealed form lies. False where none of these logs
   * has the sealed form: then it is not known which key to destroy.
   */
  async destroy(logs: readonly Log[], entry_id: string): Promise<boolean> {
    const row = sealedRow(logs, entry_id);
    if (row === null) return false;
    await this.#db.erase(row.keyRow);
    return true;
  }

  /** Drops the keys that nobody used, and closes. */
  async close(): Promise<void> {
    await this.#pool.close();
    await this.#stock.close();
    await this.#db.close();
  }
}

/** Keys for the entries of one group. */
export class Reserved {
  readonly #pool: SealPool;
  readonly #stock: KeyStock;
  readonly #keys: StockedKey[];

  constructor(pool: SealPool, stock: KeyStock, keys: StockedKey[]) {
    this.#pool = pool;
    this.#stock = stock;
    this.#keys = keys;
  }

  /** Seals an entry's disclosures: the row to commit with the entry. */
  seal(entry_id: string, disclosures: EntryDisclosures): PendingRow {
    const key = this.#keys.pop();
    if (key === undefined) throw new Error('more is sealed than keys were taken for');
    return { key: rowKey(entry_id), value: this.#seal(entry_id, key, JSON.stringify(disclosures)) };
  }

  async #seal(entry_id: string, { id, key }: StockedKey, text: string): Promise<Uint8Array> {
    return Buffer.concat([id, await this.#pool.seal(entry_id, key, text)]);
  }

  /** Gives back the keys that sealed nothing. */
  release(): void {
    this.#stock.putBack(this.#keys.splice(0));
  }
}

function sealedRow(logs: readonly Log[], entry_id: string): SealedRow | null {
  for (const log of logs.toReversed()) {
    const row = log.attached(rowKey(entry_id));
    if (row !== undefined) {
      return { keyRow: keyRow(row.subarray(0, KEY_ID_BYTES)), sealed: row.subarray(KEY_ID_BYTES) };
    }
    const older = log.attached(olderRowKey(entry_id));
    if (older !== undefined) return { keyRow: entry_id, sealed: older };
  }
  return null;
}
