// The database of a log: synchronous point reads, ordered scans, and atomic synced batches. Errors of LevelDB become
// LogErrors. Nothing is repaired automatically.

import { ClassicLevel } from 'classic-level';
import { AbsentKeys } from './absent-keys.ts';
import { makeFolder } from './durable-file.ts';
import { isLogError, LogError } from '../errors.ts';
import { checkCurrent } from './manifest.ts';
import { checkJournals, howLeft, markInUse, rememberJournals, unmark } from './journal.ts';
import { ATTACHED_ROW, metaKey, seal, STORE_VERSION, unseal } from './layout.ts';
import { checkTables } from './tables.ts';

/** One write of a batch. */
export type Write =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'del'; readonly key: Uint8Array };

export const put = (key: Uint8Array, value: Uint8Array): Write => ({ type: 'put', key, value });

/** A null value deletes. */
export const write = (key: Uint8Array, value: Uint8Array | null): Write =>
  value === null ? { type: 'del', key } : put(key, value);

/** A range of keys; `gte` included, `lt` left out. */
export interface Range {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** The database of one log. LevelDB implements it; another engine could. */
export interface Store {
  /**
   * Whether a row or a block could not be read since the database was opened; absent if the engine does not report it.
   */
  readonly damaged?: boolean;
  get(key: Uint8Array): Uint8Array | undefined;
  /**
   * Writes a batch atomically. It is on disk when the promise resolves. With `sync: false` it survives a crash of the
   * process, but a power failure only after a later synced write.
   */
  write(writes: readonly Write[], options?: { readonly sync?: boolean }): Promise<void>;
  scan(range: Range): AsyncIterable<[Uint8Array, Uint8Array]>;
  scanKeys(range: Range): Promise<Uint8Array[]>;
  /** A consistent snapshot of all pairs, in order of the keys, while writes continue. */
  copy(): AsyncIterable<[Uint8Array, Uint8Array]>;
  close(): Promise<void>;
}

type Level = ClassicLevel<Uint8Array, Uint8Array>;

const codeOf = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  const own = (error as { code?: string }).code;
  return own !== undefined && own !== 'LEVEL_DATABASE_NOT_OPEN' ? own : codeOf(error.cause);
};

/** How a database is opened. */
export interface OpenStoreOptions {
  /** Whether to compare all checksums of its tables first. */
  readonly compare?: boolean;
  /** Whether to refuse a folder without a database instead of making one. */
  readonly existing?: boolean;
}

/**
 * Opens the LevelDB database in a folder; a missing one is made. First, all checksums of its tables are compared if
 * `compare` is set, or if the last program did not close it, which a damaged block may have ended. After a failed
 * write, the store refuses further writes and must be opened again.
 *
 * @throws LogError `log_locked` if another process has it open, `store_corrupt` if it is damaged, `not_found` if
 *   `existing` is set and there is none
 */
export async function openStore(
  folder: string,
  { compare = false, existing = false }: OpenStoreOptions = {},
): Promise<Store> {
  try {
    // Checked before the database object is made, because the object opens the database by itself.
    if (!(await checkCurrent(folder)) && existing) {
      throw new LogError(
        'not_found',
        `there is no database in ${folder}: check the path of the data folder, or restore the database from a backup ` +
          'or a mirror',
      );
    }
    const left = await howLeft(folder);
    if (left === 'unclosed' || (compare && left === 'closed')) await checkTables(folder);
    // LevelDB does not sync the parent of its folder.
    await makeFolder(folder);
    // Only attached rows may have been written without a sync.
    if (left !== 'open') await checkJournals(folder, (key) => key[0] !== ATTACHED_ROW);
  } catch (error) {
    throw translate(error, folder);
  }
  const db: Level = new ClassicLevel(folder, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    compression: false,
    cacheSize: 32 * 1024 * 1024,
    writeBufferSize: 16 * 1024 * 1024,
  });
  try {
    await db.open();
  } catch (error) {
    throw translate(error, folder);
  }
  try {
    await markInUse(folder);
  } catch (error) {
    await db.close();
    throw error;
  }
  const store = new LevelStore(db, folder);
  try {
    await checkVersion(store, folder);
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

async function checkVersion(store: Store, folder: string): Promise<void> {
  const version = store.get(metaKey('version'));
  if (version === undefined) {
    await store.write([put(metaKey('version'), Uint8Array.of(STORE_VERSION))]);
  } else if (version[0] !== STORE_VERSION) {
    throw new LogError(
      'store_corrupt',
      `the database in ${folder} has layout ${String(version[0])}, this program reads ${String(STORE_VERSION)}`,
    );
  }
}

function translate(error: unknown, folder: string): LogError {
  if (isLogError(error)) return error;
  switch (codeOf(error)) {
    case 'LEVEL_LOCKED':
      return new LogError(
        'log_locked',
        `another process has the data in ${folder} open: stop it first, or give this one another DATA_DIR`,
        { cause: error },
      );
    case 'LEVEL_CORRUPTION':
      return new LogError(
        'store_corrupt',
        `the database in ${folder} has a damaged block: stop, keep a copy, and restore from a backup or a mirror`,
        { cause: error },
      );
    default:
      return new LogError(
        'log_unavailable',
        `the database in ${folder} does not answer${systemReason(error)}`,
        { cause: error },
      );
  }
}

/**
 * The error of the operating system, which is the innermost cause: `abstract-level` only reports that the database is
 * not open.
 */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return error.cause instanceof Error ? systemReason(error.cause) : `: ${error.message}`;
}

