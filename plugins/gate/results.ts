// What follows a decision: what came of the act that a permit was used for, and acts that were done while the gate could
// not be asked. Both are statements of the caller that did the act. gateway/API.md §8.1, §9.2.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ActEntity,
  actingEntity,
  ApiError,
  asSchema,
  EntityName,
  EntryId,
  firstOf,
  Hex32,
  isDeclared,
  Millis,
  ofEntity,
  receiptOf,
  route,
  sentenceOf,
  SessionRef,
  SurfaceName,
} from '../contract/index.ts';
import type { EntryType, JsonObject, PluginHost, Route } from '../contract/index.ts';
import { defaultActionRef } from '../pdtr/index.ts';
import { gateCatalog, preimageOf } from './asking.ts';
import { gateErrors } from './entries.ts';
import { isPermitRefused, namedPermit } from './permit.ts';
import { gateRow, permitRow, resultRow } from './rows.ts';
import type { PermitRow } from './rows.ts';
import { UseSecret } from './secret.ts';

const RESULT = 'gate.permit_result.v1';
const UNASKED = 'gate.unasked.v1';

const CLOSED = { additionalProperties: false };

const STATUSES = {
  completed: 'it was done',
  failed: 'it failed',
  continued: 'it asks for more before it goes on',
  unknown: 'whether it was done is unknown',
} as const;

const Status = Type.Enum(Object.keys(STATUSES) as (keyof typeof STATUSES)[], {
  description:
    '`completed`, `failed`, `continued` if the act asks for more input, which is another act, or `unknown` if no ' +
    'answer came.',
});

/** What a result says; the digest of what the act returned is a commitment. */
const ResultMembers = Type.Object(
  { permit_id: EntryId, permit_use_id: EntryId, action_ref: Hex32, status: Status },
  CLOSED,
);

/** `gate.permit_result.v1`. Its chain shows that an act has one result, or none. */
export const resultType: EntryType = {
  name: RESULT,
  schema: asSchema(ResultMembers),
  keys: [['gate.result', 'permit_id']],
  sentence: sentenceOf<Static<typeof ResultMembers>>(
    ({ permit_id, status }) =>
      `The tenant states of the act of the permit ${permit_id}: ${STATUSES[status]}.`,
  ),
  project({ entry_id, statement }, rows) {
    rows.put(`gate/${resultRow(statement['permit_id'] as string)}`, entry_id);
  },
};

const UnaskedMembers = Type.Object(
  {
    action_ref: Hex32,
    /** The time in the preimage of `action_ref`. */
    timestamp_ms: Millis,
    reason: Type.Enum(['gate_unreachable']),
    session_ref: Type.Optional(SessionRef),
    entity: Type.Optional(EntityName),
    surface: Type.Optional(SurfaceName),
    surface_declared: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);

/** `gate.unasked.v1`: an act that was done without a decision. On a surface it is an attempt, as a decision is. */
export const unaskedType: EntryType = {
  name: UNASKED,
  schema: asSchema(UnaskedMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof UnaskedMembers>>(
    (act) =>
      `The tenant states that it did an act${ofEntity(act)} without asking the gate, which it could not reach.`,
  ),
};

const Id = Type.String({ format: 'uuid' });

const ResultAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    permit_id: Id,
    permit_result_id: Id,
    permit_use_id: Id,
    action_ref: Hex32,
    status: Status,
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(resultType),
  },
  { $id: 'GatePermitResult' },
);

const UnaskedAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    unasked_id: Id,
    action_ref: Hex32,
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(unaskedType),
  },
  { $id: 'GateUnasked' },
);

/** The routes. */
export const resultRoutes = (host: PluginHost): readonly Route[] => [
  resultRoute(host),
  unaskedRoute(host),
];

