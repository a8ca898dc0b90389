// The checksums of LevelDB's tables, which LevelDB itself does not compare as it is opened here: it takes a
// block as it comes, and one whose lengths are damaged ends the process by an assertion of the library.
// LevelDB, doc/table_format.md.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import crc32c from 'crc-32/crc32c.js';
import { LogError } from '../errors.ts';
import { unmasked } from './records.ts';
import { Damaged, Varints, type Handle } from './varints.ts';

const FOOTER_BYTES = 48;
const MAGIC = 0xdb4775248b80fb57n;
/** After each block: one byte for its compression, and the masked CRC-32C over both. */
const TRAILER_BYTES = 5;
const UNCOMPRESSED = 0;

/**
 * Reads every table of a database that is not open, and compares all their blocks with their checksums.
 *
 * @throws LogError `store_corrupt`, naming the file and the byte where the first damaged block begins
 */
export async function checkTables(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).sort()) {
    if (!/\.(ldb|sst)$/.test(name)) continue;
    const table = await readFile(join(folder, name)).catch((error: unknown) => {
      // Of a database that another process has open after all, and compacts.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    });
    if (table === null) continue;
    try {
      checkTable(table);
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      throw new LogError(
        'store_corrupt',
        `the table ${name} in ${folder} has a damaged block ${error.message}: stop, keep a copy, and restore from a backup or a mirror`,
      );
    }
  }
}

function checkTable(table: Buffer): void {
  for (const handle of blocksOf(table)) blockAt(table, handle);
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

/** What stands in a block, once its checksum holds. */
function blockAt(table: Buffer, { offset, size }: Handle): Buffer {
  const end = offset + size + 1;
  if (end + TRAILER_BYTES - 1 > table.length) throw new Damaged(offset);
  const sum = crc32c.buf(table.subarray(offset, end), 0);
  if (unmasked(table.readUInt32LE(end)) !== sum >>> 0 || table[end - 1] !== UNCOMPRESSED) {
    throw new Damaged(offset);
  }
  return table.subarray(offset, end - 1);
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