class LevelStore implements Store {
  readonly #db: Level;
  readonly #folder: string;
  /** The first write that failed, or null. */
  #failed: unknown = null;
  /** Resolves when all writes so far have succeeded or failed. */
  #settled: Promise<unknown> = Promise.resolve();
  readonly #absent = new AbsentKeys({
    page: (range) => this.#db.keys(range).all(),
    settled: () => this.#settled,
  });
  #damaged = false;

  constructor(db: Level, folder: string) {
    this.#db = db;
    this.#folder = folder;
  }

  get damaged(): boolean {
    return this.#damaged;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    if (this.#absent.has(key)) return undefined;
    try {
      const sealed = this.#db.getSync(key);
      if (sealed !== undefined) return unseal(key, sealed);
      this.#absent.missed(key);
      return undefined;
    } catch (error) {
      throw this.#unread(error);
    }
  }

  async write(writes: readonly Write[], { sync = true } = {}): Promise<void> {
    // A failed write may have left half a record, and LevelDB would lose records that it writes behind it.
    this.#checkWhole();
    const earlier = this.#settled;
    const writing = this.#write(writes, sync);
    this.#settled = Promise.allSettled([earlier, writing]).then(() => undefined);
    await writing;
    // A write that began before an earlier one failed may be behind that half record too.
    await earlier;
    this.#checkWhole();
  }

  /** Throws what failed, if a write has failed. */
  #checkWhole(): void {
    if (this.#failed !== null) throw translate(this.#failed, this.#folder);
  }

  async #write(writes: readonly Write[], sync: boolean): Promise<void> {
    try {
      // The chained form costs an eighth of the array form on this thread.
      const batch = this.#db.batch();
      for (const write of writes) {
        if (write.type === 'put') {
          this.#absent.written(write.key);
          batch.put(write.key, seal(write.key, write.value));
        } else {
          this.#absent.deleted(write.key);
          batch.del(write.key);
        }
      }
      await batch.write({ sync });
    } catch (error) {
      this.#failed = error;
      throw translate(error, this.#folder);
    }
  }

  async *scan(range: Range): AsyncIterable<[Uint8Array, Uint8Array]> {
    try {
      for await (const [key, sealed] of this.#db.iterator(range)) yield [key, unseal(key, sealed)];
    } catch (error) {
      throw this.#unread(error);
    }
  }

  async scanKeys(range: Range): Promise<Uint8Array[]> {
    const rows = this.#db.iterator(range);
    try {
      return (await rows.all()).map(([key, sealed]) => {
        unseal(key, sealed);
        return key;
      });
    } catch (error) {
      throw this.#unread(error);
    } finally {
      await rows.close();
    }
  }

  async *copy(): AsyncIterable<[Uint8Array, Uint8Array]> {
    const snapshot = this.#db.snapshot();
    try {
      for await (const [key, sealed] of this.#db.iterator({ snapshot, fillCache: false })) {
        yield [key, unseal(key, sealed)];
      }
    } catch (error) {
      throw this.#unread(error);
    } finally {
      await snapshot.close();
    }
  }

  async close(): Promise<void> {
    await this.#absent.stop();
    // Not after an earlier close, because another process may have opened the database since.
    if (this.#db.status === 'open' && this.#failed === null) {
      await rememberJournals(this.#folder);
      await unmark(this.#folder);
    }
    await this.#db.close();
  }

  /** The error for a failed read. Records damage. */
  #unread(error: unknown): LogError {
    const translated = translate(error, this.#folder);
    this.#damaged ||= translated.code === 'store_corrupt';
    return translated;
  }
}
