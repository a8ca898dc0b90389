// AIR exports and COSE messages on the verify page. ES256 is WebCrypto's, which browsers have on https and localhost
// only; keys are the kit's, never the message's. RFC 9942; gateway/API.md §12.3; RFC 9052.

import {
  ALG,
  coseThumbprint,
  decodeSign1,
  ENTRY_LABEL,
  HEADER,
  isReceipt,
  openInclusion,
  publicJwk,
  toBeSigned,
  withoutUnprotected,
} from '../../../log/cose/portable.ts';
import type { CoseSign1 } from '../../../log/cose/portable.ts';
import {
  canonical,
  fromBase64,
  fromBase64Url,
  fromHex,
  fromUtf8,
  LogError,
  portable,
  stepsOfInclusion,
  toHex,
  utf8,
  verifyReceipt,
  verifySignature,
} from '../../../log/verify.ts';
import type { JsonObject, Trust } from '../../../log/verify.ts';
import { singleFault } from './export-members.ts';
import { refusal } from './finding.ts';
import type { Finding, Way } from './finding.ts';
import { Lines, refuse } from './lines.ts';
import type { Found } from './lines.ts';
import { objectOf, readObject, textOf } from './shown.ts';
import { objects } from './trust.ts';

const AIR = 'application/air+json';

/** The log that a COSE message speaks of: the subject of its receipt; empty when it names none. */
export function coseOrigin(bytes: Uint8Array): string {
  try {
    const message = decodeSign1(bytes);
    const receipt = isReceipt(message) ? message : receiptsIn(message)[0];
    const claims = receipt?.protected.get(HEADER.cwt_claims);
    return claims instanceof Map ? String(claims.get(2)) : '';
  } catch (error) {
    if (error instanceof LogError) return '';
    throw error;
  }
}

/** Checks a COSE_Sign1: a receipt with its entry, or a statement with receipts. */
export async function checkCose(
  bytes: Uint8Array,
  trust: Trust,
  kit: JsonObject,
  beside: string,
): Promise<Finding> {
  const lines = new Lines();
  const message = await lines.run('cose_form', () => {
    return [decodeSign1(bytes), `COSE_Sign1 of ${String(bytes.length)} bytes`];
  });
  if (message === undefined) return refusal(lines.all);
  if (isReceipt(message)) {
    const found = await receiptLines(lines, message, trust, kit, beside);
    return lines.finding('The log signed this entry, and a tree that holds it.', found);
  }
  if (message.protected.get(HEADER.content_type) === AIR) {
    const { record, way } = await statementLines(lines, message, trust, kit);
    const found = { ...(way === undefined ? {} : { way }), statement: record };
    return lines.finding('The record is signed, and its entry is in the log.', found);
  }
  lines.all.push({
    name: 'cose_signature',
    outcome: 'not_shown',
    detail: 'the kit has no keys of other issuers',
  });
  const registered = toHex(portable.sha256(withoutUnprotected(message)));
  const first = await lines.run('cose_receipt', () => [
    receiptsIn(message)[0] ?? refuse('the statement carries no receipt'),
    'in label 394',
  ]);
  if (first === undefined) return refusal(lines.all);
  const found = await receiptLines(lines, first, trust, kit, beside);
  await lines.run('statement', () => {
    const named = found.statement?.statement_sha256 === registered;
    return named
      ? [true, 'the entry names this statement']
      : refuse('the entry of the receipt names another statement');
  });
  return lines.finding('The log registered this statement.', found);
}

/** Checks the export of one entry: its receipt, its record, and the record's signed form. */
export async function checkAir(
  document: JsonObject,
  trust: Trust,
  kit: JsonObject,
): Promise<Finding> {
  const lines = new Lines();
  const receipt = objectOf(document.receipt);
  const entry = textOf(document.entry);
  const result = await lines.run('receipt', () => {
    const { valid, checks, statement } = verifyReceipt(receipt, trust);
    const bad = checks.find(({ outcome }) => outcome === 'failed');
    if (!valid || statement === null) return refuse(`${bad?.name ?? ''}: ${bad?.detail ?? ''}`);
    return [statement, 'the log signed it'];
  });
  await lines.run('entry', () =>
    toHex(portable.sha256(utf8(`\0${entry}`))) === receipt.entry_hash
      ? [true, 'the receipt is of this entry']
      : refuse('the receipt is of another entry'),
  );
  await lines.run('export', () => {
    const fault = singleFault(document, result ?? {}, trust, kit);
    return fault === null ? [true, 'its log, its entry and its key'] : refuse(fault);
  });
  const { integrity, ...content } = objectOf(document.record);
  await lines.run('record', () =>
    content.outcome_hash === receipt.entry_hash
      ? [true, 'names this entry by its hash']
      : refuse('names another entry'),
  );
  await lines.run('content_hash', () =>
    toHex(portable.sha256(utf8(canonical(content)))) === objectOf(integrity).content_hash
      ? [true, 'of the record without integrity']
      : refuse('is of another record'),
  );
  const message = await lines.run('cose_form', () => [
    decodeSign1(fromBase64(textOf(document.cose_sign1_b64))),
    'the record as a signed statement',
  ]);
  if (message === undefined) return refusal(lines.all);
  const { way } = await statementLines(lines, message, trust, kit);
  await lines.run('payload', () =>
    fromUtf8(message.payload ?? new Uint8Array()) === canonical(content)
      ? [true, 'is the record']
      : refuse('is not the record'),
  );
  lines.all.push({
    name: 'mapping',
    outcome: 'not_shown',
    detail:
      'that each member repeats the entry, the chain_hash, and the ES256 signature inside the record: ' +
      '`actlog verify` checks them',
  });
  return lines.finding('The record is signed, names this entry, and the entry is in the log.', {
    ...(way === undefined ? {} : { way }),
    ...(result === undefined ? {} : { statement: result }),
  });
}

