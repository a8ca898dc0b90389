// Tells by its content what somebody wants checked on the verify page. Nothing is believed here: this only chooses
// which check fits.

import { isJsonObject, LogError, parseJson } from '../../../log/verify.ts';
import type { Json, JsonObject } from '../../../log/verify.ts';
import { besideOf } from './beside.ts';
import type { Beside } from './beside.ts';

/** A full page of the largest entries, and room for the rest. */
export const MAX_BYTES = 24 * 1024 * 1024;
/** First byte of a COSE_Sign1 with its tag, which no UTF-8 text begins with. */
export const SIGN1 = 0xd2;

/** Schema of the bundle that a carrier and its insured keep. */
export const BUNDLE = 'svc-carrier-pre-dispute-v1';

/** What came. */
export type Shown =
  | (Beside & {
      readonly kind: 'receipt';
      readonly receipt: JsonObject | string;
      readonly tlogProof?: string;
    })
  | (Beside & { readonly kind: 'absence'; readonly document: JsonObject | string })
  | { readonly kind: 'inclusion'; readonly answer: JsonObject }
  | (Beside & {
      readonly kind: 'mandate';
      readonly bundle: JsonObject;
      readonly receipt: JsonObject;
    })
  | { readonly kind: 'air'; readonly document: JsonObject }
  | { readonly kind: 'cose'; readonly bytes: Uint8Array }
  | { readonly kind: 'tlog_proof'; readonly text: string }
  | { readonly kind: 'checkpoint'; readonly text: string }
  | { readonly kind: 'kit'; readonly text: string };

/** What people call it. */
export const KINDS: Readonly<Record<Shown['kind'], string>> = {
  receipt: 'a receipt',
  absence: 'an absence document',
  inclusion: 'an entry with its inclusion proof',
  mandate: 'a pre-dispute bundle with the receipt of its mandate',
  air: 'an AIR export',
  cose: 'a COSE message',
  tlog_proof: 'a tlog-proof',
  checkpoint: 'a checkpoint',
  kit: 'an offline verification kit',
};

/**
 * Reads bytes as one of them.
 *
 * @throws LogError for JSON that breaks the rules of receipts, `Unknown` for what is none of these
 */
