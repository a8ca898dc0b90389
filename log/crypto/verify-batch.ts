// A batch of signatures as flat buffers, and what checks it: the part of the verify pool that runs on
// either side of a thread. Server only.

import { native } from './native.ts';

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** A signature with what it is of. */
export interface SignatureCheck {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

/** Keys, signatures and messages one after the other, and how long each message is. */
export interface CheckBatch {
  readonly keys: Uint8Array<ArrayBuffer>;
  readonly signatures: Uint8Array<ArrayBuffer>;
  readonly messages: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
}

/** What the pool asks of a thread, and what it answers: 1 for each signature that holds, else 0. */
export interface VerifyRequest {
  readonly id: number;
  readonly batch: CheckBatch;
}
export interface VerifyAnswer {
  readonly id: number;
  readonly holds: Uint8Array<ArrayBuffer>;
}

/** Copies checks into buffers of their own, which can move to another thread. */
export function packChecks(checks: readonly SignatureCheck[]): CheckBatch {
  const lengths = Uint32Array.from(checks, ({ message }) => message.length);
  const messages = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  const keys = new Uint8Array(checks.length * KEY_BYTES);
  const signatures = new Uint8Array(checks.length * SIGNATURE_BYTES);
  let at = 0;
  for (const [i, { publicKey, message, signature }] of checks.entries()) {
    keys.set(publicKey, i * KEY_BYTES);
    signatures.set(signature, i * SIGNATURE_BYTES);
    messages.set(message, at);
    at += message.length;
  }
  return { keys, signatures, messages, lengths };
}

/** Checks a batch with the native suite. */
export function verifyBatch(batch: CheckBatch): Uint8Array<ArrayBuffer> {
  const { keys, signatures, messages, lengths } = batch;
  const holds = new Uint8Array(lengths.length);
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    const good = native.verify(
      keys.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES),
      messages.subarray(at, at + length),
      signatures.subarray(i * SIGNATURE_BYTES, (i + 1) * SIGNATURE_BYTES),
    );
    holds[i] = good ? 1 : 0;
    at += length;
  }
  return holds;
}
