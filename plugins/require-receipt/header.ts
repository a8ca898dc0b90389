// The value of X-Receipt: base64url of `{"receipt", "preimage"?, "use_secret"?, "tlog_proof"?}`, or of a receipt alone. Portable.
// The caller chose everything that is read here. gateway/API.md §8.2.

import {
  canonical,
  fromBase64Url,
  fromUtf8,
  isJsonObject,
  parseJson,
  toBase64Url,
  utf8,
} from '../../log/verify.ts';
import type { Json, JsonObject } from '../../log/verify.ts';
import { preimageFrom } from './action.ts';
import type { Preimage } from './action.ts';

/** What opens the use secret that a permit commits to. */
export interface UseSecret {
  readonly salt: string;
  readonly value: string;
}

/** What was presented, taken apart; nothing of it is verified. */
export interface Presented {
  readonly receipt: JsonObject;
  /** What the action_ref is the hash of: beside the receipt, or opened by its disclosures. */
  readonly preimage: Preimage | null;
  /** What opens the use secret of the permit: beside the receipt, or among its disclosures. */
  readonly use_secret?: UseSecret;
  /** A C2SP tlog-proof that came beside the receipt. */
  readonly tlog_proof?: string;
}

/** Longest value, in characters: a receipt with its proof takes some four thousand. */
export const MAX_HEADER_CHARS = 65_536;
/** A receipt's values are at most 19 deep; the envelope is one more. */
const MAX_DEPTH = 20;

/** Reads a header's value, base64url or base64, padded or not; null when it is none. */
export function readHeader(value: string): Presented | null {
  if (value.length > MAX_HEADER_CHARS) return null;
  const digits = value.trim().replace(/\+/gu, '-').replace(/\//gu, '_').replace(/=+$/u, '');
  let parsed: Json;
  try {
    const text = fromUtf8(fromBase64Url(digits));
    parsed = parseJson(text, { fractions: true, maxDepth: MAX_DEPTH });
  } catch {
    return null;
  }
  return presentedFrom(parsed);
}

/** A parsed envelope, a receipt, or an answer that holds one under `receipt`; null when it is none. */
export function presentedFrom(value: Json): Presented | null {
  if (!isJsonObject(value)) return null;
  const { receipt = value, preimage, tlog_proof } = value;
  if (!isJsonObject(receipt)) return null;
  const given = preimage === undefined ? disclosedPreimage(receipt) : preimageFrom(preimage);
  if (preimage !== undefined && given === null) return null;
  if (tlog_proof !== undefined && typeof tlog_proof !== 'string') return null;
  const use_secret =
    secretFrom(value['use_secret']) ?? secretFrom(disclosed(receipt, 'use_secret'));
  return {
    receipt,
    preimage: given,
    ...(use_secret === null ? {} : { use_secret }),
    ...(tlog_proof === undefined ? {} : { tlog_proof }),
  };
}

const disclosed = ({ disclosures }: JsonObject, name: string): Json | undefined =>
  isJsonObject(disclosures) ? disclosures[name] : undefined;

function disclosedPreimage(receipt: JsonObject): Preimage | null {
  const preimage = disclosed(receipt, 'preimage');
  return isJsonObject(preimage) ? preimageFrom(preimage['value']) : null;
}

function secretFrom(value: Json | undefined): UseSecret | null {
  if (!isJsonObject(value)) return null;
  const { salt, value: secret } = value;
  return typeof salt === 'string' && typeof secret === 'string' ? { salt, value: secret } : null;
}

/**
 * The value of X-Receipt for a gate's receipt, or for an answer that holds one under `receipt`. Disclosures stay
 * behind, but for the preimage and the use secret: a service has no need of the message that the gate has read.
 *
 * @throws Error when it holds no receipt, or no preimage of its action_ref
 */
export function receiptHeader(answer: JsonObject): string {
  const presented = presentedFrom({
    receipt: isJsonObject(answer['receipt']) ? answer['receipt'] : answer,
    ...(answer['preimage'] === undefined ? {} : { preimage: answer['preimage'] }),
    ...(answer['use_secret'] === undefined ? {} : { use_secret: answer['use_secret'] }),
  });
  if (presented?.preimage === undefined || presented.preimage === null) {
    throw new Error('there is no receipt with the preimage of its action_ref');
  }
  const { disclosures: _, ...receipt } = presented.receipt;
  return encodePresented({ ...presented, receipt });
}

/** The value of X-Receipt for these parts, as they are. */
export function encodePresented({ receipt, preimage, use_secret, tlog_proof }: Presented): string {
  const envelope = {
    receipt,
    ...(preimage === null ? {} : { preimage: { ...preimage } }),
    ...(use_secret === undefined ? {} : { use_secret: { ...use_secret } }),
    ...(tlog_proof === undefined ? {} : { tlog_proof }),
  };
  return toBase64Url(utf8(canonical(envelope)));
}
