// A connection pool to the PostgreSQL database of a service, and the lease in it. The package pg is loaded when a pool
// is opened, never before: a service on LevelDB alone does not need it. Server only.
//
// The lease is one row: the epoch, the holder, its address and the time at which the lease expires, by PostgreSQL's
// clock. Each process that takes the lease raises the epoch. A statement that changes anything compares the epoch in
// the same transaction (HELD), so a process that was paused or cut off while another one took the lease changes nothing
// when it continues. The lease provides liveness only; safety rests on that comparison.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { LogError } from '../errors.ts';

/** How a pool is opened. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; one database for each service. */
  readonly url: string;
  /** How long an idempotent statement is repeated while the database does not answer. */
  readonly patience_ms?: number;
  /** How long one statement may take. */
  readonly timeout_ms?: number;
  /** The largest number of connections. */
  readonly connections?: number;
}

const PATIENCE_MS = 10_000;
const RETRY_MS = 100;

/** The values of a statement; Buffers are bytea. */
type Values = readonly unknown[];

/** The pool of one database. */
export class Postgres {
  /** The database without the password, for messages. */
  readonly place: string;
  readonly patience_ms: number;
  readonly #pool: Pool;
  #failed_ms = -Infinity;

  private constructor(pool: Pool, { url, patience_ms = PATIENCE_MS }: PostgresOptions) {
    this.#pool = pool;
    this.place = withoutPassword(url);
    this.patience_ms = patience_ms;
    // An idle connection that breaks is replaced by the next query.
    pool.on('error', () => {
      this.#failed_ms = performance.now();
    });
  }

