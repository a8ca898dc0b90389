// A node's copy of one stream: a LevelDB database to which rounds are applied in order. The position in the stream is a
// row of the database, written in the same batch as the round. After a crash the copy is at some earlier round, because
// rounds are applied without a sync, and continues from there.
//
// On the leader, a write to the store of the copy becomes a round: it is committed in PostgreSQL, then applied here, and
// then acknowledged. Writes that come during a commit share the next round. The first failure ends the leadership: which
// rounds are committed is then read from PostgreSQL. On a follower every write is refused with `not_leader`.
//
// The copy keeps its last rounds as they were committed, so that `actlog cluster heal` can give them back to a database
// that has lost them.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { equal } from '../encoding/bytes.ts';
import { isLogError, LogError } from '../errors.ts';
import { after, startOf } from './database.ts';
import type { ClusterDatabase, CommittedRound, StreamPosition } from './database.ts';
import { decodeBatch, encodeBatch } from './batch.ts';
import { metaKey, META, ROUND, roundKey } from '../store/layout.ts';
import { openStore, put, type Range, type Store, type Write } from '../store/store.ts';

/** How many rounds a copy keeps. */
const KEPT = 512;

/** Most bytes of writes in one round that combines several writes. */
const ROUND_BYTES = 8 * 1024 * 1024;

/** How many rounds are fetched at once. */
const PAGE = 64;

/** The position of a copy, as its database has it. */
interface Row {
  /** The id of the cluster. */
  readonly cluster: string;
  readonly seq: number;
  /** Lower-case hex. */
  readonly digest: string;
}

interface Waiting {
  readonly writes: readonly Write[];
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Receives the writes of each round after it was applied to the database. */
export type Follow = (writes: readonly Write[]) => void | Promise<void>;

/** How a copy is opened. */
export interface ReplicaOptions {
  readonly database: ClusterDatabase;
  readonly stream: string;
  /** Folder of the LevelDB database. */
  readonly folder: string;
  /** The id of the cluster. */
  readonly cluster: string;
  /** Called when a commit or an applied round failed; see the errors of `ClusterDatabase.commit`. */
  readonly onFailure: (error: unknown) => void;
}

/** The copy of one stream. */
export class Replica {
  readonly stream: string;
  readonly store: Store;
  readonly #options: ReplicaOptions;
  readonly #local: Store;
  #position: StreamPosition;
  /** The epoch in which this node leads; null on a follower. */
  #epoch: string | null = null;
  #waiting: Waiting[] = [];
  #committing: Promise<void> | null = null;
  #follow: Follow | null = null;
  #timed: (seconds: number) => void = () => undefined;
  /** Bytes of rounds that were applied or committed since the last `takeBytes`. */
  #bytes = 0;
  #refused = false;

  private constructor(options: ReplicaOptions, local: Store, position: StreamPosition) {
    this.stream = options.stream;
    this.#options = options;
    this.#local = local;
    this.#position = position;
    this.store = this.open();
  }

  /**
   * Opens the copy; a missing one is made, and is empty.
   *
   * @throws LogError `store_corrupt` if it is damaged or of another cluster, `log_locked`
   */
  static async open(options: ReplicaOptions): Promise<Replica> {
    const local = await openStore(join(options.folder, 'db'));
    const bytes = local.get(metaKey('round'));
    if (bytes === undefined) return new Replica(options, local, startOf(options.stream));
    const { cluster } = rowIn(bytes);
    if (cluster !== options.cluster) {
      await local.close();
      throw new LogError(
        'store_corrupt',
        `${options.folder} is a copy of cluster ${cluster}, and DATABASE_URL is that of ${options.cluster}`,
      );
    }
    return new Replica(options, local, positionIn(bytes));
  }

  /** Deletes a copy, and what a filling that did not finish has left of it. */
  static async remove(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
  }

  /** The last round that was applied. */
  get position(): StreamPosition {
    return this.#position;
  }

  /** Whether the copy has neither rounds nor a snapshot. */
  get empty(): boolean {
    return this.#local.get(metaKey('round')) === undefined;
  }

  /** Whether the database has refused to write a round. It takes no more until it is opened again, but can be read. */
  get refused(): boolean {
    return this.#refused;
  }

  /** Whether writes are committed, because this node leads. */
  get leads(): boolean {
    return this.#epoch !== null;
  }

  /** Calls a function after each applied round, in order; null for none. */
  follow(follow: Follow | null): void {
    this.#follow = follow;
  }

  /** Calls a function with the time of each commit in the database of the cluster, in place of an earlier function. */
  timeCommits(timed: (seconds: number) => void): void {
    this.#timed = timed;
  }

