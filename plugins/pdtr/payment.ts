// payment_hash: the normal form of a payment's name; the PAYMENT-RESPONSE header that it is taken from; and the normal
// form of currency codes, so that `usdc` has the limits and fees of USDC. gateway/API.md §7.3, §10.2; x402 v2, HTTP
// transport.

import { createHash } from 'node:crypto';
import { ApiError, fromBase64, isJsonObject, isLogError, parseJson } from '../contract/index.ts';
import type { JsonObject } from '../contract/index.ts';
import { pdtrErrors } from './entries.ts';

/** One spelling for all: NFKC, no space around it, capitals. */
export const spelled = (currency: string): string =>
  currency.normalize('NFKC').trim().toUpperCase();

/** The code of a catalog that is meant; what none lists stays as it was written. */
export function listedCode(written: string, codes: { has(code: string): boolean }): string {
  const code = spelled(written);
  return codes.has(code) ? code : written;
}

/** A payment as a bind names it. */
export interface Payment {
  /** In its normal form: the reserved member of the entry. */
  readonly payment_hash: string;
  readonly form: 'hex' | 'base58' | 'opaque';
  /** As the caller spelled it. */
  readonly spelling: string;
  /** What the header says, where it was sent. */
  readonly settled?: JsonObject;
}

const HEX = /^[0-9a-fA-F]{64}$/;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,88}$/;
const OPAQUE = /^[A-Za-z0-9:_+/=.-]{16,128}$/;
const PREFIX = /^(sha256:|0x)/;

/** Longest PAYMENT-RESPONSE header, in base64. */
export const MAX_HEADER = 16_384;

/**
 * The normal form of a payment_hash: `sha256:` or `0x` stripped, then 64 hex in lower case, else base58,
 * else opaque.
 *
 * @throws ApiError `invalid_payment_hash`
 */
export function paymentOf(spelling: string): Payment {
  const bare = spelling.replace(PREFIX, '');
  if (HEX.test(bare)) return { payment_hash: bare.toLowerCase(), form: 'hex', spelling };
  if (BASE58.test(bare)) return { payment_hash: bare, form: 'base58', spelling };
  if (OPAQUE.test(bare)) return { payment_hash: bare, form: 'opaque', spelling };
  const message =
    'payment_hash is neither 64 hex, base58 nor 16 to 128 of A-Z a-z 0-9 : _ + / = . -';
  throw new ApiError(pdtrErrors.invalid_payment_hash, message, { param: 'payment_hash' });
}

/**
 * The payment of a PAYMENT-RESPONSE header: SHA-256 over its decoded bytes. A payment_hash in the same request names the
 * same payment, by that digest or by its transaction, and then takes precedence.
 *
 * @throws ApiError `parameter_invalid`, `invalid_payment_hash`
 */
export function paymentOfResponse(header: string, given: string | undefined): Payment {
  const bytes = decoded(header);
  const settled = settledIn(bytes);
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (given === undefined) return { payment_hash: digest, form: 'hex', spelling: digest, settled };
  const payment = paymentOf(given);
  const transaction = settled['transaction'] as string;
  if (payment.payment_hash === digest || payment.payment_hash === normalOf(transaction)) {
    return { ...payment, settled };
  }
  throw new ApiError(
    pdtrErrors.invalid_payment_hash,
    'payment_hash is not that of payment_response',
    {
      param: 'payment_hash',
    },
  );
}

/** The payment of a request, from either member. */
export function requestedPayment({
  payment_hash,
  payment_response,
}: {
  readonly payment_hash?: string;
  readonly payment_response?: string;
}): Payment {
  if (payment_response !== undefined) return paymentOfResponse(payment_response, payment_hash);
  return paymentOf(payment_hash ?? '');
}

function normalOf(transaction: string): string | null {
  try {
    return paymentOf(transaction).payment_hash;
  } catch {
    return null;
  }
}

function decoded(header: string): Uint8Array {
  try {
    return fromBase64(header);
  } catch (cause) {
    throw refused('is not base64', cause);
  }
}

/** Transaction, network and payer as the header names them; the service does not query a chain. */
function settledIn(bytes: Uint8Array): JsonObject {
  let value;
  try {
    value = parseJson(bytes, { fractions: true });
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw refused('does not hold JSON', cause);
  }
  if (!isJsonObject(value)) throw refused('does not hold an object');
  const { success, transaction, network, payer } = value;
  if (success !== true) throw refused('says that nothing was settled');
  if (typeof transaction !== 'string' || transaction === '') throw refused('has no transaction');
  if (typeof network !== 'string' || network === '') throw refused('has no network');
  return { transaction, network, ...(typeof payer === 'string' ? { payer } : {}) };
}

function refused(reason: string, cause?: unknown): ApiError {
  const options = { param: 'payment_response', ...(cause === undefined ? {} : { cause }) };
  return new ApiError('parameter_invalid', `payment_response ${reason}`, options);
}
