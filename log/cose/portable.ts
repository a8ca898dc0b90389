// The part of COSE that runs in browsers: the codec of receipts, signed statements and keys, and the verifier of COSE
// messages. The third door of the log, for pages and for the verifiers of plugins.

export {
  checkCoseReceipt,
  checkSigned,
  COSE_NOT_PROVEN,
  coseVerifier,
  kitKey,
  receiptsIn,
} from './finding.ts';
export { bytesOf, decodeCbor, encodeCbor, listOf, mapOf } from './cbor.ts';
export type { Cbor, CborKey, CborMap } from './cbor.ts';
export { algOf, coseKey, coseThumbprint, publicJwk } from './sign1.ts';
export type { CosePublicJwk, OkpJwk, P256Jwk } from './sign1.ts';
export {
  ALG,
  CLAIM,
  ENTRY_LABEL,
  HEADER,
  PROOF,
  RECEIPT_PROFILE,
  RFC9162_SHA256,
} from './sign1.ts';
export {
  consistencyHeader,
  consistencyOf,
  inclusionHeader,
  inclusionOf,
  isReceipt,
  openConsistency,
  openInclusion,
  receiptHeader,
} from './receipt.ts';
export type { ConsistencyProof, InclusionProof, ReceiptSigner } from './receipt.ts';
export {
  decodeSign1,
  encodeProtected,
  encodeSign1,
  toBeSigned,
  withoutUnprotected,
} from './sign1.ts';
export type { CoseSign1 } from './sign1.ts';
export { verifyCose, verifyES256 } from './sign1.ts';
