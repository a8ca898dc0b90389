// The plugin contract, version 2: everything that a plugin may import, as `actlog/plugin` (plugins/GUIDE.md).
//
// Read plugin.ts first (what a plugin declares and what the host gives it), then route.ts (how a route is declared and
// answered), sentences.ts (the sentence that describes an entry) and errors.ts. schemas.ts, entries.ts, entities.ts,
// log-view.ts, lists.ts, catalog.ts and decimal.ts hold code that several plugins share. carry.ts is the hook that
// moves a plugin's state into a successor log.

export * from './plugin.ts';
export * from './route.ts';
export * from './errors.ts';
export * from './sentences.ts';
export * from './schemas.ts';
export * from './entries.ts';
export * from './entities.ts';
export * from './log-view.ts';
export * from './lists.ts';
export * from './catalog.ts';
export * from './carry.ts';
export * from './decimal.ts';
export * from './weeks.ts';

// Re-exports of the log package. A plugin reads a log only through LogView.

// Values and errors of the log.
export { FORMAT, isLogError, LOG_KINDS, LogError } from '../../log/index.ts';
export type {
  Appended,
  AppendOptions,
  ChainKey,
  Disclosure,
  Draft,
  Json,
  JsonObject,
  KeyAlgorithm,
  Kind,
  Link,
  Manifest,
  Published,
  RowReader,
  RowWriter,
  SequencePoint,
  Sequenced,
  SurfaceReader,
  Watch,
} from '../../log/index.ts';

// Encodings: strict JSON (`parseJson`), RFC 8785 (`canonical`), and hex and base64, decoded only from canonical text.
export {
  canonical,
  fromBase64,
  fromBase64Url,
  fromHex,
  isJsonObject,
  parseJson,
  toBase64,
  toBase64Url,
  toHex,
} from '../../log/index.ts';

// Small random values, cut from a buffer that is filled with one call to the system's generator.
export { randomPiece } from '../../log/index.ts';

// SHA-256 and Ed25519 by node:crypto, and RFC 6962 trees over lists that are not the log.
export { listTree, native, RightEdge } from '../../log/index.ts';
export type { ListTree } from '../../log/index.ts';

// Surfaces: the hash of a manifest, and what the manifest declares at a given time (log/FORMAT.md §4).
export {
  declares,
  isInForce,
  manifestHash,
  runSince,
  smallestInterval,
  spanOf,
} from '../../log/index.ts';

// The offline checks of `actlog/verify`, made with the keys that the caller trusts.
export {
  parsePolicy,
  trustedKeyOf,
  verifyAbsence,
  verifyConsistency,
  verifyReceipt,
} from '../../log/verify.ts';
export type { AbsenceResult, CheckName, Trust, Verifier } from '../../log/verify.ts';

// COSE messages, keys and receipts (RFC 9052, RFC 9679, RFC 9942).
export {
  ALG,
  algOf,
  CLAIM,
  consistencyHeader,
  coseKey,
  coseThumbprint,
  RECEIPT_PROFILE,
  decodeSign1,
  encodeCbor,
  encodeProtected,
  encodeSign1,
  ENTRY_LABEL,
  HEADER,
  inclusionHeader,
  publicJwk,
  receiptHeader,
  toBeSigned,
  verifyCose,
  withoutUnprotected,
} from '../../log/index.ts';
export type { Cbor, CosePublicJwk, CoseSign1 } from '../../log/index.ts';

// `Turns` runs read-then-write operations one after another; `WorkerPool` runs a plugin's heavy work in threads.
export { Turns, WorkerPool } from '../../log/index.ts';
export type { ThreadJobs, WorkerPoolOptions } from '../../log/index.ts';
