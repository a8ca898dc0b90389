// What the gate answers, from the entries alone. gateway/API.md §8.1, §14.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { described, entryTypeOf, Millis, receiptOf } from '../contract/index.ts';
import type {
  AnsweredEntry,
  Disclosure,
  JsonObject,
  PluginHost,
  RouteRequest,
} from '../contract/index.ts';
import restraint, { RECORD, restraintObject, RestraintObject } from '../restraint/index.ts';
import { gateCatalog, preimageOf } from './asking.ts';
import type { GateRequest } from './asking.ts';
import { DecisionMembers, decisionType, isDecision, OUTCOMES, USE, useType } from './entries.ts';
import { holdExpiry, rfc3339 } from './expiry.ts';
import { USE_SECRET } from './secret.ts';

const Id = Type.String({ format: 'uuid' });

/** A permit as an answer shows it. */
export const PermitObject = Type.Object(
  {
    permit_id: { ...Id, description: 'Entry id of the decision; its receipt is the permit.' },
    action_ref: DecisionMembers.properties.action_ref,
    expires_at_ms: Millis,
    max_age_s: Type.Integer(),
    single_use: Type.Literal(true),
    use_secret: Type.Optional(
      described(
        Type.Object({ salt: Type.String(), value: Type.Unknown() }),
        'Opens the commitment of the permit: its user must show this. Absent once it was erased.',
      ),
    ),
  },
  { $id: 'GatePermit' },
);

/** What every answer with a decision has. */
export const decisionAnswerMembers: Record<string, TSchema> = {
  ok: Type.Literal(true),
  outcome: Type.Enum([...OUTCOMES]),
  decision_entry_id: Id,
  verify_url: Type.String({ format: 'uri' }),
  action_ref: DecisionMembers.properties.action_ref,
  permit: Type.Optional(PermitObject),
  hold_id: Type.Optional({ ...Id, description: 'Of the hold that the decision is, or ends.' }),
  expires_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Of a HOLD: from then on it is refused, unless a human has decided it.',
    }),
  ),
  reasons: DecisionMembers.properties.reasons,
  policy_version: DecisionMembers.properties.policy_version,
  receipt: described(receiptOf(decisionType), 'Of the decision; where it permits, the permit.'),
  restraint: Type.Optional(RestraintObject),
  restraint_receipt: Type.Optional(receiptOf(entryTypeOf(restraint, RECORD))),
};

const Preimage = Type.Object(
  {
    action_type: Type.String(),
    agent_id: Type.String(),
    scope: Type.String(),
    timestamp_ms: Millis,
  },
  { description: 'Of action_ref; ask again with these to ask about the same act.' },
);

const gateMembers: Record<string, TSchema> = {
  ...decisionAnswerMembers,
  preimage: Preimage,
  permit_use_receipt: Type.Optional(
    described(receiptOf(useType), 'That the receipt shown is used up.'),
  ),
};

/** The answer of execute-gate. */
export const GateAnswer = Type.Object(gateMembers, { $id: 'ExecuteGateAnswer' });

/** The answer of execute-gate/bind. */
export const BindGateAnswer = Type.Object(
  { ...gateMembers, decision: Type.Enum(['ALLOW', 'BLOCK']) },
  { $id: 'ExecuteGateBindAnswer' },
);

/** The decision among a group's entries. */
export function decisionAmong(entries: readonly AnsweredEntry[]): AnsweredEntry {
  const decision = entries.findLast(({ statement }) => isDecision(statement['type']));
  if (decision === undefined) throw new Error('a gate answers with a decision');
  return decision;
}

/** What opens the private values of each entry of a group. */
export type Disclosures = readonly Readonly<Record<string, Disclosure>>[];

/** The answer that every caller gets about a decision's group, with the members `more` of this caller. */
export function decisionAnswer(
  entries: readonly AnsweredEntry[],
  disclosures: Disclosures,
  more: JsonObject = {},
): JsonObject {
  const decision = decisionAmong(entries);
  const { statement, receipt, entry_id, issued_at_ms } = decision;
  const { outcome = null, action_ref = null, reasons = [], policy_version = 0 } = statement;
  const restraint = entries.find((entry) => entry.statement['type'] === RECORD);
  const expires_at_ms = statement['permit_expires_at_ms'] as number | undefined;
  const hold_id = outcome === 'HOLD' ? entry_id : statement['hold_id'];
  const use_secret = disclosures[entries.indexOf(decision)]?.[USE_SECRET];
  return {
    ok: true,
    outcome,
    decision_entry_id: entry_id,
    verify_url: receipt.verify_url,
    action_ref,
    ...(expires_at_ms === undefined
      ? {}
      : {
          permit: {
            permit_id: entry_id,
            action_ref,
            expires_at_ms,
            max_age_s: (expires_at_ms - issued_at_ms) / 1000,
            single_use: true,
            ...(use_secret === undefined ? {} : { use_secret: { ...use_secret } }),
          },
        }),
    ...(hold_id === undefined ? {} : { hold_id }),
    reasons,
    policy_version,
    receipt,
    ...(restraint === undefined
      ? {}
      : { restraint: restraintObject(restraint), restraint_receipt: restraint.receipt }),
    ...more,
  };
}

/** What the answer of another plugin has of a permit that it gave. */
export const permitAnswerMembers: Record<string, TSchema> = {
  permit: Type.Optional(PermitObject),
  preimage: Type.Optional(Preimage),
  permit_receipt: Type.Optional(
    described(receiptOf(decisionType), 'Of the decision that is the permit.'),
  ),
};

/** The same of a group's entries; nothing of a group without a permit. */
export function permitAnswer(
  entries: readonly AnsweredEntry[],
  disclosures: Disclosures,
): JsonObject {
  const at = entries.findIndex(({ statement }) => isDecision(statement['type']));
  if (at === -1) return {};
  const { permit = null, receipt = null } = decisionAnswer(entries, disclosures);
  const preimage = disclosures[at]?.['preimage']?.value;
  return { permit, ...(preimage === undefined ? {} : { preimage }), permit_receipt: receipt };
}

/** The answer of execute-gate. */
export function gateAnswer(
  host: PluginHost,
  entries: readonly AnsweredEntry[],
  disclosures: Disclosures,
  { body, caller }: RouteRequest<unknown, unknown, GateRequest>,
): JsonObject {
  const { statement } = decisionAmong(entries);
  const catalog = gateCatalog(host);
  const use = entries.find((entry) => entry.statement['type'] === USE);
  const timestamp_ms = statement['timestamp_ms'] as number;
  const held =
    statement['outcome'] === 'HOLD'
      ? { expires_at: rfc3339(holdExpiry(host, caller.kind, statement)) }
      : {};
  return decisionAnswer(entries, disclosures, {
    preimage: preimageOf(body, catalog, timestamp_ms),
    ...held,
    ...(use === undefined ? {} : { permit_use_receipt: use.receipt }),
  });
}
