// The log itself: an append-only list of signed entries. Plugins and the gateway import this file; operate.ts is the
// interface for operations, verify.ts the one for offline checks. FORMAT.md specifies the bytes. The folders, in the
// order to read them:
//
// rules/    what may be in a log: built-in types, declared types, surfaces. Shared by the writer and by replay.
// write/    how an entry gets into the log. sequencer.ts calls placing.ts, which fixes the index, the time and the links
//           of each entry; committer.ts has the statement signed (crypto/sign-pool.ts), and integrate.ts lists the writes
//           of one synced batch. publisher.ts signs checkpoints; catch-up.ts and engine.ts restore the state at a start.
// read/     entries, tiles, lookups and absence documents, read from durable and published data.
// replay/   every rule checked again from the entries, with state that is independent of the writer's.
// cluster/  a log on several nodes, with PostgreSQL as the sequence of committed rounds.
// operate/  fsck, reindex, restore, adoption, successor logs. verify/ and cose/ check documents without a log.
// Below them: store/ (LevelDB, files), merkle/, map/ (chain heads), note/ (checkpoints), crypto/, encoding/.

export { openLog, openThreads } from './open.ts';
export { openSuccessor } from './operate/succession.ts';
export type { Succession, SuccessionOptions } from './operate/succession.ts';
export * from './cluster/index.ts';
export { CLUSTER, clusterMarker, logNumbers, openRegister } from './store/data-folder.ts';
export type { OpenedRegister, RegisterPlace } from './store/data-folder.ts';
export type { OpenLogOptions, Threads } from './open.ts';
export { systemTime } from './write/clock.ts';
export { checkEntryType } from './rules/declarations.ts';
export { builtinSentence, MAX_SENTENCE, plural, shortName, utcOf } from './rules/sentences.ts';
export type { TimeSource } from './write/clock.ts';
export type { Predecessor } from './write/engine.ts';
export type { Cosign, CosignedNote, Offer } from './write/publisher.ts';
export { MAX_LOOKUP_ENTRIES } from './read/lookup.ts';
export type { Page, Question } from './read/lookup.ts';
export {
  derivedMembers,
  readEntry,
  receiptOf,
  sessionRef,
  tenantKeyHash,
} from './write/statement.ts';
export type { Erased, ReceiptLinks, ReceiptPlace } from './write/statement.ts';
export { isLogError, LogError } from './errors.ts';
export type { LogErrorCode } from './errors.ts';
export * from './types.ts';

export {
  equal,
  fromBase64,
  fromBase64Url,
  fromHex,
  toBase64,
  toBase64Url,
  toHex,
} from './encoding/bytes.ts';
export { canonical } from './encoding/canonical.ts';
export { isJsonObject, parseJson } from './encoding/json.ts';
export { memberName } from './encoding/canonical.ts';
export type { Json, JsonObject } from './encoding/json.ts';
export { generateKey, readKeyFile, writeKeyFile } from './crypto/keys.ts';
export { encryptKeyFiles } from './crypto/keys.ts';
export type { KeyAlgorithm } from './crypto/keys.ts';
export { randomPiece } from './crypto/native.ts';
export { sodium } from './crypto/sodium.ts';
export type { Sodium } from './crypto/sodium.ts';
export { native } from './crypto/native.ts';
export { openSignPool } from './crypto/sign-pool.ts';
export type { SignPool } from './crypto/sign-pool.ts';
export type { Suite } from './crypto/suite.ts';
export { thumbprint } from './crypto/thumbprint.ts';
export { WorkerPool } from './worker.ts';
export type { ThreadJobs, WorkerPoolOptions } from './worker.ts';
export { checkInclusion } from './merkle/check.ts';
export type { InclusionClaim } from './merkle/check.ts';
export { leafHash } from './merkle/hash.ts';
export { listTree } from './merkle/prove.ts';
export type { ListTree } from './merkle/prove.ts';
export { parseTilePath, TILE_WIDTH } from './merkle/tile.ts';
export type { TileLevel, TileName } from './merkle/tile.ts';
export { RightEdge } from './merkle/edge.ts';
export { checkKey } from './map/key.ts';
export { FORMAT } from './rules/builtin.ts';
export { isInForce, manifestHash, runSince } from './rules/surfaces.ts';
export { declares, smallestInterval, spanOf } from './rules/surfaces.ts';
export * from './cose/portable.ts';
export { formatTlogProof, parseTlogProof } from './note/tlog-proof.ts';
export { isMapCosigner, openCheckpoint, parseCheckpoint } from './note/checkpoint.ts';
export { formatAddCheckpoint } from './note/checkpoint.ts';
export type { Cosigned } from './note/checkpoint.ts';
export { NotePool } from './note/note-pool.ts';
export { parseVkey } from './note/note.ts';
export { parsePolicy } from './note/policy.ts';
export { countQuorum } from './note/policy.ts';
export type { CosignerName, Policy, PolicyKey } from './note/policy.ts';
// Publishing a log as static files, to a folder or a bucket.
export { forked, isTilesRefused, logMirror, TilePublisher } from './operate/tile-publisher.ts';
export type { PublishedTiles, StoredPartial, TileStore } from './operate/tile-publisher.ts';
export { checkCurrent } from './store/manifest.ts';
export { openStore, systemReason } from './store/store.ts';
export type { Store } from './store/store.ts';
export { checkTables, tableFaults } from './store/tables.ts';
export type { TableCheck, TableFault } from './store/tables.ts';
export { howLeft, markInUse, unmark } from './store/journal.ts';
export { checkJournals, rememberJournals } from './store/journal.ts';
export { FileRegister, registerName } from './store/register.ts';
export type { FolderRegister, Register } from './store/register.ts';
export { sealRow, unsealRow } from './store/layout.ts';
export {
  IDLE_MS,
  makeFolder,
  writable,
  removeLeftovers,
  syncFolder,
  writeDurableFile,
} from './store/durable-file.ts';
export { Turns } from './turns.ts';
