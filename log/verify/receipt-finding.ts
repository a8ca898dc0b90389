// The verifiers of receipts, inclusion proofs, tlog-proofs and checkpoints (log/FORMAT.md §5; gateway/API.md §1.1), and
// the checks of receipts and entries that the verifiers of plugins use.

import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { fromBase64, fromHex, toHex } from '../encoding/bytes.ts';
import { isLogError, LogError } from '../errors.ts';
import { checkInclusion } from '../merkle/check.ts';
import { parseTlogProof } from '../note/tlog-proof.ts';
import { readEntry, openEntry } from './entry.ts';
import {
  findingOf,
  leafHashOf,
  memberOf,
  NOT_PROVEN,
  objectOf,
  originOfNote,
  parseDocument,
  parsedOf,
  single,
  suiteOf,
  textOf,
  Unanswerable,
  wayOf,
} from './finding.ts';
import type { Asked, Finding, Verifier } from './finding.ts';
import { verifyReceipt } from './receipt.ts';
import type { ReceiptResult } from './receipt.ts';
import { besideOf, isMoreThanReceipt } from './recognise.ts';
import type { Trust } from './trust.ts';
import { checkWitnesses, openTree, secondWords } from './trust.ts';

const RECEIPT_NOT_PROVEN = [
  'What the text behind a commitment says, unless it is disclosed beside the receipt.',
  ...NOT_PROVEN,
];

/** The verifier of receipts, given alone or in an answer that may contain a tlog-proof as well. */
export const receiptVerifier: Verifier = {
  kind: 'receipt',
  title: 'a receipt',

  recognise(value, text) {
    if (memberOf(value, 'signature') !== null && memberOf(value, 'kid') !== null) {
      return { kind: 'receipt', document: text };
    }
    const { receipt = null, proof } = value;
    if (!isJsonObject(receipt) || isMoreThanReceipt(value)) return null;
    const tlogProof = memberOf(objectOf(proof), 'tlog_proof');
    return tlogProof === null
      ? { kind: 'receipt', document: receipt, ...besideOf(value, 'receipt') }
      : { kind: 'receipt', document: receipt, tlogProof, ...besideOf(value, 'receipt', 'proof') };
  },

  originOf: (document) => memberOf(parsedOf(document), 'origin'),

  check: (document, trust, asked) => checkReceipt(document as Json, trust, asked),
};

/** The verifier of entries with inclusion proofs, as `/log/…/proof/inclusion` returns them. */
export const inclusionVerifier: Verifier = {
  kind: 'inclusion',
  title: 'an entry with its inclusion proof',

  recognise: (value) =>
    typeof value.entry === 'string' && Array.isArray(value.path)
      ? { kind: 'inclusion', document: value }
      : null,

  originOf: (document) => originOfNote(objectOf(document).checkpoint),

  check: (document, trust, asked) =>
    single('inclusion', () => {
      const suite = suiteOf(asked);
      const { index = null, entry = null, path = null, checkpoint } = objectOf(document);
      const note = textOf(checkpoint);
      const tree = openWitnessed(trust, note, asked);
      const { size } = tree;
      const opened = openEntry(suite, trust, tree, { index, entry, path });
      return {
        detail: `entry ${String(opened.index)} of ${String(size)}${secondWords(trust, [tree])}`,
        summary: `the log signed this entry, and it is in the tree of ${String(size)} entries`,
        not_proven: RECEIPT_NOT_PROVEN,
        statement: opened.statement,
        ...placed(trust, note, opened.leafHash, opened.index, pathOf(path), asked),
      };
    }),
};

/** The verifier of checkpoints. */
export const checkpointVerifier: Verifier = {
  kind: 'checkpoint',
  title: 'a checkpoint',
  originOf: originOfNote,
  check: (document, trust, asked) =>
    single('checkpoint', () => {
      const note = textOf(document);
      const tree = openWitnessed(trust, note, asked);
      const { size, witnessed, map_verified } = tree;
      const seen = `${String(witnessed)} witnesses, ${String(map_verified)} monitors`;
      return {
        detail: `tree of ${String(size)} entries, ${seen}${secondWords(trust, [tree])}`,
        summary: `the log signed this checkpoint of ${String(size)} entries`,
        seen: { origin: trust.origin, note, size },
      };
    }),
};

/** The verifier of C2SP tlog-proofs. The caller gives the receipt or the entry of the proof with it. */
export const tlogProofVerifier: Verifier = {
  kind: 'tlog_proof',
  title: 'a tlog-proof',
  originOf: (document) => {
    const proof = textOf(document);
    return originOfNote(proof.slice(proof.indexOf('\n\n') + 2));
  },
  check(document, trust, asked) {
    const proof = textOf(document);
    const entry = (asked.receipt ?? '').trim();
    if (entry === '') {
      throw new Unanswerable(
        'a tlog-proof shows that some entry has a place: the receipt or the entry must come with it',
        'entry',
      );
    }
    if (isReceipt(entry)) return checkReceipt(entry, trust, { ...asked, tlogProof: proof });
    return single('inclusion', () => {
      const suite = suiteOf(asked);
      const { leafHash, statement } = readEntry(suite, entry);
      const { index, path, checkpoint } = parseTlogProof(proof);
      if (statement.index !== index) {
        throw new LogError('proof_invalid', 'proof is of another entry');
      }
      const tree = openWitnessed(trust, checkpoint, asked);
      const { size, root } = tree;
      checkInclusion(suite, { index, size, leafHash, path, root });
      return {
        detail: `entry ${String(index)} of ${String(size)}${secondWords(trust, [tree])}`,
        summary: `the entry is in the tree of ${String(size)} entries`,
        not_proven: ['That the entry is signed: the receipt shows that.', ...NOT_PROVEN],
        ...placed(trust, checkpoint, leafHash, index, path, asked),
      };
    });
  },
};

