// Whether what was presented permits this act now: a PERMIT of a gate of the pinned log, for this action, fresh,
// proven to be in the log, signed by a key in force. Portable and pure; that it is unused is the replay store's
// part, or the log's own. gateway/API.md §8.2; log/FORMAT.md §2.

import {
  canonical,
  fromHex,
  isJsonObject,
  portable,
  toHex,
  utf8,
  verifyReceipt,
} from '../../log/verify.ts';
import type { CheckName, JsonObject, Trust } from '../../log/verify.ts';
import { actionRefOf } from './action.ts';
import type { Action, Preimage } from './action.ts';
import { MAX_AGE_S } from './challenge.ts';
import type { Issuer } from './challenge.ts';
import type { Presented, UseSecret } from './header.ts';

/** Names of the entry types that may permit; they differ in the amounts that they hold and in what they rest on. */
const DECISIONS: readonly unknown[] = [1, 2, 3].map((version) => `gate.decision.v${version}`);
/** How far the clock of a log may be ahead of the verifier's (log/FORMAT.md §1). */
const SKEW_MS = 60_000;

/** Why a receipt does not permit; `required.refused` of the challenge that follows. */
export type Refusal =
  | 'receipt_malformed'
  | 'log_unknown'
  | 'sandbox_receipt'
  | 'not_a_permit'
  | 'tenant_not_accepted'
  | 'preimage_missing'
  | 'action_mismatch'
  | 'receipt_expired'
  | 'receipt_from_future'
  | 'key_unknown'
  | 'key_not_in_force'
  | 'proof_missing'
  | 'proof_invalid'
  | 'use_secret_invalid'
  | 'signature_invalid';

/** A log that is trusted for permits. */
export interface PermitTrust extends Trust {
  readonly tenants: Issuer['tenants'];
  /** When keys ended, in milliseconds by kid: what such a key signed later does not hold. */
  readonly ended_ms?: ReadonlyMap<string, number>;
}

/** A permit that holds. It is used once, under `id`. */
export interface Permit {
  /** `<origin>#<entry_id>`. */
  readonly id: string;
  readonly entry_id: string;
  readonly action_ref: string;
  /** What `action_ref` is the hash of. */
  readonly preimage: Preimage;
  /** What opens the use secret that the permit commits to; absent where it commits to none. */
  readonly use_secret?: UseSecret;
  readonly tenant_ref: string | null;
  /** Milliseconds of UTC; from then on the receipt is too old. */
  readonly expires_at_ms: number;
  readonly statement: JsonObject;
}

/** What came of a check. */
export type PermitResult = Refused | { readonly ok: true; readonly permit: Permit };

/** A refusal with its reason in words. */
export interface Refused {
  readonly ok: false;
  readonly refused: Refusal;
  readonly message: string;
}

const refuse = (refused: Refusal, message: string): Refused => ({ ok: false, refused, message });

/** Which log the receipt says it is of; only to choose what to check it with. */
export const claimedOrigin = ({ receipt }: Presented): unknown => receipt['origin'];

/** The kid that the receipt names; only to know whether keys should be fetched again. */
export const claimedKid = ({ receipt }: Presented): unknown => receipt['kid'];

/** Checks a presented permit for an action; never throws for what is wrong with it. */
export function verifyPermit(
  presented: Presented,
  action: Action,
  trust: PermitTrust,
  now_ms: number,
): PermitResult {
  const { receipt, preimage } = presented;
  // The cheap checks come first; their results count only if the signature verifies.
  if (receipt['origin'] !== trust.origin) {
    return receipt['sandbox'] === true && !trust.origin.includes('/log/sandbox/')
      ? refuse('sandbox_receipt', 'the receipt is of a sandbox log')
      : refuse('log_unknown', `the receipt is not of the log ${trust.origin}`);
  }
  const refused =
    checkDecision(receipt, trust) ??
    checkAction(receipt, preimage, action) ??
    checkAge(receipt, now_ms) ??
    checkKey(receipt, trust);
  if (refused !== null) return refused;
  if (preimage === null) {
    return refuse('preimage_missing', 'nothing shows what the action_ref is the hash of');
  }
  const proven = checkProven(presented, trust);
  if ('refused' in proven) return proven;
  const { statement } = proven;
  const { use_secret } = presented;
  if (!opensSecret(statement, use_secret)) {
    return refuse('use_secret_invalid', 'use_secret does not open what the permit commits to');
  }
  const { entry_id, action_ref, tenant_ref = null } = statement;
  return {
    ok: true,
    permit: {
      id: `${trust.origin}#${entry_id}`,
      entry_id,
      action_ref,
      preimage,
      ...(use_secret === undefined ? {} : { use_secret }),
      tenant_ref,
      expires_at_ms: expiryOf(statement),
      statement,
    },
  };
}

