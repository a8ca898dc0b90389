// Numbers of COSE that this project uses, by name. RFC 9052, 9053, 9360, 9597, 9864, 9942; IANA COSE registries.

/** Header labels. */
export const HEADER = {
  alg: 1,
  content_type: 3,
  kid: 4,
  cwt_claims: 15,
  receipts: 394,
  vds: 395,
  vdp: 396,
} as const;

/** CWT claims (RFC 8392) inside label 15. */
export const CLAIM = { iss: 1, sub: 2, iat: 6 } as const;

/** Algorithms; EdDSA is the name that RFC 9864 retires in favour of Ed25519, read and not written. */
export const ALG = { ES256: -7, EdDSA: -8, Ed25519: -19 } as const;

/** The only verifiable data structure: an RFC 9162 tree over SHA-256. */
export const RFC9162_SHA256 = 1;

/** Proof types of `vdp`. */
export const PROOF = { inclusion: -1, consistency: -2 } as const;

/**
 * Label of our own in the unprotected header of a receipt: the exact bytes of the entry that the proof is of. It only
 * carries them; the proof says whether they are right.
 */
export const ENTRY_LABEL = 'entry';
