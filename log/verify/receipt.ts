// Checks receipts offline (gateway/API.md §1.1; log/FORMAT.md §2 for the keys).

import { portable } from '../crypto/portable.ts';
import type { Suite } from '../crypto/suite.ts';
import { concat, equal, fromHex, toHex, utf8 } from '../encoding/bytes.ts';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { checkInclusion } from '../merkle/check.ts';
import { parseTlogProof } from '../note/tlog-proof.ts';
import { readEntry } from './entry.ts';
import type { EntryParts } from './entry.ts';
import { count, exactObject, path, refused, string } from './document.ts';
import { checkInForce, keyOf, checkWitnesses, openTree, secondWords } from './trust.ts';
import type { Trust } from './trust.ts';
import { isLogError } from '../errors.ts';

/** The result of checking a receipt. */
export interface ReceiptResult {
  /** Whether no check failed. A valid receipt may lack an inclusion proof; see the check `inclusion`. */
  readonly valid: boolean;
  readonly checks: readonly Check[];
  /** The statement of the entry; null if the receipt is malformed. It is signed by the log only if `valid` is true. */
  readonly statement: JsonObject | null;
  readonly entry_id: string | null;
  readonly index: number | null;
  readonly origin: string | null;
  /** The size of the tree that contains the entry; absent without an inclusion proof. */
  readonly size?: number;
}

/** How a receipt is checked. */
export interface ReceiptOptions {
  readonly suite?: Suite;
  /** A C2SP tlog-proof of the entry, which is checked in addition to the proof in the receipt. */
  readonly tlogProof?: string;
}

/** The members of a receipt that are not part of the entry. */
export const DERIVED = ['entry_hash', 'permalink', 'verify_url', 'disclosures', 'log', 'ignored'];
/** More than an entry with every character escaped, its disclosures and a signed note. */
const MAX_RECEIPT_BYTES = 4 * 1024 * 1024;
/**
 * A disclosed value may have 16 levels, as a request may (gateway/API.md §1.3), and is three levels deep in a receipt.
 */
const MAX_RECEIPT_DEPTH = 16 + 3;

/**
 * Checks a receipt, given as text or parsed. A wrong receipt gives a result with failed checks and never an exception.
 */
export function verifyReceipt(
  receipt: Json,
  trust: Trust,
  options: ReceiptOptions = {},
): ReceiptResult {
  const suite = options.suite ?? portable;
  const checks = new Checks();
  const read = checks.run('document_form', () => {
    const parts = readReceipt(suite, receipt);
    return { value: parts, detail: `entry of ${String(utf8(parts.entry.text).length)} bytes` };
  });
  if (read === undefined) {
    const nothing = { statement: null, entry_id: null, index: null, origin: null };
    return { valid: false, checks: checks.all, ...nothing };
  }
  const { entry, derived } = read;
  const { statement } = entry;
  checks.run('entry_hash', () => checkHash(entry, derived));
  checks.run('origin', () => checkOrigin(statement, derived, trust));
  const shown = checkPlace(checks, suite, trust, read, options.tlogProof);
  checks.run('signature', () => checkSignature(suite, trust, entry, shown.included));
  checks.run('disclosures', () => checkDisclosures(suite, statement, derived.disclosures));
  const { entry_id, index, origin } = statement;
  return {
    valid: checks.all.every(({ outcome }) => outcome !== 'failed'),
    checks: checks.all,
    statement,
    entry_id: typeof entry_id === 'string' ? entry_id : null,
    index: typeof index === 'number' ? index : null,
    origin: typeof origin === 'string' ? origin : null,
    ...(shown.included ? { size: shown.size } : {}),
  };
}

/** The parts of a receipt: the entry, and its other members. */
interface ReceiptParts {
  readonly entry: EntryParts;
  readonly derived: JsonObject;
  readonly log: JsonObject;
}

