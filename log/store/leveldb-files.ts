// The encodings in LevelDB's files, which the integrity checks of journal.ts, manifest.ts and tables.ts read: numbers
// (LevelDB, doc/table_format.md), records with checksums (LevelDB, doc/log_format.md) and Snappy blocks.

import crc32c from 'crc-32/crc32c.js';

const BRAND = Symbol.for('actlog.Damaged');

/** Thrown for bytes that LevelDB cannot have written; the message is `at byte N`. */
export class Damaged extends Error {
  readonly [BRAND] = true;
  constructor(at: number) {
    super(`at byte ${String(at)}`);
  }
}

/** Whether a thrown value is a `Damaged`. */
export const isDamaged = (thrown: unknown): thrown is Damaged =>
  thrown instanceof Error && BRAND in thrown;

/** The position and length of a block, in bytes of its file. */
export interface Handle {
  readonly offset: number;
  readonly size: number;
}

/** Reads numbers at `at` and advances `at`. Throws `Damaged` beyond the end. */
export class Varints {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  get ended(): boolean {
    return this.at >= this.#bytes.length;
  }

  handle(): Handle {
    return { offset: this.next(), size: this.next() };
  }

  /** Bytes that are preceded by their length. */
  slice(): Buffer {
    const length = this.next();
    const from = this.at;
    if (from + length > this.#bytes.length) throw new Damaged(from);
    this.at += length;
    return this.#bytes.subarray(from, this.at);
  }

  /** A number in LEB128, up to 53 bits. */
  next(): number {
    const start = this.at;
    for (let n = 0, scale = 1; scale < Number.MAX_SAFE_INTEGER; scale *= 128) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) break;
      this.at += 1;
      n += (byte & 127) * scale;
      if (byte < 128) return n;
    }
    throw new Damaged(start);
  }
}

// The record format of journals and MANIFESTs: blocks of 32 KiB with records in parts, each of which has a checksum.

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const [FULL, FIRST, MIDDLE, LAST] = [1, 2, 3, 4] as const;
const MASK_DELTA = 0xa282ead8;

/** The CRC-32C of a stored checksum. LevelDB masks checksums, because the covered bytes may contain checksums too. */
export function unmasked(masked: number): number {
  const turned = (masked - MASK_DELTA) >>> 0;
  return ((turned >>> 17) | (turned << 15)) >>> 0;
}

/** A record; or null at a position where the bytes are not one, and LevelDB would drop the rest of the block. */
export interface Found {
  readonly at: number;
  readonly record: Buffer | null;
}

/** The records of a file in order, and the positions of damaged bytes, including an incomplete record at the end. */
export function* recordsIn(bytes: Buffer): Generator<Found> {
  let parts: Buffer[] = [];
  let start = 0;
  for (let at = 0; at < bytes.length;) {
    const blockEnd = Math.min(bytes.length, (Math.floor(at / BLOCK_BYTES) + 1) * BLOCK_BYTES);
    // The end of a block that is too short for a header is padding.
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
 * Whether a damaged position is the end of a file that a crash cut off or that is being written. LevelDB treats this as
 * the end of the file, and anything else as corruption.
 */
export function isCutOff(bytes: Buffer, at: number): boolean {
  if (Math.floor(at / BLOCK_BYTES) !== Math.floor((bytes.length - 1) / BLOCK_BYTES)) return false;
  if (at + HEADER_BYTES > bytes.length) return true;
  const end = at + HEADER_BYTES + bytes.readUInt16LE(at + 4);
  if (end > bytes.length) return true;
  // Either the first part of a record whose other parts were not written, or a block that was not written at all.
  return (
    partAt(bytes, at, bytes.length)?.type === FIRST ||
    bytes.subarray(at).every((byte) => byte === 0)
  );
}

/** The position of the next part with a valid checksum; `end` if there is none. */
function nextPart(bytes: Buffer, from: number, end: number): number {
  for (let at = from; at + HEADER_BYTES <= end; at += 1)
    if (partAt(bytes, at, end) !== null) return at;
  return end;
}

/** The part at a position; null if its checksum is not valid. */
function partAt(bytes: Buffer, at: number, end: number): { type: number; data: Buffer } | null {
  const type = bytes[at + 6] ?? 0;
  const from = at + HEADER_BYTES;
  const to = from + bytes.readUInt16LE(at + 4);
  if (to > end || ![FULL, FIRST, MIDDLE, LAST].some((known) => known === type)) return null;
  const sum = crc32c.buf(bytes.subarray(at + 6, to), 0) >>> 0;
  if (unmasked(bytes.readUInt32LE(at)) !== sum) return null;
  return { type, data: bytes.subarray(from, to) };
}

// Snappy blocks (google/snappy, format_description.txt). LevelDB compresses the lists of blocks that a table ends with,
// unless compression is off.

/** Limit on the length of a block. LevelDB ends a block after the row with which it exceeds 4 KiB. */
const MAX_BYTES = 1 << 28;

/** Decompresses a Snappy block. Throws `Damaged` with the position of the block if it is malformed. */
export function unsnappy(block: Buffer, at: number): Buffer {
  const reader = new Varints(block, 0);
  const length = reader.next();
  // An element of three bytes gives at most 64 bytes; a literal gives as many bytes as it has.
  if (length > MAX_BYTES || length > block.length * 64) throw new Damaged(at);
  const out = Buffer.alloc(length);
  let made = 0;
  const little = (bytes: number): number => {
    let n = 0;
    for (let i = 0; i < bytes; i += 1) {
      const byte = block[reader.at];
      if (byte === undefined) throw new Damaged(at);
      n += byte * 256 ** i;
      reader.at += 1;
    }
    return n;
  };
  while (reader.at < block.length) {
    const tag = little(1);
    const upper = tag >>> 2;
    if ((tag & 3) === 0) {
      const count = (upper < 60 ? upper : little(upper - 59)) + 1;
      const end = reader.at + count;
      if (end > block.length || made + count > length) throw new Damaged(at);
      out.set(block.subarray(reader.at, end), made);
      reader.at = end;
      made += count;
      continue;
    }
    const count = (tag & 3) === 1 ? 4 + (upper & 7) : upper + 1;
    const offset =
      (tag & 3) === 1 ? (tag >>> 5) * 256 + little(1) : little((tag & 3) === 2 ? 2 : 4);
    if (offset === 0 || offset > made || made + count > length) throw new Damaged(at);
    // Byte by byte, because a copy may overlap its own output.
    for (let i = 0; i < count; i += 1, made += 1) out[made] = out[made - offset] ?? 0;
  }
  if (made !== length) throw new Damaged(at);
  return out;
}