/** Whether an opening is that of the permit; log/FORMAT.md §2.2. A permit of an earlier build commits to none. */
function opensSecret({ commitments }: JsonObject, opening: UseSecret | undefined): boolean {
  const committed = isJsonObject(commitments ?? null)
    ? (commitments as JsonObject)['use_secret']
    : undefined;
  if (committed === undefined) return true;
  if (opening === undefined || !/^[0-9a-f]{32}$/u.test(opening.salt)) return false;
  const bytes = [...fromHex(opening.salt), ...utf8(canonical(opening.value))];
  return toHex(portable.sha256(Uint8Array.from(bytes))) === committed;
}

/** A statement with what the checks have found in it. */
interface PermitMembers extends JsonObject {
  readonly entry_id: string;
  readonly action_ref: string;
  readonly issued_at_ms: number;
  readonly tenant_ref?: string;
}

type Checked = Refused | null;

function checkDecision(receipt: JsonObject, { tenants }: PermitTrust): Checked {
  const { type, outcome, entry_id, action_ref, issued_at_ms, tenant_ref } = receipt;
  if (!DECISIONS.includes(type)) {
    return refuse('not_a_permit', `the receipt is not of a ${DECISIONS.join(' or ')}`);
  }
  if (outcome !== 'PERMIT') return refuse('not_a_permit', 'the gate did not permit');
  const whole =
    typeof entry_id === 'string' &&
    typeof action_ref === 'string' &&
    Number.isSafeInteger(issued_at_ms);
  if (!whole) return refuse('receipt_malformed', 'the receipt has not the members of a decision');
  if (tenants !== 'any' && !(typeof tenant_ref === 'string' && tenants.includes(tenant_ref))) {
    return refuse('tenant_not_accepted', "the receipt is not of a tenant whose gate's word counts");
  }
  return null;
}

function checkAction(receipt: JsonObject, preimage: Preimage | null, action: Action): Checked {
  if (preimage === null) return null;
  if (preimage.action_type !== action.action_type || preimage.scope !== action.action_hash) {
    return refuse('action_mismatch', 'the receipt permits another action');
  }
  if (actionRefOf(preimage) !== receipt['action_ref']) {
    return refuse('action_mismatch', 'the preimage is not that of the action_ref');
  }
  return null;
}

function checkAge(receipt: JsonObject, now_ms: number): Checked {
  const issued_at_ms = receipt['issued_at_ms'] as number;
  if (issued_at_ms > now_ms + SKEW_MS) {
    return refuse('receipt_from_future', 'the receipt is of a time to come');
  }
  if (now_ms > expiryOf(receipt)) {
    return refuse(
      'receipt_expired',
      `the receipt is over ${String(MAX_AGE_S)} s old, or has ended`,
    );
  }
  return null;
}

/** A gate may give less time than there is. */
function expiryOf({ issued_at_ms, permit_expires_at_ms: ends }: JsonObject): number {
  const longest = (issued_at_ms as number) + MAX_AGE_S * 1000;
  return typeof ends === 'number' ? Math.min(ends, longest) : longest;
}

/** A revoked key permits nothing, whenever it signed: an act that cannot be undone does not wait for certainty. */
function checkKey(receipt: JsonObject, { keys, ended_ms }: PermitTrust): Checked {
  const { kid } = receipt;
  const key = keys.find((candidate) => candidate.kid === kid);
  if (key === undefined) return refuse('key_unknown', 'the receipt is of a key that is not known');
  if (key.status === 'revoked') return refuse('key_not_in_force', 'the key is revoked');
  const ended = ended_ms?.get(key.kid);
  if (ended !== undefined && (receipt['issued_at_ms'] as number) > ended) {
    return refuse('key_not_in_force', 'the key was retired before');
  }
  return null;
}

/** A failed check of a receipt, as the refusal that it is. */
const FAILED: Readonly<Record<CheckName, Refusal>> = {
  document_form: 'receipt_malformed',
  entry_hash: 'signature_invalid',
  origin: 'log_unknown',
  checkpoint: 'proof_invalid',
  inclusion: 'proof_invalid',
  cosignatures: 'proof_invalid',
  signature: 'signature_invalid',
  disclosures: 'receipt_malformed',
};

/** The statement, once everything about it holds. */
function checkProven({ receipt, tlog_proof }: Presented, trust: PermitTrust): PermitProven {
  const options = tlog_proof === undefined ? {} : { tlogProof: tlog_proof };
  const { valid, checks, size, statement } = verifyReceipt(receipt, trust, options);
  const failed = checks.find(({ outcome }) => outcome === 'failed');
  if (failed !== undefined) return refuse(FAILED[failed.name], failed.detail);
  if (!valid || statement === null) return refuse('receipt_malformed', 'the receipt has no form');
  // Without its proof, what the key signed may never have been in the log.
  if (size === undefined) return refuse('proof_missing', 'the receipt has no inclusion proof');
  return { statement: statement as PermitMembers };
}

type PermitProven = Refused | { readonly statement: PermitMembers };