function readReceipt(suite: Suite, receipt: Json): ReceiptParts {
  const text = typeof receipt === 'string' ? receipt : canonical(receipt);
  // Disclosed values may have fractions. The entry is parsed again by `readEntry`, which refuses them.
  const limits = { maxBytes: MAX_RECEIPT_BYTES, maxDepth: MAX_RECEIPT_DEPTH };
  const value = parseJson(text, { fractions: true, ...limits });
  if (!isJsonObject(value)) throw refused('receipt is not an object');
  const members = Object.entries(value);
  const signed = Object.fromEntries(members.filter(([name]) => !DERIVED.includes(name)));
  const derived = Object.fromEntries(members.filter(([name]) => DERIVED.includes(name)));
  for (const name of ['permalink', 'verify_url']) {
    if (derived[name] !== undefined) string(derived[name], name);
  }
  const entry = readEntry(suite, canonical(signed));
  count(entry.statement.index, 'index');
  count(entry.statement.issued_at_ms, 'issued_at_ms');
  string(entry.statement.kid, 'kid');
  const log =
    derived.log === undefined
      ? {}
      : exactObject(derived.log, 'log', ['origin', 'index'], ['checkpoint', 'inclusion_proof']);
  return { entry, derived, log };
}

function checkHash(entry: EntryParts, derived: JsonObject): Found {
  const claimed = fromHex(string(derived.entry_hash, 'entry_hash'), 32);
  if (!equal(claimed, entry.leafHash)) throw refused('entry_hash is not the hash of the entry');
  return { detail: toHex(entry.leafHash) };
}

function checkOrigin(statement: JsonObject, { log }: JsonObject, trust: Trust): Found {
  const { origin, sandbox, index } = statement;
  if (origin !== trust.origin) throw refused('receipt is of another log');
  const kind = /\/log\/(live|sandbox)\/[1-9][0-9]*$/u.exec(trust.origin)?.[1];
  if (kind === undefined || sandbox !== (kind === 'sandbox')) {
    throw refused('sandbox does not agree with the log');
  }
  if (isJsonObject(log) && (log.origin !== origin || log.index !== index)) {
    throw refused('log does not agree with the entry');
  }
  return { detail: trust.origin };
}

/**
 * Checks the checkpoints, inclusion proofs and cosignatures in the receipt and the tlog-proof. All of them must be
 * valid.
 */
function checkPlace(
  checks: Checks,
  suite: Suite,
  trust: Trust,
  { entry, log }: ReceiptParts,
  tlogProof: string | undefined,
): { readonly included: boolean; readonly size: number } {
  const index = entry.statement.index as number;
  const trees = checks.run('checkpoint', () => {
    const notes = [
      ...(log.checkpoint === undefined ? [] : [string(log.checkpoint, 'checkpoint')]),
      ...(tlogProof === undefined ? [] : [parseTlogProof(tlogProof).checkpoint]),
    ];
    const opened = notes.map((note) => openTree(suite, trust, note));
    const sizes = opened.map(({ size }) => String(size)).join(', ');
    if (opened.length === 0) return { not_shown: true, detail: 'no checkpoint' };
    return { value: opened, detail: `tree of ${sizes} entries${secondWords(trust, opened)}` };
  });
  const size = checks.run('inclusion', () => {
    const paths = [
      ...(log.inclusion_proof === undefined ? [] : [path(log.inclusion_proof, 'inclusion_proof')]),
      ...(tlogProof === undefined ? [] : [pathOf(tlogProof, index)]),
    ];
    if (paths.length === 0) return { not_shown: true, detail: 'no inclusion proof' };
    // A checkpoint may come without a path, so the two are paired from the end.
    const under = (trees ?? []).slice(-paths.length);
    if (under.length < paths.length) throw refused('inclusion proof without a good checkpoint');
    for (const [i, tree] of under.entries()) {
      checkInclusion(suite, { index, leafHash: entry.leafHash, path: paths[i] ?? [], ...tree });
    }
    const covered = Math.max(...under.map((tree) => tree.size));
    return { value: covered, detail: `entry ${String(index)} of ${String(covered)}` };
  });
  checks.run('cosignatures', () => {
    if ((trust.policy?.quorum ?? null) === null) return { not_shown: true, detail: 'no policy' };
    if (trees === undefined) return { not_shown: true, detail: 'no checkpoint' };
    // Cosignatures of any time count, because a receipt claims a place in the log and not a time.
    const counts = trees.map((tree) => checkWitnesses(trust, tree.cosignatures, 0).witnessed);
    return {
      detail: `${String(Math.min(...counts))} of the ${trust.policy_source ?? 'caller'} policy`,
    };
  });
  return { included: size !== undefined, size: size ?? 0 };
}

