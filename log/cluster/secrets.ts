// The secrets of a cluster in PostgreSQL: private key files and the keys of disclosures, each sealed with AES-256-GCM
// (NIST SP 800-38D) and its name as associated data. The sealing key is derived from the operator's passphrase by scrypt
// (RFC 7914) with a salt of the cluster. Secrets are never in a round or a snapshot: deleting the row deletes the only
// copy, except for copies that PostgreSQL itself makes (its write-ahead log and the operator's backups of it).

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scrypt } from 'node:crypto';
import { isLogError, LogError } from '../errors.ts';
import { HELD } from '../store/postgres.ts';
import { Turns } from '../turns.ts';
import { MARK } from './database.ts';
import type { ClusterDatabase } from './database.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** 128 MiB for a guess. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

const MARK_BYTES = 16;

/** The row of the salt, which is not sealed, and the row that only the right passphrase opens. */
const SALT = 'salt';
const CHECK = 'check';

const ADD = 'INSERT INTO actlog_secret (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING';
const PUT = `
  WITH ${HELD}
  INSERT INTO actlog_secret (name, sealed) SELECT s.name, s.sealed FROM unnest($2::text[], $3::bytea[]) AS s(name, sealed), held
  ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed RETURNING 1`;
const DELETE = `
  WITH ${HELD}, gone AS (
    DELETE FROM actlog_secret WHERE name = ANY($2::text[]) AND EXISTS (SELECT 1 FROM held) RETURNING 1
  ) SELECT count(*) AS held FROM held`;

/** The sealed rows of a cluster. */
export class Secrets {
  readonly #database: ClusterDatabase;
  readonly #key: Buffer;
  readonly #puts = new Turns();

  private constructor(database: ClusterDatabase, key: Buffer) {
    this.#database = database;
    this.#key = key;
  }

  /**
   * Derives the sealing key. The first node of a cluster makes the salt.
   *
   * @throws LogError `key_invalid` if the passphrase is not that of the other nodes, `log_unavailable`
   */
  static async open(database: ClusterDatabase, passphrase: string): Promise<Secrets> {
    const { postgres } = database;
    await postgres.query(ADD, [SALT, randomBytes(32)]);
    const rows = await postgres.query('SELECT sealed FROM actlog_secret WHERE name = $1', [SALT]);
    const salt = rows[0]?.['sealed'] as Buffer;
    const key = await new Promise<Buffer>((resolve, reject) => {
      scrypt(passphrase, salt, 32, COST, (error, derived) => {
        if (error === null) resolve(derived);
        else reject(error);
      });
    });
    const secrets = new Secrets(database, key);
    await postgres.query(ADD, [CHECK, secrets.#seal(CHECK, Buffer.from(CHECK))]);
    try {
      await secrets.get(CHECK);
    } catch (cause) {
      if (isLogError(cause) && cause.code === 'log_unavailable') throw cause;
      throw new LogError(
        'key_invalid',
        'the passphrase in KEY_PASSPHRASE_FILE is not the one that the other nodes of this cluster use',
        { cause },
      );
    }
    return secrets;
  }

  /** A key for another purpose, derived from the sealing key (HKDF, RFC 5869). 32 bytes. */
  derived(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#key, new Uint8Array(0), `actlog ${purpose}`, 32));
  }

  /**
   * The secret of a name; undefined if there is none.
   *
   * @throws LogError `log_unavailable`, `store_corrupt`
   */
  async get(name: string): Promise<Uint8Array | undefined> {
    const sql = 'SELECT sealed FROM actlog_secret WHERE name = $1';
    const [row] = await this.#database.postgres.query(sql, [name]);
    return row === undefined ? undefined : this.#open(name, row['sealed'] as Buffer);
  }

  /** All secrets whose names have a prefix. A leader commits no round on a database that loses one of them later. */
  async all(prefix: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const { lease, postgres } = this.#database;
    if (lease.epoch !== null) await this.#database.marks(lease.epoch);
    const sql = 'SELECT name, sealed FROM actlog_secret WHERE starts_with(name, $1) ORDER BY name';
    const rows = await postgres.query(sql, [prefix]);
    return new Map(
      rows.map(({ name, sealed }) => [
        name as string,
        this.#open(name as string, sealed as Buffer),
      ]),
    );
  }

  /**
   * Puts secrets; only the leader may. They are durable when it resolves. If the database loses them later, this node
   * commits no more rounds in its epoch.
   *
   * @throws LogError `not_leader`, `log_unavailable`
   */
  async put(secrets: ReadonlyMap<string, Uint8Array>): Promise<void> {
    if (secrets.size === 0) return;
    await this.#puts.run(async () => {
      const epoch = this.#epoch();
      const mark = randomBytes(MARK_BYTES);
      this.#database.expectMarks(epoch, [...(await this.#database.marks(epoch)), mark]);
      const sealed = [...secrets].map(([name, secret]) => this.#seal(name, secret));
      const values = [epoch, [...secrets.keys(), MARK], [...sealed, mark]];
      const rows = await this.#database.postgres.query(PUT, values);
      if (rows.length !== secrets.size + 1) throw notLeader();
      this.#database.expectMarks(epoch, [mark]);
    });
  }

  /**
   * Adds secrets that the database has lost. Those that it has stay as they are.
   *
   * @throws LogError `log_unavailable`
   */
  async giveBack(secrets: ReadonlyMap<string, Uint8Array>): Promise<void> {
    for (const [name, secret] of secrets) {
      await this.#database.postgres.query(ADD, [name, this.#seal(name, secret)]);
    }
  }

  /**
   * Deletes secrets; only the leader may.
   *
   * @throws LogError `not_leader`, `log_unavailable`
   */
  async delete(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const [row] = await this.#database.postgres.query(DELETE, [this.#epoch(), [...names]]);
    if (row?.['held'] !== '1') throw notLeader();
  }

  #epoch(): string {
    const { epoch } = this.#database.lease;
    if (epoch === null) throw notLeader();
    return epoch;
  }

  #seal(name: string, secret: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(name));
    const hidden = Buffer.concat([cipher.update(secret), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), hidden]);
  }

  #open(name: string, sealed: Buffer): Uint8Array {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(name));
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const secret = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([secret, decipher.final()]);
    } catch (cause) {
      throw new LogError('store_corrupt', 'a secret of the cluster does not open', { cause });
    }
  }
}

const notLeader = (): LogError =>
  new LogError('not_leader', 'this node follows, and another one keeps the secrets');
