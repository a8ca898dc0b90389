// The encodings in LevelDB's files, which the integrity checks of journal.ts, manifest.ts and tables.ts read: numbers
// (LevelDB, doc/table_format.md), records with checksums (LevelDB, doc/log_format.md) and Snappy blocks.

import crc32c from 'crc-32/crc32c.js';

/** Bytes that are not what LevelDB has written there; the message is `at byte N`. */
export class Damaged extends Error {
  constructor(at: number) {
    super(`at byte ${String(at)}`);
  }
}

/** Where a block of a table is, in bytes of its file. */
export interface Handle {
  readonly offset: number;
  readonly size: number;
}

/** Reads numbers from `at` on, and moves `at` behind them; `Damaged` beyond the end. */
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

  /** Bytes that stand behind their length. */
  slice(): Buffer {
    const length = this.next();
    const from = this.at;
    if (from + length > this.#bytes.length) throw new Damaged(from);
    this.at += length;
    return this.#bytes.subarray(from, this.at);
  }

  /** LEB128 of up to 53 bits. */
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

// Records of the journals and of the MANIFEST: blocks of 32 KiB with records whose parts have a checksum.

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

// Snappy blocks (google/snappy, format_description.txt). LevelDB compresses the lists of blocks that a table ends with,
// unless compression is off.

/** The most that a block of a table may have; LevelDB makes them of 4 KiB and one row. */
const MAX_BYTES = 1 << 28;

/** The uncompressed bytes; what is no Snappy block is `Damaged` at the byte where the block begins. */
export function unsnappy(block: Buffer, at: number): Buffer {
  const reader = new Varints(block, 0);
  const length = reader.next();
  // No element makes more than 64 bytes of three, or as many as it has.
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
    // Byte by byte: a copy may reach into what it is making.
    for (let i = 0; i < count; i += 1, made += 1) out[made] = out[made - offset] ?? 0;
  }
  if (made !== length) throw new Damaged(at);
  return out;
}
