// The two cryptographic primitives of the format, which callers pass in: native.ts on the server, portable.ts in
// browsers. Both accept exactly the same signatures (RFC 8032 without the cofactor; log/FORMAT.md, Notation).

/** SHA-256 and Ed25519 verification. Both are pure and synchronous, and throw for no input. */
export interface Suite {
  /** SHA-256 of the bytes, in a new array of 32 bytes or written to `into`. */
  sha256(bytes: Uint8Array, into?: Uint8Array): Uint8Array;
  /** Whether S < L, A and R are canonical and not of low order, and the equation without the cofactor holds. */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
}
