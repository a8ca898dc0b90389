// The part of the Ed25519 acceptance rule in which libraries differ: which encodings of keys and signatures are
// accepted. It is decided from the bytes alone, and both suites use it, so that they accept the same signatures
// (log/FORMAT.md, Notation; RFC 8032 §5.1.3, §5.1.7).

/** L = 2^252 + 27742317777372353535851937790883648493, little-endian. */
const GROUP_ORDER = littleEndian(
  '1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed',
);

/** The y coordinates of the eight points whose order divides 8, without sign bits. */
const LOW_ORDER_Y = [
  littleEndian('0000000000000000000000000000000000000000000000000000000000000000'), // order 4
  littleEndian('0000000000000000000000000000000000000000000000000000000000000001'), // order 1
  littleEndian('7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec'), // order 2
  littleEndian('05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826'), // order 8
  littleEndian('7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7'), // order 8
];

function littleEndian(hex: string): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => parseInt(hex.slice(62 - 2 * i, 64 - 2 * i), 16));
}

/** Byte `i` of the y coordinate of an encoded point, without the sign bit. */
function placeOfY(point: Uint8Array, i: number): number {
  const byte = point[i] ?? 0;
  return i === 31 ? byte & 0x7f : byte;
}

/** Whether y < p = 2^255 − 19. The nineteen values from p to 2^255 − 1 are second encodings of smaller values. */
function isReduced(point: Uint8Array): boolean {
  if (placeOfY(point, 0) < 0xed || placeOfY(point, 31) !== 0x7f) return true;
  for (let i = 1; i < 31; i += 1) if (placeOfY(point, i) !== 0xff) return true;
  return false;
}

/**
 * Whether a point has a canonical encoding and is not of low order. The encoding of x = 0 with a sign bit, which is not
 * canonical either, needs no check: x is 0 only for y = 1 and y = p − 1, which are both of low order.
 */
function isPlainPoint(point: Uint8Array): boolean {
  if (!isReduced(point)) return false;
  return !LOW_ORDER_Y.some((y) => {
    for (let i = 0; i < 32; i += 1) if (placeOfY(point, i) !== y[i]) return false;
    return true;
  });
}

function isBelowGroupOrder(scalar: Uint8Array): boolean {
  for (let i = 31; i >= 0; i -= 1) {
    const difference = (scalar[i] ?? 0) - (GROUP_ORDER[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/**
 * Whether the verification equation may be applied to a public key A (32 bytes) and a signature R ‖ S (64 bytes): the
 * lengths are right, A and R are canonical and not of low order, and S < L. The suite checks that the points are on the
 * curve. All inputs are public, so the running time may depend on them.
 */
export function isAcceptable(publicKey: Uint8Array, signature: Uint8Array): boolean {
  return (
    publicKey.length === 32 &&
    signature.length === 64 &&
    isBelowGroupOrder(signature.subarray(32)) &&
    isPlainPoint(publicKey) &&
    isPlainPoint(signature.subarray(0, 32))
  );
}
