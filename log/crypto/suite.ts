// The two primitives of the formats, as a value that is passed in: native on the server, portable in
// the browser. Both accept exactly the same signatures (RFC 8032 without cofactor; log/FORMAT.md, Notation).

/** SHA-256 and Ed25519 verification; pure, synchronous, never throwing for bad input bytes. */
export interface Suite {
  /** SHA-256 of the bytes: 32 bytes of their own, or written to `into`. The bytes are not kept. */
  sha256(bytes: Uint8Array, into?: Uint8Array): Uint8Array;
  /** True only when S < L, A and R are canonical and not of low order, and the equation without cofactor holds. */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
}
