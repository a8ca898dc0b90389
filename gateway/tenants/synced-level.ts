// A small LevelDB database that detects lost writes and recovers after the disk was full.
//
// Every write is on disk when it resolves. Rows have checksums; tables and journals are compared before each opening
// (log/store/tables.ts, log/store/journal.ts). Each write changes the position (level-rows.ts), and the register outside
// the data folder is advanced before the write is acknowledged. An older copy and an emptied database do not open, nor
// is a missing one created again. Counts are written often, so they are not part of the position. Only their sum is
// compared, with the sum at the last orderly stop or up to a minute before a crash. A failed write may leave a damaged
// journal, so the database is opened again before the next write.

import { readdir } from 'node:fs/promises';
import { isLogError, LogError, makeFolder, Turns } from '../../log/index.ts';
import {
  added,
  asJson,
  checkFiles,
  closeLevel,
  countIn,
  countsIn,
  digestIn,
  digestOf,
  gone,
  isDamage,
  lack,
  levelIn,
  NOTHING,
  openLevel,
  POSITION,
  positionIn,
  readRemembered,
  rolledBack,
  rowsIn,
  sealed,
  unavailable,
  unsealed,
  upgrade,
} from './level-rows.ts';
import type { Level, LevelPlace, LevelRow, Position, Remembered } from './level-rows.ts';

/** The identity of a database, and the function that receives its rows. */
export interface LevelOptions extends LevelPlace {
  /** Receives all rows at every opening, also after a failed write. Their digest is compared before. */
  readonly load?: (rows: readonly LevelRow[]) => void;
}

/** How often the sum of counts is written to the register. */
const COUNTED_MS = 60_000;

/** One database in its own folder. */
export class SyncedLevel {
  readonly #db: Level;
  readonly #folder: string;
  readonly #options: LevelOptions;
  readonly #turns = new Turns();
  #position: Position = { ...NOTHING, before: null };
  #remembered: Remembered | null = null;
  #counted = 0;
  #countedAt = 0;
  #doubtful = false;
  #damaged = false;

  private constructor(folder: string, options: LevelOptions) {
    this.#db = levelIn(folder);
    this.#folder = folder;
    this.#options = options;
  }

  /**
   * Opens the database. Creates it if it is missing and the register does not know it.
   *
   * @throws LogError `log_locked` if another process has it open, `store_corrupt` if a block, a record or a row is
   *   damaged, `log_rolled_back` if an acknowledged write is missing
   */
  static async open(folder: string, options: LevelOptions): Promise<SyncedLevel> {
    const there = await checkFiles(folder);
    const { register, name } = options;
    if (!there && (await readRemembered(register, name)) !== null) {
      throw gone(folder, options);
    }
    await makeFolder(folder, 0o700);
    const level = new SyncedLevel(folder, options);
    await openLevel(level.#db, folder);
    try {
      await level.#start();
    } catch (error) {
      await level.#db.close();
      throw error;
    }
    return level;
  }

  /** Whether a row or a block was found damaged since it was opened. */
  get damaged(): boolean {
    return this.#damaged;
  }

  /**
   * Puts all rows or none. `fresh` asserts that none of the keys exists, which saves reading the old rows.
   *
   * @throws LogError `log_unavailable` if the write failed
   */
  put(rows: readonly LevelRow[], { fresh = false } = {}): Promise<void> {
    return this.#change(rows, [], fresh);
  }

  /** Deletes rows. Throws `log_unavailable` if the write failed. */
  delete(keys: readonly string[]): Promise<void> {
    return this.#change([], keys, false);
  }

  /** Puts counts, which must not decrease. Throws `log_unavailable` if the write failed. */
  putCounts(counts: readonly (readonly [name: string, count: number])[]): Promise<void> {
    return this.#write(async () => {
      const prefix = this.#options.counts ?? '';
      const batch = this.#db.batch();
      let grown = 0;
      for (const [name, count] of counts) {
        const key = prefix + name;
        grown += count - countIn(this.get(key));
        batch.put(key, sealed(key, Buffer.from(String(count))));
      }
      await batch.write({ sync: true });
      this.#counted += grown;
      if (Date.now() - this.#countedAt >= COUNTED_MS) await this.#remember();
    });
  }

