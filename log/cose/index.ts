// COSE over CBOR: the codec of receipts, signed statements and keys, apart from the offline verifier of
// log/verify.ts, which needs none of it. portable.ts runs in browsers; beside it is the server's check of signatures.

export * from './portable.ts';
export { verifyCose } from './verify.ts';
