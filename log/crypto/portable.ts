// The suite of browsers and of the offline verifier: @noble, without node:*. noble's own verify multiplies by the
// cofactor, so this file has the equation without it (log/FORMAT.md, Notation; RFC 8032 §5.1.7).

import { Point } from '@noble/ed25519';
// The classes are imported because the functions of noble would add code for their options to the browser bundle.
import { _SHA256 as SHA256, _SHA512 as SHA512 } from '@noble/hashes/sha2.js';
import { isAcceptable } from './acceptance.ts';
import type { Suite } from './suite.ts';

const GROUP_ORDER = Point.CURVE().n;

function littleEndian(bytes: Uint8Array): bigint {
  let hex = '';
  for (const byte of bytes) hex = byte.toString(16).padStart(2, '0') + hex;
  return BigInt(`0x${hex}`);
}

/** k = SHA-512(R ‖ A ‖ M) mod L, over the encodings as given. */
function challenge(r: Uint8Array, publicKey: Uint8Array, message: Uint8Array): bigint {
  const digest = new SHA512().update(r).update(publicKey).update(message).digest();
  return littleEndian(digest) % GROUP_ORDER;
}

/** SHA-256 and Ed25519 by @noble; some fifteen times slower than the native suite. */
export const portable: Suite = {
  sha256(bytes, into = new Uint8Array(32)) {
    new SHA256().update(bytes).digestInto(into);
    return into;
  },

  verify(publicKey, message, signature) {
    if (!isAcceptable(publicKey, signature)) return false;
    const r = signature.subarray(0, 32);
    const s = littleEndian(signature.subarray(32));
    let a: Point;
    try {
      a = Point.fromBytes(publicKey, false);
    } catch {
      return false; // not on the curve
    }
    // R = [S]B − [k]A, without a cofactor, is compared as bytes, so R need not be decoded. All values are public, so
    // the faster multiplication, whose running time depends on the scalar, is safe.
    const k = challenge(r, publicKey, message);
    const expected = Point.BASE.multiply(s, false).subtract(a.multiply(k, false)).toBytes();
    return expected.every((byte, i) => byte === r[i]);
  },
};
