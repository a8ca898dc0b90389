// The private store of disclosures: the salt and value behind each commitment, sealed under a random key
// for each entry. The sealed text goes into the log's batch as a row of its own; the keys stand in a database
// beside it that no backup holds, so that destroying a key destroys the text wherever it is (behaviour.md §1.2).

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { randomPiece } from '../../log/index.ts';
import type { AttachedRow, Disclosure, Log } from '../../log/index.ts';
import { SyncedLevel } from './synced-level.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What opens one entry's commitments, by member. */
export type EntryDisclosures = Readonly<Record<string, Disclosure>>;

const rowKey = (entry_id: string): string => `disclosure/${entry_id}`;

/** Sealed disclosures and their keys. */
export class Disclosures {
  readonly #db: SyncedLevel<Uint8Array>;
  #waiting: { key: string; value: Uint8Array }[] = [];
  /** Keys handed out, and how many of them are on disk. */
  #sealed = 0;
  #written = 0;
  #flush: Promise<void> | null = null;
  #scheduled = false;

  private constructor(db: SyncedLevel<Uint8Array>) {
    this.#db = db;
  }

  /** Opens the key database in a folder, which is made when missing. */
  static async open(folder: string): Promise<Disclosures> {
    return new Disclosures(await SyncedLevel.open<Uint8Array>(folder, 'view'));
  }

  /**
   * Seals an entry's disclosures: the row to commit with the entry. Its key is on disk once the next
   * `flushed` resolves; an answer must wait for that as for the entry itself.
   */
  seal(entry_id: string, disclosures: EntryDisclosures): AttachedRow {
    const secret = randomPiece(KEY_BYTES + NONCE_BYTES);
    const key = secret.subarray(0, KEY_BYTES);
    const nonce = secret.subarray(KEY_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(entry_id));
    const sealed = cipher.update(JSON.stringify(disclosures), 'utf8');
    cipher.final(); // GCM is a stream: nothing is left, but the tag
    this.#waiting.push({ key: entry_id, value: key });
    this.#sealed += 1;
    this.#schedule();
    return {
      key: rowKey(entry_id),
      value: Buffer.concat([nonce, cipher.getAuthTag(), sealed]),
    };
  }

  /** Resolves when every key handed out so far is on disk. One synced write serves all who wait. */
  async flushed(): Promise<void> {
    const needed = this.#sealed;
    // A write that is under way may have started before our keys stood in line: then the next one has them.
    while (this.#written < needed) await (this.#flush ??= this.#write());
  }

  /** Writes beside the log's own batch: once the round is made, for all of its entries together. */
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
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(entry_id));
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8');
    return JSON.parse(text + decipher.final('utf8')) as EntryDisclosures;
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
      await this.#db.close();
    }
  }
}
