// A simulated LevelDB: what the product gets in place of classic-level.
//
// Batches are written one after the other, and each is read back complete or not at all. A synced batch is on disk with
// all batches before it. A power failure keeps all synced batches, and of the later ones those up to some point; a
// batch that was being written may be kept too. The end of a process alone keeps everything that was written.

import { world } from './world.ts';
import type { Latency, Process } from './world.ts';
import type { Random } from './random.ts';
import { theFiles } from './files.ts';

const WRITE: Latency = { from_us: 10, to_us: 200, slow: 0.01 };
const SYNC: Latency = { from_us: 300, to_us: 6000, slow: 0.03 };
const SCAN: Latency = { from_us: 10, to_us: 200, slow: 0.01 };

type Row = readonly [key: string, value: Buffer | null];

interface Batch {
  readonly rows: Row[];
  readonly sync: boolean;
  /** What each key had before, while the batch is not on disk. */
  readonly undo: (readonly [key: string, value: Buffer | undefined])[];
}

/** How a batch fails: nothing of it is written, or all of it and only the answer is lost. */
export type Failing = 'before' | 'after';

/** What goes wrong with the databases of a machine at the moment. */
export interface DatabaseFaults {
  /** The next batch with a row of this letter, or any batch, fails; with `folder`, of this database. */
  failing: {
    readonly how: Failing;
    readonly letter: string | null;
    readonly folder?: string;
  } | null;
  full: boolean;
  lying: boolean;
}

/** A damaged row: as it was, for the check that no answer rests on it. */
export interface Flipped {
  readonly key: string;
  readonly bit: number;
}

/** A value that was replaced or deleted: whether it was in memory at that time, and not in a table. */
interface Remains {
  readonly value: Buffer;
  in_memory: boolean;
}

class Database {
  readonly folder: string;
  readonly rows = new Map<string, Map<string, Buffer>>();
  readonly #sorted = new Map<string, string[]>();
  /** Written, but not on disk; oldest first. */
  tail: Batch[] = [];
  /** Accepted, but not written. */
  waiting: { readonly batch: Batch; readonly done: (error: Error | null) => void }[] = [];
  holder: Process | null = null;
  busy = false;
  /** Whether a failed write has left half a record: LevelDB then loses what it writes behind it when it opens again. */
  torn = false;
  #behind: Batch[] = [];
  /** Whether its files are simulated too: not those of the database of a log, which is large. */
  has_files = false;
  /** Values that are still in the files of the database although they were replaced or deleted, by their keys. */
  readonly #remains = new Map<string, Remains[]>();

  constructor(folder: string) {
    this.folder = folder;
  }

  get(key: string): Buffer | undefined {
    return this.rows.get(key.charAt(0))?.get(key);
  }

  set(key: string, value: Buffer | null | undefined): void {
    const letter = key.charAt(0);
    let rows = this.rows.get(letter);
    if (rows === undefined) this.rows.set(letter, (rows = new Map()));
    if (value === null || value === undefined) {
      if (rows.delete(key)) this.#sorted.delete(letter);
    } else {
      if (!rows.has(key)) this.#sorted.delete(letter);
      rows.set(key, value);
    }
  }

  write(batch: Batch): void {
    for (const [key, value] of batch.rows) {
      batch.undo.push([key, this.get(key)]);
      this.#overwrite(key);
      this.set(key, value);
    }
    if (this.torn) {
      this.#behind.push(batch);
      return;
    }
    this.tail.push(batch);
    if (batch.sync && !databases.faults.lying) this.tail = [];
  }

