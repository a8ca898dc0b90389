// The value of X-Receipt: base64url of `{"receipt", "preimage"?, "tlog_proof"?}`, or of a receipt alone. Portable.
// Everything that is read here was chosen by whoever wants to act. gateway/API.md §8.2.

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

/** What was presented, taken apart; nothing of it is verified. */
export interface Presented {
  readonly receipt: JsonObject;
  /** What the action_ref is the hash of: beside the receipt, or opened by its disclosures. */
  readonly preimage: Preimage | null;
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
  return { receipt, preimage: given, ...(tlog_proof === undefined ? {} : { tlog_proof }) };
}

function disclosedPreimage({ disclosures }: JsonObject): Preimage | null {
  if (!isJsonObject(disclosures)) return null;
  const { preimage } = disclosures;
  return isJsonObject(preimage) ? preimageFrom(preimage['value']) : null;
}

/**
 * The value of X-Receipt for a gate's receipt, or for an answer that holds one under `receipt`. Disclosures stay
 * behind: the message that the gate has read is nobody else's business.
 *
 * @throws Error when it holds no receipt, or no preimage of its action_ref
 */
export function receiptHeader(answer: JsonObject): string {
  const presented = presentedFrom({
    receipt: isJsonObject(answer['receipt']) ? answer['receipt'] : answer,
    ...(answer['preimage'] === undefined ? {} : { preimage: answer['preimage'] }),
  });
  if (presented?.preimage === undefined || presented.preimage === null) {
    throw new Error('there is no receipt with the preimage of its action_ref');
  }
  const { disclosures: _, ...receipt } = presented.receipt;
  return encodePresented({ receipt, preimage: presented.preimage });
}

/** The value of X-Receipt for these parts, as they are. */
export function encodePresented({ receipt, preimage, tlog_proof }: Presented): string {
  const envelope = {
    receipt,
    ...(preimage === null ? {} : { preimage: { ...preimage } }),
    ...(tlog_proof === undefined ? {} : { tlog_proof }),
  };
  return toBase64Url(utf8(canonical(envelope)));
}
