// Checks proofs that the head map contains a key with a value, or does not contain a key (log/FORMAT.md §4, §6.4).
//
// The caller chooses the root and the key. Everything else may come from an attacker. Published verifiers of such maps
// accepted paths that belong to another key; the steps (A) to (C) of `checkNonMember` prevent that. Browser-safe.

import type { Suite } from '../crypto/suite.ts';
import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { climb, pairHash } from '../merkle/hash.ts';
import type { Node } from '../merkle/hash.ts';

/**
 * The siblings on the path of a key, from the root down. An empty subtree is null, and is never given as 32 zero bytes.
 */
export type Siblings = readonly (Node | null)[];

/** A key of the map with its value. */
export interface MapLeaf {
  readonly skey: Uint8Array;
  readonly vhash: Uint8Array;
}

/**
 * The path of a key from the root down, and the leaf at its end: that of the key itself, that of another key with the
 * same first bits, or null if the subtree is empty.
 */
export interface MapProof {
  readonly siblings: readonly (Uint8Array | null)[];
  readonly leaf: MapLeaf | null;
}

/** A path has at most one sibling for each bit of a key. */
export const MAX_SIBLINGS = 256;

const MAP_HASH_BYTES = 32;

/** The hash of an empty map or subtree: 32 zero bytes, a constant that is not itself a hash of anything. */
export function emptyMap(): Uint8Array {
  return new Uint8Array(MAP_HASH_BYTES);
}

/** `emptyMap` in base64. */
const EMPTY_TEXT = `${'A'.repeat(43)}=`;

/** A node is H(03, left ‖ right). */
const NODE_TAG = 3;

const leafPair = pairHash(2);

/** H(02, skey ‖ vhash). */
export function mapLeafHash(suite: Suite, leaf: MapLeaf): Uint8Array {
  return leafPair(suite, leaf.skey, leaf.vhash);
}

/**
 * Checks that the map with this root contains skey with the value vhash.
 *
 * @throws LogError `proof_invalid`
 */
export function checkMember(
  suite: Suite,
  proof: { root: Uint8Array; skey: Uint8Array; vhash: Uint8Array; siblings: Siblings },
): void {
  const { root, skey, vhash, siblings } = proof;
  checkHash(root, 'map root');
  checkHash(skey, 'skey');
  checkHash(vhash, 'vhash');
  checkSiblings(siblings);
  checkRoot(rootFrom(suite, mapLeafHash(suite, { skey, vhash }), skey, siblings), root);
}

/**
 * Checks that the map with this root does not contain skey: the path of skey ends in an empty subtree or, if `foreign`
 * is given, in the leaf of another key.
 *
 * @throws LogError `proof_invalid`
 */
export function checkNonMember(
  suite: Suite,
  proof: { root: Uint8Array; skey: Uint8Array; siblings: Siblings; foreign?: MapLeaf | undefined },
): void {
  const { root, skey, siblings, foreign } = proof;
  checkHash(root, 'map root');
  checkHash(skey, 'skey');
  checkSiblings(siblings);
  let slot = emptyMap();
  if (foreign !== undefined) {
    checkHash(foreign.skey, 'skey of the foreign leaf');
    checkHash(foreign.vhash, 'vhash of the foreign leaf');
    // (A) A leaf of the key itself would prove that the map contains it.
    if (equal(foreign.skey, skey)) throw invalid('the foreign leaf is the key itself');
    // (B) A leaf whose key has other first bits is in another part of the map, and proves nothing about this path.
    if (!sharesBits(foreign.skey, skey, siblings.length)) {
      throw invalid('the foreign leaf is not on the path of the key');
    }
    slot = mapLeafHash(suite, foreign);
  }
  // (C) The bits of the caller's key decide between left and right, never those of the foreign leaf.
  checkRoot(rootFrom(suite, slot, skey, siblings), root);
}

/** Bit `d` of a key; bit 0 is the most significant one. */
export function bitAt(key: Uint8Array, d: number): number {
  return ((key[d >> 3] ?? 0) >> (7 - (d & 7))) & 1;
}

function rootFrom(
  suite: Suite,
  slot: Uint8Array,
  skey: Uint8Array,
  siblings: Siblings,
): Uint8Array {
  const depth = siblings.length - 1;
  const up = siblings.toReversed();
  return climb(suite, NODE_TAG, slot, up, (level) => bitAt(skey, depth - level) === 1);
}

function checkSiblings(siblings: Siblings): void {
  if (siblings.length > MAX_SIBLINGS) {
    throw invalid(
      `path has ${String(siblings.length)} siblings, the limit is ${String(MAX_SIBLINGS)}`,
    );
  }
  for (const sibling of siblings) {
    if (sibling !== null && isEmpty(sibling)) throw invalid('an empty sibling is spelled out');
  }
  // A leaf has the smallest depth at which its path is unique, so the last sibling is never an empty subtree.
  if (siblings.at(-1) === null) throw invalid('the last sibling is empty');
}

function isEmpty(hash: Node): boolean {
  if (typeof hash === 'string') return hash === EMPTY_TEXT;
  for (const byte of hash) if (byte !== 0) return false;
  return true;
}

function sharesBits(a: Uint8Array, b: Uint8Array, bits: number): boolean {
  for (let d = 0; d < bits; d++) if (bitAt(a, d) !== bitAt(b, d)) return false;
  return true;
}

function checkRoot(computed: Uint8Array, root: Uint8Array): void {
  if (!equal(computed, root)) throw invalid('path does not lead to the map root');
}

function checkHash(bytes: Uint8Array, name: string): void {
  if (bytes.length !== MAP_HASH_BYTES) {
    throw invalid(`${name} is ${String(bytes.length)} bytes, not ${String(MAP_HASH_BYTES)}`);
  }
}

function invalid(message: string): LogError {
  return new LogError('proof_invalid', message);
}
