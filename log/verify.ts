// The interface of the offline verifier: everything that a third party needs to check documents of a log. Browser-safe:
// no node:*, no store; the portable suite unless the caller passes another one. log/FORMAT.md §5, §6; gateway/API.md
// §1.1.

import { portable } from './crypto/portable.ts';
import type { Suite } from './crypto/suite.ts';
import type { Json } from './encoding/json.ts';
import { LogError } from './errors.ts';
import { checkConsistency, checkInclusion } from './merkle/check.ts';
import { parseTlogProof } from './note/tlog-proof.ts';
import { checkAbsence } from './verify/absence.ts';
import type { AbsenceResult } from './verify/absence.ts';
import type { Question } from './verify/document.ts';
import { readEntry, openEntry as open } from './verify/entry.ts';
import type { OpenedEntry, TreeHead } from './verify/entry.ts';
import { hash, list } from './verify/document.ts';
import type { Trust } from './verify/trust.ts';
import { checkWitnesses, openTree } from './verify/trust.ts';

export { isLogError, LogError } from './errors.ts';
export type { LogErrorCode } from './errors.ts';
export type { Json, JsonObject } from './encoding/json.ts';
export type { Suite } from './crypto/suite.ts';
export { verifyReceipt } from './verify/receipt.ts';
export type { Check, CheckName } from './verify/receipt.ts';
export type { ReceiptOptions, ReceiptResult } from './verify/receipt.ts';
export type { AbsenceResult, Verdict } from './verify/absence.ts';
export type { Question } from './verify/document.ts';
export type { OpenedEntry, TreeHead } from './verify/entry.ts';
export { parsePolicy } from './note/policy.ts';
export { parseTlogProof } from './note/tlog-proof.ts';
export { kitChange, originsOf, trustFromKit } from './verify/kit.ts';
export { trustedKeyOf } from './verify/trust.ts';
export type { Trust, TrustedKey } from './verify/trust.ts';
// Needed by portable code of plugins: plugins/require-receipt runs inside other services.
export { portable } from './crypto/portable.ts';
export {
  fromBase64,
  fromBase64Url,
  fromHex,
  fromUtf8,
  toBase64,
  toBase64Url,
  toHex,
  utf8,
} from './encoding/bytes.ts';
export { canonical } from './encoding/canonical.ts';
export { isJsonObject, parseJson } from './encoding/json.ts';
export { parseVkey } from './note/note.ts';
// One verifier for each document type: plugins/verifiers.ts lists these and those of the plugins.
export { absenceVerifier, timeWords } from './verify/absence-finding.ts';
export {
  checkLeaf,
  findingOf,
  leafHashOf,
  Lines,
  MAX_BYTES,
  memberOf,
  NOT_PROVEN,
  objectOf,
  objectsOf,
  parsedOf,
  refuse,
  rootOfLeaves,
  single,
  suiteOf,
  textOf,
  isUnanswerable,
  Unanswerable,
  untold,
} from './verify/finding.ts';
export type { Asked, Finding, Line, Moment, Shown, Verifier, Way } from './verify/finding.ts';
export {
  checkpointVerifier,
  checkReceipt,
  heldEntry,
  heldReceipt,
  inclusionVerifier,
  receiptVerifier,
  tlogProofVerifier,
} from './verify/receipt-finding.ts';
export * from './verify/recognise.ts';
export { violationVerifier } from './verify/violation.ts';

/** The suite to check with (`portable` unless given) and the verifier's time (the current time unless given). */
export interface VerifyOptions {
  readonly suite?: Suite;
  readonly now_ms?: number;
}

/**
 * Checks an absence document (log/FORMAT.md §6) against the caller's question.
 *
 * @throws LogError `document_invalid` with the step and the reason
 */
export function verifyAbsence(
  document: Json,
  question: Question,
  trust: Trust,
  options: VerifyOptions = {},
): AbsenceResult {
  return checkAbsence(document, question, trust, { suite: portable, ...options });
}

/**
 * Verifies a signed note of the trusted log. If the trust has a witness policy, the cosignatures must satisfy it.
 *
 * @throws LogError `note_invalid`
 */
export function verifyCheckpoint(
  note: string,
  trust: Trust,
  options: VerifyOptions = {},
): TreeHead & { readonly witnessed: number; readonly map_verified: number } {
  const tree = openTree(options.suite ?? portable, trust, note);
  const { witnessed, map_verified } = checkWitnesses(trust, tree.cosignatures, 0);
  return { size: tree.size, root: tree.root, witnessed, map_verified };
}

/**
 * Checks with a C2SP tlog-proof that the log contains the entry with this text. Does not check the signature of the
 * entry: `verifyReceipt` does.
 *
 * @throws LogError `proof_invalid`, `note_invalid` or the fault of the entry
 */
export function verifyTlogProof(
  proof: string,
  entry: string,
  trust: Trust,
  options: VerifyOptions = {},
): TreeHead & { readonly index: number } {
  const suite = options.suite ?? portable;
  const { leafHash, statement } = readEntry(suite, entry);
  const { index, path: nodes, checkpoint } = parseTlogProof(proof);
  if (statement.index !== index) throw new LogError('proof_invalid', 'proof is of another entry');
  const { size, root } = verifyCheckpoint(checkpoint, trust, options);
  checkInclusion(suite, { index, size, leafHash, path: nodes, root });
  return { index, size, root };
}

/**
 * Checks that the tree of one signed note is a prefix of that of another; `proof` is the path of
 * `proof/consistency`, base64.
 *
 * @throws LogError `proof_invalid` or `note_invalid`
 */
export function verifyConsistency(
  from: string,
  to: string,
  proof: Json,
  trust: Trust,
  options: VerifyOptions = {},
): { readonly from: TreeHead; readonly to: TreeHead } {
  const suite = options.suite ?? portable;
  const older = verifyCheckpoint(from, trust, options);
  const newer = verifyCheckpoint(to, trust, options);
  checkConsistency(suite, {
    from: older.size,
    to: newer.size,
    fromRoot: older.root,
    toRoot: newer.root,
    // Twice the longest inclusion path is more than any consistency path has.
    path: list(proof, 'path', 106).map((node) => hash(node, 'path')),
  });
  return { from: older, to: newer };
}

/**
 * Whether the Ed25519 signature is valid by the acceptance rule of the formats (log/FORMAT.md, Notation):
 * S < L, A and R canonical and not of low order, no cofactor. Wrong lengths are false.
 */
export function verifySignature(
  signed: {
    /** 32 bytes. */
    readonly publicKey: Uint8Array;
    readonly message: Uint8Array;
    /** 64 bytes. */
    readonly signature: Uint8Array;
  },
  { suite = portable }: VerifyOptions = {},
): boolean {
  return suite.verify(signed.publicKey, signed.message, signed.signature);
}

/**
 * Verifies and parses `{index, entry, path}` under a tree head (log/FORMAT.md §6.2).
 *
 * @throws LogError of the check that failed
 */
export function openEntry(
  opened: Json,
  tree: TreeHead,
  trust: Trust,
  options: VerifyOptions = {},
): OpenedEntry {
  return open(options.suite ?? portable, trust, tree, opened);
}