/** Checks a receipt. The verifiers of plugins use it too. */
export function checkReceipt(receipt: Json, trust: Trust, asked: Asked): Finding {
  const { tlogProof } = asked;
  const suite = suiteOf(asked);
  const options = tlogProof === undefined ? { suite } : { suite, tlogProof };
  const result = verifyReceipt(receipt, trust, options);
  const { valid, statement, entry_id, index, origin, size } = result;
  const checks = result.checks.map(({ name, outcome, detail }) => ({ name, outcome, detail }));
  const facts = { entry_id, index, origin, ...(size === undefined ? {} : { size }) };
  const summary =
    size === undefined
      ? 'the log signed this entry; without an inclusion proof it is not shown to be in the log'
      : `the log signed this entry, and it is in the tree of ${String(size)} entries`;
  if (!valid || statement === null) return findingOf(checks, summary, { facts });
  return findingOf(checks, summary, {
    facts,
    not_proven: [...disclaimers(statement), ...RECEIPT_NOT_PROVEN],
    statement,
    ...(size === undefined ? {} : placeOf(parsedOf(receipt), result, trust, asked)),
  });
}

/** Checks a receipt in another document. Returns its statement and place; throws LogError with the failed check. */
export function heldReceipt(
  receipt: Json,
  trust: Trust,
  asked: Asked,
): { readonly statement: JsonObject; readonly index: number; readonly size: number | undefined } {
  const result = verifyReceipt(receipt, trust, { suite: suiteOf(asked) });
  const { valid, checks, statement, index, size } = result;
  const failed = checks.find(({ outcome }) => outcome === 'failed');
  if (failed !== undefined) {
    throw new LogError('document_invalid', `${failed.name.replaceAll('_', ' ')}: ${failed.detail}`);
  }
  if (!valid || statement === null || index === null) {
    throw new LogError('document_invalid', 'it has no form');
  }
  return { statement, index, size };
}

/** The signed statements about what the entry does not assert. */
const disclaimers = ({ does_not_assert }: JsonObject): string[] =>
  Array.isArray(does_not_assert)
    ? does_not_assert.map((one) => `It says of itself: ${String(one).replaceAll('_', ' ')}.`)
    : [];

function placeOf(
  { log, entry_hash }: JsonObject,
  { index }: ReceiptResult,
  trust: Trust,
  asked: Asked,
): Pick<Finding, 'seen' | 'way'> {
  const leafHash = fromHex(textOf(entry_hash), 32);
  const { checkpoint, inclusion_proof } = objectOf(log);
  const { tlogProof } = asked;
  const proof = tlogProof === undefined ? undefined : parseTlogProof(tlogProof);
  const note = proof?.checkpoint ?? textOf(checkpoint);
  const path = proof?.path ?? pathOf(inclusion_proof);
  return placed(trust, note, leafHash, index ?? 0, path, asked);
}

/** The inclusion path of an entry, and the checkpoint that it was checked with. */
function placed(
  trust: Trust,
  note: string,
  leafHash: Uint8Array,
  index: number,
  path: readonly Uint8Array[],
  asked: Asked,
): Pick<Finding, 'seen' | 'way'> {
  const suite = suiteOf(asked);
  const { size } = openTree(suite, trust, note);
  return {
    seen: { origin: trust.origin, note, size },
    way: wayOf(suite, { index, size, leafHash, path }),
  };
}

function openWitnessed(trust: Trust, note: string, asked: Asked) {
  const tree = openTree(suiteOf(asked), trust, note);
  const { witnessed, map_verified } = checkWitnesses(trust, tree.cosignatures, 0);
  return { ...tree, witnessed, map_verified };
}

const pathOf = (path: Json | undefined): Uint8Array[] =>
  Array.isArray(path) ? path.map((hash) => fromBase64(String(hash), 32)) : [];

/** Whether the text that came with a tlog-proof is a receipt; otherwise it is the text of an entry. */
function isReceipt(text: string): boolean {
  let value: Json;
  try {
    value = parseDocument(text);
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new Unanswerable(
      `what came with the tlog-proof is no receipt and no entry: ${error.message}`,
    );
  }
  return isJsonObject(value) && value.entry_hash !== undefined;
}

/**
 * Checks that the log signed an entry, and that it contains the entry if `log` has a proof. Returns the statement.
 *
 * @throws LogError of the check that failed
 */
export function heldEntry(entry: string, trust: Trust, asked: Asked, log?: Json): JsonObject {
  const leafHash = leafHashOf(suiteOf(asked), entry);
  const place = log === undefined ? {} : { log };
  const shown = { ...parsedOf(entry), entry_hash: toHex(leafHash), ...place };
  const result = verifyReceipt(shown, trust, { suite: suiteOf(asked) });
  const bad = result.checks.find(({ outcome }) => outcome === 'failed');
  if (!result.valid || result.statement === null) {
    throw new LogError('document_invalid', bad?.detail ?? 'the entry does not hold');
  }
  return result.statement;
}
