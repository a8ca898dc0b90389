// A batch of messages as one buffer, and what signs it: the part of the sign pool that runs on either
// side of the thread. Server only.

import { sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const SIGNATURE_BYTES = 64;

/** Messages one after the other, and how long each is. */
export interface Batch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
}

/** What the pool asks of its thread: to keep a key, or to sign with one. */
export type SignRequest =
  | { readonly keyId: string; readonly key: KeyObject }
  | { readonly keyId: string; readonly id: number; readonly batch: Batch };

/** What the thread answers: 64 bytes for each message, or why not. */
export type SignAnswer =
  | { readonly id: number; readonly signatures: Uint8Array<ArrayBuffer> }
  | { readonly id: number; readonly error: string };

/** Copies messages into buffers of their own, which can move to another thread. */
export function packBatch(messages: readonly Uint8Array[]): Batch {
  const lengths = Uint32Array.from(messages, (message) => message.length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const message of messages) {
    bytes.set(message, at);
    at += message.length;
  }
  return { bytes, lengths };
}

/** The signatures of a batch by an Ed25519 or ES256 key, 64 bytes each, in its order. */
export function signBatch(key: KeyObject, { bytes, lengths }: Batch): Uint8Array<ArrayBuffer> {
  const signatures = new Uint8Array(lengths.length * SIGNATURE_BYTES);
  const digest = key.asymmetricKeyType === 'ec' ? 'sha256' : null;
  const signing = { key, dsaEncoding: 'ieee-p1363' } as const;
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    signatures.set(sign(digest, bytes.subarray(at, at + length), signing), i * SIGNATURE_BYTES);
    at += length;
  }
  return signatures;
}

/** Views of the single signatures. */
export function splitSignatures(signatures: Uint8Array): Uint8Array[] {
  return Array.from({ length: signatures.length / SIGNATURE_BYTES }, (_, i) =>
    signatures.subarray(i * SIGNATURE_BYTES, (i + 1) * SIGNATURE_BYTES),
  );
}
