// The rows of the gateway's small databases, how a database is opened and closed, and its position. synced-level.ts (a
// database in use) and level-care.ts (checks while no server runs) are built on this.
//
// The position is the number of writes that a database has taken and a digest of its rows. It changes in the batch of
// every write. The checkpoint register, which is outside the data folder, stores a copy that is advanced after the batch
// and before the write is acknowledged. A database that lost a write, or that is an older copy, has another position
// than the register and is refused. A crash between the two steps leaves the database one write ahead, never behind.

import { hash } from 'node:crypto';
import { ClassicLevel } from 'classic-level';
import {
  checkCurrent,
  checkJournals,
  checkTables,
  howLeft,
  LogError,
  markInUse,
  rememberJournals,
  sealRow,
  systemReason,
  unmark,
  unsealRow,
} from '../../log/index.ts';
import type { JsonObject, Register } from '../../log/index.ts';

/** A row. */
export interface LevelRow {
  readonly key: string;
  readonly value: Uint8Array;
}

/** The identity of a database. */
export interface LevelPlace {
  /** Its name in the register, and in messages. */
  readonly name: string;
  readonly register: Register;
  /** Prefix of the keys of counts: decimal numbers that never decrease. */
  readonly counts?: string;
  /** A clause for errors: the command that starts over when the database is lost. */
  readonly anew?: string;
}

/** The LevelDB database. Its values include their checksums. */
export type Level = ClassicLevel<string, Uint8Array>;

/** The row of the position. */
export const POSITION = '!position';
/** The row that names the last upgraded row, while `upgrade` is not finished. */
const UPGRADED = '!upgraded';
/** The rows above sort before this key, all other rows behind it. */
export const OWN = '"';
const UPGRADE_ROWS = 1000;

/** Tables are compared as they are: plain. */
export const levelIn = (folder: string): Level =>
  new ClassicLevel(folder, { valueEncoding: 'view', compression: false });

/** Whether a database exists. If no process has it open, its tables and journals are compared with their checksums. */
export async function checkFiles(folder: string): Promise<boolean> {
  // This must come before a ClassicLevel object is made, because that opens the database by itself.
  if (!(await checkCurrent(folder))) return false;
  if ((await howLeft(folder)) !== 'open') {
    await checkTables(folder);
    await checkJournals(folder);
  }
  return true;
}

/** Opens a database. Throws `log_locked` if another process has it open. */
export async function openLevel(db: Level, folder: string): Promise<void> {
  try {
    await db.open();
  } catch (error) {
    const cause = (error as Error).cause as { code?: string } | undefined;
    if (cause?.code !== 'LEVEL_LOCKED') throw unavailable(folder, error);
    const advice = 'stop it first, or give this one another DATA_DIR';
    const message = `another process has the data in ${folder} open: ${advice}`;
    throw new LogError('log_locked', message, { cause: error });
  }
  await markInUse(folder);
}

/** Closes a database and notes the length of its journal, which the next opening compares. */
export async function closeLevel(db: Level, folder: string): Promise<void> {
  await rememberJournals(folder);
  await unmark(folder);
  await db.close();
}

/** The error for any failure of LevelDB. */
export const unavailable = (folder: string, cause: unknown): LogError =>
  new LogError(
    'log_unavailable',
    `the database in ${folder} does not answer${systemReason(cause)}`,
    {
      cause,
    },
  );

/** Whether a read failed because of damage on the disk: a row or a block with a wrong checksum. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: string };
  return code === 'store_corrupt' || code === 'LEVEL_CORRUPTION' || isDamage(error.cause);
}

/** The error for a database that has lost writes. It names both remedies. */
export function rolledBack(folder: string, name: string, what: string): LogError {
  return refusal(folder, name, what, '"actlog adopt" accepts on purpose what is there');
}

/** The error for a database that is missing. */
export function gone(folder: string, { name, register, anew }: LevelPlace): LogError {
  const what = `is gone, and ${register.where(name)} knows of it`;
  return refusal(folder, name, what, anew ?? '"actlog adopt" goes on without it on purpose');
}

const refusal = (folder: string, name: string, what: string, way: string): LogError =>
  new LogError(
    'log_rolled_back',
    `the database of ${name} in ${folder} ${what}: writes that were acknowledged are lost, and the service does ` +
      `not start without them. Put the newest copy of ${folder} back; if there is none, ${way}`,
  );

/** The stored form of a value: with its checksum. */
export function sealed(key: string, value: Uint8Array): Uint8Array {
  return sealRow(Buffer.from(key), value);
}

/** The value of a stored form. Throws `store_corrupt` if it is damaged. */
export function unsealed(key: string, value: Uint8Array): Uint8Array {
  // Errors name the prefix of a key only, because the rest may be a secret or identify one.
  return unsealRow(Buffer.from(key), value, key.includes('/') ? (key.split('/')[0] ?? '') : 'key');
}

/** Undefined in a new database and in one of an earlier release. */
export function positionIn(value: Uint8Array | undefined): Position | undefined {
  if (value === undefined) return undefined;
  return JSON.parse(Buffer.from(unsealed(POSITION, value)).toString()) as Position;
}

/** Whether a row is a count. */
export const isCount = (key: string, counts: string | undefined): boolean =>
  counts !== undefined && key.startsWith(counts);

/** The number of a count; 0 if there is no row. */
export const countIn = (value: Uint8Array | undefined): number =>
  value === undefined ? 0 : Number(Buffer.from(value).toString());

