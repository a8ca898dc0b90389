// A small LevelDB database whose every write is on disk when it resolves, and which comes back from a full
// disk: after a failed write LevelDB's journal is in doubt, so the database is opened anew before the next.

import { mkdir } from 'node:fs/promises';
import { ClassicLevel } from 'classic-level';
import { checkCurrent, LogError } from '../../log/index.ts';

/** How values are stored. */
export type ValueEncoding = 'json' | 'view';

type Batch<V> = ReturnType<ClassicLevel<string, V>['batch']>;

/** One database in a folder of its own. */
export class SyncedLevel<V> {
  readonly #db: ClassicLevel<string, V>;
  readonly #folder: string;
  #doubtful = false;

  private constructor(db: ClassicLevel<string, V>, folder: string) {
    this.#db = db;
    this.#folder = folder;
  }

  /**
   * Opens the database, made when missing; `log_locked` when another process holds it, `store_corrupt` when it lost
   * what LevelDB finds it by.
   */
  static async open<V>(folder: string, valueEncoding: ValueEncoding): Promise<SyncedLevel<V>> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Before there is a database object, since one opens by itself.
    await checkCurrent(folder);
    const level = new SyncedLevel<V>(new ClassicLevel(folder, { valueEncoding }), folder);
    await level.#open();
    return level;
  }

  /** Puts all of them, or none. `log_unavailable` when the disk refuses. */
  put(rows: readonly { readonly key: string; readonly value: V }[]): Promise<void> {
    return this.#write((batch) => {
      for (const { key, value } of rows) batch.put(key, value);
    });
  }

  /** Deletes the rows that are there. `log_unavailable` when the disk refuses. */
  delete(keys: readonly string[]): Promise<void> {
    return this.#write((batch) => {
      for (const key of keys) batch.del(key);
    });
  }

  /** The chained form of a batch: it costs a fraction of the array form. */
  async #write(fill: (batch: Batch<V>) => unknown): Promise<void> {
    try {
      if (this.#doubtful) await this.#reopen();
      const batch = this.#db.batch();
      fill(batch);
      await batch.write({ sync: true });
    } catch (cause) {
      this.#doubtful = true;
      throw this.#unavailable(cause);
    }
  }

  /**
   * Removes a row and its bytes: LevelDB keeps what was deleted until it compacts, so that is done here.
   * `log_unavailable` when the disk refuses.
   */
  async erase(key: string): Promise<void> {
    try {
      if (this.#doubtful) await this.#reopen();
      // A row that is still in memory goes to a table first: written there together with its deletion, it would
      // stand in one that no compaction of this range takes up.
      await this.#db.compactRange(key, key);
      await this.#db.del(key, { sync: true });
      await this.#db.compactRange(key, key);
    } catch (cause) {
      this.#doubtful = true;
      throw this.#unavailable(cause);
    }
  }

  /** Reads on this thread, as the log's own store does: what was written is in memory, or nearly so. */
  get(key: string): V | undefined {
    try {
      return this.#db.getSync(key);
    } catch (cause) {
      throw this.#unavailable(cause);
    }
  }

  /** Every row in the order of keys. */
  rows(): AsyncIterable<[string, V]> {
    return this.#db.iterator();
  }

  close(): Promise<void> {
    return this.#db.close();
  }

  async #reopen(): Promise<void> {
    await this.#db.close();
    await this.#open();
    this.#doubtful = false;
  }

  async #open(): Promise<void> {
    try {
      await this.#db.open();
    } catch (error) {
      const cause = (error as Error).cause as { code?: string } | undefined;
      if (cause?.code !== 'LEVEL_LOCKED') throw this.#unavailable(error);
      const advice = 'stop it first, or give this one another DATA_DIR';
      const message = `another process has the data in ${this.#folder} open: ${advice}`;
      throw new LogError('log_locked', message, { cause: error });
    }
  }

  #unavailable(cause: unknown): LogError {
    if (cause instanceof LogError) return cause;
    return new LogError('log_unavailable', `the database in ${this.#folder} does not answer`, {
      cause,
    });
  }
}