  /**
   * Deletes a row and its bytes. LevelDB keeps deleted bytes until it compacts their range, so this compacts it.
   * Throws `log_unavailable` if a step failed.
   */
  erase(key: string): Promise<void> {
    return this.#write(async () => {
      // First moves the row from memory to a table. If it were written to a table together with its deletion, the
      // second compaction would not rewrite that table.
      await this.#db.compactRange(key, key);
      await this.#commit([], [key], false);
      await this.#db.compactRange(key, key);
    });
  }

  /** Reads a row synchronously, because the database is small and mostly in memory. */
  get(key: string): Uint8Array | undefined {
    try {
      const value = this.#db.getSync(key);
      return value === undefined ? undefined : unsealed(key, value);
    } catch (cause) {
      this.#damaged ||= isDamage(cause);
      throw this.#unavailable(cause);
    }
  }

  /** Closes the database, and writes the sum of counts to the register and the length of the journal to the disk. */
  close(): Promise<void> {
    return this.#turns.run(async () => {
      if (this.#db.status !== 'open') return;
      if (this.#doubtful) return this.#db.close();
      // If the register fails, it keeps the earlier sum, which is still a lower bound.
      await this.#remember().catch(() => undefined);
      return closeLevel(this.#db, this.#folder);
    });
  }

  /** Writes a copy, with its position, to a folder that is empty or missing. */
  copyTo(target: string): Promise<void> {
    return this.#turns.run(async () => {
      const there = await readdir(target).catch(() => []);
      if (there.length > 0) {
        throw new LogError('out_of_range', `${target} is not empty: a backup needs a new folder`);
      }
      await makeFolder(target, 0o700);
      const copy = levelIn(target);
      await openLevel(copy, target);
      const batch = copy.batch();
      for await (const [key, value] of this.#db.iterator()) batch.put(key, value);
      await batch.write({ sync: true });
      await closeLevel(copy, target);
    });
  }

  #change(rows: readonly LevelRow[], keys: readonly string[], fresh: boolean): Promise<void> {
    return this.#write(() => this.#commit(rows, keys, fresh));
  }

  #write(act: () => Promise<void>): Promise<void> {
    return this.#turns.run(async () => {
      try {
        if (this.#doubtful) await this.#reopen();
        await act();
      } catch (cause) {
        this.#doubtful = true;
        throw this.#unavailable(cause);
      }
    });
  }

  /** Writes one batch with the new position, then advances the register. A crash in between leaves the batch. */
  async #commit(rows: readonly LevelRow[], keys: readonly string[], fresh: boolean): Promise<void> {
    let difference = 0n;
    const batch = this.#db.batch();
    const replaced = (key: string): bigint => {
      const old = fresh ? undefined : this.get(key);
      return old === undefined ? 0n : digestOf(key, old);
    };
    for (const { key, value } of rows) {
      difference += digestOf(key, value) - replaced(key);
      batch.put(key, sealed(key, value));
    }
    for (const key of keys) {
      difference -= replaced(key);
      batch.del(key);
    }
    const { writes, digest } = this.#position;
    const next: Position = {
      writes: writes + 1,
      digest: added(digest, difference),
      before: { writes, digest },
    };
    batch.put(POSITION, sealed(POSITION, Buffer.from(JSON.stringify(next))));
    await batch.write({ sync: true });
    this.#position = next;
    await this.#remember();
  }

  async #remember(): Promise<void> {
    const { register, name } = this.#options;
    const { writes, digest } = this.#position;
    const from = this.#remembered;
    const to: Remembered = { writes, digest, counted: this.#counted };
    if (from?.writes === writes && from.counted === to.counted) return;
    await register.advance(name, from === null ? null : asJson(from), asJson(to));
    this.#remembered = to;
    this.#countedAt = Date.now();
  }

  async #reopen(): Promise<void> {
    await this.#db.close();
    await openLevel(this.#db, this.#folder);
    await this.#start();
    this.#doubtful = false;
  }

  /** Reads the position and compares it with the register. */
  async #start(): Promise<void> {
    const { name, register, counts, load } = this.#options;
    this.#remembered = await readRemembered(register, name);
    const stored = positionIn(this.#db.getSync(POSITION));
    if (stored === undefined && this.#remembered !== null) {
      const what = 'is empty, or of a release that did not count its writes';
      throw rolledBack(this.#folder, name, what);
    }
    this.#position = stored ?? (await upgrade(this.#db, counts));
    this.#counted = counts === undefined ? 0 : await countsIn(this.#db, counts);
    const here = { position: this.#position, counted: this.#counted };
    const lacks = lack(here, this.#remembered, register.where(name));
    if (lacks !== null) throw rolledBack(this.#folder, name, lacks);
    if (load !== undefined) load(await this.#allRows());
    this.#countedAt = Date.now();
    await this.#remember();
  }

  async #allRows(): Promise<readonly LevelRow[]> {
    const rows: LevelRow[] = [];
    for await (const row of rowsIn(this.#db)) rows.push(row);
    if (digestIn(rows, this.#options.counts) !== this.#position.digest) {
      const what = 'has other rows than were acknowledged, though it ends at the right write';
      throw rolledBack(this.#folder, this.#options.name, what);
    }
    return rows;
  }

  #unavailable(cause: unknown): LogError {
    return isLogError(cause) ? cause : unavailable(this.#folder, cause);
  }
}