  /** Begins to commit writes. The copy must have every round of the stream. */
  lead(epoch: string): void {
    this.#epoch = epoch;
  }

  /** Refuses writes from now on, and waits for the commit in progress. Writes that wait are rejected. */
  async stopLeading(): Promise<void> {
    this.#epoch = null;
    this.#refuseWaiting(deposed());
    await this.#committing;
  }

  /** The bytes of the rounds since the last call. */
  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  /**
   * Fetches and applies the rounds that follow. A node that serves gives each to its follower function.
   *
   * @returns the number of rounds that were applied; fewer than the page size of the database if there are no more
   * @throws LogError `out_of_range` if the next round was trimmed, `store_corrupt` if a round does not follow
   */
  async pull(): Promise<{ readonly applied: number; readonly more: boolean }> {
    const { database, stream } = this.#options;
    const rounds = await database.rounds(stream, this.#position.seq, PAGE);
    if (this.#follow === null) await this.#applyAll(rounds);
    else {
      for (const round of rounds) {
        const writes = this.#checked(round, this.#position);
        await this.#apply(round, writes);
        await this.#follow(writes);
      }
    }
    return { applied: rounds.length, more: rounds.length === PAGE };
  }

  /**
   * The rows of the stream, without those of the copy itself, from a consistent snapshot.
   *
   * @param found receives the position of the snapshot before the last row
   */
  async *rows(
    found?: (position: StreamPosition) => void,
  ): AsyncGenerator<[Uint8Array, Uint8Array]> {
    for await (const [key, value] of this.#local.copy()) {
      if (!isOwn(key)) yield [key, value];
      else if (isPosition(key)) found?.(positionIn(value));
    }
  }

  /** Writes rows of a snapshot to an empty copy. `finish` makes them the state after a round. */
  async fill(writes: readonly Write[]): Promise<void> {
    await this.#local.write(writes, { sync: false });
  }

  /** Ends the filling of an empty copy: it is at this position. */
  async finish(position: StreamPosition): Promise<void> {
    await this.#local.write([this.#positionRow(position)]);
    this.#position = position;
  }

  /**
   * Whether the rounds of the copy up to a position, at its own or before it, are those of this position. Null if the copy
   * does not keep the round after it.
   */
  continues(position: StreamPosition): boolean | null {
    const { seq, digest } = this.#position;
    if (position.seq === seq) return equal(position.digest, digest);
    const key = roundKey(position.seq + 1);
    const value = this.#local.get(key);
    if (value === undefined) return null;
    const next = keptRound(key, value);
    return equal(after(position, next.batch).digest, next.digest);
  }

  /** The rounds after a number; null if they are not all kept any more. */
  async kept(from: number): Promise<readonly CommittedRound[] | null> {
    const rounds: CommittedRound[] = [];
    const range = { gte: roundKey(from + 1), lt: roundKey(this.#position.seq + 1) };
    for await (const [key, value] of this.#local.scan(range)) rounds.push(keptRound(key, value));
    return rounds.length === this.#position.seq - from ? rounds : null;
  }

  async close(): Promise<void> {
    await this.stopLeading();
    await this.#local.close();
  }

  /**
   * A store over the copy, as a log opens it. Closing it does not close the copy: it waits for the commits in progress,
   * and later writes through it fail. A log that recovers opens another one, and then sees what was committed.
   */
  open(): Store {
    const local = this.#local;
    let closed = false;
    return {
      get damaged() {
        return local.damaged ?? false;
      },
      get: (key) => local.get(key),
      scan: (range: Range) => local.scan(range),
      scanKeys: (range: Range) => local.scanKeys(range),
      copy: () => this.rows(),
      write: (writes) =>
        closed
          ? Promise.reject(new LogError('log_unavailable', 'the log was closed'))
          : this.#write(writes),
      close: async () => {
        closed = true;
        await this.#committing;
      },
    };
  }

  #write(writes: readonly Write[]): Promise<void> {
    if (this.#epoch === null) {
      return Promise.reject(
        new LogError('not_leader', 'this node follows, and another one writes'),
      );
    }
    return new Promise((resolve, reject) => {
      let bytes = 0;
      for (const one of writes) bytes += one.type === 'put' ? one.value.length : 0;
      this.#waiting.push({ writes, bytes, resolve, reject });
      this.#committing ??= this.#commitAll();
    });
  }

  async #commitAll(): Promise<void> {
    for (;;) {
      const epoch = this.#epoch;
      const taken = this.#take();
      if (taken.length === 0) {
        // In the same turn as the last look at what waits: a write that comes later starts another run.
        this.#committing = null;
        return;
      }
      try {
        if (epoch === null) throw deposed();
        await this.#commit(
          epoch,
          taken.flatMap(({ writes }) => writes),
        );
        for (const { resolve } of taken) resolve();
      } catch (cause) {
        this.#epoch = null;
        const error = isLogError(cause) ? cause : deposed(cause);
        for (const { reject } of taken) reject(error);
        this.#refuseWaiting(error);
        this.#committing = null;
        this.#options.onFailure(cause);
        return;
      }
    }
  }

  #take(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const one of this.#waiting) {
      bytes += one.bytes;
      if (count > 0 && bytes > ROUND_BYTES) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /** A crash before the commit leaves nothing; after it, the round is applied here at the next start. */
  async #commit(epoch: string, writes: readonly Write[]): Promise<void> {
    const { database } = this.#options;
    const batch = encodeBatch(writes);
    const before = this.#position;
    const round = { ...after(before, batch), epoch, batch };
    const started = performance.now();
    await database.commit(this.stream, epoch, before, round);
    this.#timed((performance.now() - started) / 1000);
    await this.#apply(round, writes);
    database.notify();
  }

  async #apply(round: CommittedRound, writes: readonly Write[]): Promise<void> {
    const { seq, digest, batch } = round;
    await this.#writeHere([...writes, ...this.#ownRows(round)]);
    this.#position = { seq, digest };
    this.#bytes += batch.length;
  }

