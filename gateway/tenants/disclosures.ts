// The private store of disclosures: the salt and value behind each commitment, sealed under a random key
// for each entry. The sealed text goes into the log's batch as a row of its own; the keys stand in a database
// beside it that no backup holds, so that destroying a key destroys the text wherever it is (behaviour.md §1.2).

import type { Disclosure, Log, PendingRow } from '../../log/index.ts';
import { SealPool } from './seal-pool.ts';
import { openSealed } from './sealing.ts';
import { SyncedLevel } from './synced-level.ts';

/** What opens one entry's commitments, by member. */
export type EntryDisclosures = Readonly<Record<string, Disclosure>>;

const rowKey = (entry_id: string): string => `disclosure/${entry_id}`;

/** Sealed disclosures and their keys. */
export class Disclosures {
  readonly #db: SyncedLevel<Uint8Array>;
  readonly #pool: SealPool;
  #waiting: { key: string; value: Uint8Array }[] = [];
  /** Keys that sealed a text, and how many of them are on disk. */
  #sealed = 0;
  #written = 0;
  #flush: Promise<void> | null = null;
  #scheduled = false;

  private constructor(db: SyncedLevel<Uint8Array>, pool: SealPool) {
    this.#db = db;
    this.#pool = pool;
  }

  /** Opens the key database in a folder, which is made when missing; seals on a thread of its own, or here. */
  static async open(folder: string, options: { readonly threads: boolean }): Promise<Disclosures> {
    return new Disclosures(
      await SyncedLevel.open<Uint8Array>(folder, 'view'),
      new SealPool(options),
    );
  }

  /**
   * Seals an entry's disclosures: the row to commit with the entry. Once it is there, the next `flushed` puts its
   * key on disk; an answer must wait for that as for the entry itself.
   */
  seal(entry_id: string, disclosures: EntryDisclosures): PendingRow {
    return { key: rowKey(entry_id), value: this.#seal(entry_id, JSON.stringify(disclosures)) };
  }

  async #seal(entry_id: string, text: string): Promise<Uint8Array> {
    const { key, value } = await this.#pool.seal(entry_id, text);
    this.#waiting.push({ key: entry_id, value: key });
    this.#sealed += 1;
    this.#schedule();
    return value;
  }

  /** Resolves when every key that sealed a row so far is on disk. One synced write serves all who wait. */
  async flushed(): Promise<void> {
    const needed = this.#sealed;
    // A write that is under way may have started before our keys stood in line: then the next one has them.
    while (this.#written < needed) await (this.#flush ??= this.#write());
  }

  /** Writes beside the log's own batch: once a round is sealed, for all of its entries together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      // Who waits in `flushed` hears of a failure; the keys stay in line.
      if (this.#waiting.length > 0) (this.#flush ??= this.#write()).catch(() => undefined);
    });
  }

  async #write(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      await this.#db.put(batch);
      this.#written += batch.length;
      // Keys that came meanwhile go out at once: their entries are being signed and written now.
      if (this.#waiting.length > 0) this.#schedule();
    } catch (error) {
      // Their entries may be durable already: the next flush tries again.
      this.#waiting = [...batch, ...this.#waiting];
      throw error;
    } finally {
      this.#flush = null;
    }
  }

  /** The disclosures of an entry; none where there never were any, or their key is destroyed. */
  open(log: Log, entry_id: string): Promise<EntryDisclosures> {
    return new Promise((resolve) => {
      resolve(this.#opened(log, entry_id));
    });
  }

  #opened(log: Log, entry_id: string): EntryDisclosures {
    const sealed = log.attached(rowKey(entry_id));
    if (sealed === undefined) return {};
    const key = this.#db.get(entry_id);
    if (key === undefined) return {};
    return JSON.parse(openSealed(entry_id, { key, value: sealed })) as EntryDisclosures;
  }

  /** Whether the texts behind an entry were kept: sealed, whether or not their key still is. */
  kept(log: Log, entry_id: string): boolean {
    return log.attached(rowKey(entry_id)) !== undefined;
  }

  /** Destroys the key of an entry, and with it the text wherever its sealed form lies. */
  async destroy(entry_id: string): Promise<void> {
    await this.flushed();
    await this.#db.erase(entry_id);
  }

  /** Writes what waits and closes. */
  async close(): Promise<void> {
    try {
      await this.flushed();
    } finally {
      await this.#pool.close();
      await this.#db.close();
    }
  }
}
