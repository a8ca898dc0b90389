// The keys of the database: one prefix byte, then big-endian numbers, so that LevelDB's byte order is the order of the
// log. A change here requires a new store version.

import { crc32 } from 'node:zlib';
import { LogError } from '../errors.ts';

/** Version of this layout, kept in the database; another one refuses to open. */
export const STORE_VERSION = 1;

const prefix = (letter: string): number => letter.charCodeAt(0);

/** e: entry text by index. */
export const ENTRY = prefix('e');
/** t: hash tile (w·32 bytes) by level and n. */
export const TILE = prefix('t');
/** h: head record by skey. */
export const HEAD = prefix('h');
/** c: one empty row for each entry of a chain of two or more: skey, time, index. */
export const CHAIN = prefix('c');
/** l: index by the first half of the leaf hash. */
export const LEAF = prefix('l');
/** p: signed note by published size. */
export const NOTE = prefix('p');
/** k: rows of the core: declared types, receipt keys, tenants, claims, manifests, heartbeats. */
export const CORE_ROW = prefix('k');
/** r: rows of plugins, `<plugin>/<rest>`. */
export const PLUGIN_ROW = prefix('r');
/** a: rows that cannot be derived from the log: idempotency records, sealed disclosures. */
export const ATTACHED_ROW = prefix('a');
/** m: named values of the store, such as the position of the sequencer. */
export const META = prefix('m');
/** s: the last rounds of a node's copy by number (log/cluster/replica.ts). They are of this copy, not of the log. */
export const ROUND = prefix('s');

const TWO_32 = 2 ** 32;

/** Writes a safe integer as u64. Two 32-bit writes are faster than one of a bigint. */
function putU64(bytes: Buffer, n: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(n / TWO_32), at);
  bytes.writeUInt32BE(n % TWO_32, at + 4);
}

const numbered = (letter: number, n: number): Buffer => {
  const key = Buffer.allocUnsafe(9);
  key[0] = letter;
  putU64(key, n, 1);
  return key;
};

/** Key of the entry at an index. */
export const entryKey = (index: number): Buffer => numbered(ENTRY, index);

/** Key of the signed note of a size. */
export const noteKey = (size: number): Buffer => numbered(NOTE, size);

/** Key of a round that a copy keeps. */
export const roundKey = (seq: number): Buffer => numbered(ROUND, seq);

/** Key of a hash tile. */
export function tileKey(level: number, n: number): Buffer {
  const key = Buffer.allocUnsafe(10);
  key[0] = TILE;
  key[1] = level;
  putU64(key, n, 2);
  return key;
}

/** Level and n of a tile key. */
export const readTileKey = (key: Uint8Array): { level: number; n: number } => ({
  level: key[1] ?? 0,
  n: readIndex(key),
});

/** Key of the head record of a chain. */
export function headKey(skey: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(33);
  key[0] = HEAD;
  key.set(skey, 1);
  return key;
}

/** Key of one entry on a chain; sorts by time, then index, which is the order of the chain. */
export function chainRowKey(skey: Uint8Array, ms: number, index: number): Buffer {
  const key = Buffer.allocUnsafe(49);
  key[0] = CHAIN;
  key.set(skey, 1);
  putU64(key, ms, 33);
  putU64(key, index, 41);
  return key;
}

/** Time and index of a chain row. */
export function readChainRowKey(key: Uint8Array): { ms: number; index: number } {
  const view = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  return { ms: Number(view.readBigUInt64BE(33)), index: Number(view.readBigUInt64BE(41)) };
}

/** Key that finds an index by leaf hash; half of the hash is almost always unique, and the reader compares the rest. */
export function leafKey(leafHash: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(17);
  key[0] = LEAF;
  key.set(leafHash.subarray(0, 16), 1);
  return key;
}

/** An index as the value of a finding row. */
export const indexValue = (index: number): Buffer => {
  const value = Buffer.allocUnsafe(8);
  putU64(value, index, 0);
  return value;
};

/** The index in a finding row or at the end of an entry or note key. */
export const readIndex = (bytes: Uint8Array): number =>
  Number(Buffer.from(bytes.buffer, bytes.byteOffset + bytes.byteLength - 8, 8).readBigUInt64BE());

/** Key of a row of text key space (core, plugin or attached rows). */
export const rowKey = (letter: number, key: string): Buffer => {
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(key));
  bytes[0] = letter;
  bytes.write(key, 1);
  return bytes;
};

/** The text of a row key. */
export const readRowKey = (key: Uint8Array): string =>
  Buffer.from(key.buffer, key.byteOffset + 1, key.byteLength - 1).toString('utf8');

/**
 * Key of a named value of the store itself; `reindex` exists while plugin rows are being rebuilt, `rows` records their
 * forms, `vkey` is the verifier key of the log, `round` is the position of a copy in its stream.
 */
export const metaKey = (
  name: 'version' | 'state' | 'reindex' | 'rows' | 'vkey' | 'round',
): Buffer => rowKey(META, name);

// A checksum after every value that no hash of the log covers. LevelDB may return a damaged block as if it were intact,
// and the log would sign wrong data. Entries and tiles need none, because they are compared with the tree.

const CRC_BYTES = 4;

const hashed = (key: Uint8Array): boolean => key[0] === ENTRY || key[0] === TILE;

/** The stored form of a value: with a checksum, unless a hash of the log covers the value. */
export function seal(key: Uint8Array, value: Uint8Array): Uint8Array {
  return hashed(key) ? value : sealRow(key, value);
}

/** The value of a stored form. Throws `store_corrupt` if the key or the value is damaged. */
export function unseal(key: Uint8Array, sealed: Uint8Array): Uint8Array {
  return hashed(key) ? sealed : unsealRow(key, sealed, String.fromCharCode(key[0] ?? 0));
}

/** The value, followed by the CRC-32 of key and value. */
export function sealRow(key: Uint8Array, value: Uint8Array): Uint8Array {
  // The key is copied before the value, so that one call covers both. The stored form begins after the key.
  const { length } = key;
  const summed = Buffer.allocUnsafe(length + value.length + CRC_BYTES);
  summed.set(key);
  summed.set(value, length);
  const end = length + value.length;
  summed.writeUInt32BE(crc32(summed.subarray(0, end)), end);
  return summed.subarray(length);
}

/** The value without its checksum. Throws `store_corrupt` with the kind of row if the key or the value is damaged. */
export function unsealRow(key: Uint8Array, sealed: Uint8Array, kind: string): Uint8Array {
  const length = sealed.length - CRC_BYTES;
  if (length >= 0) {
    const value = sealed.subarray(0, length);
    const view = new DataView(sealed.buffer, sealed.byteOffset);
    if (view.getUint32(length) === crc32(value, crc32(key))) return value;
  }
  throw new LogError(
    'store_corrupt',
    `a row of kind ${kind} is damaged: stop, keep a copy, and restore from a backup or a mirror`,
  );
}
