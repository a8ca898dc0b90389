// POST /api/v1/execute-gate/permits/use: who is about to do an act uses up its permit. Knowing the act is what
// entitles: receipts are public, the preimage of an action_ref is not. gateway/API.md §8.1, §8.2.

import { Type } from 'typebox';
import { ApiError, route } from '../contract.ts';
import type { JsonObject, PluginHost, Route } from '../contract.ts';
import { Millis, receiptOf } from '../contract.ts';
import { defaultActionRef } from '../pdtr/index.ts';
import { preimageOf, gateCatalog } from './asking.ts';
import { DecisionMembers, UseMembers, useType } from './entries.ts';
import { PermitRefused, permitUse } from './permit.ts';

const Id = Type.String({ format: 'uuid' });

const UseAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    permit_id: Id,
    permit_use_id: Id,
    action_ref: DecisionMembers.properties.action_ref,
    consumer: UseMembers.properties.consumer,
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(useType),
  },
  { $id: 'GatePermitUse' },
);

/** The route. */
export function permitRoute(host: PluginHost): Route {
  const catalog = gateCatalog(host);
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return route({
    method: 'POST',
    path: '/api/v1/execute-gate/permits/use',
    tag: 'gate',
    summary: 'Use up a permit',
    description:
      'Atomic: of two uses one is answered 200, the other 409. The members are those of the preimage that the ' +
      'permit was answered with. The chain `gate.permit` of the permit then proves that it was used, and once. ' +
      'The example needs the decision_entry_id of a PERMIT, and its preimage beside it.',
    access: 'key',
    idempotent: true,
    body: Type.Object(
      {
        receipt: Type.Union([Name, Type.Object({})], {
          description: 'The receipt of the PERMIT, its entry id or its entry hash.',
        }),
        action_type: Name,
        agent_id: Name,
        scope: Type.Optional(Type.String({ maxLength: host.limits.string_chars })),
        timestamp_ms: Millis,
      },
      { $id: 'GatePermitUseRequest' },
    ),
    responses: { 200: { description: 'It is used up by this request.', schema: UseAnswer } },
    errors: ['permit_used'],
    example: {
      receipt: '01900000-0000-7000-8000-000000000000',
      action_type: 'payment.release',
      agent_id: 'agent:treasury-bot',
      scope: 'gate',
      timestamp_ms: 1_790_000_000_000,
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const preimage = preimageOf(body, catalog, body.timestamp_ms);
      const action_ref = defaultActionRef({ ...preimage, seq: 0, terminal: true });
      const receipt = body.receipt as JsonObject | string;
      try {
        const question = { kind: caller.kind, receipt, action_ref };
        const { draft, check } = permitUse(host, question, host.name);
        await ctx.state.append([draft], { check });
      } catch (error) {
        if (!(error instanceof PermitRefused) || error.reason === 'used') throw error;
        throw new ApiError('parameter_invalid', error.message, { param: 'receipt', cause: error });
      }
    },
    respond([entry]) {
      if (entry === undefined) throw new Error('a use has one entry');
      const { statement, receipt, entry_id } = entry;
      const { permit_id, action_ref, consumer } = statement;
      const { verify_url } = receipt;
      const use = { permit_id, permit_use_id: entry_id, action_ref, consumer };
      return { ok: true, ...use, verify_url, receipt };
    },
  });
}
