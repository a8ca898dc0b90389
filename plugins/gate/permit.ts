// Permits: which one a receipt names, whether it permits this act now, and its one use. What must hold under
// concurrency is judged at the sequence point. gateway/API.md §8.1, §8.2.

import { canonical } from '../../log/index.ts';
import { ApiError } from '../contract.ts';
import type {
  Draft,
  GroupOptions,
  Json,
  JsonObject,
  Kind,
  LogView,
  PluginHost,
} from '../contract.ts';
import { entryName, findEntry } from '../finding.ts';
import { DECISION, USE } from './entries.ts';
import { gateRow, permitRow } from './rows.ts';
import type { PermitRow } from './rows.ts';

/** Why a permit is none for this act. */
export type PermitRefusal =
  | 'malformed'
  | 'unknown'
  | 'forged'
  | 'foreign_log'
  | 'not_a_permit'
  | 'other_action'
  | 'other_issuer'
  | 'expired'
  | 'key_revoked'
  | 'used';

const MESSAGES: Readonly<Record<PermitRefusal, string>> = {
  malformed: 'the receipt is neither a receipt nor an entry id or entry hash',
  unknown: 'the receipt names no entry of this log',
  forged: 'the receipt does not say what the log has under its entry id',
  foreign_log: 'the receipt is of another log',
  not_a_permit: 'the receipt is of no decision that permits',
  other_action: 'the permit is for another act: its action_ref differs',
  other_issuer: 'the permit is of a tenant whose permits do not count here',
  expired: 'the permit is too old',
  key_revoked: 'the key that signed the receipt is revoked',
  used: 'the permit has been used',
};

/** A receipt that permits nothing here: `permit_used` (409) where it was used, else `receipt_required` (428). */
export class PermitRefused extends ApiError {
  readonly reason: PermitRefusal;

  constructor(reason: PermitRefusal) {
    const code = reason === 'used' ? 'permit_used' : 'receipt_required';
    super(code, MESSAGES[reason], { param: 'receipt' });
    this.reason = reason;
  }
}

/** A permit as it stands in the log. */
export interface Permit extends Readonly<PermitRow> {
  /** Entry id of the decision. */
  readonly permit_id: string;
}

/** What is asked of a permit. */
export interface PermitQuestion {
  readonly kind: Kind;
  /** A receipt of `gate.decision.v1`, or its entry id or entry hash: the log is this one, so its word is enough. */
  readonly receipt: Json;
  /** The act that is about to be done, by its action_ref of the default profile; null for whichever it permits. */
  readonly action_ref: string | null;
  /** tenant_refs whose permits count; any tenant's unless given. */
  readonly issuers?: readonly string[];
}

/** The one use of a permit: a draft, and the check that its group needs. */
export interface PermitUse {
  readonly permit: Permit;
  readonly draft: Draft;
  /** Refuses the group when the permit is used or too old at its sequence point. */
  readonly check: NonNullable<GroupOptions['check']>;
}

/**
 * The permit that a receipt names, unused and fresh as of now.
 *
 * @throws PermitRefused
 */
export function permitOf(host: PluginHost, question: PermitQuestion): Permit {
  const newest = host.log(question.kind);
  const { log, index } = entryOf(host, question);
  const statement = JSON.parse(log.entry(index) ?? '{}') as JsonObject;
  if (statement['type'] !== DECISION || statement['outcome'] !== 'PERMIT') {
    throw new PermitRefused('not_a_permit');
  }
  const permit_id = statement['entry_id'] as string;
  // Of a permit that was carried the newest row says whether it is used.
  const holder = host
    .logs(question.kind)
    .findLast((served) => served.row(permitRow(permit_id)) !== undefined);
  const row = holder?.row(permitRow(permit_id)) as unknown as PermitRow | undefined;
  if (holder === undefined || row === undefined) {
    throw new Error(`permit ${permit_id} has no row`);
  }
  const key = log.receiptKeys().find(({ kid }) => kid === statement['kid']);
  if (key?.status === 'revoked') throw new PermitRefused('key_revoked');
  const { action_ref, issuers } = question;
  if (action_ref !== null && row.action_ref !== action_ref) throw new PermitRefused('other_action');
  if (issuers !== undefined && !issuers.includes(row.tenant_ref)) {
    throw new PermitRefused('other_issuer');
  }
  checkUsable(row, host.now());
  // The log that has it is closed, and its state was not carried: nothing would use the permit up.
  if (holder !== newest) throw new PermitRefused('foreign_log');
  return { permit_id, ...row };
}

/**
 * The use of the permit that a receipt names; `consumer` is the plugin that asks.
 *
 * @throws PermitRefused here where it is certain already, and from `check`
 */
export function permitUse(host: PluginHost, question: PermitQuestion, consumer: string): PermitUse {
  const permit = permitOf(host, question);
  const { permit_id, action_ref, issued_at_ms } = permit;
  return {
    permit,
    draft: {
      type: USE,
      members: { permit_id, action_ref, consumer, permit_issued_at_ms: issued_at_ms },
    },
    check({ rows, now_ms }) {
      const row = gateRow(rows, permitRow(permit_id)) as unknown as PermitRow | undefined;
      if (row === undefined) throw new PermitRefused('unknown');
      checkUsable(row, now_ms);
    },
  };
}

function checkUsable({ used_by, expires_at_ms }: PermitRow, now_ms: number): void {
  if (used_by !== null) throw new PermitRefused('used');
  if (now_ms > expires_at_ms) throw new PermitRefused('expired');
}

/** The entry that a receipt is of, in whichever log; whoever changed a byte of it holds no receipt. */
function entryOf(
  host: PluginHost,
  { kind, receipt }: PermitQuestion,
): { readonly log: LogView; readonly index: number } {
  if (typeof receipt === 'string') {
    const name = entryName(receipt) ?? refuse('malformed');
    return findEntry(host, [kind], name) ?? refuse('unknown');
  }
  if (typeof receipt !== 'object' || receipt === null || Array.isArray(receipt)) {
    return refuse('malformed');
  }
  const { entry_id, origin } = receipt as JsonObject;
  if (typeof entry_id !== 'string' || typeof origin !== 'string') return refuse('malformed');
  const log = host.logs(kind).find((served) => served.origin === origin) ?? refuse('foreign_log');
  const index = log.indexOfEntry(entry_id) ?? refuse('unknown');
  return isReceiptOf(log, index, receipt as JsonObject) ? { log, index } : refuse('forged');
}

const DERIVED: readonly string[] = [
  ...['entry_hash', 'permalink', 'verify_url', 'disclosures', 'log'],
];

/** Whether what was signed is the entry, byte for byte; derived members may say what they like. */
function isReceiptOf(log: LogView, index: number, receipt: JsonObject): boolean {
  const signed = Object.entries(receipt).filter(([name]) => !DERIVED.includes(name));
  return canonical(Object.fromEntries<Json>(signed)) === log.entry(index);
}

function refuse(reason: PermitRefusal): never {
  throw new PermitRefused(reason);
}