function resultRoute(host: PluginHost): Route {
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return route({
    method: 'POST',
    path: '/api/v1/execute-gate/permits/result',
    tag: 'gate',
    summary: 'Log what came of a permitted act',
    description:
      'Once for each permit, after its use, by a caller that knows its `use_secret`. The entry commits to the digest ' +
      'of what the act returned. The chain `gate.result` of the permit then proves the result, or that there is none. ' +
      'The example needs the decision_entry_id of a PERMIT that was used.',
    access: 'key',
    idempotent: true,
    body: Type.Object(
      {
        receipt: Type.Union([Name, Type.Object({})], {
          description: 'The receipt of the PERMIT, its entry id or its entry hash.',
        }),
        use_secret: UseSecret,
        status: Status,
        result_sha256: Type.Optional({
          ...Hex32,
          description:
            'SHA-256 over what the act returned, such as the canonical JSON of a result.',
        }),
      },
      { $id: 'GatePermitResultRequest' },
    ),
    responses: { 200: { description: 'The result.', schema: ResultAnswer } },
    errors: [
      gateErrors.permit_not_used,
      gateErrors.result_exists,
      gateErrors.permit_secret_invalid,
    ],
    example: {
      receipt: '01900000-0000-7000-8000-000000000000',
      use_secret: { salt: '0123456789abcdef0123456789abcdef', value: 'as the gate answered it' },
      status: 'completed',
      result_sha256: '00'.repeat(32),
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { permit, holder } = permitOfResult(host, {
        ...{ kind: caller.kind, action_ref: null, use_secret: body.use_secret },
        receipt: body.receipt as JsonObject | string,
      });
      const { permit_id, action_ref, used_by } = permit;
      if (used_by === null || holder !== host.log(caller.kind)) throw notUsed(used_by);
      const { status, result_sha256 } = body;
      await ctx.state.append(
        [
          {
            type: RESULT,
            members: { permit_id, permit_use_id: used_by, action_ref, status },
            ...(result_sha256 === undefined ? {} : { private: { result_sha256 } }),
          },
        ],
        {
          check({ rows }) {
            const row = gateRow(rows, permitRow(permit_id)) as unknown as PermitRow | undefined;
            if (row?.used_by !== used_by) throw notUsed(row?.used_by ?? null);
            if (rows.get(`gate/${resultRow(permit_id)}`) === undefined) return;
            throw new ApiError(gateErrors.result_exists, 'the act has a result', {
              param: 'receipt',
            });
          },
        },
      );
    },
    respond(entries) {
      const { statement, receipt, entry_id } = firstOf(entries);
      const { permit_id, permit_use_id, action_ref, status } = statement;
      const ids = { permit_id, permit_result_id: entry_id, permit_use_id, action_ref };
      return { ok: true, ...ids, status, verify_url: receipt.verify_url, receipt };
    },
  });
}

function permitOfResult(host: PluginHost, question: Parameters<typeof namedPermit>[1]) {
  try {
    return namedPermit(host, question);
  } catch (error) {
    if (!isPermitRefused(error) || error.reason === 'secret') throw error;
    throw new ApiError('parameter_invalid', error.message, { param: 'receipt', cause: error });
  }
}

const notUsed = (used_by: string | null): ApiError =>
  new ApiError(
    gateErrors.permit_not_used,
    used_by === null
      ? 'the permit was not used'
      : 'the permit was used in a log that is closed, and takes no result',
    { param: 'receipt' },
  );

function unaskedRoute(host: PluginHost): Route {
  const catalog = gateCatalog(host);
  const toll = host.toll('execute_gate');
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return route({
    method: 'POST',
    path: '/api/v1/execute-gate/unasked',
    tag: 'gate',
    summary: 'Log an act that was done without asking the gate',
    description:
      'For a caller that acts although the gate cannot be reached: it states each such act when the gate is back. The ' +
      'entry is an attempt on its surface and permits nothing. Its time in the log is that of this request.',
    access: 'key',
    idempotent: true,
    body: Type.Object(
      {
        action_type: Name,
        agent_id: Name,
        scope: Type.Optional(Type.String({ maxLength: host.limits.string_chars })),
        timestamp_ms: { ...Millis, description: 'When the act was done.' },
        reason: UnaskedMembers.properties.reason,
        entity: ActEntity,
        surface: Type.Optional(SurfaceName),
        session_id: Type.Optional(Name),
      },
      { $id: 'GateUnaskedRequest' },
    ),
    responses: { 200: { description: 'The act.', schema: UnaskedAnswer } },
    errors: ['tenant_forbidden'],
    example: {
      action_type: 'mcp.read_file',
      agent_id: 'agent:files',
      timestamp_ms: 1_790_000_000_000,
      reason: 'gate_unreachable',
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const entity = await actingEntity(host.log(caller.kind), caller, body);
      const preimage = preimageOf(body, catalog, body.timestamp_ms);
      const { surface, session_id, reason, timestamp_ms } = body;
      const members: JsonObject = {
        action_ref: defaultActionRef({ ...preimage, seq: 0, terminal: true }),
        timestamp_ms,
        reason,
        ...(session_id === undefined ? {} : { session_ref: caller.sessionRef(session_id) }),
        ...(entity === undefined ? {} : { entity }),
      };
      await ctx.state.append([
        {
          type: UNASKED,
          members: ({ surfaces, issued_at_ms }) => ({
            ...members,
            ...(entity === undefined || surface === undefined
              ? {}
              : { surface, surface_declared: isDeclared(surfaces, entity, surface, issued_at_ms) }),
          }),
          private: { preimage },
          toll,
        },
      ]);
    },
    respond(entries) {
      const { statement, receipt, entry_id } = firstOf(entries);
      const { action_ref } = statement;
      return {
        ok: true,
        unasked_id: entry_id,
        action_ref,
        verify_url: receipt.verify_url,
        receipt,
      };
    },
  });
}
