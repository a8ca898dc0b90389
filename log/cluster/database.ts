// The tables of a cluster in PostgreSQL, and the statements on them.
//
//   actlog_round     the committed rounds of each stream, numbered from 1 without a gap. A round states the digest of its
//                    history, so two histories that differ anywhere differ in every later digest.
//   actlog_snapshot  all rows of a stream after a round, in parts (snapshots.ts)
//   actlog_secret    key files and the keys of disclosures, sealed (secrets.ts), and the mark: a value that changes with
//                    each put. A leader commits rounds only while it finds the mark that it has put, so no round uses
//                    a secret that the database has lost.
//   actlog_seen      what a node has applied beyond the last round: the database has lost commits
//
// The lease and the checkpoint register are those of store/postgres.ts and store/postgres-register.ts.

import type { PoolClient, QueryResultRow } from 'pg';
import { hash } from 'node:crypto';
import { isLogError, LogError } from '../errors.ts';
import { HELD, Lease, LEASE_TABLE, Postgres } from '../store/postgres.ts';
import type { LeaseOptions } from '../store/postgres.ts';
import { PostgresRegister, REGISTER_TABLE } from '../store/postgres-register.ts';

const TABLES = `
  CREATE TABLE IF NOT EXISTS actlog_round (
    stream text NOT NULL, seq bigint NOT NULL, epoch bigint NOT NULL, digest bytea NOT NULL,
    batch bytea NOT NULL, PRIMARY KEY (stream, seq));
  ALTER TABLE actlog_round ALTER COLUMN batch SET STORAGE EXTERNAL;
  CREATE TABLE IF NOT EXISTS actlog_snapshot (
    stream text NOT NULL, id bigint NOT NULL, part integer NOT NULL, seq bigint, rows bytea NOT NULL,
    PRIMARY KEY (stream, id, part));
  ALTER TABLE actlog_snapshot ALTER COLUMN rows SET STORAGE EXTERNAL;
  CREATE TABLE IF NOT EXISTS actlog_secret (name text PRIMARY KEY, sealed bytea NOT NULL);
  CREATE TABLE IF NOT EXISTS actlog_seen (
    stream text NOT NULL, address text NOT NULL, seq bigint NOT NULL, PRIMARY KEY (stream, address));`;

/** A position in a stream: the number of its last round, 0 for none, and the digest of its history. */
export interface StreamPosition {
  readonly seq: number;
  /** 32 bytes. */
  readonly digest: Uint8Array;
}

/** The last round of a stream that a node has reported, and that the database lacks. */
export interface LostRound {
  readonly stream: string;
  readonly address: string;
  readonly seq: number;
}

/** Rounds of a stream that the database lacks, and the position that they follow. */
export interface LostRounds {
  readonly before: StreamPosition;
  readonly rounds: readonly CommittedRound[];
}

/** A committed round. */
export interface CommittedRound extends StreamPosition {
  readonly epoch: string;
  /** The writes of the round (batch.ts). */
  readonly batch: Buffer;
}

/** The position before the first round. */
export const startOf = (stream: string): StreamPosition => ({
  seq: 0,
  digest: hash('sha256', `actlog stream ${stream}`, 'buffer'),
});

/** The position after a round: SHA-256(digest of the history[32] ‖ batch). */
export const after = ({ seq, digest }: StreamPosition, batch: Uint8Array): StreamPosition => ({
  seq: seq + 1,
  digest: hash('sha256', Buffer.concat([digest, batch]), 'buffer'),
});

/** Who leads, as the database says. */
export interface Leadership {
  readonly epoch: string;
  readonly holder: string;
  readonly address: string;
  /** Milliseconds until the lease expires; negative afterwards. */
  readonly left_ms: number;
}

/** A stream in the database, compared with a node's copy. */
export interface StreamState {
  /** The number of the last round; the number of the newest snapshot if that is larger, 0 for an empty stream. */
  readonly last: number;
  /**
   * The newest round of the database that is not behind the position of the copy, or the position before the first round
   * of an empty stream; null if the rounds up to the position of the copy were trimmed.
   */
  readonly common: StreamPosition | null;
}

/** The row of the mark in actlog_secret. */
export const MARK = 'mark';

/** Channel of NOTIFY; a notification means that some stream or the lease has changed. */
const CHANNEL = 'actlog';