  async #writeHere(writes: readonly Write[]): Promise<void> {
    try {
      await this.#local.write(writes, { sync: false });
    } catch (error) {
      this.#refused = true;
      throw error;
    }
  }

  /** Many rounds in one batch, while nothing reads the copy. */
  async #applyAll(rounds: readonly CommittedRound[]): Promise<void> {
    if (rounds.length === 0) return;
    const writes: Write[] = [];
    let bytes = 0;
    let position = this.#position;
    for (const round of rounds) {
      for (const one of this.#checked(round, position)) writes.push(one);
      position = { seq: round.seq, digest: round.digest };
      bytes += round.batch.length;
      writes.push(...this.#ownRows(round));
    }
    await this.#writeHere(writes);
    this.#position = position;
    this.#bytes += bytes;
  }

  /** The position and the kept round. */
  #ownRows(round: CommittedRound): Write[] {
    const value = Buffer.concat([epochBytes(round.epoch), round.digest, round.batch]);
    const rows = [this.#positionRow(round), put(roundKey(round.seq), value)];
    if (round.seq > KEPT) rows.push({ type: 'del', key: roundKey(round.seq - KEPT) });
    return rows;
  }

  #positionRow({ seq, digest }: StreamPosition): Write {
    const { cluster } = this.#options;
    const row: Row = { cluster, seq, digest: Buffer.from(digest).toString('hex') };
    return put(metaKey('round'), Buffer.from(JSON.stringify(row)));
  }

  #checked(round: CommittedRound, position: StreamPosition): Write[] {
    const next = after(position, round.batch);
    if (round.seq > next.seq)
      throw new LogError('out_of_range', `round ${String(next.seq)} of ${this.stream} was trimmed`);
    if (!Buffer.from(next.digest).equals(round.digest)) {
      throw new LogError(
        'store_corrupt',
        `round ${String(round.seq)} of ${this.stream} does not follow the rounds that this node has applied`,
      );
    }
    return decodeBatch(round.batch);
  }

  #refuseWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** The rows that belong to the copy and not to the stream. */
const isOwn = (key: Uint8Array): boolean =>
  key[0] === ROUND || (key[0] === META && (isPosition(key) || equalKey(key, metaKey('version'))));
const isPosition = (key: Uint8Array): boolean => equalKey(key, metaKey('round'));
const equalKey = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const rowIn = (bytes: Uint8Array): Row => JSON.parse(Buffer.from(bytes).toString()) as Row;

function positionIn(bytes: Uint8Array): StreamPosition {
  const { seq, digest } = rowIn(bytes);
  return { seq, digest: Buffer.from(digest, 'hex') };
}

function epochBytes(epoch: string): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(epoch));
  return bytes;
}

function keptRound(key: Uint8Array, value: Uint8Array): CommittedRound {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const seq = Number(Buffer.from(key).readBigUInt64BE(1));
  const epoch = String(bytes.readBigUInt64BE(0));
  return { seq, epoch, digest: bytes.subarray(8, 40), batch: bytes.subarray(40) };
}

/** A caller repeats the request, with its idempotency key, at the next leader. */
const deposed = (cause?: unknown): LogError =>
  new LogError(
    'log_unavailable',
    'the lease has changed: repeat the request with its idempotency key to learn whether it was appended',
    cause === undefined ? {} : { cause },
  );
