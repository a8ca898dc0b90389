// The checkpoint register in PostgreSQL. The table `actlog_register` holds the named values, as canonical JSON.
// `advance` compares the epoch of the lease (postgres.ts) and the value in one statement: only the process that holds
// the lease advances the register. Server only.

import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { JsonObject } from '../encoding/json.ts';
import { isLogError, LogError } from '../errors.ts';
import { HELD, Lease, LEASE_TABLE, Postgres } from './postgres.ts';
import { checkName } from './register.ts';
import type { FolderRegister } from './register.ts';

/** How a register with a pool and a lease of its own is opened. */
export interface PostgresRegisterOptions {
  readonly url: string;
  readonly lease_ms?: number;
  /** How long a start waits for the lease of another process to expire, and an advance for a lost connection. */
  readonly patience_ms?: number;
}

const RETRY_MS = 100;

/** The table of the register. */
export const REGISTER_TABLE =
  'CREATE TABLE IF NOT EXISTS actlog_register (name text PRIMARY KEY, value text NOT NULL);';

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
  readonly shared = true;
  readonly #postgres: Postgres;
  readonly #lease: Lease;

  /** A register on a pool and a lease that the caller owns. `prepare` and `close` are then not for this register. */
  constructor(postgres: Postgres, lease: Lease) {
    this.#postgres = postgres;
    this.#lease = lease;
  }

  /**
   * Connects to the database and makes the tables that are missing. The lease is taken by `prepare`.
   *
   * @throws LogError `log_unavailable` when the database does not answer
   */
  static async open({ url, lease_ms, patience_ms }: PostgresRegisterOptions) {
    const postgres = await Postgres.open(
      { url, ...(patience_ms === undefined ? {} : { patience_ms }) },
      LEASE_TABLE + REGISTER_TABLE,
    );
    const lease = new Lease(postgres, {
      address: `${hostname()}, process ${String(process.pid)}`,
      ...(lease_ms === undefined ? {} : { lease_ms }),
    });
    return new PostgresRegister(postgres, lease);
  }

  /** The database without the password, for messages. */
  get place(): string {
    return this.#postgres.place;
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
  prepare(): Promise<void> {
    return this.#lease.acquire();
  }

  async names(): Promise<string[]> {
    const rows = await this.#postgres.query('SELECT name FROM actlog_register ORDER BY name');
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
    const deadline = performance.now() + this.#postgres.patience_ms;
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
        if (performance.now() > deadline) throw this.#postgres.unavailable(cause);
        await sleep(RETRY_MS);
      }
    }
  }

  /** Deletes all values, after they were copied to another register. */
  async clear(): Promise<void> {
    await this.#postgres.query('DELETE FROM actlog_register');
  }

  /** Releases the lease, so that another process need not wait for it to expire, and disconnects. */
  async close(): Promise<void> {
    if (this.#postgres.ended) return;
    await this.#lease.release();
    await this.#postgres.end();
  }

  async #change(name: string, before: string | null, after: string): Promise<boolean> {
    const { epoch } = this.#lease;
    // A lease that was lost is not asked for: the database may not answer.
    if (epoch === null) throw await this.#lease.taken();
    const [counts] =
      before === null
        ? await this.#postgres.once(INSERT, [epoch, checkName(name), after])
        : await this.#postgres.once(UPDATE, [epoch, checkName(name), after, before]);
    // Counts of PostgreSQL are strings.
    if (counts?.['held'] !== '1') throw await this.#lease.taken();
    return counts['changed'] === '1';
  }

  async #text(name: string): Promise<string | null> {
    const sql = 'SELECT value FROM actlog_register WHERE name = $1';
    const [row] = await this.#postgres.query(sql, [checkName(name)]);
    return row === undefined ? null : (row['value'] as string);
  }

  async #conflict(name: string): Promise<LogError> {
    const sql = 'SELECT 1 FROM actlog_lease WHERE epoch = $1';
    const [row] = await this.#postgres.query(sql, [this.#lease.epoch]);
    if (row === undefined) return this.#lease.taken();
    return new LogError(
      'log_locked',
      `${this.where(name)} has another value than this process last read or wrote: another service uses the same ` +
        'database, or the row was changed',
    );
  }
}