  /**
   * Connects, and runs the statements that make missing tables, in one transaction.
   *
   * @throws LogError `log_unavailable` when the database does not answer
   */
  static async open(options: PostgresOptions, tables: string): Promise<Postgres> {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      connectionString: options.url,
      application_name: 'actlog',
      max: options.connections ?? 4,
      connectionTimeoutMillis: Math.min(5000, options.timeout_ms ?? 5000),
      query_timeout: options.timeout_ms ?? 10_000,
      keepAlive: true,
      // A commit is durable whatever the default of the server is.
      options: '-c synchronous_commit=on -c lock_timeout=5000',
    });
    const postgres = new Postgres(pool, options);
    try {
      await pool.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('actlog')); ${tables} COMMIT`);
      return postgres;
    } catch (cause) {
      await pool.end();
      throw postgres.unavailable(cause);
    }
  }

  /** Milliseconds since a statement or an idle connection last failed. */
  get sinceFailure_ms(): number {
    return performance.now() - this.#failed_ms;
  }

  /** Runs a statement once. Rejects with the error of pg: after a lost connection, it may have been committed. */
  async once(sql: string, values: Values = []): Promise<readonly QueryResultRow[]> {
    try {
      return (await this.#pool.query(sql, [...values])).rows as QueryResultRow[];
    } catch (error) {
      // An error with a code of five characters is an answer of PostgreSQL; all others are failures of the connection.
      if (!isAnswer(error)) this.#failed_ms = performance.now();
      throw error;
    }
  }

  /**
   * Runs an idempotent statement, and repeats it until it succeeds or the patience is over.
   *
   * @throws LogError `log_unavailable`
   */
  async query(sql: string, values: Values = []): Promise<readonly QueryResultRow[]> {
    const deadline = performance.now() + this.patience_ms;
    for (;;) {
      try {
        return await this.once(sql, values);
      } catch (cause) {
        if (performance.now() > deadline || this.#pool.ending) throw this.unavailable(cause);
        await sleep(RETRY_MS);
      }
    }
  }

  /** Runs a function in one transaction, on a connection of its own. */
  async transaction<T>(act: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    // Without a listener, a connection that is lost would end the process.
    const lost = (error: Error): void => {
      broken = error;
    };
    client.on('error', lost);
    try {
      await client.query('BEGIN');
      const result = await act(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(lost);
      throw error;
    } finally {
      client.release(broken);
      client.off('error', lost);
    }
  }

  /** Takes a connection out of the pool, to listen for notifications. The caller must release it. */
  connect(): Promise<PoolClient> {
    return this.#pool.connect();
  }

  get ended(): boolean {
    return this.#pool.ended;
  }

  async end(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  unavailable(cause: unknown): LogError {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new LogError(
      'log_unavailable',
      `the database ${this.place} does not answer (${why}): check DATABASE_URL and the database`,
      { cause },
    );
  }
}

/** Whether an error is an answer of PostgreSQL, with a code of SQLSTATE, and not that of a lost connection. */
export function isAnswer(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  // Class 57P is an end of the server or of the connection by the server; the outcome of the statement is unknown.
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(?:57P|08)/.test(code);
}

/** The table of the lease. */
export const LEASE_TABLE = `
  CREATE TABLE IF NOT EXISTS actlog_lease (
    id integer PRIMARY KEY CHECK (id = 1), epoch bigint NOT NULL, holder uuid NOT NULL,
    address text NOT NULL, expires_at timestamptz NOT NULL);`;

/**
 * A part of a WITH clause that has one row if the lease has the epoch $1. The row of the lease is locked for share, so
 * that no other process takes the lease before the change is committed.
 */
export const HELD = 'held AS (SELECT 1 FROM actlog_lease WHERE epoch = $1 FOR SHARE)';

const ACQUIRE = `
  INSERT INTO actlog_lease AS lease (id, epoch, holder, address, expires_at)
  VALUES (1, 1, $1, $2, clock_timestamp() + $3 * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET epoch = lease.epoch + 1, holder = excluded.holder,
    address = excluded.address, expires_at = excluded.expires_at
  WHERE lease.expires_at <= clock_timestamp() OR lease.holder = excluded.holder
  RETURNING epoch`;

const RENEW = `
  UPDATE actlog_lease SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE epoch = $1 RETURNING epoch`;

const RELEASE = 'UPDATE actlog_lease SET expires_at = clock_timestamp() WHERE epoch = $1';

/** How long a lease lasts after its last renewal, unless set; it is renewed three times as often. */
export const LEASE_MS = 3000;

/** How a process takes part in the lease. */
export interface LeaseOptions {
  /** How others reach the holder, or who it is, for messages. */
  readonly address: string;
  readonly lease_ms?: number;
  /**
   * Called once when the lease is lost: another process took it, or the database has not answered for as long as the
   * lease lasts. Without it, a process keeps the lease until another one takes it, which the next change finds.
   */
  readonly onLost?: () => void;
}

/** The lease of a database, held by this process or not. */
export class Lease {
  readonly #postgres: Postgres;
  readonly #options: LeaseOptions;
  readonly #lease_ms: number;
  readonly holder = randomUUID();
  #epoch: string | null = null;
  #renewal: NodeJS.Timeout | undefined;

  constructor(postgres: Postgres, options: LeaseOptions) {
    this.#postgres = postgres;
    this.#options = options;
    this.#lease_ms = options.lease_ms ?? LEASE_MS;
  }

  /** The epoch while the lease is held; null before and after. */
  get epoch(): string | null {
    return this.#epoch;
  }

  get lease_ms(): number {
    return this.#lease_ms;
  }

  /** Takes the lease if it has expired, and renews it from then on. Returns whether it was taken. Rejects like `once`. */
  async tryAcquire(): Promise<boolean> {
    const values = [this.holder, this.#options.address, this.#lease_ms];
    const [row] = await this.#postgres.once(ACQUIRE, values);
    if (row === undefined) return false;
    this.#epoch = row['epoch'] as string;
    this.#renew();
    return true;
  }

  /**
   * Waits for the lease of another process to expire, and takes it.
   *
   * @throws LogError `log_locked` when another process keeps the lease, `log_unavailable`
   */
  async acquire(): Promise<void> {
    const deadline = performance.now() + this.#postgres.patience_ms;
    for (;;) {
      let failure: LogError | null = null;
      try {
        if (await this.tryAcquire()) return;
      } catch (cause) {
        failure = this.#postgres.unavailable(cause);
      }
      if (performance.now() > deadline) throw failure ?? (await this.taken());
      await sleep(RETRY_MS);
    }
  }

  /** Lets another process take the lease at once. */
  async release(): Promise<void> {
    const epoch = this.#epoch;
    this.#drop();
    if (epoch !== null) await this.#postgres.once(RELEASE, [epoch]).catch(() => undefined);
  }

  /** The error for a lease that another process holds. */
  async taken(): Promise<LogError> {
    const [row] = await this.#postgres.query('SELECT address FROM actlog_lease');
    const holder = row === undefined ? 'no process' : (row['address'] as string);
    return new LogError(
      'log_locked',
      `the lease in ${this.#postgres.place} is held by ${holder}: one process at a time may write. Stop the other ` +
        'one, or give this service a database of its own in DATABASE_URL',
    );
  }

  #drop(): void {
    clearInterval(this.#renewal);
    this.#epoch = null;
  }

  #renew(): void {
    clearInterval(this.#renewal);
    const interval = this.#lease_ms / 3;
    let asked_ms: number | null = null;
    let turn_ms = performance.now();
    const { onLost } = this.#options;
    const lose = (epoch: string): void => {
      if (onLost === undefined || this.#epoch !== epoch) return;
      this.#drop();
      onLost();
    };
    this.#renewal = setInterval(() => {
      const epoch = this.#epoch;
      if (epoch === null) return;
      const now = performance.now();
      // After a pause of this process the answer may be there, but not read yet.
      const paused = now - turn_ms > 2 * interval;
      turn_ms = now;
      if (asked_ms !== null && !paused && now - asked_ms >= this.#lease_ms - interval) lose(epoch);
      if (asked_ms !== null) return;
      asked_ms = now;
      const ask = (): void => {
        this.#postgres.once(RENEW, [epoch, this.#lease_ms]).then(
          ([row]) => {
            asked_ms = null;
            if (row === undefined) lose(epoch);
          },
          () => {
            if (this.#epoch === epoch) setTimeout(ask, RETRY_MS);
          },
        );
      };
      ask();
    }, interval).unref();
  }
}

function withoutPassword(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return 'the database of DATABASE_URL';
  }
}
