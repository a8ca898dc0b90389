// The verifier of a pre-dispute bundle: checks that the entry of the mandate commits to the terms in the bundle.
// gateway/API.md §8.3. Runs in browsers.

import {
  besideOf,
  canonical,
  checkReceipt,
  findingOf,
  isJsonObject,
  isLogError,
  memberOf,
  objectOf,
  suiteOf,
  toHex,
  Unanswerable,
  utf8,
} from '../../log/verify.ts';
import type { Asked, Json, JsonObject, Line, Verifier } from '../../log/verify.ts';

const BUNDLE = 'svc-carrier-pre-dispute-v1';
const TYPES = ['carrier.mandate.v1', 'carrier.mandate.v2', 'carrier.renewal.v1'];

/** The answer of an enrollment or a renewal: a bundle and the receipt of the entry that commits to its terms. */
export const mandateVerifier: Verifier = {
  kind: 'mandate',
  title: 'a pre-dispute bundle with the receipt of its mandate',
  part: 'its receipt and its bundle',

  recognise(value) {
    const { bundle = null, receipt = null, acceptance_code = null } = value;
    if (objectOf(bundle).schema === BUNDLE && isJsonObject(receipt)) {
      const document = { bundle, receipt, acceptance_code };
      const beside = besideOf(value, 'bundle', 'receipt', 'acceptance_code');
      return { kind: 'mandate', document, ...beside };
    }
    if (value.schema !== BUNDLE) return null;
    throw new Unanswerable(
      'a bundle can only be checked together with the receipt of its mandate: give the complete answer of the enrollment',
    );
  },

  originOf: (document) => memberOf(objectOf(objectOf(document).receipt), 'origin'),

  check(document, trust, asked) {
    const { bundle, receipt, acceptance_code = null } = objectOf(document);
    const signed = checkReceipt(receipt ?? null, trust, asked);
    if (!signed.valid) return signed;
    const checks = [
      ...signed.checks,
      termsLine(objectOf(bundle), objectOf(receipt), asked),
      ...codeLines(acceptance_code, objectOf(receipt), asked),
    ];
    const summary = `${signed.summary}; it commits to the terms of the bundle`;
    return findingOf(checks, summary, { ...signed, summary });
  },
};

/** Checks the acceptance code against the mandate; no line if there is no code. */
function codeLines(code: Json, { acceptance_sha256 }: JsonObject, asked: Asked): readonly Line[] {
  if (code === null) return [];
  const name = 'acceptance code';
  const digest = typeof code === 'string' ? toHex(suiteOf(asked).sha256(utf8(code))) : null;
  return digest !== null && digest === acceptance_sha256
    ? [{ name, outcome: 'ok', detail: `SHA-256 ${digest}` }]
    : [{ name, outcome: 'failed', detail: 'the mandate commits to another acceptance code' }];
}

/** Checks the bundle against the receipt of its mandate, which has passed its own checks. */
function termsLine(bundle: JsonObject, receipt: JsonObject, asked: Asked): Line {
  const wrong = difference(bundle, receipt, asked);
  return wrong === null
    ? { name: 'terms', outcome: 'ok', detail: `SHA-256 ${receipt.terms_sha256 as string}` }
    : { name: 'terms', outcome: 'failed', detail: wrong };
}

function difference(bundle: JsonObject, receipt: JsonObject, asked: Asked): string | null {
  const { mandate_id, slug, terms = null, terms_sha256 } = bundle;
  if (!TYPES.includes(receipt.type as string)) return 'the receipt is of no mandate';
  if (mandate_id !== receipt.mandate_id) return 'the receipt is of another mandate';
  const committed = receipt.terms_sha256;
  if (digestOf(terms, asked) !== committed) return 'the mandate commits to other terms';
  if (terms_sha256 !== committed) return 'terms_sha256 is not what the mandate commits to';
  const stated = objectOf(terms);
  for (const name of ['actions', 'limit_micro_usd', 'valid_from_ms', 'valid_until_ms']) {
    const signed = receipt[name];
    if (signed !== undefined && canonical(signed) !== canonical(stated[name] ?? null)) {
      return `the mandate states another ${name} than its terms`;
    }
  }
  const disclosed = objectOf(objectOf(receipt.disclosures).slug).value;
  if (disclosed !== undefined && slug !== disclosed) return 'the slug is not that of the mandate';
  return null;
}

function digestOf(terms: Json, asked: Asked): string | null {
  try {
    return toHex(suiteOf(asked).sha256(utf8(canonical(terms))));
  } catch (error) {
    if (isLogError(error)) return null;
    throw error;
  }
}