const INSERT = `
  WITH ${HELD}
  INSERT INTO actlog_round (stream, seq, epoch, digest, batch)
  SELECT $2, $3::bigint, $1::bigint, $4, $5 FROM held
  WHERE coalesce((SELECT sealed FROM actlog_secret WHERE name = '${MARK}'), '') = ANY($7::bytea[])
    AND ($3::bigint = 1 OR EXISTS (
      SELECT 1 FROM actlog_round WHERE stream = $2 AND seq = $3::bigint - 1 AND digest = $6))
  RETURNING seq`;
const MARKED = 'SELECT sealed FROM actlog_secret WHERE name = $1';
const DIGEST = 'SELECT digest FROM actlog_round WHERE stream = $1 AND seq = $2';

const STATE = `
  SELECT s.name, greatest(last.seq, (SELECT max(seq) FROM actlog_snapshot p WHERE p.stream = s.name)) AS last,
    common.seq, common.digest
  FROM unnest($1::text[], $2::bigint[]) AS s(name, seq)
  LEFT JOIN LATERAL (
    SELECT seq FROM actlog_round r WHERE r.stream = s.name ORDER BY seq DESC LIMIT 1) last ON true
  LEFT JOIN LATERAL (
    SELECT seq, digest FROM actlog_round r WHERE r.stream = s.name AND r.seq <= s.seq
    ORDER BY seq DESC LIMIT 1) common ON true`;

/** Ends the leadership of any node. No node commits until the transaction ends, because the row is locked. */
const END_LEASE = 'UPDATE actlog_lease SET epoch = epoch + 1, expires_at = clock_timestamp()';

/** Names of the tables that hold data of the service, for `cluster status`. */
const SIZES = `
  SELECT stream, count(*) AS rounds, coalesce(sum(octet_length(batch)), 0) AS bytes
  FROM actlog_round GROUP BY stream ORDER BY stream`;

/** The database of a cluster, as one node uses it. */
export class ClusterDatabase {
  readonly postgres: Postgres;
  readonly lease: Lease;
  readonly register: PostgresRegister;
  #listening: PoolClient | null = null;
  #notifying = false;
  /** The values that the mark may have in an epoch of this node. */
  #marks: { readonly epoch: string; readonly values: readonly Buffer[] } | null = null;

  private constructor(postgres: Postgres, lease: Lease) {
    this.postgres = postgres;
    this.lease = lease;
    this.register = new PostgresRegister(postgres, lease);
  }

  /**
   * Connects, and makes the tables that are missing.
   *
   * @throws LogError `log_unavailable`
   */
  static async open(url: string, options: LeaseOptions): Promise<ClusterDatabase> {
    const postgres = await Postgres.open(
      { url, patience_ms: 2000, timeout_ms: 5000, connections: 10 },
      LEASE_TABLE + REGISTER_TABLE + TABLES,
    );
    return new ClusterDatabase(postgres, new Lease(postgres, options));
  }

  /** Who leads; null before the first leader. */
  async leadership(): Promise<Leadership | null> {
    const [row] = await this.postgres.once(
      'SELECT epoch, holder, address, extract(epoch FROM expires_at - clock_timestamp()) * 1000 AS left_ms FROM actlog_lease',
    );
    if (row === undefined) return null;
    const { epoch, holder, address } = row as Record<string, string>;
    return {
      epoch: epoch ?? '',
      holder: holder ?? '',
      address: address ?? '',
      left_ms: Number(row['left_ms']),
    };
  }

  /** The state of streams, for a comparison with the positions of a node's copies. */
  async states(
    positions: ReadonlyMap<string, StreamPosition>,
  ): Promise<ReadonlyMap<string, StreamState>> {
    const seqs = [...positions.values()].map(({ seq }) => seq);
    const rows = await this.postgres.once(STATE, [[...positions.keys()], seqs]);
    return new Map(
      rows.map((row) => {
        const [name, last] = [row['name'] as string, Number(row['last'] ?? 0)];
        let common = last === 0 ? startOf(name) : null;
        if (row['seq'] !== null) {
          common = { seq: Number(row['seq']), digest: row['digest'] as Buffer };
        }
        return [name, { last, common }];
      }),
    );
  }

