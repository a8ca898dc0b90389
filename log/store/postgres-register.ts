// The checkpoint register in PostgreSQL, with a lease that names the one process that may advance it.
//
// Two tables. `actlog_register` holds the named values, as canonical JSON. `actlog_lease` has one row: the epoch, the
// holder of the lease and the time at which the lease expires, by PostgreSQL's clock. Each process that takes the lease
// raises the epoch, and `advance` compares the epoch and the value in one statement. A process that was paused or cut
// off while another one took the lease therefore changes nothing when it continues.
//
// The lease provides liveness only: it keeps a second process from starting. Safety rests on the comparison.
// Loads the package pg when it is opened, never before. Server only.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, QueryResultRow } from 'pg';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { JsonObject } from '../encoding/json.ts';
import { isLogError, LogError } from '../errors.ts';
import { checkName } from './register.ts';
import type { FolderRegister } from './register.ts';

/** How a register in PostgreSQL is opened. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; one database for each service. */
  readonly url: string;
  /** How long the lease lasts after its last renewal, in milliseconds. It is renewed three times as often. */
  readonly lease_ms?: number;
  /** How long a start waits for the lease of another process to expire, and an advance for a lost connection. */
  readonly patience_ms?: number;
}

const LEASE_MS = 3000;
const PATIENCE_MS = 10_000;
const RETRY_MS = 100;

const TABLES = `
  SELECT pg_advisory_xact_lock(hashtext('actlog'));
  CREATE TABLE IF NOT EXISTS actlog_lease (
    id integer PRIMARY KEY CHECK (id = 1), epoch bigint NOT NULL, holder uuid NOT NULL,
    address text NOT NULL, expires_at timestamptz NOT NULL);
  CREATE TABLE IF NOT EXISTS actlog_register (name text PRIMARY KEY, value text NOT NULL);`;

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

// The row of the lease is locked for share, so that no other process takes the lease before the change is committed.
const HELD = 'held AS (SELECT 1 FROM actlog_lease WHERE epoch = $1 FOR SHARE)';
const COUNTS =
  'SELECT (SELECT count(*) FROM held) AS held, (SELECT count(*) FROM changed) AS changed';
const INSERT = `
  WITH ${HELD}, changed AS (
    INSERT INTO actlog_register (name, value) SELECT $2, $3 FROM held ON CONFLICT DO NOTHING RETURNING 1
  ) ${COUNTS}`;
const UPDATE = `
  WITH ${HELD}, changed AS (
    UPDATE actlog_register SET value = $3 WHERE name = $2 AND value = $4 AND EXISTS (SELECT 1 FROM held)
    RETURNING 1
  ) ${COUNTS}`;

/** A register in a PostgreSQL database. */
export class PostgresRegister implements FolderRegister {
  /** The database without the password, for messages. */
  readonly place: string;
  readonly shared = true;
  readonly #pool: Pool;
  readonly #lease_ms: number;
  readonly #patience_ms: number;
  readonly #holder = randomUUID();
  /** Null until the lease is taken, and after it was released. */
  #epoch: string | null = null;
  #renewal: NodeJS.Timeout | undefined;

  private constructor(pool: Pool, place: string, { lease_ms, patience_ms }: PostgresOptions) {
    this.#pool = pool;
    this.place = place;
    this.#lease_ms = lease_ms ?? LEASE_MS;
    this.#patience_ms = patience_ms ?? PATIENCE_MS;
  }

