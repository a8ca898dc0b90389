// A pre-dispute bundle with the receipt of its mandate: what both sides keep is what the log committed to.
// gateway/API.md §8.3; plugins/carrier/terms.ts.

import { canonical, LogError, portable, toHex, utf8 } from '../../../log/verify.ts';
import type { Json, JsonObject } from '../../../log/verify.ts';
import type { Line } from './finding.ts';
import { objectOf } from './shown.ts';

/** Whether the bundle is of the mandate that a receipt, which holds, is of. */
export function mandateLine(bundle: JsonObject, receipt: JsonObject): Line {
  const wrong = difference(bundle, receipt);
  return wrong === null
    ? {
        name: 'terms',
        outcome: 'ok',
        detail: `SHA-256 ${receipt['terms_sha256'] as string}`,
      }
    : { name: 'terms', outcome: 'failed', detail: wrong };
}

function difference(bundle: JsonObject, receipt: JsonObject): string | null {
  const { mandate_id, slug, terms = null, terms_sha256 } = bundle;
  if (receipt['type'] !== 'carrier.mandate.v1') return 'the receipt is of no mandate';
  if (mandate_id !== receipt['entry_id']) return 'the receipt is of another mandate';
  const committed = receipt['terms_sha256'];
  if (digestOf(terms) !== committed) return 'the mandate commits to other terms';
  if (terms_sha256 !== committed) return 'terms_sha256 is not what the mandate commits to';
  const disclosed = objectOf(objectOf(receipt['disclosures'])['slug'])['value'];
  if (disclosed !== undefined && slug !== disclosed) return 'the slug is not that of the mandate';
  return null;
}

function digestOf(terms: Json): string | null {
  try {
    return toHex(portable.sha256(utf8(canonical(terms))));
  } catch (error) {
    if (error instanceof LogError) return null;
    throw error;
  }
}