/** All rows but the position and the progress of an upgrade. */
export async function* rowsIn(
  db: Level,
  range: { readonly lte?: string } = {},
): AsyncGenerator<LevelRow> {
  for await (const [key, value] of db.iterator({ ...range, gt: OWN })) {
    yield { key, value: unsealed(key, value) };
  }
}

/** The sum of all counts. */
export async function countsIn(db: Level, counts: string): Promise<number> {
  let sum = 0;
  for await (const { key, value } of rowsIn(db)) {
    if (isCount(key, counts)) sum += countIn(value);
  }
  return sum;
}

/** The digest of rows, without counts. */
export function digestIn(rows: readonly LevelRow[], counts: string | undefined): string {
  let digest = NOTHING.digest;
  for (const row of rows) digest = withRow(digest, row, counts);
  return digest;
}

/** Adds checksums and a position to a database of an earlier release. After a crash it continues where it stopped. */
export async function upgrade(db: Level, counts: string | undefined): Promise<Position> {
  let digest = NOTHING.digest;
  const done = db.getSync(UPGRADED);
  let after = done === undefined ? '' : Buffer.from(unsealed(UPGRADED, done)).toString();
  if (after !== '') {
    for await (const row of rowsIn(db, { lte: after })) digest = withRow(digest, row, counts);
  }
  for (;;) {
    const rows = await db.iterator({ gt: after === '' ? OWN : after, limit: UPGRADE_ROWS }).all();
    const batch = db.batch();
    for (const [key, value] of rows) {
      batch.put(key, sealed(key, value));
      digest = withRow(digest, { key, value }, counts);
    }
    after = rows.at(-1)?.[0] ?? after;
    if (rows.length < UPGRADE_ROWS) {
      const position: Position = { writes: 1, digest, before: null };
      batch.put(POSITION, sealed(POSITION, Buffer.from(JSON.stringify(position))));
      batch.del(UPGRADED);
      await batch.write({ sync: true });
      return position;
    }
    batch.put(UPGRADED, sealed(UPGRADED, Buffer.from(after)));
    await batch.write({ sync: true });
  }
}

const withRow = (digest: string, { key, value }: LevelRow, counts: string | undefined): string =>
  isCount(key, counts) ? digest : added(digest, digestOf(key, value));

/** A state of the rows. */
interface Head {
  readonly writes: number;
  /** Hex of the sum of the SHA-256 of all rows but counts, modulo 2^256. It does not depend on their order. */
  readonly digest: string;
}

/** What the database stores: its state, and the state before the last write, which the register may still have. */
export interface Position extends Head {
  readonly before: Head | null;
}

/** What the register stores. `counted` is the sum of all counts at that time. It never decreases. */
export interface Remembered extends Head {
  readonly counted: number;
}

const MODULUS = 1n << 256n;

/** The state of an empty database. */
export const NOTHING: Head = { writes: 0, digest: '0'.repeat(64) };

/** The summand of a row in the digest. */
export function digestOf(key: string, value: Uint8Array): bigint {
  const head = Buffer.from(`${String(Buffer.byteLength(key))}:${key}:`);
  return BigInt(`0x${hash('sha256', Buffer.concat([head, value]), 'hex')}`);
}

/** Adds a difference to a digest. */
export function added(digest: string, difference: bigint): string {
  const sum = (BigInt(`0x${digest}`) + difference) % MODULUS;
  return (sum < 0n ? sum + MODULUS : sum).toString(16).padStart(64, '0');
}

const same = (a: Head, b: Head): boolean => a.writes === b.writes && a.digest === b.digest;

/** The state that a register has under a name; null if it has none. */
export async function readRemembered(register: Register, name: string): Promise<Remembered | null> {
  const value = await register.read(name);
  if (value === null) return null;
  const { writes, digest, counted } = value as Partial<Record<keyof Remembered, unknown>>;
  if (
    !Number.isSafeInteger(writes) ||
    !Number.isSafeInteger(counted) ||
    typeof digest !== 'string' ||
    !/^[0-9a-f]{64}$/.test(digest)
  ) {
    throw new LogError(
      'store_corrupt',
      `${register.where(name)} does not hold a valid state of that database`,
    );
  }
  return { writes: writes as number, digest, counted: counted as number };
}

export const asJson = ({ writes, digest, counted }: Remembered): JsonObject => ({
  writes,
  digest,
  counted,
});

/**
 * Compares a database with the register. Returns null if it has every acknowledged write, otherwise a clause that says
 * what is wrong. The database may be one write ahead, because a crash can come before the register is advanced.
 */
export function lack(
  { position, counted }: { readonly position: Position; readonly counted: number },
  remembered: Remembered | null,
  where: string,
): string | null {
  if (remembered === null) {
    return position.before === null
      ? null
      : `has taken ${String(position.writes)} writes, and ${where} with its last one is missing`;
  }
  const atRegister = same(position, remembered);
  const oneAhead = position.before !== null && same(position.before, remembered);
  if (!atRegister && !oneAhead) {
    const knows = `${where} knows of ${String(remembered.writes)} writes`;
    return position.writes < remembered.writes
      ? `ends at write ${String(position.writes)}, ${knows}`
      : `has other rows than were acknowledged (${String(position.writes)} writes, ${knows})`;
  }
  if (counted < remembered.counted) {
    return `counts ${String(counted)}, ${where} knows of ${String(remembered.counted)}`;
  }
  return null;
}
