// Tells by its content what somebody wants checked. Nothing is believed here: this only chooses which
// check fits.

import { isJsonObject, LogError, parseJson } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import {
  BUNDLE,
  isMoreThanReceipt,
  mandateOf,
  MAX_BYTES,
  shapeOf,
  SIGN1,
  witnessesOf,
} from '../../gateway/static/verify/shown.ts';
import type { Shown as OnPage } from '../../gateway/static/verify/shown.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { SEALED_DOCUMENTS } from './sealed-document.ts';

export { MAX_BYTES } from '../../gateway/static/verify/shown.ts';

/** What came. */
export type Shown =
  | Exclude<OnPage, { kind: 'kit' }>
  | { readonly kind: 'clearing'; readonly proof: JsonObject }
  | { readonly kind: 'air_session'; readonly document: JsonObject }
  | { readonly kind: 'sealed'; readonly document: JsonObject }
  | { readonly kind: 'kit'; readonly kit: JsonObject };

/**
 * Reads a receipt, an answer that holds one, an absence document, a report or pack, a proof, a slot proof,
 * a checkpoint or a kit.
 *
 * @throws CommandError: exit 1 for JSON that breaks the rules of receipts, 2 for what is none of these
 */
export function recognise(text: string): Shown {
  if (text.startsWith('c2sp.org/tlog-proof@v1\n')) return { kind: 'tlog_proof', text };
  if (/^\s*\{/.test(text)) return recogniseJson(text);
  if (text.includes('\n\n— ')) return { kind: 'checkpoint', text };
  throw new CommandError(
    'this is no receipt, absence document, kit, tlog-proof or checkpoint that actlog knows',
    EXIT.unknown,
  );
}

/** Like `recognise`, for what may be binary: a COSE_Sign1 begins with its tag, which no UTF-8 text does. */
export function recogniseBytes(bytes: Uint8Array): Shown {
  if (bytes[0] === SIGN1) return { kind: 'cose', bytes: new Uint8Array(bytes) };
  return recognise(Buffer.from(bytes).toString('utf8'));
}

/** The absence documents of a witness about several surfaces; null for anything else. */
export function severalOf(bytes: Uint8Array): ReturnType<typeof witnessesOf> {
  const text = Buffer.from(bytes).toString('utf8');
  if (!/^\s*\{/.test(text) || !text.includes('"witnesses"')) return null;
  return witnessesOf(parsed(text));
}

function recogniseJson(text: string): Shown {
  const value = parsed(text);
  const { schema } = value;
  if (schema === 'svc-clearing-proof-v1') return { kind: 'clearing', proof: value };
  if (schema === 'svc-air-session-v1') return { kind: 'air_session', document: value };
  if (schema === 'svc-offline-verify-kit-v1') return { kind: 'kit', kit: value };
  if (typeof schema === 'string' && SEALED_DOCUMENTS.has(schema)) {
    return { kind: 'sealed', document: value };
  }
  if (Array.isArray(value['witnesses']) && value['signature'] === undefined) {
    throw new CommandError(
      'this answer holds a document for each surface: give them one by one',
      EXIT.unknown,
    );
  }
  const mandate = mandateOf(value);
  if (mandate !== null) return mandate;
  if (schema === BUNDLE) {
    throw new CommandError(
      'a bundle is checked with the receipt of its mandate: give the whole answer of the enrollment',
      EXIT.unknown,
    );
  }
  const shape = shapeOf(value, text);
  if (shape !== null) return shape;
  if (isMoreThanReceipt(value)) {
    const which =
      schema === undefined ? 'without a schema' : 'of a schema that actlog does not know';
    throw new CommandError(
      `this is a document ${which}: the receipt in it does not speak for the rest`,
      EXIT.unknown,
    );
  }
  if (value['found'] === false) {
    throw new CommandError(
      'the service has not found that receipt: nothing to check',
      EXIT.unknown,
    );
  }
  const { error } = value;
  if (isJsonObject(error) && typeof error['message'] === 'string') {
    // Quoted: it is text of whoever wrote the file.
    const code = typeof error['code'] === 'string' ? `${error['code']}: ` : '';
    const said = JSON.stringify(`${code}${error['message']}`.slice(0, 300));
    throw new CommandError(
      `the service answered with an error, nothing to check: ${said}`,
      EXIT.unknown,
    );
  }
  throw new CommandError(
    'this JSON is no receipt, absence document, proof or kit that actlog knows',
    EXIT.unknown,
  );
}

function parsed(text: string): JsonObject {
  try {
    const value = parseJson(text, { fractions: true, maxBytes: MAX_BYTES });
    if (isJsonObject(value)) return value;
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    throw new CommandError(`INVALID: this is not JSON as receipts have it: ${error.message}`);
  }
  throw new CommandError('this JSON is not an object', EXIT.unknown);
}
