// The Merkle tree of a session's exchanges, grown leaf by leaf from its peaks alone. RFC 6962 §2.1 over leaves in
// canonical form (log/FORMAT.md, Notation). Pure.

import { createHash } from 'node:crypto';
import { canonical } from '../../../log/index.ts';
import type { Json, JsonObject } from '../../contract.ts';

/** The complete subtrees of a tree, largest first, by their hashes in hex: one for each bit of its size. */
export interface Peaks {
  readonly size: number;
  readonly peaks: readonly string[];
}

/** The tree without leaves. */
export const NO_PEAKS: Peaks = { size: 0, peaks: [] };

/** What a leaf says of an exchange; members of its entry, so that anyone rebuilds the tree from the log. */
export interface Leaf {
  readonly request_hash: string;
  readonly response_hash: string;
  readonly outcome: string;
}

const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const node = (left: string, right: string): string =>
  sha256(Buffer.of(1), Buffer.from(left, 'hex'), Buffer.from(right, 'hex')).toString('hex');

/** SHA-256(00 ‖ JCS(leaf)), hex. */
export function leafHash({ request_hash, response_hash, outcome }: Leaf): string {
  const leaf = { request_hash, response_hash, outcome };
  return sha256(Buffer.of(0), canonical(leaf)).toString('hex');
}

/** The tree with one more leaf. */
export function grown({ size, peaks }: Peaks, leaf: Leaf): Peaks {
  let last = leafHash(leaf);
  const left = [...peaks];
  // Each full pair below becomes one subtree, as a carry runs through a counter.
  for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
    last = node(left.pop() ?? '', last);
  }
  return { size: size + 1, peaks: [...left, last] };
}

/** Root of a tree that has a leaf, hex. */
export function rootOf({ peaks }: Peaks): string {
  const [last = '', ...rest] = [...peaks].reverse();
  return rest.reduce((right, left) => node(left, right), last);
}

/** SHA-256(salt ‖ JCS(value)), hex: the form of every commitment (log/FORMAT.md §2). */
export function sealed(salt_hex: string, value: Json): string {
  return sha256(Buffer.from(salt_hex, 'hex'), canonical(value)).toString('hex');
}

/** A tree out of its row. */
export function peaksOf(row: Json | undefined): Peaks {
  return row === undefined ? NO_PEAKS : (row as unknown as Peaks);
}

/** A tree as a row. */
export const peaksRow = ({ size, peaks }: Peaks): JsonObject => ({ size, peaks: [...peaks] });