function recognise(bytes: Uint8Array): Shown {
  if (bytes[0] === SIGN1) return { kind: 'cose', bytes };
  const text = new TextDecoder().decode(bytes);
  if (text.startsWith('c2sp.org/tlog-proof@v1\n')) return { kind: 'tlog_proof', text };
  if (/^\s*\{/.test(text)) return recogniseJson(text);
  if (text.includes('\n\n— ')) return { kind: 'checkpoint', text };
  throw new Unknown('This is no receipt, absence document, proof, checkpoint or kit.');
}

/**
 * Reads bytes as what they hold: one thing, or the documents of a witness about several surfaces.
 *
 * @throws as `recognise`
 */
export function recogniseAll(bytes: Uint8Array): readonly Shown[] {
  if (bytes[0] !== SIGN1) {
    const text = new TextDecoder().decode(bytes);
    const several = /^\s*\{/.test(text) ? witnessesOf(readObject(text)) : null;
    if (several !== null && several.length > 0) return several;
  }
  return [recognise(bytes)];
}

/** The absence documents of a witness about several surfaces; null for anything else. */
export function witnessesOf(
  answer: JsonObject,
): readonly (Extract<Shown, { kind: 'absence' }> & { readonly document: JsonObject })[] | null {
  const { witnesses, schema, signature } = answer;
  if (!Array.isArray(witnesses) || schema !== undefined || signature !== undefined) return null;
  const beside = besideOf(answer, 'witnesses');
  return (witnesses as readonly Json[])
    .filter(isJsonObject)
    .map((document) => ({ kind: 'absence', document, ...beside }));
}

/** The answer of an enrollment: a bundle and the receipt of its mandate; null for anything else. */
export function mandateOf(answer: JsonObject): Extract<Shown, { kind: 'mandate' }> | null {
  const { receipt = null } = answer;
  const bundle = objectOf(answer.bundle);
  if (bundle.schema !== BUNDLE || !isJsonObject(receipt)) return null;
  return { kind: 'mandate', bundle, receipt, ...besideOf(answer, 'bundle', 'receipt') };
}

/** Nothing that can be checked here; the message says what would help. */
export class Unknown extends Error {}

/** The value as an object; empty when it is none. */
export const objectOf = (value: Json | undefined): JsonObject =>
  value !== undefined && isJsonObject(value) ? value : {};

/** The value when it is a text. */
export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** The object that a text is, read as strictly as the verifier reads it. */
export function readObject(text: string): JsonObject {
  const value = parseJson(text, { fractions: true, maxBytes: MAX_BYTES });
  if (!isJsonObject(value)) throw new LogError('json_invalid', 'this JSON is not an object');
  return value;
}

/** What `actlog verify` and this page both know by its members; `text` is the document as it came. */
export function shapeOf(
  value: JsonObject,
  text: string,
): Extract<Shown, { kind: 'absence' | 'air' | 'receipt' | 'inclusion' }> | null {
  const { schema, receipt, proof, entry, path } = value;
  if (schema === 'svc-absence-witness-v1') return { kind: 'absence', document: text };
  if (schema === 'svc-air-export-v1') return { kind: 'air', document: value };
  if (typeof value.signature === 'string' && typeof value.kid === 'string') {
    return { kind: 'receipt', receipt: text };
  }
  // An answer that holds a whole document: what it wraps is what is checked.
  for (const name of ['document', 'witness']) {
    const document = objectOf(value[name]);
    if (document.schema !== 'svc-absence-witness-v1') continue;
    return { kind: 'absence', document, ...besideOf(value, name) };
  }
  if (receipt !== undefined && isJsonObject(receipt)) {
    if (isMoreThanReceipt(value)) return null;
    const tlogProof = objectOf(proof).tlog_proof;
    return typeof tlogProof === 'string'
      ? { kind: 'receipt', receipt, tlogProof, ...besideOf(value, 'receipt', 'proof') }
      : { kind: 'receipt', receipt, ...besideOf(value, 'receipt') };
  }
  if (typeof entry === 'string' && Array.isArray(path)) return { kind: 'inclusion', answer: value };
  return null;
}

/** Members of documents that are checked as a whole; no answer has one of them beside its receipt. */
const OF_DOCUMENTS = [
  ...['question', 'verdict', 'map_head', 'witness', 'witnesses', 'document', 'bundle'],
  ...['entries_root', 'sealed_at', 'signature', 'record', 'records', 'cose_sign1_b64', 'logs'],
];

/**
 * A document with a receipt in it is more than that receipt. Whoever changes one would rather have it taken for an
 * answer with a good receipt: a schema that is not known, or taken away, must not do that.
 */
export const isMoreThanReceipt = (value: JsonObject): boolean =>
  isJsonObject(value.receipt ?? null) &&
  (value.schema !== undefined || OF_DOCUMENTS.some((name) => value[name] !== undefined));

function recogniseJson(text: string): Shown {
  const value = readObject(text);
  const { schema } = value;
  if (schema === 'svc-offline-verify-kit-v1') return { kind: 'kit', text };
  const mandate = mandateOf(value);
  if (mandate !== null) return mandate;
  if (schema === BUNDLE) {
    throw new Unknown(
      'A bundle is checked with the receipt of its mandate: show the whole answer of the enrollment.',
    );
  }
  const shape = shapeOf(value, text);
  if (shape !== null) return shape;
  if (value.found === false) throw new Unknown('The log has no receipt of that name.');
  throw new Unknown(
    typeof schema === 'string'
      ? 'This page does not check documents of this schema; `actlog verify` checks more of them.'
      : isMoreThanReceipt(value)
        ? 'This is a document without a schema: the receipt in it does not speak for the rest.'
        : 'This JSON is no receipt, absence document, proof or kit.',
  );
}
