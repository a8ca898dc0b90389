// The answer to a bind: the settlement, and the twin receipt, which says the same flat. gateway/API.md §7.2,
// §14.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { described, receiptOf } from '../contract/index.ts';
import type {
  AnsweredEntry,
  Disclosure,
  JsonObject,
  PluginHost,
  RouteRequest,
} from '../contract/index.ts';
import { preimageBehind } from './act.ts';
import { DEFAULT_PROFILE } from './action-ref.ts';
import type { BindRequest } from './bind.ts';
import { isTwin, NOT_SUPPLIED, notSuppliedType, TwinMembers, twinType } from './entries.ts';
import { requestedPayment } from './payment.ts';

const Uri = Type.String({ format: 'uri' });
const { payment_hash, action_ref, action_ref_profile, decision_entry_id, ...others } =
  TwinMembers.properties;

const settlementMembers: Record<string, TSchema> = {
  entry_id: Type.String({ format: 'uuid' }),
  verify_url: Uri,
  twin_verify_url: { ...Uri, description: 'Checks the payment and the decision together.' },
  payment_hash: Type.String({ description: 'As the caller spelled it.' }),
  payment_hash_normalized: payment_hash,
  action_ref,
  profile: Type.Literal(DEFAULT_PROFILE, { description: 'Of action_ref.' }),
  action_ref_profile,
  preimage: Type.Union([Type.Object({}), Type.Null()], {
    description: 'What action_ref is of; null where it is kept as claimed.',
  }),
  decision_entry_id: Type.Union([Type.String(), Type.Null()]),
  ...others,
};

/** What `settlement` holds. */
const Settlement = Type.Object(settlementMembers, { $id: 'Settlement' });

/** The answer of bind-payment. */
export const SettlementAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    settlement: Settlement,
    receipt: receiptOf(twinType),
    decision_receipt: Type.Optional(
      described(
        receiptOf(notSuppliedType),
        'That no decision was supplied, where this bind logged so.',
      ),
    ),
  },
  { $id: 'SettlementAnswer' },
);

/** The answer of its twin. */
export const TwinAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    twin_receipt: Type.Literal(true),
    ...settlementMembers,
    receipt: receiptOf(twinType),
  },
  { $id: 'TwinReceipt' },
);

/** Where a twin is verified as such. */
const twinPath = (entry_id: string, sandbox: boolean): string =>
  `/tcb/twin/${entry_id}${sandbox ? '?log=sandbox' : ''}`;

/** The settlement that a bind's entries say, with its receipts. */
export function settlementOf(
  host: PluginHost,
  entries: readonly AnsweredEntry[],
  disclosures: readonly Readonly<Record<string, Disclosure>>[],
  { body, caller }: RouteRequest<unknown, unknown, BindRequest>,
): { settlement: JsonObject; receipt: JsonObject; decision_receipt?: JsonObject } {
  const place = entries.findIndex(({ statement }) => isTwin(statement['type']));
  const twin = entries[place];
  if (twin === undefined) throw new Error('a bind has a twin');
  const { statement, receipt, entry_id } = twin;
  const opened = disclosures[place];
  const own = Object.keys(others).filter((name) => statement[name] !== undefined);
  const profile = statement['action_ref_profile'];
  const settlement = {
    entry_id,
    verify_url: receipt.verify_url,
    twin_verify_url: host.url(twinPath(entry_id, statement['sandbox'] === true)),
    payment_hash: requestedPayment(body).spelling,
    payment_hash_normalized: statement['payment_hash'] ?? '',
    action_ref: statement['action_ref'] ?? '',
    profile: DEFAULT_PROFILE,
    ...(profile === undefined ? {} : { action_ref_profile: profile }),
    preimage: preimageOf(statement, opened, body, caller),
    // If the log cannot hold the name, the twin keeps the one that its own bind wrote.
    decision_entry_id: statement['decision_entry_id'] ?? opened?.['entry_id']?.value ?? null,
    ...Object.fromEntries(own.map((name) => [name, statement[name] ?? null])),
  };
  const note = entries.find((entry) => entry.statement['type'] === NOT_SUPPLIED);
  return {
    settlement,
    receipt,
    ...(note === undefined ? {} : { decision_receipt: note.receipt }),
  };
}

/** From the disclosure; from the request where that was never kept; null for a claim that was not recomputed. */
function preimageOf(
  statement: JsonObject,
  disclosed: Readonly<Record<string, Disclosure>> | undefined,
  body: BindRequest,
  caller: RouteRequest['caller'],
): JsonObject | null {
  if (statement['action_ref_verified'] !== true) return null;
  const opened = disclosed?.['preimage']?.value;
  if (opened !== undefined) return opened as JsonObject;
  return preimageBehind(body, caller, {
    timestamp_ms: statement['timestamp_ms'] as number,
    action_ref: statement['action_ref'] as string,
  });
}
