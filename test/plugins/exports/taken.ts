// Checks COSE messages and the log tree with third-party code: cbor2 decodes messages, node:crypto hashes, and the signed
// bytes are built by hand.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { decode } from 'cbor2';
import type { Tag } from 'cbor2';

/** A COSE_Sign1 as decoded by cbor2. */
export interface Taken {
  readonly protectedBytes: Uint8Array;
  readonly protected: Map<number | string, unknown>;
  readonly unprotected: Map<number | string, unknown>;
  readonly payload: Uint8Array | null;
  readonly signature: Uint8Array;
}

/** Decodes a message with cbor2. */
export function taken(bytes: Uint8Array): Taken {
  const tag = decode<Tag>(bytes, { preferMap: true });
  assert.equal(Number(tag.tag), 18);
  const [protectedBytes, unprotected, payload, signature] = tag.contents as [
    Uint8Array,
    Map<number, unknown>,
    Uint8Array | null,
    Uint8Array,
  ];
  const headers = decode<Map<number | string, unknown>>(protectedBytes, { preferMap: true });
  return { protectedBytes, protected: headers, unprotected, payload, signature };
}

/** A CBOR byte string, written by hand. */
function bstr(bytes: Uint8Array): Buffer {
  const { length } = bytes;
  const head =
    length < 24
      ? [0x40 + length]
      : length < 256
        ? [0x58, length]
        : [0x59, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** The Sig_structure of RFC 9052 §4.4, written by hand. */
export const sigStructure = (protectedBytes: Uint8Array, payload: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from([0x84, 0x6a]),
    Buffer.from('Signature1'),
    bstr(protectedBytes),
    Buffer.from([0x40]),
    bstr(payload),
  ]);

/** SHA-256 of the parts, one after the other. */
export const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** RFC 9162 §2.1.3.2, implemented separately. */
export function rootFrom(leaf: Buffer, index: number, size: number, path: Uint8Array[]): Buffer {
  let [fn, sn, root] = [index, size - 1, leaf];
  for (const node of path) {
    if (fn % 2 === 1 || fn === sn) {
      root = sha256(Buffer.of(1), node, root);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else {
      root = sha256(Buffer.of(1), root, node);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  assert.equal(sn, 0);
  return root;
}
