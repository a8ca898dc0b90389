// COSE messages against a kit: RFC 9942 receipts, AIR statements and whatever else carries receipts in label 394.
// RFC 9052; keys are the kit's, never the message's.

import { createHash } from 'node:crypto';
import {
  coseThumbprint,
  decodeSign1,
  ENTRY_LABEL,
  equal,
  HEADER,
  isReceipt,
  LogError,
  native,
  openInclusion,
  publicJwk,
  toBeSigned,
  toHex,
  verifyCose,
  withoutUnprotected,
} from '../../log/index.ts';
import type { CosePublicJwk, CoseSign1, Json, JsonObject } from '../../log/index.ts';
import { verifyReceipt } from '../../log/verify.ts';
import type { Trust } from '../../log/verify.ts';
import type { Outcome } from './check.ts';
import { Lines, refused } from './lines.ts';
import { list, objectOf, text } from './reading.ts';

export const sha256 = (...parts: readonly (Uint8Array | string)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

/** Keys of one purpose and log in a kit: AIR keys stand in `keys`, COSE keys in `cose_keys`. */
export function purposeKeys(kit: JsonObject, purpose: string, origin: string): CosePublicJwk[] {
  return ['keys', 'cose_keys']
    .flatMap((member) => list(objectOf(kit[member] ?? null)['keys']))
    .filter((jwk) => jwk['purpose'] === purpose && jwk['origin'] === origin)
    .map((jwk) => publicJwk(jwk));
}

/** The key that a message names by its RFC 9679 thumbprint. */
function signerOf(message: CoseSign1, keys: readonly CosePublicJwk[]): CosePublicJwk {
  const kid = message.protected.get(HEADER.kid);
  const key = keys.find(
    (jwk) => kid instanceof Uint8Array && equal(coseThumbprint(native, jwk), kid),
  );
  if (key === undefined) throw refused('kid is none of the keys of this purpose in the kit');
  return key;
}

/** Throws unless a key of the list has signed the bytes. */
export function checkSigned(
  message: CoseSign1,
  keys: readonly CosePublicJwk[],
  signed: Uint8Array,
): void {
  const alg = message.protected.get(HEADER.alg);
  if (verifyCose(signerOf(message, keys), alg, signed, message.signature)) return;
  throw refused('the signature does not hold');
}

/** Checks a receipt from a leaf hash; the answer says where the entry stands. */
export function checkCoseReceipt(
  receipt: CoseSign1,
  leafHash: Uint8Array,
  kit: JsonObject,
  origin: string,
): { readonly index: number; readonly size: number } {
  const { index, size, signed } = openInclusion(native, receipt, leafHash);
  checkSigned(receipt, purposeKeys(kit, 'cose', origin), signed);
  return { index, size };
}

/** The receipts in label 394. */
export function receiptsIn(message: CoseSign1): CoseSign1[] {
  const receipts = message.unprotected.get(HEADER.receipts) ?? [];
  if (!Array.isArray(receipts)) throw refused('label 394 is no list');
  return (receipts as readonly unknown[]).map((bytes) => {
    if (!(bytes instanceof Uint8Array)) throw refused('a receipt in label 394 is not bytes');
    return decodeSign1(bytes);
  });
}

/** The entry that a receipt carries, as text; null when it carries none. */
function entryIn(receipt: CoseSign1): string | null {
  const entry = receipt.unprotected.get(ENTRY_LABEL);
  return entry instanceof Uint8Array ? Buffer.from(entry).toString('utf8') : null;
}

/** That the log signed an entry: its own checks, as those of a receipt, without a proof unless `log` has one. */
export function checkEntry(entry: string, trust: Trust, log?: Json): JsonObject {
  const place = log === undefined ? {} : { log };
  const shown = { ...objectOf(entry), entry_hash: sha256('\0', entry), ...place } as Json;
  const { valid, checks, statement } = verifyReceipt(shown, trust, { suite: native });
  const bad = checks.find(({ outcome }) => outcome === 'failed');
  if (!valid || statement === null) throw refused(bad?.detail ?? 'the entry does not hold');
  return statement;
}

/** The log that a COSE message speaks of: the subject of its receipt. */
export function coseOrigin(bytes: Uint8Array): string | null {
  try {
    const message = decodeSign1(bytes);
    const receipt = isReceipt(message) ? message : receiptsIn(message)[0];
    const claims = receipt?.protected.get(HEADER.cwt_claims);
    const subject: unknown = claims instanceof Map ? claims.get(2) : null;
    return typeof subject === 'string' ? subject : null;
  } catch (error) {
    if (error instanceof LogError) return null;
    throw error;
  }
}

/** Checks a COSE_Sign1: a receipt with its entry, or a statement with receipts. */
export function checkCose(
  bytes: Uint8Array,
  trust: Trust,
  kit: JsonObject,
  entryText: string | undefined,
): Outcome {
  const lines = new Lines();
  const messages: CoseSign1[] = [];
  lines.run('cose_form', () => {
    messages.push(decodeSign1(bytes));
    return `COSE_Sign1 of ${String(bytes.length)} bytes`;
  });
  const [opened] = messages;
  if (opened === undefined) return lines.outcome('');
  if (isReceipt(opened)) {
    receiptLines(lines, opened, trust, kit, entryText);
    return lines.outcome('the log signed this entry and a tree that holds it');
  }
  if (opened.protected.get(HEADER.content_type) === 'application/air+json') {
    lines.run('cose_signature', () => {
      const payload = opened.payload ?? refusedPayload();
      const signed = toBeSigned(opened.protectedBytes, payload);
      checkSigned(opened, purposeKeys(kit, 'air', trust.origin), signed);
      return 'by an AIR key of the kit';
    });
    lines.run('cose_receipt', () => {
      const record = objectOf(Buffer.from(opened.payload ?? []).toString('utf8'));
      const leaf = Buffer.from(text(record['outcome_hash']) ?? '', 'hex');
      return placeWords(receiptsIn(opened), leaf, kit, trust);
    });
    return lines.outcome('the record is signed, and its entry is in the log');
  }
  lines.run('cose_signature', () => ({ not_shown: 'the kit has no keys of other issuers' }));
  const registered = sha256(withoutUnprotected(opened));
  lines.run('cose_receipt', () => {
    const [first] = receiptsIn(opened);
    if (first === undefined) throw refused('the statement carries no receipt');
    receiptLines(lines, first, trust, kit, entryText);
    const entry = objectOf(entryIn(first) ?? entryText ?? '{}');
    if (entry['statement_sha256'] === registered) return 'the entry names this statement';
    throw refused('the entry of the receipt names another statement');
  });
  return lines.outcome('the log registered this statement');
}

function refusedPayload(): never {
  throw refused('the payload is detached');
}

function placeWords(
  receipts: readonly CoseSign1[],
  leaf: Uint8Array,
  kit: JsonObject,
  trust: Trust,
): string {
  const [first] = receipts;
  if (first === undefined) throw refused('there is no receipt in label 394');
  const { index, size } = checkCoseReceipt(first, leaf, kit, trust.origin);
  return `entry ${String(index)} of ${String(size)}, ${toHex(leaf).slice(0, 16)}…`;
}

function receiptLines(
  lines: Lines,
  receipt: CoseSign1,
  trust: Trust,
  kit: JsonObject,
  given: string | undefined,
): void {
  const entry = entryIn(receipt) ?? given?.trimEnd();
  lines.run('entry', () => {
    if (entry === undefined) {
      throw refused('the receipt carries no entry: give --receipt with its exact text');
    }
    return `the log signed ${checkEntry(entry, trust)['entry_id'] as string}`;
  });
  if (entry === undefined) return;
  lines.run('inclusion', () =>
    placeWords([receipt], Buffer.from(sha256('\0', entry), 'hex'), kit, trust),
  );
}