  /** Reads the journal again: what was written behind a torn record is lost. Its rows are then in tables. */
  replay(): void {
    takeBack(this, this.#behind);
    this.#behind = [];
    this.torn = false;
    this.#toTables();
  }

  /** Begins anew, as LevelDB does in a folder that has no database. */
  clear(): void {
    this.rows.clear();
    this.#sorted.clear();
    this.#remains.clear();
    this.#fresh.clear();
    this.tail = [];
  }

  /**
   * Rewrites the tables of a range, after the rows in memory were written to one. What was written to that table
   * together with its deletion stays in it.
   */
  compact(from: string, to: string): void {
    for (const [key, remains] of this.#remains) {
      if (key < from || key > to) continue;
      const left = remains.filter(({ in_memory }) => in_memory);
      if (left.length === 0) this.#remains.delete(key);
      else this.#remains.set(key, left);
    }
    this.#toTables();
  }

  /** The values of a key that can still be read from the files. */
  remains(key: string): readonly Buffer[] {
    const present = this.get(key);
    const past = (this.#remains.get(key) ?? []).map(({ value }) => value);
    return present === undefined ? past : [...past, present];
  }

  readonly #fresh = new Set<string>();

  #overwrite(key: string): void {
    if (!this.has_files) return;
    const value = this.get(key);
    if (value !== undefined) {
      const remains = this.#remains.get(key) ?? [];
      remains.push({ value, in_memory: this.#fresh.has(key) });
      this.#remains.set(key, remains);
    }
    this.#fresh.add(key);
  }

  #toTables(): void {
    this.#fresh.clear();
    for (const remains of this.#remains.values()) for (const one of remains) one.in_memory = false;
  }

  /** Takes back the last batches, so that `kept` of those that are not on disk remain. */
  lose(kept: number): number {
    const lost = this.tail.splice(kept);
    takeBack(this, lost);
    this.tail = [];
    return lost.length;
  }

  sorted(letter: string): readonly string[] {
    let keys = this.#sorted.get(letter);
    if (keys === undefined) {
      keys = [...(this.rows.get(letter)?.keys() ?? [])].sort(byBytes);
      this.#sorted.set(letter, keys);
    }
    return keys;
  }
}

function takeBack(database: Database, batches: readonly Batch[]): void {
  for (const { undo } of [...batches].reverse()) {
    for (const [key, value] of [...undo].reverse()) database.set(key, value);
  }
}

const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The databases of a machine by their folders. */
export class Databases {
  readonly faults: DatabaseFaults = { failing: null, full: false, lying: false };
  readonly #all = new Map<string, Database>();

  at(folder: string): Database {
    let database = this.#all.get(folder);
    if (database === undefined) this.#all.set(folder, (database = new Database(folder)));
    return database;
  }

  /** The same databases on another machine, all of their rows on its disk. */
  copy(): Databases {
    const other = new Databases();
    for (const { folder, rows } of this.#all.values()) {
      const own = other.at(folder);
      for (const [letter, some] of rows) own.rows.set(letter, new Map(some));
    }
    return other;
  }

  /** All databases below a folder. */
  below(folder: string): Database[] {
    return [...this.#all.values()].filter((one) => one.folder.startsWith(`${folder}/`));
  }

  /** Removes the databases in a folder that was removed. */
  remove(folder: string): void {
    for (const { folder: own } of this.below(folder)) this.#all.delete(own);
  }

  /** The folder of a database that has a text in one of its values; null if none has. */
  find(text: string): string | null {
    const has = (rows: ReadonlyMap<string, Buffer>): boolean =>
      [...rows.values()].some((value) => value.includes(text));
    const found = [...this.#all.values()].find(({ rows }) => [...rows.values()].some(has));
    return found?.folder ?? null;
  }

  /** What the end of the processes that hold databases below a folder leaves. */
  crash(folder: string, power: boolean, random: Random): void {
    for (const database of this.below(folder)) {
      // Of the batches that were being written, those up to some point got into the file.
      const [first] = database.waiting;
      if (first !== undefined && random.chance(0.5)) database.write(first.batch);
      database.waiting = [];
      database.busy = false;
      database.holder = null;
      database.replay();
      if (!power) continue;
      const lost = database.lose(random.int(database.tail.length + 1));
      if (lost > 0) world().trace(() => `${database.folder} lost ${String(lost)} batches`);
    }
  }

  /** Flips one bit of a stored value. Null if there is no row of this letter. */
  flip(folder: string, letter: string, random: Random): Flipped | null {
    const [database] = this.below(folder);
    const keys = database?.sorted(letter) ?? [];
    if (database === undefined || keys.length === 0) return null;
    const key = random.pick(keys);
    const value = Buffer.from(database.get(key) ?? []);
    if (value.length === 0) return null;
    const bit = random.int(value.length * 8);
    value[bit >> 3] = (value[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    database.set(key, value);
    return { key, bit };
  }
}

let databases = new Databases();

export const theDatabases = (): Databases => databases;

export function useDatabases(other: Databases): void {
  databases = other;
}

const failed = (code: string, message: string): Error =>
  Object.assign(new Error('Database failed'), {
    code: 'LEVEL_DATABASE_NOT_OPEN',
    cause: Object.assign(new Error(message), { code }),
  });

/** A key or a value, as bytes or as text. */
type Data = Uint8Array | string;

const bytesOf = (data: Data): Buffer =>
  typeof data === 'string'
    ? Buffer.from(data)
    : Buffer.from(data.buffer, data.byteOffset, data.byteLength);

const text = (key: Data): string => bytesOf(key).toString('latin1');

interface Range {
  readonly gt?: Data;
  readonly gte?: Data;
  readonly lt?: Data;
  readonly lte?: Data;
  readonly reverse?: boolean;
  readonly limit?: number;
  readonly snapshot?: Snapshot;
}

type Pair = [Data, Data];

/** How a database shows its keys and values: as bytes, or as the text that is the default of classic-level. */
interface Encodings {
  readonly keyEncoding?: 'view';
  readonly valueEncoding?: 'view';
}

class Snapshot {
  readonly pairs: readonly Pair[];

  constructor(pairs: readonly Pair[]) {
    this.pairs = pairs;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The rows of a range as they were when it was made, or their keys. */
class Rows<T> {
  readonly #rows: readonly T[];

  constructor(rows: readonly T[]) {
    this.#rows = rows;
  }

  async all(): Promise<T[]> {
    await world().operation(SCAN, () => undefined);
    return [...this.#rows];
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    yield* await this.all();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The chained form of a batch. */
class Chained {
  readonly #database: Database;
  readonly #rows: Row[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  put(key: Data, value: Data): this {
    this.#rows.push([text(key), Buffer.from(bytesOf(value))]);
    return this;
  }

  del(key: Data): this {
    this.#rows.push([text(key), null]);
    return this;
  }

  async write({ sync = false }: { readonly sync?: boolean } = {}): Promise<void> {
    const database = this.#database;
    const batch = { rows: this.#rows, sync, undo: [] };
    await new Promise<void>((resolve, reject) => {
      const done = (error: Error | null): void => {
        if (error === null) resolve();
        else reject(error);
      };
      database.waiting.push({ batch, done });
      next(database);
    });
  }
}

/** Writes the oldest batch that waits, unless one is being written. */
function next(database: Database): void {
  const [first] = database.waiting;
  if (database.busy || first === undefined) return;
  database.busy = true;
  const { batch, done } = first;
  world().after(world().duration(batch.sync ? SYNC : WRITE), () => {
    database.busy = false;
    database.waiting.shift();
    done(outcome(database, batch));
    next(database);
  });
}

function outcome(database: Database, batch: Batch): Error | null {
  const { faults } = databases;
  const keys = batch.rows.map(([key]) => key);
  const full = faults.full || theFiles().faults.full;
  const { failing } = faults;
  const hit =
    failing !== null &&
    (failing.folder === undefined || failing.folder === database.folder) &&
    (failing.letter === null || keys.some((key) => key.startsWith(failing.letter ?? '')));
  if (hit) faults.failing = null;
  if (full || (hit && failing.how === 'before')) {
    world().trace(() => `batch of ${kinds(keys)} fails`);
    database.torn = true;
    return failed('LEVEL_IO_ERROR', 'IO error');
  }
  database.write(batch);
  world().trace(() => `batch of ${kinds(keys)} written${batch.sync ? ', synced' : ''}`);
  if (!hit) return null;
  world().trace(() => 'its answer is lost');
  return failed('LEVEL_IO_ERROR', 'IO error');
}

/** The rows of a batch by their letters (log/store/layout.ts). */
function kinds(keys: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key.charAt(0), (counts.get(key.charAt(0)) ?? 0) + 1);
  return [...counts].map(([letter, count]) => `${String(count)} ${letter}`).join(', ');
}

/** The part of classic-level that the product uses. */
export class ClassicLevel {
  status: 'opening' | 'open' | 'closing' | 'closed' = 'opening';
  readonly #database: Database;
  readonly #encodings: Encodings;

  constructor(folder: string, encodings: Encodings = {}) {
    this.#database = databases.at(folder);
    this.#encodings = encodings;
  }

  async open(): Promise<void> {
    await world().operation(SYNC, () => {
      const database = this.#database;
      if (database.holder !== null) throw failed('LEVEL_LOCKED', `${database.folder} is locked`);
      if (databases.faults.full || theFiles().faults.full) {
        throw failed('LEVEL_IO_ERROR', 'IO error: no space left on device');
      }
      database.holder = world().current;
      database.replay();
      database.has_files = this.#encodings.keyEncoding === undefined;
      if (database.has_files && theFiles().makeDatabase(database.folder)) database.clear();
      this.status = 'open';
    });
  }

  getSync(key: Data): Data | undefined {
    this.#check();
    const value = this.#database.get(text(key));
    return value === undefined ? undefined : this.#value(value);
  }

  get(key: Data): Promise<Data | undefined> {
    this.#check();
    return world().operation(SCAN, () => this.getSync(key));
  }

  put(key: Data, value: Data, options?: { readonly sync?: boolean }): Promise<void> {
    return this.batch().put(key, value).write(options);
  }

  batch(): Chained;
  batch(rows: readonly { readonly key: Data; readonly value: Data }[]): Promise<void>;
  batch(rows?: readonly { readonly key: Data; readonly value: Data }[]): Chained | Promise<void> {
    this.#check();
    const chained = new Chained(this.#database);
    if (rows === undefined) return chained;
    for (const { key, value } of rows) chained.put(key, value);
    return chained.write();
  }

  iterator(range: Range = {}): Rows<Pair> {
    this.#check();
    return new Rows(range.snapshot?.pairs ?? this.#pairs(range));
  }

  keys(range: Range = {}): Rows<Data> {
    this.#check();
    return new Rows(this.#pairs(range).map(([key]) => key));
  }

  snapshot(): Snapshot {
    this.#check();
    return new Snapshot(this.#pairs({}));
  }

  /** Rewrites the tables of a range: the bytes of replaced and deleted rows are gone when it has ended. */
  compactRange(from: Data, to: Data): Promise<void> {
    this.#check();
    return world().operation(SYNC, () => {
      this.#check();
      this.#database.compact(text(from), text(to));
    });
  }

  /** Refuses further operations at once, and closes after the writes in progress, as classic-level does. */
  async close(): Promise<void> {
    const held = this.status === 'open';
    this.status = 'closing';
    while (held && this.#database.waiting.length > 0) {
      await world().operation(WRITE, () => undefined);
    }
    await world().operation(WRITE, () => {
      if (held) this.#database.holder = null;
      this.status = 'closed';
    });
  }

  #check(): void {
    if (this.status !== 'open') throw failed('LEVEL_DATABASE_NOT_OPEN', 'the database is closed');
  }

  #value(bytes: Buffer): Data {
    return this.#encodings.valueEncoding === 'view' ? bytes : bytes.toString();
  }

  #key(key: string): Data {
    const bytes = Buffer.from(key, 'latin1');
    return this.#encodings.keyEncoding === 'view' ? bytes : bytes.toString();
  }

  #pairs({ gt, gte, lt, lte, reverse = false, limit = Infinity }: Range): Pair[] {
    const database = this.#database;
    const from = gt === undefined ? (gte === undefined ? '' : text(gte)) : `${text(gt)}\0`;
    const to = lt === undefined ? (lte === undefined ? null : `${text(lte)}\0`) : text(lt);
    const letters = [...database.rows.keys()]
      .filter((letter) => letter >= from.charAt(0) && (to === null || letter <= to.charAt(0)))
      .sort(byBytes);
    let keys = letters.flatMap((letter) =>
      database.sorted(letter).filter((key) => key >= from && (to === null || key < to)),
    );
    if (reverse) keys = keys.reverse();
    if (limit >= 0 && keys.length > limit) keys = keys.slice(0, limit);
    return keys.map((key) => [this.#key(key), this.#value(database.get(key) ?? Buffer.alloc(0))]);
  }
}
