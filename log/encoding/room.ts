// Memory for bytes that are hashed or checked and then dropped. Over 64 bytes an array of its own lies outside the
// heap, and one of 64, a signature, is moved there when it is checked: that costs ten times what is done with so few
// bytes. Browser-safe.

const ON_HEAP = 63;
const ROOM_BYTES = 16_384;
let room = new Uint8Array(0);
let taken = 0;

/** So many zero bytes that nobody else has; the array beneath them may hold more, and lives as long as they do. */
export function cut(length: number): Uint8Array {
  if (length <= ON_HEAP || 4 * length > ROOM_BYTES) return new Uint8Array(length);
  if (taken + length > room.length) {
    room = new Uint8Array(ROOM_BYTES);
    taken = 0;
  }
  return room.subarray(taken, (taken += length));
}
