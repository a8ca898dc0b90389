// GET /tcb/twin/{entry_id}: the address at which a twin verifies: the payment's entry and the decision's, each
// signed and in the log, and how they fit together. gateway/API.md §7.

import { Type } from 'typebox';
import {
  ApiError,
  EntryReceipt,
  Hex32,
  kindsOf,
  LogOfEntry,
  native,
  receiptOf,
  route,
  statementAt,
  toBase64,
  trustedKeyOf,
  verifyReceipt,
} from '../contract/index.ts';
import type { Json, JsonObject, LogView, PluginHost, Route } from '../contract/index.ts';
import { isTwin, NOT_SUPPLIED, PaymentHash, twinType } from './entries.ts';

const CheckSchema = Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() });

const TwinVerified = Type.Object(
  {
    ok: Type.Literal(true),
    valid: Type.Boolean(),
    twin_receipt: Type.Literal(true),
    entry_id: Type.String(),
    payment_hash: PaymentHash,
    action_ref: Hex32,
    decision_entry_id: Type.Union([Type.String(), Type.Null()]),
    decision_linked: Type.Boolean(),
    settlement_status: Type.String(),
    contested: Type.Boolean(),
    checks: Type.Array(CheckSchema),
    payment_proof_url: Type.String({
      format: 'uri',
      description:
        'Every bind of the payment, by every tenant, with the proof that none is left out.',
    }),
    receipt: receiptOf(twinType),
    decision: Type.Union([EntryReceipt, Type.Null()]),
  },
  { $id: 'TwinVerified' },
);

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** The route of a twin's verification. */
export function twinRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/tcb/twin/{entry_id}',
    tag: 'pdtr',
    summary: 'Verify a payment-decision twin',
    description:
      'Checks the signature of the bind and of its decision, that both stand in the log, and that they fit. ' +
      'Nobody asks a chain whether the payment was made.',
    access: 'read',
    params: Type.Object({ entry_id: Type.String({ maxLength: 64 }) }),
    query: Type.Object({ log: LogOfEntry }),
    responses: { 200: { description: 'Each check and what it found.', schema: TwinVerified } },
    errors: ['resource_missing', 'log_unavailable'],
    async handle(ctx) {
      const { params, query, caller } = ctx.state;
      const kinds = kindsOf(query.log, caller);
      for (const log of kinds.flatMap((kind) => host.logs(kind))) {
        const index = log.indexOfEntry(params.entry_id.toLowerCase());
        const statement = index === null ? null : statementAt(log, index);
        if (index === null || statement === null || !isTwin(statement['type'])) continue;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = await verified(host, log, index, statement);
        return;
      }
      throw new ApiError(
        'resource_missing',
        `no twin of the ${kinds.join(' or ')} log has this entry id`,
        {
          param: 'entry_id',
        },
      );
    },
  });
}

async function verified(
  host: PluginHost,
  log: LogView,
  index: number,
  twin: JsonObject,
): Promise<JsonObject> {
  const linked = twin['decision_linked'] === true;
  const noted = twin['decision_source'] === 'not_supplied';
  const decidedAt = linked || noted ? log.indexOfEntry(twin['decision_entry_id'] as string) : null;
  const { size, note } = await log.covering(index + 1);
  const proven = (at: number): JsonObject => {
    const receipt = log.receipt(at);
    if (receipt === null) throw new Error(`entry ${String(at)} has no receipt`);
    const inclusion_proof = log.inclusion(at, size).map(toBase64);
    return {
      ...receipt,
      log: { ...(receipt['log'] as JsonObject), checkpoint: note, inclusion_proof },
    };
  };
  const receipt = proven(index);
  const decision = decidedAt === null ? null : proven(decidedAt);
  const checks: Check[] = [
    receiptCheck(log, 'settlement_receipt', receipt),
    ...decisionChecks(log, twin, decision),
  ];
  const key = JSON.stringify(['payment', twin['payment_hash']]);
  const lookup = `/log/${log.kind}/${String(log.number)}/proof/lookup?${new URLSearchParams({ key }).toString()}`;
  return {
    ok: true,
    valid: checks.every(({ ok }) => ok),
    twin_receipt: true,
    entry_id: twin['entry_id'] as string,
    payment_hash: twin['payment_hash'] as string,
    action_ref: twin['action_ref'] as string,
    decision_entry_id: twin['decision_entry_id'] ?? null,
    decision_linked: linked,
    settlement_status: 'claimed',
    contested: twin['contested'] as boolean,
    checks: checks as unknown as Json,
    payment_proof_url: host.url(lookup),
    receipt,
    decision,
  };
}

function receiptCheck(log: LogView, name: string, receipt: JsonObject): Check {
  const { origin, vkey } = log;
  const trust = { origin, vkey, keys: log.receiptKeys().map(trustedKeyOf) };
  const { valid, checks } = verifyReceipt(receipt, trust, { suite: native });
  const failed = checks.filter(({ outcome }) => outcome === 'failed').map((check) => check.name);
  const detail = valid ? 'signed by the log, and in it' : `fails ${failed.join(', ')}`;
  return { name, ok: valid, detail };
}

function decisionChecks(log: LogView, twin: JsonObject, decision: JsonObject | null): Check[] {
  if (decision === null) {
    const detail = 'the decision that was named is none of this tenant in this log';
    return [{ name: 'decision_linked', ok: false, detail }];
  }
  const noted = decision['type'] === NOT_SUPPLIED;
  const before = (decision['index'] as number) < (twin['index'] as number);
  const tenant = decision['tenant_ref'] === twin['tenant_ref'];
  return [
    receiptCheck(log, 'decision_receipt', decision),
    {
      name: 'decision_linked',
      ok: !noted,
      detail: noted
        ? 'no decision was supplied, and the log says so'
        : `the decision is in the log, and says ${twin['decision_outcome'] as string}`,
    },
    { name: 'decision_first', ok: before, detail: 'the decision stands before the payment' },
    { name: 'same_tenant', ok: tenant, detail: 'decision and payment are of one tenant' },
  ];
}