  /**
   * Connects to the database and makes the tables that are missing. The lease is taken by `prepare`.
   *
   * @throws LogError `log_unavailable` when the database does not answer
   */
  static async open(options: PostgresOptions): Promise<PostgresRegister> {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      connectionString: options.url,
      application_name: 'actlog',
      max: 4,
      connectionTimeoutMillis: 5000,
      query_timeout: 10_000,
      // A commit is durable whatever the default of the server is.
      options: '-c synchronous_commit=on -c lock_timeout=5000',
    });
    // An idle connection that breaks is replaced by the next query.
    pool.on('error', () => undefined);
    const register = new PostgresRegister(pool, withoutPassword(options.url), options);
    try {
      await pool.query(`BEGIN; ${TABLES} COMMIT`);
      return register;
    } catch (cause) {
      await pool.end();
      throw register.#unavailable(cause);
    }
  }

  where(name: string): string {
    return `${checkName(name)} in ${this.place}`;
  }

  /**
   * Takes the lease, and renews it until the register is closed. If another process holds the lease, waits for it to
   * expire.
   *
   * @throws LogError `log_locked` when another process keeps the lease, `log_unavailable`
   */
  async prepare(): Promise<void> {
    const deadline = performance.now() + this.#patience_ms;
    for (;;) {
      const address = `${hostname()}, process ${String(process.pid)}`;
      const [row] = await this.#query(ACQUIRE, [this.#holder, address, this.#lease_ms]);
      if (row !== undefined) {
        this.#epoch = row['epoch'] as string;
        break;
      }
      if (performance.now() > deadline) throw await this.#taken();
      await sleep(RETRY_MS);
    }
    clearInterval(this.#renewal);
    this.#renewal = setInterval(() => {
      // A failure is not fatal: the lease stays ours until another process takes it, which `advance` finds.
      this.#pool.query(RENEW, [this.#epoch, this.#lease_ms]).catch(() => undefined);
    }, this.#lease_ms / 3).unref();
  }

  async names(): Promise<string[]> {
    const rows = await this.#query('SELECT name FROM actlog_register ORDER BY name', []);
    return rows.map((row) => row['name'] as string);
  }

  async read(name: string): Promise<JsonObject | null> {
    const text = await this.#text(name);
    if (text === null) return null;
    try {
      const value = parseJson(text);
      if (isJsonObject(value)) return value;
    } catch {
      // Reported below, as is JSON that is not an object.
    }
    throw new LogError('store_corrupt', `${this.where(name)} is not a JSON object`);
  }

  async advance(name: string, from: JsonObject | null, to: JsonObject): Promise<void> {
    const [before, after] = [from === null ? null : canonical(from), canonical(to)];
    const deadline = performance.now() + this.#patience_ms;
    for (;;) {
      try {
        if (await this.#change(name, before, after)) return;
        throw await this.#conflict(name);
      } catch (cause) {
        if (isLogError(cause)) throw cause;
        // The connection may have been lost after the commit. The stored value shows whether the change was committed.
        const stored = await this.#text(name);
        if (stored === after) return;
        if (stored !== before) throw await this.#conflict(name);
        if (performance.now() > deadline) throw this.#unavailable(cause);
        await sleep(RETRY_MS);
      }
    }
  }

  /** Deletes all values, after they were copied to another register. */
  async clear(): Promise<void> {
    await this.#query('DELETE FROM actlog_register', []);
  }

  /** Releases the lease, so that another process need not wait for it to expire, and disconnects. */
  async close(): Promise<void> {
    if (this.#pool.ended) return;
    clearInterval(this.#renewal);
    const epoch = this.#epoch;
    this.#epoch = null;
    if (epoch !== null) await this.#pool.query(RELEASE, [epoch]).catch(() => undefined);
    await this.#pool.end();
  }

  async #change(name: string, before: string | null, after: string): Promise<boolean> {
    const { rows } =
      before === null
        ? await this.#pool.query<Counts>(INSERT, [this.#epoch, checkName(name), after])
        : await this.#pool.query<Counts>(UPDATE, [this.#epoch, checkName(name), after, before]);
    const [counts] = rows;
    if (counts?.held !== '1') throw await this.#taken();
    return counts.changed === '1';
  }

  async #text(name: string): Promise<string | null> {
    const sql = 'SELECT value FROM actlog_register WHERE name = $1';
    const [row] = await this.#query(sql, [checkName(name)]);
    return row === undefined ? null : (row['value'] as string);
  }

  /** Runs an idempotent statement, and repeats it until it succeeds or `patience_ms` is over. */
  async #query(sql: string, values: unknown[]): Promise<QueryResultRow[]> {
    const deadline = performance.now() + this.#patience_ms;
    for (;;) {
      try {
        return (await this.#pool.query(sql, values)).rows as QueryResultRow[];
      } catch (cause) {
        if (performance.now() > deadline) throw this.#unavailable(cause);
        await sleep(RETRY_MS);
      }
    }
  }

  async #conflict(name: string): Promise<LogError> {
    const [row] = await this.#query('SELECT 1 FROM actlog_lease WHERE epoch = $1', [this.#epoch]);
    if (row === undefined) return this.#taken();
    return new LogError(
      'log_locked',
      `${this.where(name)} has another value than this process last read or wrote: another service uses the same ` +
        'database, or the row was changed',
    );
  }

  async #taken(): Promise<LogError> {
    const [row] = await this.#query('SELECT address FROM actlog_lease', []);
    const holder = row === undefined ? 'no process' : (row['address'] as string);
    return new LogError(
      'log_locked',
      `the lease in ${this.place} is held by ${holder}: one process at a time may write. Stop the other one, or ` +
        'give this service a database of its own in DATABASE_URL',
    );
  }

  #unavailable(cause: unknown): LogError {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new LogError(
      'log_unavailable',
      `the checkpoint register in ${this.place} does not answer (${why}): check DATABASE_URL and the database`,
      { cause },
    );
  }
}

/** How many rows a conditional change found; PostgreSQL's counts are strings. */
interface Counts {
  readonly held: string;
  readonly changed: string;
}

function withoutPassword(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return 'the database of DATABASE_URL';
  }
}
