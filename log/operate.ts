// The door for operations: what the command line, monitors, mirrors and witnesses need in addition to log/index.ts.
//
// Most of it works on a log that no process has open (fsck, reindex, restore, adoption), or on the
// published form of a log that runs elsewhere (tiles, signed notes, replay). Plugins and the gateway do not import it.

// Checking and repairing the database of a log.
export { fsck } from './operate/fsck/fsck.ts';
export type { FsckResult } from './operate/fsck/fsck.ts';
export { rebuildRows, reindex } from './operate/reindex.ts';
export type { Reindexed, ReindexOptions } from './operate/reindex.ts';
export { restore } from './operate/restore.ts';
export { compareForAdoption, originIn } from './operate/adoption.ts';
export type { Adopted, AskWitnesses } from './operate/adoption.ts';

// The data folder, the checkpoint register and the rows of a database.
export {
  adoptFolder,
  findRegister,
  isMarked,
  isTied,
  knownRegisters,
  refusalOf,
} from './store/data-folder.ts';
export { openStore } from './store/store.ts';
export type { Store } from './store/store.ts';
export { DraftRegister } from './store/register.ts';
export { readRemembered, registerName } from './store/register.ts';
export {
  ATTACHED_ROW,
  CORE_ROW,
  entryKey,
  NOTE,
  PLUGIN_ROW,
  readRowKey,
  rowKey,
  tileKey,
} from './store/layout.ts';

// Replaying a log: checks every rule over its entries, with state that is independent of the writer's.
export { isViolation, Replay, Violation } from './replay/replay.ts';
export type { Closing, Opening, Predecessor, Replayed, Rule } from './replay/replay.ts';
export { textOfEntry } from './replay/replay.ts';
export { SignatureChecks } from './replay/replay.ts';
export { openVerifyPool } from './crypto/verify-pool.ts';
export type { VerifyPool } from './crypto/verify-pool.ts';
export { readEntry as entryParts } from './verify/entry.ts';
export { originParts } from './map/grammar.ts';
export { leafHashOf } from './write/statement.ts';
export { chainKeys, KINDS, sameKey } from './map/key.ts';

// Reading a published log: tiles, bundles and proofs.
export { overTiles } from './operate/mirror.ts';
export type { Mirror } from './operate/mirror.ts';
export { encodeBundle, parseBundle } from './merkle/tile.ts';
export { TILE_HEIGHT, tilePath, tileWidth } from './merkle/tile.ts';
export { EMPTY_ROOT, HASH_BYTES, nodeHash } from './merkle/hash.ts';
export { checkConsistency, provenPrefix } from './merkle/check.ts';
export { consistencyPath, inclusionPath, rootAt } from './merkle/prove.ts';
export type { HashReader } from './merkle/prove.ts';

// Signed notes: reading them, and signing them as a witness does.
export { formatCheckpoint } from './note/checkpoint.ts';
export type { Checkpoint } from './note/checkpoint.ts';
export { formatNote, openNote, signatureLine, splitNote } from './note/note.ts';
export type { NoteSigner } from './note/note.ts';
export { parseAddCheckpoint } from './note/checkpoint.ts';
export type { AddCheckpoint } from './note/checkpoint.ts';
export { signCosignature } from './note/note.ts';
export { policyOf } from './note/policy.ts';
export { quorumTime } from './note/policy.ts';
export { COSIGNER_KEY, formatVkey, isKeyName, LOG_KEY, ML_DSA_KEY } from './note/note.ts';
export type { Verifier } from './note/note.ts';
export { Signer } from './crypto/keys.ts';
export { publicKeyOfJwk } from './crypto/thumbprint.ts';
export { concat } from './encoding/bytes.ts';

// Used by the benchmark of the map.
export { openFold } from './map/fold.ts';