/** A receipt with its entry: the entry's own signature, and its place. */
async function receiptLines(
  lines: Lines,
  receipt: CoseSign1,
  trust: Trust,
  kit: JsonObject,
  beside: string,
): Promise<Found> {
  const carried = receipt.unprotected.get(ENTRY_LABEL);
  const entry = carried instanceof Uint8Array ? fromUtf8(carried) : beside.trim();
  const leaf = portable.sha256(utf8(`\0${entry}`));
  const statement = await lines.run('entry', () => {
    if (entry === '') return refuse('the receipt carries no entry: put its exact text beside it');
    const shown = { ...readObject(entry), entry_hash: toHex(leaf) };
    const result = verifyReceipt(shown, trust);
    const bad = result.checks.find(({ outcome }) => outcome === 'failed');
    if (!result.valid || result.statement === null) return refuse(bad?.detail ?? '');
    return [result.statement, 'the log signed it'];
  });
  const way = await placeLine(lines, receipt, leaf, trust, kit);
  return {
    ...(statement === undefined ? {} : { statement }),
    ...(way === undefined ? {} : { way }),
  };
}

/** A record as a signed statement: its signature, and the receipt that it carries. */
async function statementLines(
  lines: Lines,
  message: CoseSign1,
  trust: Trust,
  kit: JsonObject,
): Promise<{ readonly record: JsonObject; readonly way?: Way }> {
  await lines.run('cose_signature', async () => {
    const payload = message.payload ?? refuse('the payload is detached');
    await checkSigned(
      message,
      kit,
      'air',
      trust.origin,
      toBeSigned(message.protectedBytes, payload),
    );
    return [true, 'by an AIR key of the kit'];
  });
  const read = await lines.run('payload', () => [
    readObject(fromUtf8(message.payload ?? new Uint8Array())),
    'a record',
  ]);
  const record = read ?? {};
  const receipt = await lines.run('cose_receipt', () => [
    receiptsIn(message)[0] ?? refuse('there is no receipt in label 394'),
    'in label 394',
  ]);
  if (receipt === undefined) return { record };
  const named = textOf(record.outcome_hash);
  const leaf = /^[0-9a-f]{64}$/.test(named) ? fromHex(named, 32) : new Uint8Array(32);
  const way = await placeLine(lines, receipt, leaf, trust, kit);
  return { record, ...(way === undefined ? {} : { way }) };
}

function placeLine(
  lines: Lines,
  receipt: CoseSign1,
  leafHash: Uint8Array,
  trust: Trust,
  kit: JsonObject,
): Promise<Way | undefined> {
  return lines.run('inclusion', async () => {
    const { index, size, path, signed } = openInclusion(portable, receipt, leafHash);
    await checkSigned(receipt, kit, 'cose', trust.origin, signed);
    const steps = stepsOfInclusion(portable, { index, size, leafHash, path }).map((step) => ({
      sibling: toHex(step.sibling),
      left: step.left,
      node: toHex(step.node),
    }));
    const way = { index, size, leaf: toHex(leafHash), steps };
    return [way, `entry ${String(index)} of ${String(size)}`];
  });
}

/** Throws unless a key of this purpose in the kit has signed the bytes. */
async function checkSigned(
  message: CoseSign1,
  kit: JsonObject,
  purpose: string,
  origin: string,
  signed: Uint8Array,
): Promise<void> {
  const kid = message.protected.get(HEADER.kid);
  const alg = message.protected.get(HEADER.alg);
  const key = [kit.keys, kit.cose_keys]
    .flatMap((set) => objects(objectOf(set).keys))
    .filter((jwk) => jwk.purpose === purpose && jwk.origin === origin)
    .map((jwk) => publicJwk(jwk))
    .find(
      (jwk) => kid instanceof Uint8Array && toHex(coseThumbprint(portable, jwk)) === toHex(kid),
    );
  if (key === undefined) return refuse('kid is none of the keys of this purpose in the kit');
  const { signature } = message;
  if (key.kty === 'OKP') {
    const known = alg === ALG.Ed25519 || alg === ALG.EdDSA;
    const publicKey = fromBase64Url(key.x, 32);
    if (known && verifySignature({ publicKey, message: signed, signature })) return;
    return refuse('the signature does not hold');
  }
  // Types say that it is always there; a page without a secure context has none.
  const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto };
  if (subtle === undefined) return refuse('this browser checks ES256 on https pages only');
  const how = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const { kty, crv, x, y } = key;
  const imported = await subtle
    .importKey('jwk', { kty, crv, x, y }, how, false, ['verify'])
    .catch(() => refuse('the key is not on its curve'));
  const holds =
    alg === ALG.ES256 &&
    (await subtle.verify(how, imported, Uint8Array.from(signature), Uint8Array.from(signed)));
  if (!holds) return refuse('the signature does not hold');
}

function receiptsIn(message: CoseSign1): CoseSign1[] {
  const receipts = message.unprotected.get(HEADER.receipts) ?? [];
  if (!Array.isArray(receipts)) return refuse('label 394 is no list');
  return (receipts as readonly unknown[]).map((bytes) =>
    bytes instanceof Uint8Array ? decodeSign1(bytes) : refuse('a receipt is not bytes'),
  );
}
