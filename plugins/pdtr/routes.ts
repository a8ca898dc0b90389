// Binding a payment to an act, in two shapes of one answer, and the check of an action_ref.
// gateway/API.md §7, §14.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ActEntity,
  actingEntity,
  atLeastOne,
  AtomicInput,
  Millis,
  Nullable,
  route,
  SafeCount,
  SurfaceName,
} from '../contract/index.ts';
import type { JsonObject, PluginHost, Route, RouteContext } from '../contract/index.ts';
import { decisionOfSession, namedDecision, NO_DECISION, sessionDecision } from './decision.ts';
import type { SessionDecision } from './decision.ts';
import { actOf } from './act.ts';
import { PROFILES } from './action-ref.ts';
import { bindDrafts } from './bind.ts';
import type { Binding, BindRequest, Listed } from './bind.ts';
import { listedCode, MAX_HEADER, requestedPayment } from './payment.ts';
import { SettlementAnswer, settlementOf, TwinAnswer } from './settlement.ts';
import { earlierLogs, standingBind } from './standing.ts';
import type { Standing } from './standing.ts';
import { verifyActionRef } from './verify-action-ref.ts';
import { pdtrErrors } from './entries.ts';

/** The log has the bind already. */
class AlreadyBound extends Error {
  readonly standing: Standing;

  constructor(standing: Standing) {
    super('the payment is bound to this act already');
    this.standing = standing;
  }
}

/** The session's newest decision is another than the group was made for. */
class OtherDecision extends Error {
  readonly newest: SessionDecision | undefined;

  constructor(newest: SessionDecision | undefined) {
    super('the session has a newer decision');
    this.newest = newest;
  }
}

const bindBody = (host: PluginHost) => {
  const Text = Type.String({ maxLength: host.limits.string_chars });
  const Named = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  const Integer = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
  return Type.Object(
    {
      payment_hash: Type.Optional({
        ...Text,
        description:
          'SHA-256 over the base64-decoded bytes of the PAYMENT-RESPONSE header, in hex; or the transaction. ' +
          'Needed unless payment_response is sent.',
      }),
      payment_response: Type.Optional(
        Type.String({
          maxLength: MAX_HEADER,
          description: 'The PAYMENT-RESPONSE header of x402 v2 itself.',
        }),
      ),
      action_ref: Type.Optional(Text),
      action_type: Type.Optional(Named),
      agent_id: Type.Optional(Named),
      amount_atomic: Type.Optional(AtomicInput),
      currency: Type.Optional(Named),
      domain: Type.Optional(Named),
      entry_id: Type.Optional({
        ...Named,
        description: 'Entry id or entry hash of the decision behind the payment.',
      }),
      scope: Type.Optional(Text),
      seq: Type.Optional({ ...Integer, default: 0 }),
      session_id: Type.Optional(Named),
      settlement_rail: Type.Optional(Named),
      terminal: Type.Optional(Type.Boolean({ default: true })),
      timestamp_ms: Type.Optional(Millis),
      entity: ActEntity,
      surface: Type.Optional(SurfaceName),
      event_at_ms: Type.Optional(Millis),
    },
    { $id: 'BindPaymentRequest', ...atLeastOne('payment_hash', 'payment_response') },
  );
};

const EXAMPLE = {
  payment_hash: 'd7596affa86b71264321b6de3a497c7cc170a9001a4d6ce9ffd9d034bdcdc808',
  action_type: 'purchase.fulfill',
  agent_id: 'agent:checkout-bot',
  amount_atomic: 42_000_000,
  currency: 'USDC',
};

/** The routes of settlement. */
export function settlementRoutes(host: PluginHost): readonly Route[] {
  const shared = {
    method: 'POST',
    tag: 'pdtr',
    access: 'open',
    idempotent: true,
    batch: true,
    body: bindBody(host),
    errors: [
      ...([
        pdtrErrors.invalid_payment_hash,
        pdtrErrors.action_ref_mismatch,
        pdtrErrors.payment_already_bound,
      ] as const),
      'tenant_forbidden' as const,
    ],
    example: EXAMPLE,
    handle: binder(host),
  } as const;
  const description =
    'A payment is bound to one act of a tenant, once: the same bind again answers the same entry, another act ' +
    'is 409, unless the earlier bind was not terminal and seq grew. What the request does not say stands by ' +
    'default and is named in preimage_defaulted. No chain is queried: the payment is as claimed.';
  return [
    route({
      ...shared,
      path: '/api/v1/bind-payment',
      aliases: ['/v1/bind-payment'],
      summary: 'Bind an x402 payment to a governed act',
      description,
      responses: { 200: { description: 'The settlement.', schema: SettlementAnswer } },
      respond(entries, disclosures, request) {
        return { ok: true, ...settlementOf(host, entries, disclosures, request) };
      },
    }),
    route({
      ...shared,
      path: '/tcb/bind-payment',
      summary: 'Bind an x402 payment and get its twin receipt',
      description,
      responses: { 200: { description: 'The twin receipt.', schema: TwinAnswer } },
      respond(entries, disclosures, request) {
        const { settlement, receipt } = settlementOf(host, entries, disclosures, request);
        return { ok: true, twin_receipt: true, ...settlement, receipt };
      },
    }),
    actionRefRoute(host),
  ];
}

