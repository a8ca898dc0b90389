// What crosses between the log's thread and the fold's. Proofs cross as one array: cloning each of some
// twenty siblings would cost the log's thread more than taking them apart here.

import { concat, u16 } from '../encoding/bytes.ts';
import type { LogErrorCode } from '../errors.ts';
import type { MapLeaf, MapProof } from './check.ts';

/** A call; those with an id are answered. */
export type FoldCall = { readonly name: string } & (
  | { readonly op: 'apply'; readonly updates: Uint8Array }
  | { readonly op: 'release'; readonly version: number }
  | { readonly op: 'load'; readonly id: number; readonly path: string }
  | { readonly op: 'cut'; readonly id: number }
  | {
      readonly op: 'prove';
      readonly id: number;
      readonly version: number;
      readonly skeys: readonly Uint8Array[];
    }
  | { readonly op: 'save'; readonly id: number; readonly path: string; readonly covered: number }
  | { readonly op: 'close'; readonly id: number }
);

/** An answer: the result of the call, or what it threw; `code` is that of a LogError. */
export type FoldAnswer =
  | { readonly id: number; readonly result: unknown }
  | {
      readonly id: number;
      readonly failed: { readonly code?: LogErrorCode; readonly message: string };
    };

const HASH_BYTES = 32;

/** For each proof: u16 siblings ‖ u16 leaf (0 or 1) ‖ siblings[32 each, zeros for null] ‖ skey ‖ vhash. */
export function packProofs(proofs: readonly MapProof[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const { siblings, leaf } of proofs) {
    parts.push(u16(siblings.length), u16(leaf === null ? 0 : 1));
    for (const sibling of siblings) parts.push(sibling ?? new Uint8Array(HASH_BYTES));
    if (leaf !== null) parts.push(leaf.skey, leaf.vhash);
  }
  return concat(...parts);
}

/** The proofs of packProofs, as views of its bytes. */
export function unpackProofs(bytes: Uint8Array): MapProof[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const proofs: MapProof[] = [];
  let at = 0;
  const next = (): Uint8Array => bytes.subarray(at, (at += HASH_BYTES));
  while (at < bytes.length) {
    const count = view.getUint16(at);
    const hasLeaf = view.getUint16(at + 2) === 1;
    at += 4;
    const siblings: (Uint8Array | null)[] = [];
    while (siblings.length < count) {
      const sibling = next();
      // No hash is 32 zero bytes but the empty map.
      siblings.push(sibling.every((byte) => byte === 0) ? null : sibling);
    }
    const leaf: MapLeaf | null = hasLeaf ? { skey: next(), vhash: next() } : null;
    proofs.push({ siblings, leaf });
  }
  return proofs;
}
