// The checksums of LevelDB's tables, which LevelDB itself does not compare as it is opened here: it takes a
// block as it comes, and one whose lengths are damaged ends the process by an assertion of the library.
// LevelDB, doc/table_format.md.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import crc32c from 'crc-32/crc32c.js';
import { LogError } from '../errors.ts';
import { readManifest, type Manifest } from './manifest.ts';
import { Damaged, type Handle, unmasked, unsnappy, Varints } from './leveldb-files.ts';

const FOOTER_BYTES = 48;
const MAGIC = 0xdb4775248b80fb57n;
/** After each block: one byte for its compression, and the masked CRC-32C over both. */
const TRAILER_BYTES = 5;
const [UNCOMPRESSED, SNAPPY] = [0, 1] as const;
/** Bytes that are checked before others get a turn: about a millisecond. */
const SLICE_BYTES = 262_144;

/** In place of the name of a table. */
const MANIFEST = 'MANIFEST';

/** What is wrong with a table, or with the MANIFEST. */
export interface TableFault {
  /** Of its file. */
  readonly table: string;
  /** Follows the name of the table in a sentence. */
  readonly what: string;
}

/** How tables are checked. */
export interface TableCheck {
  /** Resolves when as many further bytes may be read; at once unless given. */
  readonly pace?: (bytes: number) => Promise<void>;
  /** Called after each table. */
  readonly onTable?: (checked: { readonly bytes: number; readonly of: number }) => void;
}

/**
 * Reads every table that the MANIFEST of a database lists, and compares all its blocks with their checksums; the
 * database may be open. Files that the MANIFEST does not list are not read: a killed process leaves unfinished ones,
 * which LevelDB deletes. A damaged MANIFEST is the only fault then.
 */
export async function* tableFaults(
  folder: string,
  { pace = () => Promise.resolve(), onTable }: TableCheck = {},
): AsyncGenerator<TableFault> {
  const tables = await tablesOf(folder);
  if (tables instanceof Damaged) {
    yield { table: MANIFEST, what: `has a damaged record ${tables.message}` };
    return;
  }
  const of = [...tables.values()].reduce((sum, bytes) => sum + bytes, 0);
  let bytes = 0;
  for (const [number, length] of tables) {
    const fault = await faultOf(folder, { number, length }, pace);
    if (fault !== null) yield fault;
    bytes += length;
    onTable?.({ bytes, of });
  }
}

/**
 * Checks a whole database.
 *
 * @throws LogError `store_corrupt`, naming the first table that does not hold, and the byte where the block begins
 */
export async function checkTables(folder: string): Promise<void> {
  for await (const { table, what } of tableFaults(folder)) {
    // LevelDB refuses to open with it, and says more.
    if (table === MANIFEST) return;
    throw new LogError(
      'store_corrupt',
      `the table ${table} in ${folder} ${what}: stop, keep a copy, and restore from a backup or a mirror`,
    );
  }
}

/** None where there is no database. */
async function tablesOf(folder: string): Promise<Manifest['tables'] | Damaged> {
  try {
    return (await readManifest(folder))?.tables ?? new Map();
  } catch (error) {
    if (error instanceof Damaged) return error;
    throw error;
  }
}

async function faultOf(
  folder: string,
  { number, length }: { readonly number: number; readonly length: number },
  pace: (bytes: number) => Promise<void>,
): Promise<TableFault | null> {
  let table = `${String(number).padStart(6, '0')}.ldb`;
  let content = await readIfThere(join(folder, table));
  if (content === null) {
    // What LevelDB called them before version 1.14.
    const older = table.replace(/ldb$/, 'sst');
    content = await readIfThere(join(folder, older));
    if (content !== null) table = older;
  }
  if (content === null) {
    // An open database may have compacted it since its MANIFEST was read.
    const live = await tablesOf(folder);
    return live instanceof Map && !live.has(number) ? null : { table, what: 'is missing' };
  }
  if (content.length !== length) {
    const [has, says] = [content.length, length].map(String) as [string, string];
    return { table, what: `has ${has} bytes where its MANIFEST says ${says}` };
  }
  try {
    let slice = 0;
    for (const handle of blocksOf(content)) {
      checkBlock(content, handle);
      slice += handle.size;
      if (slice < SLICE_BYTES) continue;
      await pace(slice);
      slice = 0;
    }
    await pace(slice);
    return null;
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    return { table, what: `has a damaged block ${error.message}` };
  }
}

async function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

/**
 * Where the blocks of a table are, in bytes of the file and without their trailers: what the metaindex and the index
 * lead to, once their own checksums hold.
 */
export function* blocksOf(table: Buffer): Generator<Handle> {
  const footer = table.length - FOOTER_BYTES;
  if (footer < 0 || table.readBigUInt64LE(table.length - 8) !== MAGIC) throw new Damaged(footer);
  const reader = new Varints(table, footer);
  const meta = reader.handle();
  const index = reader.handle();
  for (const list of [meta, index]) yield* handlesIn(blockAt(table, list), list.offset);
}

/** Compares a block with its checksum. */
function checkBlock(table: Buffer, { offset, size }: Handle): void {
  const end = offset + size + 1;
  if (end + TRAILER_BYTES - 1 > table.length) throw new Damaged(offset);
  const sum = crc32c.buf(table.subarray(offset, end), 0) >>> 0;
  if (unmasked(table.readUInt32LE(end)) !== sum) throw new Damaged(offset);
  if (table[end - 1] !== UNCOMPRESSED && table[end - 1] !== SNAPPY) throw new Damaged(offset);
}

/** The content of a block, once its checksum holds. */
function blockAt(table: Buffer, handle: Handle): Buffer {
  checkBlock(table, handle);
  const { offset, size } = handle;
  const stored = table.subarray(offset, offset + size);
  return table[offset + size] === SNAPPY ? unsnappy(stored, offset) : stored;
}

/** The handles that the rows of an index block have as values; the block begins at a byte of its table. */
function* handlesIn(block: Buffer, at: number): Generator<Handle> {
  if (block.length < 4) throw new Damaged(at);
  const restarts = 4 * (block.readUInt32LE(block.length - 4) + 1);
  const reader = new Varints(block, 0);
  while (reader.at < block.length - restarts) {
    reader.next();
    const unshared = reader.next();
    const length = reader.next();
    reader.at += unshared;
    const next = reader.at + length;
    yield reader.handle();
    reader.at = next;
  }
}
