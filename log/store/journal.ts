// The journals of a LevelDB database: what was written last and is in no table yet. LevelDB drops damaged records
// of a journal without a word, and takes a missing or emptied one for one that holds nothing. Here both are found
// before LevelDB opens the database. LevelDB, doc/log_format.md; the form of a record: db/write_batch.cc.
//
// A crash may cut off the end of a journal, in the middle of a write that was not acknowledged. Therefore a bad
// place is damage only where a write that was synced follows it (the sync had made everything before it durable), or
// where the database was closed in good order.

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LogError } from '../errors.ts';
import { removeLeftovers, writeDurableFile } from './durable-file.ts';
import { readManifest } from './manifest.ts';
import { Damaged, recordsIn, Varints } from './leveldb-files.ts';

const file = (folder: string): string => join(folder, 'IN_USE');

/** How the last program that opened a database has left it; `open` while that program still runs. */
export type Left = 'closed' | 'open' | 'unclosed';

/** What the file of a folder says, also of a folder that is not there. */
export async function howLeft(folder: string): Promise<Left> {
  const pid = await readFile(file(folder), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (pid === null) return 'closed';
  // In a container every program has the same number: one that is ours was another's before.
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
 * Says that this program has the database open, also after a power cut; best effort, since a full disk must not keep it
 * from opening.
 */
export async function markInUse(folder: string): Promise<void> {
  try {
    await removeLeftovers(folder);
    await writeDurableFile(file(folder), String(process.pid));
  } catch {
    // The next start does not compare the tables then; the scrub does.
  }
}

/** Takes that back, while the database is still locked, so that nobody else's word is taken back. */
export async function unmark(folder: string): Promise<void> {
  await rm(file(folder), { force: true }).catch(() => undefined);
}

/** Lengths of the journals when the database was closed, beside LevelDB's own files. */
const CLOSED = 'CLOSED';
/** Before the rows of a record: the number of its first row (u64), and how many there are (u32). */
const HEADER_BYTES = 12;
const PUT = 1;

const nameOf = (journal: number): string => `${String(journal).padStart(6, '0')}.log`;

/** Whether a row is of a write that its writer waited for to be on disk. */
export type IsSynced = (key: Uint8Array) => boolean;

/**
 * Looks for writes that the journals of a database have lost. Does nothing while another process opens it.
 *
 * @param isSynced tells rows apart in a database that takes unsynced writes too
 * @throws LogError `store_corrupt`, naming the file and the byte, where acknowledged writes were lost
 */
export async function checkJournals(
  folder: string,
  isSynced: IsSynced = () => true,
): Promise<void> {
  const from = await oldestJournal(folder);
  if (from === 0) return;
  const missing = await compare(folder, from, isSynced).catch((error: unknown) => {
    // A journal that went away between two looks is in a table by now.
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

/** 0 where there is none, or where the MANIFEST does not read, which LevelDB names. */
async function oldestJournal(folder: string): Promise<number> {
  try {
    return (await readManifest(folder))?.journal ?? 0;
  } catch (error) {
    if (error instanceof Damaged) return 0;
    throw error;
  }
}

/** In words what the journals lack; null when they are whole. */
async function compare(folder: string, from: number, isSynced: IsSynced): Promise<string | null> {
  const lengths = await lengthsIn(folder);
  // Of an earlier closing unless it knows the journal that is in force: opening a database begins another.
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

/** The first bad place, in words, and the number that the next row must have. */
interface Gap {
  found: string | null;
  next: number | null;
}

/** Whether a synced write follows a bad place. */
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
    if (error instanceof Damaged) return null;
    throw error;
  }
  return { first, count, keys };
}

/** Remembers how long the journals are, while the database is still open and takes no more writes; best effort. */
export async function rememberJournals(folder: string): Promise<void> {
  try {
    const journals = await journalsIn(folder, 0);
    const lengths = journals.map(
      async (journal) => [journal, (await stat(join(folder, nameOf(journal)))).size] as const,
    );
    await writeDurableFile(join(folder, CLOSED), JSON.stringify(await Promise.all(lengths)));
  } catch {
    // A full disk, or a journal that LevelDB has just emptied into a table: what remains is compared by checksums.
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
