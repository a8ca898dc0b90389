// Checks the journals of a LevelDB database: the files with the last writes, which are in no table yet. LevelDB
// silently drops damaged records of a journal, and treats a missing or truncated one as empty. This check finds both
// before LevelDB opens the database. LevelDB, doc/log_format.md; the form of a record: db/write_batch.cc.
//
// A crash may cut off the end of a journal, in the middle of a write that was not acknowledged. A bad record is
// therefore reported as damage only if a synced write follows it, because the sync made everything before it durable,
// or if the database was closed properly.

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LogError } from '../errors.ts';
import { removeLeftovers, writeDurableFile } from './durable-file.ts';
import { readManifest } from './manifest.ts';
import { isDamaged, recordsIn, Varints } from './leveldb-files.ts';

const file = (folder: string): string => join(folder, 'IN_USE');

/** Whether the last program that opened a database closed it, still has it open, or ended without closing it. */
export type Left = 'closed' | 'open' | 'unclosed';

/** Reads the file that records this. A missing folder counts as never opened. */
export async function howLeft(folder: string): Promise<Left> {
  const pid = await readFile(file(folder), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (pid === null) return 'closed';
  // In a container every program has the same process id, so our own id in the file is that of an earlier program.
  return Number(pid) !== process.pid && runs(Number(pid)) ? 'open' : 'unclosed';
}

function runs(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Records that this program has the database open. The record survives a power failure. Best effort, because a full
 * disk must not prevent opening.
 */
export async function markInUse(folder: string): Promise<void> {
  try {
    await removeLeftovers(folder);
    await writeDurableFile(file(folder), String(process.pid));
  } catch {
    // After a crash, the next start does not check the tables then. The periodic scrub does.
  }
}

/** Removes that record while the database is still locked, so that the record of another program is never removed. */
export async function unmark(folder: string): Promise<void> {
  await rm(file(folder), { force: true }).catch(() => undefined);
}

/** The file with the lengths of the journals at the last close. It is in the folder of the database. */
const CLOSED = 'CLOSED';
/** The header of a record: the sequence number of its first row (u64) and the number of rows (u32). */
const HEADER_BYTES = 12;
const PUT = 1;

const nameOf = (journal: number): string => `${String(journal).padStart(6, '0')}.log`;

/** Whether a row belongs to a synced write. */
export type IsSynced = (key: Uint8Array) => boolean;

/**
 * Finds acknowledged writes that the journals of a database have lost. Does nothing while another process has it open.
 *
 * @param isSynced whether the row with a key was written with a sync; by default all rows were
 * @throws LogError `store_corrupt` with the file and the byte, if acknowledged writes were lost
 */
export async function checkJournals(
  folder: string,
  isSynced: IsSynced = () => true,
): Promise<void> {
  const from = await oldestJournal(folder);
  if (from === 0) return;
  const missing = await compare(folder, from, isSynced).catch((error: unknown) => {
    // Another process has the database open, and LevelDB wrote this journal to a table and deleted it.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (missing === null) return;
  if ((await howLeft(folder)) === 'open' || (await oldestJournal(folder)) !== from) return;
  throw new LogError(
    'store_corrupt',
    `the database in ${folder} ${missing}: acknowledged writes are lost. Nothing was touched: keep a copy, and ` +
      'restore from a backup or a mirror',
  );
}

/** The number of the oldest journal; 0 if there is none, or if the MANIFEST is damaged, which LevelDB reports. */
async function oldestJournal(folder: string): Promise<number> {
  try {
    return (await readManifest(folder))?.journal ?? 0;
  } catch (error) {
    if (isDamaged(error)) return 0;
    throw error;
  }
}

/** Describes what the journals lack; null if they are complete. */
async function compare(folder: string, from: number, isSynced: IsSynced): Promise<string | null> {
  const lengths = await lengthsIn(folder);
  // If the recorded lengths lack the current journal, they are from an earlier close, because each opening begins one.
  const closed = lengths.has(from);
  const there = await journalsIn(folder, from);
  if (!there.includes(from)) return `has lost its journal ${nameOf(from)}`;
  const gap: Gap = { found: null, next: null };
  for (const journal of there) {
    const bytes = await readFile(join(folder, nameOf(journal)));
    const length = closed ? (lengths.get(journal) ?? 0) : 0;
    if (bytes.length < length) {
      const [has, had] = [bytes.length, length].map(String);
      return `has a journal ${nameOf(journal)} of ${has} bytes, which had ${had} when it was closed`;
    }
    if (follow(bytes, nameOf(journal), gap, isSynced)) return gap.found;
  }
  return closed ? gap.found : null;
}

/** The first bad record, in words, and the sequence number that the next row must have. */
interface Gap {
  found: string | null;
  next: number | null;
}

/** Reads a journal. True if a synced write follows a bad record. */
function follow(bytes: Buffer, name: string, gap: Gap, isSynced: IsSynced): boolean {
  for (const { at, record } of recordsIn(bytes)) {
    const batch = record === null ? null : batchIn(record);
    if (batch === null || (gap.next !== null && batch.first !== gap.next)) {
      gap.found ??= `has a journal ${name} with a damaged record at byte ${String(at)}`;
    }
    if (batch === null) continue;
    if (gap.found !== null && batch.keys.some(isSynced)) return true;
    gap.next = batch.first + batch.count;
  }
  return false;
}

interface Batch {
  readonly first: number;
  readonly count: number;
  readonly keys: readonly Uint8Array[];
}

function batchIn(record: Buffer): Batch | null {
  if (record.length < HEADER_BYTES) return null;
  const first = Number(record.readBigUInt64LE(0));
  const count = record.readUInt32LE(8);
  const keys: Uint8Array[] = [];
  const reader = new Varints(record, HEADER_BYTES);
  try {
    while (!reader.ended) {
      const tag = reader.next();
      keys.push(reader.slice());
      if (tag === PUT) reader.slice();
    }
  } catch (error) {
    if (isDamaged(error)) return null;
    throw error;
  }
  return { first, count, keys };
}

/** Records the lengths of the journals before the database is closed, after its last write. Best effort. */
export async function rememberJournals(folder: string): Promise<void> {
  try {
    const journals = await journalsIn(folder, 0);
    const lengths = journals.map(
      async (journal) => [journal, (await stat(join(folder, nameOf(journal)))).size] as const,
    );
    await writeDurableFile(join(folder, CLOSED), JSON.stringify(await Promise.all(lengths)));
  } catch {
    // The disk is full, or LevelDB has just deleted a journal. Without the lengths, only the checksums are compared.
  }
}

async function lengthsIn(folder: string): Promise<ReadonlyMap<number, number>> {
  try {
    const text = await readFile(join(folder, CLOSED), 'utf8');
    return new Map(JSON.parse(text) as [number, number][]);
  } catch {
    return new Map();
  }
}

async function journalsIn(folder: string, from: number): Promise<number[]> {
  return (await readdir(folder))
    .flatMap((name) => {
      const number = /^(\d+)\.log$/.exec(name)?.[1];
      return number === undefined ? [] : [Number(number)];
    })
    .filter((number) => number >= from)
    .sort((a, b) => a - b);
}
