// The verifier of a pre-dispute bundle with the receipt of its mandate: what carrier and insured keep is what the log
// committed to. gateway/API.md §8.3. Browser-safe.

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
const MANDATE = 'carrier.mandate.v1';

/** The answer of an enrollment: a bundle and the receipt of its mandate. */
export const mandateVerifier: Verifier = {
  kind: 'mandate',
  title: 'a pre-dispute bundle with the receipt of its mandate',
  part: 'its receipt and its bundle',

  recognise(value) {
    const { bundle = null, receipt = null } = value;
    if (objectOf(bundle).schema === BUNDLE && isJsonObject(receipt)) {
      const document = { bundle, receipt };
      return { kind: 'mandate', document, ...besideOf(value, 'bundle', 'receipt') };
    }
    if (value.schema !== BUNDLE) return null;
    throw new Unanswerable(
      'a bundle is checked with the receipt of its mandate: give the whole answer of the enrollment',
    );
  },

  originOf: (document) => memberOf(objectOf(objectOf(document).receipt), 'origin'),

  check(document, trust, asked) {
    const { bundle, receipt } = objectOf(document);
    const signed = checkReceipt(receipt ?? null, trust, asked);
    if (!signed.valid) return signed;
    const checks = [...signed.checks, termsLine(objectOf(bundle), objectOf(receipt), asked)];
    const summary = `${signed.summary}; it commits to the terms of the bundle`;
    return findingOf(checks, summary, { ...signed, summary });
  },
};

/** Whether the bundle is of the mandate that a receipt, which holds, is of. */
function termsLine(bundle: JsonObject, receipt: JsonObject, asked: Asked): Line {
  const wrong = difference(bundle, receipt, asked);
  return wrong === null
    ? { name: 'terms', outcome: 'ok', detail: `SHA-256 ${receipt.terms_sha256 as string}` }
    : { name: 'terms', outcome: 'failed', detail: wrong };
}

function difference(bundle: JsonObject, receipt: JsonObject, asked: Asked): string | null {
  const { mandate_id, slug, terms = null, terms_sha256 } = bundle;
  if (receipt.type !== MANDATE) return 'the receipt is of no mandate';
  if (mandate_id !== receipt.entry_id) return 'the receipt is of another mandate';
  const committed = receipt.terms_sha256;
  if (digestOf(terms, asked) !== committed) return 'the mandate commits to other terms';
  if (terms_sha256 !== committed) return 'terms_sha256 is not what the mandate commits to';
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
