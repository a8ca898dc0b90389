// What bytes may be checked at all: the part of the Ed25519 rule that curve libraries differ in, decided
// on the encodings alone and shared by both suites (log/FORMAT.md, Notation; RFC 8032 §5.1.3, §5.1.7).

/** L = 2^252 + 27742317777372353535851937790883648493, little-endian. */
const GROUP_ORDER = littleEndian(
  '1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed',
);

/** The y of the eight points whose order divides 8; the sign bit does not matter. */
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

/** One place of an encoded y, its sign bit cleared. */
function placeOfY(point: Uint8Array, i: number): number {
  const byte = point[i] ?? 0;
  return i === 31 ? byte & 0x7f : byte;
}

/** y < p = 2^255 − 19: only the nineteen values from p up spell a smaller y a second time. */
function isReduced(point: Uint8Array): boolean {
  if (placeOfY(point, 0) < 0xed || placeOfY(point, 31) !== 0x7f) return true;
  for (let i = 1; i < 31; i += 1) if (placeOfY(point, i) !== 0xff) return true;
  return false;
}

/**
 * True for a canonical encoding that is not of low order. x = 0 with the sign bit set needs no rule of
 * its own: only y = 1 and y = p − 1 have x = 0, and both are of low order.
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
 * True when a public key (32 bytes) and a signature R ‖ S (64 bytes) may go to the equation: lengths
 * fit, A and R are canonical and not of low order, S < L. Whether the points lie on the curve is for
 * the suite to find. Only public bytes come here, so the time it takes may depend on them.
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
