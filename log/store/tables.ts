// Checks the tables of a LevelDB database against their checksums (LevelDB, doc/table_format.md). LevelDB, as it is
// opened here, does not compare them: it returns damaged blocks, and a block with damaged lengths ends the process with
// an assertion.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import crc32c from 'crc-32/crc32c.js';
import { LogError } from '../errors.ts';
import { readManifest, type Manifest } from './manifest.ts';
import { Damaged, type Handle, isDamaged, unmasked, unsnappy, Varints } from './leveldb-files.ts';

const FOOTER_BYTES = 48;
const MAGIC = 0xdb4775248b80fb57n;
/** The bytes after each block: one for its compression, and the masked CRC-32C of block and compression. */
const TRAILER_BYTES = 5;
const [UNCOMPRESSED, SNAPPY] = [0, 1] as const;
/** Bytes that are checked before other work may run; they take about a millisecond. */
const SLICE_BYTES = 262_144;

/** The name in a fault of the MANIFEST. */
const MANIFEST = 'MANIFEST';

/** A damaged or missing table, or a damaged MANIFEST. */
export interface TableFault {
  /** The name of the file. */
  readonly table: string;
  /** What is wrong, as the predicate of a sentence whose subject is the name of the table. */
  readonly what: string;
}

/** How tables are checked. */
export interface TableCheck {
  /** Resolves when this many further bytes may be read. Default: at once. */
  readonly pace?: (bytes: number) => Promise<void>;
  /** Called after each table. */
  readonly onTable?: (checked: { readonly bytes: number; readonly of: number }) => void;
}

/**
 * Compares all blocks of every table in the MANIFEST of a database with their checksums. The database may be open.
 * Other files are not read, because a killed process may leave unfinished ones, which LevelDB deletes. If the MANIFEST
 * is damaged, that is the only fault.
 */
export async function* tableFaults(
  folder: string,
  { pace = () => Promise.resolve(), onTable }: TableCheck = {},
): AsyncGenerator<TableFault> {
  const tables = await tablesOf(folder);
  if (isDamaged(tables)) {
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
 * Checks all tables of a database.
 *
 * @throws LogError `store_corrupt` with the first faulty table, and the position of the damaged block
 */
export async function checkTables(folder: string): Promise<void> {
  for await (const { table, what } of tableFaults(folder)) {
    // LevelDB refuses to open a damaged MANIFEST, and its message says more.
    if (table === MANIFEST) return;
    throw new LogError(
      'store_corrupt',
      `the table ${table} in ${folder} ${what}: stop, keep a copy, and restore from a backup or a mirror`,
    );
  }
}

/** The tables in the MANIFEST; none if there is no database. */
async function tablesOf(folder: string): Promise<Manifest['tables'] | Damaged> {
  try {
    return (await readManifest(folder))?.tables ?? new Map();
  } catch (error) {
    if (isDamaged(error)) return error;
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
    // The name of tables before LevelDB 1.14.
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
    if (!isDamaged(error)) throw error;
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
 * The blocks of a table, without their trailers: those that its metaindex and index list. Throws `Damaged` if the
 * checksum of one of these lists is wrong.
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

/** The content of a block, after its checksum was compared. */
function blockAt(table: Buffer, handle: Handle): Buffer {
  checkBlock(table, handle);
  const { offset, size } = handle;
  const stored = table.subarray(offset, offset + size);
  return table[offset + size] === SNAPPY ? unsnappy(stored, offset) : stored;
}

/** The handles in the rows of an index block. `at` is the position of the block, for `Damaged`. */
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