/** The handler of both binds. */
function binder(host: PluginHost) {
  const toll = host.toll('pdtr_bind');
  const listed = listedIn(host.catalog('pdtr.json') as JsonObject);
  return async (ctx: RouteContext<unknown, unknown, BindRequest>): Promise<void> => {
    const { body, caller } = ctx.state;
    const log = host.log(caller.kind);
    const payment = requestedPayment(body);
    const act = actOf(body, caller, host.now());
    const entity = await actingEntity(log, caller, body);
    const { session_id, currency } = body;
    const session_ref = session_id === undefined ? undefined : caller.sessionRef(session_id);
    const { tenant_ref } = caller;
    const request: Binding['request'] = {
      ...body,
      entity,
      ...(currency === undefined ? {} : { currency: listedCode(currency, listed.currencies) }),
    };
    const earlier = earlierLogs(host, caller.kind);
    const told = { request, tenant_ref, session_ref, payment, act };
    const binding: Binding = { ...told, listed, earlier, toll };
    const named = body.entry_id === undefined ? null : namedDecision(log, caller, body.entry_id);
    const { payment_hash } = payment;
    let newest: SessionDecision | undefined;
    for (;;) {
      const decision = named ?? (newest === undefined ? NO_DECISION : decisionOfSession(newest));
      try {
        await ctx.state.append(bindDrafts(binding, decision), {
          check({ rows }) {
            const bind = { tenant_ref, payment_hash, act, told: body };
            const standing = standingBind(rows, earlier, bind);
            if (standing !== null) throw new AlreadyBound(standing);
            if (named !== null || session_ref === undefined) return;
            const now = sessionDecision(rows, session_ref);
            if (now?.entry_id !== newest?.entry_id) throw new OtherDecision(now);
          },
        });
        return;
      } catch (error) {
        if (error instanceof AlreadyBound) {
          const { index, log: place } = error.standing;
          await ctx.state.answerWith([index], place ?? log);
          return;
        }
        if (!(error instanceof OtherDecision)) throw error;
        newest = error.newest;
      }
    }
  };
}

function listedIn(catalog: JsonObject): Listed {
  const { rails, currencies } = catalog as unknown as {
    readonly rails: readonly { readonly id: string }[];
    readonly currencies: readonly { code: string; decimals: number; cleared: boolean }[];
  };
  return {
    rails: new Set(rails.map(({ id }) => id)),
    currencies: new Map(currencies.map(({ code, ...rest }) => [code, rest])),
  };
}

const VerifyAnswer = Type.Object(
  {
    ok: Type.Boolean({ description: 'There was enough to compute from.' }),
    valid: Type.Union([Type.Boolean(), Type.Null()]),
    match_profile: Type.Union([Type.Enum([...PROFILES]), Type.Null()]),
    computed: Type.Union([Type.Record(Type.String(), Nullable(Type.String())), Type.Null()]),
    claimed: Nullable(Type.String()),
    canonical: Nullable(Type.String()),
    preimage_used: Type.Union([Type.Object({}), Type.Null()]),
    ignored_fields: Type.Array(Type.String()),
    errors: Type.Array(
      Type.Object({ code: Type.String(), message: Type.String(), param: Type.String() }),
    ),
  },
  { $id: 'ActionRefVerified' },
);

function actionRefRoute({ limits }: PluginHost): Route {
  const Text = Type.String({ maxLength: limits.string_chars });
  const Body = Type.Object(
    {
      action_ref: Type.Optional(Text),
      action_type: Type.Optional(Text),
      agent_id: Type.Optional(Text),
      scope: Type.Optional(Text),
      timestamp_ms: Type.Optional(Millis),
      seq: Type.Optional(SafeCount),
      terminal: Type.Optional(Type.Boolean()),
      preimage: Type.Optional(
        Type.Object(
          {},
          { description: 'Of any profile; members that none has are ignored, and named.' },
        ),
      ),
    },
    { $id: 'ActionRefVerifyRequest' },
  );
  return route({
    method: 'POST',
    path: '/tcb/action-ref/verify',
    tag: 'pdtr',
    summary: 'Recompute an action_ref from its preimage',
    description: 'By every profile. Nothing is logged.',
    access: 'read',
    budget: 'read',
    body: Body,
    responses: {
      200: { description: 'What was computed, and whether it is the claim.', schema: VerifyAnswer },
    },
    errors: [pdtrErrors.preimage_conflict, pdtrErrors.ambiguous_timestamp],
    example: {
      action_ref: '10d8a38c01d8672176aa6e5209a368fde3e1831640d69e15283142b35880c2c1',
      action_type: 'sanctions_screen',
      agent_id: 'did:web:agent-7.example.com',
      scope: 'counterparty-due-diligence',
      timestamp_ms: 1747728000000,
    },
    handle(ctx) {
      const request: Static<typeof Body> = ctx.state.body;
      ctx.body = verifyActionRef(request);
    },
  });
}
