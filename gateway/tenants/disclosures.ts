// The private store of disclosures: the salts and values behind the commitments of an entry (gateway/API.md §1.2).
//
// They are encrypted under a random key for each entry. The ciphertext is a row in the database of the log and commits
// with the entry. The keys are in another database, which no backup contains. Destroying a key therefore destroys the
// text in every copy of the log.
//
// Methods take all served logs of a kind, because after a succession the sealed row of an entry is in the closed log,
// while the entry that records its erasure may be in the new one.

import { randomBytes } from 'node:crypto';
import type { AttachedRow, Disclosure, Log, Register } from '../../log/index.ts';
import { KEY_BYTES, openSealed, seal } from './sealing.ts';
import { erasureOf } from './erasure.ts';
import { acceptLevel } from './level-care.ts';
import type { LevelPlace, LevelRow } from './level-rows.ts';
import { SyncedLevel } from './synced-level.ts';

/** The disclosures of one entry, by member. */
export type EntryDisclosures = Readonly<Record<string, Disclosure>>;

/** Keys that one synced write stores: enough for the requests that come during the next write. */
const BLOCK = 2048;
/** With fewer keys left, the next block is written while these are used. */
const LOW = BLOCK / 2;

/** Bytes of the random id of a key. Ids are random so that a database that was lost never reuses one. */
export const KEY_ID_BYTES = 16;

/** A key of 32 bytes that is on disk, and its id. */
interface StockedKey {
  readonly id: Uint8Array;
  readonly key: Uint8Array;
}

/** The row of a key in the key database. */
export const keyRow = (id: Uint8Array): string => Buffer.from(id).toString('hex');

/** The row of a sealed text. Its value is the id of its key[16] ‖ the output of `seal`. */
const rowKey = (entry_id: string): string => `sealed/${entry_id}`;

/** The row that earlier releases wrote. Its value has no key id, because the key's row was the entry id. */
const olderRowKey = (entry_id: string): string => `disclosure/${entry_id}`;

/** A sealed text, and the row of its key. */
interface SealedRow {
  readonly keyRow: string;
  readonly sealed: Uint8Array;
}

/** The key database, as the register names it. */
export const privatePlace = (register: Register): LevelPlace => ({ name: 'private', register });

/** Accepts a database that lost keys, such as a new and empty one. The disclosures of lost keys are destroyed. */
export const acceptDisclosures = (folder: string, register: Register): Promise<void> =>
  acceptLevel(folder, privatePlace(register));

/** The database of keys: SyncedLevel, or the secrets of a cluster. */
export interface KeyDatabase {
  readonly damaged: boolean;
  put(rows: readonly LevelRow[], options: { readonly fresh: true }): Promise<void>;
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes a key and its bytes. */
  erase(key: string): Promise<void>;
  get(key: string): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** Sealed disclosures and their keys. */
export class Disclosures {
  readonly #db: KeyDatabase;
  readonly #stock: KeyStock;

  /** Uses a database of keys that is open, and closes it. */
  constructor(db: KeyDatabase) {
    this.#db = db;
    this.#stock = new KeyStock(db);
  }

  /**
   * Opens the key database in a folder. Creates it if it is missing and the register does not know it.
   *
   * @throws LogError `log_locked`, `store_corrupt`, `log_rolled_back`: see `SyncedLevel.open`
   */
  static async open(folder: string, register: Register): Promise<Disclosures> {
    return new Disclosures(await SyncedLevel.open(folder, privatePlace(register)));
  }

  /** Whether reading a key failed since the start. */
  get damaged(): boolean {
    return this.#db.damaged;
  }

  /**
   * Takes keys for this many entries. They are on disk when it resolves. The caller must release the unused ones.
   *
   * @throws LogError `log_unavailable` if keys could not be written
   */
  async reserve(count: number): Promise<Reserved> {
    return new Reserved(this.#stock, [...(await this.#stock.take(count))]);
  }

  /**
   * The disclosures of an entry. Empty if it never had any, or if the log has an erasure of them, even if their key
   * still exists.
   */
  async open(logs: readonly Log[], entry_id: string): Promise<EntryDisclosures> {
    if (erasureOf(logs, entry_id) !== null) return {};
    const row = sealedRow(logs, entry_id);
    const key = row === null ? undefined : await this.#db.get(row.keyRow);
    if (row === null || key === undefined) return {};
    return JSON.parse(openSealed(entry_id, key, row.sealed)) as EntryDisclosures;
  }

  /** Whether the logs have the sealed texts of an entry. Their key may be destroyed. */
  kept(logs: readonly Log[], entry_id: string): boolean {
    return sealedRow(logs, entry_id) !== null;
  }

  /** Whether the key of an entry's texts still exists. */
  async hasKey(logs: readonly Log[], entry_id: string): Promise<boolean> {
    const row = sealedRow(logs, entry_id);
    return row !== null && (await this.#db.get(row.keyRow)) !== undefined;
  }

  /**
   * Destroys the key of an entry. Returns false if none of these logs has the sealed text, because the id of the key is
   * in that row.
   */
  async destroy(logs: readonly Log[], entry_id: string): Promise<boolean> {
    const row = sealedRow(logs, entry_id);
    if (row === null) return false;
    await this.#db.erase(row.keyRow);
    return true;
  }

  /** Deletes unused keys and closes. */
  async close(): Promise<void> {
    await this.#stock.close();
    await this.#db.close();
  }
}

/** Keys that are reserved for the entries of one group. */
export class Reserved {
  readonly #stock: KeyStock;
  readonly #keys: StockedKey[];

  constructor(stock: KeyStock, keys: StockedKey[]) {
    this.#stock = stock;
    this.#keys = keys;
  }

  /** Seals the disclosures of an entry. Returns the row to commit with it. */
  seal(entry_id: string, disclosures: EntryDisclosures): AttachedRow {
    const stocked = this.#keys.pop();
    if (stocked === undefined) throw new Error('more entries are sealed than keys were reserved');
    const { id, key } = stocked;
    const sealed = seal(entry_id, key, JSON.stringify(disclosures));
    return { key: rowKey(entry_id), value: Buffer.concat([id, sealed]) };
  }

  /** Returns the unused keys to the stock. */
  release(): void {
    this.#stock.putBack(this.#keys.splice(0));
  }
}

/**
 * Keys that are made in advance. A key is on disk before anything is sealed with it, so that a request waits only for
 * the batch of the log. Each key is used once. Keys that a crash leaves unused are never used.
 */
class KeyStock {
  readonly #db: KeyDatabase;
  #keys: StockedKey[] = [];
  #drawing: Promise<void> | null = null;

  constructor(db: KeyDatabase) {
    this.#db = db;
  }

  /**
   * Takes this many keys. Waits for a write if there are too few. Rejects with `log_unavailable` if the write fails.
   */
  take(count: number): readonly StockedKey[] | Promise<readonly StockedKey[]> {
    if (this.#keys.length < count) return this.#waitFor(count);
    const taken = this.#keys.splice(-count);
    // A failure is reported to the next caller that finds too few keys.
    if (this.#keys.length < LOW) this.#draw().catch(() => undefined);
    return taken;
  }

  /** Takes back keys that sealed nothing. */
  putBack(keys: readonly StockedKey[]): void {
    this.#keys.push(...keys);
  }

  /** Deletes the unused keys. If that fails they stay on disk, as after a crash, and open nothing. */
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
