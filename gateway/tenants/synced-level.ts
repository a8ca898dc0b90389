// A small LevelDB database that loses no write unnoticed, and that comes back from a full disk.
//
// Every write is on disk when it resolves. Rows have checksums; tables and journals are compared before each opening
// (log/store/tables.ts, log/store/journal.ts). Each write moves the position (position.ts), and the register outside
// the data folder follows before the write is acknowledged: an older copy, an emptied or a removed database does not
// open. Counts are written often and are not part of the position; only their sum is compared, as it was at the last
// orderly stop or a minute before the end. After a failed write LevelDB's journal is in doubt, so the database is
// opened anew before the next one.

import { readdir } from 'node:fs/promises';
import { isLogError, LogError, makeFolder, Turns } from '../../log/index.ts';
import {
  checkFiles,
  closeLevel,
  countIn,
  countsIn,
  digestIn,
  gone,
  isDamage,
  levelIn,
  openLevel,
  POSITION,
  positionIn,
  rolledBack,
  rowsIn,
  sealed,
  unavailable,
  unsealed,
  upgrade,
} from './level-rows.ts';
import type { Level, LevelPlace, LevelRow } from './level-rows.ts';
import { added, asJson, digestOf, lack, NOTHING, readRemembered } from './position.ts';
import type { Position, Remembered } from './position.ts';

/** How a database is opened. */
export interface LevelOptions extends LevelPlace {
  /** Sees all rows at every opening, also after a failed write; their digest is compared then. */
  readonly load?: (rows: readonly LevelRow[]) => void;
}

/** How often the sum of counts goes to the register. */
const COUNTED_MS = 60_000;

/** One database in a folder of its own. */
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
   * Opens the database, made when missing where the register has never heard of it.
   *
   * @throws LogError `log_locked` when another process holds it, `store_corrupt` when a block, a record or a row is
   *   damaged, `log_rolled_back` when it holds less than was acknowledged
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

  /** Whether a row or a block did not read since it was opened. */
  get damaged(): boolean {
    return this.#damaged;
  }

  /** Puts all of them, or none. `fresh` says that none of the keys was there before. `log_unavailable` on failure. */
  put(rows: readonly LevelRow[], { fresh = false } = {}): Promise<void> {
    return this.#change(rows, [], fresh);
  }

  /** Deletes the rows that are there. `log_unavailable` when the disk refuses. */
  delete(keys: readonly string[]): Promise<void> {
    return this.#change([], keys, false);
  }

  /** Puts counts, none below what it was. `log_unavailable` when the disk refuses. */
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
   * Removes a row and its bytes: LevelDB keeps what was deleted until it compacts, so that is done here.
   * `log_unavailable` when the disk refuses.
   */
  erase(key: string): Promise<void> {
    return this.#write(async () => {
      // A row that is still in memory goes to a table first: written there together with its deletion, it would
      // stand in one that no compaction of this range takes up.
      await this.#db.compactRange(key, key);
      await this.#commit([], [key], false);
      await this.#db.compactRange(key, key);
    });
  }

  /** Reads on this thread, as the log's own store does: what was written is in memory, or nearly so. */
  get(key: string): Uint8Array | undefined {
    try {
      const value = this.#db.getSync(key);
      return value === undefined ? undefined : unsealed(key, value);
    } catch (cause) {
      this.#damaged ||= isDamage(cause);
      throw this.#unavailable(cause);
    }
  }

  /** Ends in good order: the register gets the counts, and the next opening knows how long the journal is. */
  close(): Promise<void> {
    return this.#turns.run(async () => {
      if (this.#db.status !== 'open') return;
      if (this.#doubtful) return this.#db.close();
      // A register that does not answer keeps the sum of before.
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

  /** One batch with the position that it leads to; then the register. A crash between leaves the batch. */
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

  /** Finds the position of what is there, and compares it with the register. */
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
