// The records of LevelDB's journals and of its MANIFEST: blocks of 32 KiB, each with records whose parts have a
// checksum. LevelDB, doc/log_format.md.

import crc32c from 'crc-32/crc32c.js';

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const [FULL, FIRST, MIDDLE, LAST] = [1, 2, 3, 4] as const;
const MASK_DELTA = 0xa282ead8;

/** The CRC-32C that LevelDB stores masked, since what it sums may hold checksums itself. */
export function unmasked(masked: number): number {
  const turned = (masked - MASK_DELTA) >>> 0;
  return ((turned >>> 17) | (turned << 15)) >>> 0;
}

/** A record, or a place where the bytes are none: LevelDB then drops all that follows in the block. */
export interface Found {
  readonly at: number;
  readonly record: Buffer | null;
}

/** Every record of a file in order, and every place where its bytes are not one, also at the end of what was cut. */
export function* recordsIn(bytes: Buffer): Generator<Found> {
  let parts: Buffer[] = [];
  let start = 0;
  for (let at = 0; at < bytes.length;) {
    const blockEnd = Math.min(bytes.length, (Math.floor(at / BLOCK_BYTES) + 1) * BLOCK_BYTES);
    // What is too short for a header at the end of a block is padding.
    if (blockEnd - at < HEADER_BYTES) {
      if (blockEnd % BLOCK_BYTES !== 0 || bytes.subarray(at, blockEnd).some((byte) => byte !== 0)) {
        yield { at, record: null };
      }
      at = blockEnd;
      continue;
    }
    const part = partAt(bytes, at, blockEnd);
    const begins = part?.type === FULL || part?.type === FIRST;
    if (part === null || begins === parts.length > 0) {
      yield { at, record: null };
      parts = [];
      if (part === null || !begins) {
        at = nextPart(bytes, at + 1, blockEnd);
        continue;
      }
    }
    if (begins) start = at;
    parts.push(part.data);
    at += HEADER_BYTES + part.data.length;
    if (part.type !== FULL && part.type !== LAST) continue;
    yield { at: start, record: parts.length === 1 ? part.data : Buffer.concat(parts) };
    parts = [];
  }
  if (parts.length > 0) yield { at: start, record: null };
}

/**
 * Whether a place where the bytes are no record is the end of a file that a crash cut off, or that is being written:
 * LevelDB takes that for the end, and anything else for corruption.
 */
export function isCutOff(bytes: Buffer, at: number): boolean {
  if (Math.floor(at / BLOCK_BYTES) !== Math.floor((bytes.length - 1) / BLOCK_BYTES)) return false;
  if (at + HEADER_BYTES > bytes.length) return true;
  const end = at + HEADER_BYTES + bytes.readUInt16LE(at + 4);
  if (end > bytes.length) return true;
  // The first part of a record whose others were not written, or a block of which nothing was.
  return (
    partAt(bytes, at, bytes.length)?.type === FIRST ||
    bytes.subarray(at).every((byte) => byte === 0)
  );
}

/** Where the next part with a checksum that holds begins; the end where there is none. */
function nextPart(bytes: Buffer, from: number, end: number): number {
  for (let at = from; at + HEADER_BYTES <= end; at += 1)
    if (partAt(bytes, at, end) !== null) return at;
  return end;
}

/** A part whose checksum holds; null for anything else. */
function partAt(bytes: Buffer, at: number, end: number): { type: number; data: Buffer } | null {
  const type = bytes[at + 6] ?? 0;
  const from = at + HEADER_BYTES;
  const to = from + bytes.readUInt16LE(at + 4);
  if (to > end || ![FULL, FIRST, MIDDLE, LAST].some((known) => known === type)) return null;
  const sum = crc32c.buf(bytes.subarray(at + 6, to), 0) >>> 0;
  if (unmasked(bytes.readUInt32LE(at)) !== sum) return null;
  return { type, data: bytes.subarray(from, to) };
}