  /**
   * The values that the mark may have while this node leads: that of the last put, and those of later puts whose outcome
   * is not known. The first call of an epoch reads the mark. A database that has lost a put since then has another value.
   */
  async marks(epoch: string): Promise<readonly Buffer[]> {
    if (this.#marks?.epoch !== epoch) {
      const mark = await this.#mark();
      if (this.#marks?.epoch !== epoch) this.#marks = { epoch, values: [mark] };
    }
    return this.#marks.values;
  }

  /** Sets the values that the mark may have from now on. */
  expectMarks(epoch: string, values: readonly Buffer[]): void {
    this.#marks = { epoch, values };
  }

  /** Whether the database has the secrets that this node has put in an epoch, or had found there. */
  async hasSecrets(epoch: string): Promise<boolean> {
    const mark = await this.#mark();
    return (await this.marks(epoch)).some((value) => value.equals(mark));
  }

  /**
   * Commits the next round of a stream. If the outcome is unknown because the connection was lost, the row is read back:
   * a round with this digest was committed; if there is none, and the lease is still held, it is inserted again.
   *
   * @throws LogError `lease_lost`; `rounds_lost` if the database has lost rounds or secrets; `log_unavailable` if the
   *   outcome remains unknown
   */
  async commit(
    stream: string,
    epoch: string,
    before: StreamPosition,
    round: StreamPosition & { readonly batch: Buffer },
  ): Promise<void> {
    const { seq, digest, batch } = round;
    for (;;) {
      try {
        const values = [
          ...[epoch, stream, seq, Buffer.from(digest), batch],
          ...[Buffer.from(before.digest), [...(await this.marks(epoch))]],
        ];
        if ((await this.postgres.once(INSERT, values)).length === 1) return;
        const why = await this.#whyNot(stream, epoch, before);
        if (why !== null) throw why;
      } catch (error) {
        if (isLogError(error)) throw error;
        const [found] = await this.#whileHeld(epoch, DIGEST, [stream, seq], error);
        if (found !== undefined) {
          if ((found['digest'] as Buffer).equals(digest)) return;
          throw new LogError('lease_lost', 'another node committed this round');
        }
      }
    }
  }

  /** Repeats a read while this node holds the lease. */
  async #whileHeld(
    epoch: string,
    sql: string,
    values: readonly unknown[],
    cause: unknown,
  ): Promise<readonly QueryResultRow[]> {
    for (;;) {
      if (this.lease.epoch !== epoch) throw this.postgres.unavailable(cause);
      try {
        return await this.postgres.once(sql, values);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Why a round was not inserted; null if only the mark changed meanwhile. */
  async #whyNot(stream: string, epoch: string, before: StreamPosition): Promise<Error | null> {
    const [row] = await this.postgres.once('SELECT 1 FROM actlog_lease WHERE epoch = $1', [epoch]);
    if (row === undefined) return new LogError('lease_lost', 'another node has taken the lease');
    if (!(await this.hasSecrets(epoch))) {
      return new LogError('rounds_lost', 'the database lacks secrets that this node has put');
    }
    if (before.seq === 0) return null;
    const [last] = await this.postgres.once(DIGEST, [stream, before.seq]);
    if ((last?.['digest'] as Buffer | undefined)?.equals(before.digest) === true) return null;
    return new LogError(
      'rounds_lost',
      `the database lacks round ${String(before.seq)} of ${stream}`,
    );
  }

  /** The mark; empty before the first put. */
  async #mark(): Promise<Buffer> {
    const [row] = await this.postgres.query(MARKED, [MARK]);
    return row === undefined ? Buffer.alloc(0) : (row['sealed'] as Buffer);
  }

  /** The rounds after a position, oldest first. */
  async rounds(stream: string, from: number, limit: number): Promise<readonly CommittedRound[]> {
    const sql = `SELECT seq, epoch, digest, batch FROM actlog_round WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3`;
    const rows = await this.postgres.once(sql, [stream, from, limit]);
    return rows.map((row) => ({
      seq: Number(row['seq']),
      epoch: row['epoch'] as string,
      digest: row['digest'] as Buffer,
      batch: row['batch'] as Buffer,
    }));
  }

  /** Wakes the other nodes. A notification that is lost costs a node its polling interval. */
  notify(): void {
    if (this.#notifying) return;
    this.#notifying = true;
    this.postgres
      .once(`NOTIFY ${CHANNEL}`)
      .catch(() => undefined)
      .finally(() => {
        this.#notifying = false;
      });
  }

  /** Calls the listener at each notification. After a lost connection, `listen` must be called again. */
  async listen(heard: () => void): Promise<void> {
    if (this.#listening !== null) return;
    const client = await this.postgres.connect();
    const lost = (error?: Error): void => {
      if (this.#listening !== client) return;
      this.#listening = null;
      client.release(error ?? true);
    };
    this.#listening = client;
    client.on('notification', heard);
    client.on('error', lost);
    client.on('end', () => lost());
    try {
      await client.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      lost(error as Error);
      throw error;
    }
  }

  /**
   * Streams of which some node has applied more rounds than the database has, with the node's address. Empty unless the
   * database has lost commits.
   */
  async lost(): Promise<readonly LostRound[]> {
    const rows = await this.postgres.once(
      `SELECT stream, address, seq FROM actlog_seen s WHERE seq > coalesce(
         (SELECT max(seq) FROM actlog_round r WHERE r.stream = s.stream), 0)
       AND seq > coalesce((SELECT max(seq) FROM actlog_snapshot p WHERE p.stream = s.stream), 0)`,
    );
    return rows.map((row) => ({
      stream: row['stream'] as string,
      address: row['address'] as string,
      seq: Number(row['seq']),
    }));
  }

  /** Records that a node has applied rounds that the database does not have, so that no other node leads. */
  async reportSeen(stream: string, address: string, seq: number): Promise<void> {
    await this.postgres.once(
      `INSERT INTO actlog_seen (stream, address, seq) VALUES ($1, $2, $3)
       ON CONFLICT (stream, address) DO UPDATE SET seq = greatest(actlog_seen.seq, excluded.seq)`,
      [stream, address, seq],
    );
  }

  /** Deletes what a node with this address has reported. A node that has such rounds reports them again. */
  async withdrawSeen(address: string): Promise<void> {
    await this.postgres.once('DELETE FROM actlog_seen WHERE address = $1', [address]);
  }

  /**
   * Inserts rounds that the database has lost, all or none of them. The first round of each stream must follow the last
   * one in the database. A node that has taken the lease loses it, because it may not have these rounds.
   *
   * @param missing the rounds by stream
   * @throws LogError `store_corrupt` when they do not continue the sequence
   */
  async heal(missing: ReadonlyMap<string, LostRounds>): Promise<void> {
    await this.postgres.transaction(async (client) => {
      await client.query(END_LEASE);
      for (const [stream, { before, rounds }] of missing) {
        const sql = `SELECT seq, digest FROM actlog_round WHERE stream = $1 ORDER BY seq DESC LIMIT 1`;
        const [last] = (await client.query(sql, [stream])).rows as QueryResultRow[];
        const start = startOf(stream);
        const there = last === undefined ? start.seq : Number(last['seq']);
        const digest = last === undefined ? start.digest : (last['digest'] as Buffer);
        if (there !== before.seq || !Buffer.from(before.digest).equals(digest)) {
          throw new LogError(
            'store_corrupt',
            `round ${String(there)} of ${stream} in the database is not the one that this node has applied: its ` +
              'rounds do not continue the sequence, and nothing was changed',
          );
        }
        for (const round of rounds) {
          await client.query(
            'INSERT INTO actlog_round (stream, seq, epoch, digest, batch) VALUES ($1, $2, $3, $4, $5)',
            [stream, round.seq, round.epoch, Buffer.from(round.digest), round.batch],
          );
        }
      }
    });
    this.notify();
  }

  /** Deletes all rounds and snapshots, which a founding that did not finish has left. Only while this node holds the lease. */
  async clear(): Promise<void> {
    for (const table of ['actlog_round', 'actlog_snapshot', 'actlog_seen']) {
      const sql = `WITH ${HELD} DELETE FROM ${table} WHERE EXISTS (SELECT 1 FROM held)`;
      await this.postgres.query(sql, [this.lease.epoch]);
    }
  }

  /** The number and the bytes of the rounds of each stream. */
  async sizes(): Promise<readonly { stream: string; rounds: number; bytes: number }[]> {
    const rows = await this.postgres.query(SIZES);
    return rows.map((row) => ({
      stream: row['stream'] as string,
      rounds: Number(row['rounds']),
      bytes: Number(row['bytes']),
    }));
  }

  async close(): Promise<void> {
    await this.lease.release();
    this.#listening?.release(true);
    this.#listening = null;
    await this.postgres.end();
  }
}
