// The 428 of an act that the tenant's policy permits only to who shows a receipt. behaviour.md §8.2; RFC 6585 §3.

import { isJsonObject, parseJson } from '../../log/index.ts';
import { ApiError } from '../contract.ts';
import type { Json } from '../contract.ts';
import type { Asked } from './asking.ts';
import { PermitRefused } from './permit.ts';

const PROOF_HEADER = 'X-Receipt';
const MANIFEST = '/.well-known/agent-actions.json';
const PROFILE = 'actlog-permit-v1';
/** A permit shows that a policy covered the act, no more. */
const ASSURANCE = 'software';

/** The challenge; `refused` is what was wrong with the receipt that came. */
export function challenge(
  { act, action_ref, preimage }: Asked,
  permit_max_age_ms: number,
  issuers: readonly string[],
  refused?: PermitRefused,
): ApiError {
  const max_age_sec = permit_max_age_ms / 1000;
  const parameters = {
    action: act.action_type,
    action_hash: `sha256:${action_ref}`,
    manifest: MANIFEST,
    proof: PROOF_HEADER,
    profile: PROFILE,
    assurance: ASSURANCE,
    max_age: String(max_age_sec),
  };
  const value = Object.entries(parameters).map(([name, text]) => `${name}="${text}"`);
  const reason = refused === undefined ? '' : `, and ${refused.message}`;
  return new ApiError('receipt_required', `this act needs the receipt of a permit${reason}`, {
    param: 'receipt',
    headers: { 'Receipt-Required': value.join(', '), 'Cache-Control': 'no-store' },
    members: {
      required: {
        action: act.action_type,
        action_hash: parameters.action_hash,
        manifest: MANIFEST,
        challenge_header: 'Receipt-Required',
        proof_header: PROOF_HEADER,
        header: `${PROOF_HEADER}: base64url(<receipt JSON>), or the member receipt of the body`,
        profile: PROFILE,
        assurance_class: ASSURANCE,
        acceptable_issuers: issuers,
        max_age_sec,
        single_use: true,
        gate_request: preimage,
        how: 'Get a PERMIT for gate_request from an acceptable issuer and send its receipt with this request.',
        learn_more: '/standards/receipt-required',
        ...(refused === undefined ? {} : { refused: refused.reason }),
      },
    },
    ...(refused === undefined ? {} : { cause: refused }),
  });
}

/** The receipt in an X-Receipt header: base64url of its JSON, or of `{"receipt": …}`; hostile. */
export function receiptOfHeader(header: string): Json | undefined {
  if (header === '') return undefined;
  try {
    if (!/^[A-Za-z0-9+/_=-]+$/.test(header)) throw new PermitRefused('malformed');
    const value = parseJson(Buffer.from(header, 'base64url'));
    return isJsonObject(value) && isJsonObject(value['receipt']) ? value['receipt'] : value;
  } catch {
    // What cannot be read is a receipt of nothing.
    return null;
  }
}
