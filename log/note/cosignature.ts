// Cosignatures of checkpoints with a time: C2SP tlog-cosignature v1, Ed25519 (type 0x04).

import { concat, readU64, u64, utf8 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from '../crypto/suite.ts';
import { signatureLine } from './signature-line.ts';
import type { NoteSigner } from './signature-line.ts';
import { COSIGNER_KEY, makeVerifier } from './vkey.ts';

const TIME_BYTES = 8;
/** u64 time ‖ Ed25519 signature. */
const COSIGNATURE_BYTES = TIME_BYTES + 64;

/**
 * The bytes that a cosigner signs. `checkpoint` is the whole note text with its last newline, without
 * signature lines; time in seconds. They do not name the cosigner, so one key serves one cosigner only.
 */
export function cosignatureMessage(checkpoint: string, time_s: number): Uint8Array {
  return utf8(`cosignature/v1\ntime ${String(time_s)}\n${checkpoint}`);
}

/** The signature line of a cosigner for the text of a checkpoint. Time in seconds, at least 1. */
export function signCosignature(
  suite: Suite,
  signer: NoteSigner,
  name: string,
  checkpoint: string,
  time_s: number,
): string {
  if (!Number.isSafeInteger(time_s) || time_s < 1) {
    throw new LogError('note_invalid', 'cosignature time is not a whole number of seconds over 0');
  }
  const { key_id } = makeVerifier(suite, name, COSIGNER_KEY, signer.publicKey);
  const signature = signer.sign(cosignatureMessage(checkpoint, time_s));
  return signatureLine(name, key_id, concat(u64(time_s), signature));
}

/** The time in seconds of a good cosignature (72 bytes, key id left out), or null for a bad one. */
export function verifyCosignature(
  suite: Suite,
  publicKey: Uint8Array,
  checkpoint: string,
  cosignature: Uint8Array,
): number | null {
  if (cosignature.length !== COSIGNATURE_BYTES) return null;
  let time_s: number;
  try {
    time_s = readU64(cosignature, 0);
  } catch {
    return null; // over 2^53 − 1 seconds
  }
  // 0 stands for "no time" in C2SP, and no witness may send it.
  if (time_s === 0) return null;
  const message = cosignatureMessage(checkpoint, time_s);
  return suite.verify(publicKey, message, cosignature.subarray(TIME_BYTES)) ? time_s : null;
}