function pathOf(tlogProof: string, index: number): readonly Uint8Array[] {
  const proof = parseTlogProof(tlogProof);
  if (proof.index !== index) throw refused('tlog-proof is of another entry');
  return proof.path;
}

function checkSignature(suite: Suite, trust: Trust, entry: EntryParts, included: boolean): Found {
  const { kid, index, issued_at_ms } = entry.statement;
  const { key, publicKey } = keyOf(suite, trust, kid as string);
  if (!suite.verify(publicKey, entry.message, entry.signature)) {
    throw refused('signature does not hold');
  }
  checkInForce(key, {
    index: index as number,
    issued_at_ms: issued_at_ms as number,
    included,
  });
  return { detail: `key ${key.kid}, ${key.status ?? 'active'}` };
}

/** Checks that each disclosure opens the commitment of its name: SHA-256(salt[16] ‖ JCS(value)). */
function checkDisclosures(
  suite: Suite,
  statement: JsonObject,
  disclosures: Json | undefined,
): Found {
  if (disclosures === undefined) return { not_shown: true, detail: 'no disclosures' };
  const { commitments } = statement;
  if (!isJsonObject(disclosures) || !isJsonObject(commitments)) {
    throw refused('disclosures without commitments');
  }
  const opened: string[] = [];
  for (const [name, disclosure] of Object.entries(disclosures)) {
    if (isJsonObject(disclosure) && disclosure.erased !== undefined) {
      checkErased(disclosure, Object.hasOwn(commitments, name));
      continue;
    }
    opened.push(name);
    const { salt, value } = exactObject(disclosure, 'disclosure', ['salt', 'value']);
    const bytes = concat(fromHex(string(salt, 'salt'), 16), utf8(canonical(value ?? null)));
    const commitment = Object.hasOwn(commitments, name) ? commitments[name] : undefined;
    if (toHex(suite.sha256(bytes)) !== commitment) {
      throw refused('a disclosure does not open its commitment');
    }
  }
  if (opened.length === 0) return { not_shown: true, detail: 'erased' };
  return { detail: opened.join(', ') };
}

/** Checks the form of an erased disclosure. The value is deleted, so the commitment cannot be checked. */
function checkErased(disclosure: JsonObject, committed: boolean): void {
  const names = ['erased', 'erased_at_ms', 'erasure_entry_id'];
  const { erased, erased_at_ms, erasure_entry_id } = exactObject(disclosure, 'disclosure', names);
  count(erased_at_ms, 'erased_at_ms');
  string(erasure_entry_id, 'erasure_entry_id');
  if (erased !== true || !committed) throw refused('an erased disclosure is of no commitment');
}

// The list of checks of a receipt. The outcome of each is `ok`, `failed` or `not_shown`.

/** The names of the checks, in order. */
export type CheckName =
  | 'document_form'
  | 'entry_hash'
  | 'origin'
  | 'checkpoint'
  | 'inclusion'
  | 'cosignatures'
  | 'signature'
  | 'disclosures';

/** The outcome of one check. With `not_shown`, `ok` is false, but the receipt may still be valid. */
export interface Check {
  readonly name: CheckName;
  readonly ok: boolean;
  readonly outcome: 'ok' | 'failed' | 'not_shown';
  readonly detail: string;
}

/** The result of a check that did not fail. `not_shown` if the receipt has nothing to check. */
interface Found<T = undefined> {
  readonly detail: string;
  readonly not_shown?: true;
  readonly value?: T;
}

/** Runs checks and records their outcomes. */
class Checks {
  readonly all: Check[] = [];

  /** Runs one check and records its outcome. Returns its value; undefined if it failed or has none. */
  run<T>(name: CheckName, check: () => Found<T>): T | undefined {
    try {
      const { detail, not_shown, value } = check();
      const outcome = not_shown === true ? 'not_shown' : 'ok';
      this.all.push({ name, ok: outcome === 'ok', outcome, detail });
      return value;
    } catch (cause) {
      if (!isLogError(cause)) throw cause;
      this.all.push({ name, ok: false, outcome: 'failed', detail: cause.message });
      return undefined;
    }
  }
}
