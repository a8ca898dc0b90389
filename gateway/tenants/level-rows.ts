// The rows of the gateway's databases, and how one is opened and closed: what synced-level.ts and level-care.ts share.

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
import type { Register } from '../../log/index.ts';
import { added, digestOf, NOTHING } from './position.ts';
import type { Position } from './position.ts';

/** A row. */
export interface LevelRow {
  readonly key: string;
  readonly value: Uint8Array;
}

/** What a database is, beside its folder. */
export interface LevelPlace {
  /** Its name in the register, and in messages. */
  readonly name: string;
  readonly register: Register;
  /** Beginning of the keys of counts: decimal numbers that only grow. */
  readonly counts?: string;
  /** In words, the command that begins anew where nothing is left of it. */
  readonly anew?: string;
}

/** The database as LevelDB has it: values with their checksums. */
export type Level = ClassicLevel<string, Uint8Array>;

/** Row of the position. */
export const POSITION = '!position';
/** While rows of an earlier release are sealed: the last one that is. */
const UPGRADED = '!upgraded';
/** Rows of the database itself sort before this, all others behind. */
export const OWN = '"';
const UPGRADE_ROWS = 1000;

/** Tables are compared as they are: plain. */
export const levelIn = (folder: string): Level =>
  new ClassicLevel(folder, { valueEncoding: 'view', compression: false });

/** Whether there is a database; its tables and journals hold unless another process has it open. */
export async function checkFiles(folder: string): Promise<boolean> {
  // Before there is a database object, since one opens by itself.
  if (!(await checkCurrent(folder))) return false;
  if ((await howLeft(folder)) !== 'open') {
    await checkTables(folder);
    await checkJournals(folder);
  }
  return true;
}

/** `log_locked` when another process holds it. */
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

/** Closes it in good order: the next opening knows how long its journal is. */
export async function closeLevel(db: Level, folder: string): Promise<void> {
  await rememberJournals(folder);
  await unmark(folder);
  await db.close();
}

/** For whatever LevelDB throws. */
export const unavailable = (folder: string, cause: unknown): LogError =>
  new LogError(
    'log_unavailable',
    `the database in ${folder} does not answer${systemReason(cause)}`,
    {
      cause,
    },
  );

/** Whether a read failed because of what is on the disk: a row without its checksum, or a block that is none. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: string };
  return code === 'store_corrupt' || code === 'LEVEL_CORRUPTION' || isDamage(error.cause);
}

/** Says what is lost, and the two ways out. */
export function rolledBack(folder: string, name: string, what: string): LogError {
  return refusal(folder, name, what, '"actlog adopt" accepts on purpose what is there');
}

/** The same where nothing is left. */
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

/** A value as it is stored. */
export function sealed(key: string, value: Uint8Array): Uint8Array {
  return sealRow(Buffer.from(key), value);
}

/** The value of a stored one; `store_corrupt` when it is damaged. */
export function unsealed(key: string, value: Uint8Array): Uint8Array {
  // What stands behind the name of a kind may be a secret, or name one.
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

/** A count as a number; 0 for none. */
export const countIn = (value: Uint8Array | undefined): number =>
  value === undefined ? 0 : Number(Buffer.from(value).toString());

/** All rows that are not of the database's own. */
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

/** The digest of rows, counts left out. */
export function digestIn(rows: readonly LevelRow[], counts: string | undefined): string {
  let digest = NOTHING.digest;
  for (const row of rows) digest = withRow(digest, row, counts);
  return digest;
}

/** Seals the rows of an earlier release, some at a time, so that a crash goes on where it was; then has a position. */
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
