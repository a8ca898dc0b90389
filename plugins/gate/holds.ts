// Holds: what waits for a human, and what the human makes of it. A release logs the resolution and, behind it in
// one group, the PERMIT that the act waited for; a refusal its DENY. Either happens once. gateway/API.md §8.1, §14.

import { Type } from 'typebox';
import {
  answeredEntry,
  ApiError,
  described,
  logOfPlace,
  receiptOf,
  route,
} from '../contract/index.ts';
import type {
  Caller,
  CarriedPlace,
  Draft,
  JsonObject,
  LogView,
  PluginHost,
  Route,
} from '../contract/index.ts';
import { CAUSES, restraintDraft, restraintErrors } from '../restraint/index.ts';
import { decisionAmong, decisionAnswer, decisionAnswerMembers, PermitObject } from './answer.ts';
import { gateCatalog } from './asking.ts';
import type { GateCatalog } from './asking.ts';
import { expiryMembers, policyMembers } from './drafts.ts';
import { checkEndable, logNumbered, logsWithHolds, ownHold } from './earlier.ts';
import { DECISION, DecisionMembers, decisionType, RESOLUTION, resolutionType } from './entries.ts';
import { gateRow, holdRow, openHolds, policyRow } from './rows.ts';
import type { HoldRow, PolicyRow } from './rows.ts';

const PATH = '/api/v1/execute-gate/holds';
const { action_ref } = DecisionMembers.properties;
const State = Type.Enum(['held', 'released', 'refused']);

const ResolutionAnswer = Type.Object(
  {
    ...decisionAnswerMembers,
    state: State,
    resolution_entry_id: Type.String({ format: 'uuid' }),
    resolution_receipt: receiptOf(resolutionType),
  },
  { $id: 'GateHoldResolution' },
);

const HoldAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    hold_id: Type.String({ format: 'uuid' }),
    state: State,
    action_ref,
    closed_log: Type.Optional(
      Type.String({
        description:
          'The act is held in this log, which is closed: nothing ends the hold. Ask the gate about the act again.',
      }),
    ),
    receipt: described(receiptOf(decisionType), 'Of the decision that held the act.'),
    outcome: Type.Optional(decisionAnswerMembers['outcome'] ?? Type.String()),
    permit: Type.Optional(PermitObject),
    decision_receipt: Type.Optional(
      described(
        receiptOf(decisionType),
        'Of the decision that ended the hold; of a release it is the permit.',
      ),
    ),
  },
  { $id: 'GateHold' },
);

const OpenHolds = Type.Object(
  {
    ok: Type.Literal(true),
    holds: Type.Array(receiptOf(decisionType), {
      description:
        'Decisions that hold an act, oldest first; the entry_id of each is the hold_id, and its disclosures say what waits.',
    }),
    next: Type.Union([Type.String(), Type.Null()], { description: 'Send it as `after`.' }),
    closed_logs: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Closed logs in which acts are still held, such as `live/1`: nothing ends those holds, `log_number=1` ' +
          'lists them, and the gate is asked about the acts again.',
      }),
    ),
  },
  { $id: 'GateOpenHolds' },
);

/** The routes of holds. */
export function holdRoutes(host: PluginHost): readonly Route[] {
  const catalog = gateCatalog(host);
  const Id = Type.Object({ hold_id: Type.String({ maxLength: 64 }) });
  const errors = ['resource_missing', 'tenant_forbidden'] as const;
  return [
    route({
      method: 'POST',
      path: `${PATH}/{hold_id}`,
      tag: 'gate',
      summary: 'Release or refuse a held act',
      description:
        'Once; afterwards it is 409. A release answers with the permit, good for 900 seconds. Who asked gets it ' +
        'from the hold, or by asking about the same act again, with the same preimage and amounts, while it is good. ' +
        'The example needs the hold_id of a HOLD in the path.',
      access: { roles: ['operator'] },
      idempotent: true,
      params: Id,
      body: Type.Object(
        {
          action: Type.Enum(['release', 'refuse']),
          reason: Type.String({
            minLength: 1,
            maxLength: host.limits.message_bytes,
            description: 'The entry commits to it.',
          }),
        },
        { $id: 'GateHoldRequest' },
      ),
      responses: { 200: { description: 'The resolution.', schema: ResolutionAnswer } },
      errors: [...errors, restraintErrors.hold_resolved],
      example: { action: 'release', reason: 'invoice checked' },
      async handle(ctx) {
        const { params, body, caller } = ctx.state;
        const hold_id = params.hold_id.toLowerCase();
        const own = ownHold(host, caller, hold_id);
        const { hold, held, heldIn } = own;
        checkHeld(hold);
        checkEndable(own);
        await ctx.state.append(
          resolutionDrafts(hold_id, inLog(host, caller, heldIn, held), body, catalog),
          {
            check({ rows }) {
              checkHeld(gateRow(rows, holdRow(hold_id)) as unknown as HoldRow | undefined);
            },
          },
        );
      },
      respond(entries) {
        const resolution = entries.find(({ statement }) => statement['type'] === RESOLUTION);
        if (resolution === undefined) throw new Error('a hold ends with a resolution');
        const { statement } = decisionAmong(entries);
        return decisionAnswer(entries, {
          state: statement['outcome'] === 'PERMIT' ? 'released' : 'refused',
          resolution_entry_id: resolution.entry_id,
          resolution_receipt: resolution.receipt,
        });
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/{hold_id}`,
      tag: 'gate',
      summary: 'What became of a held act',
      access: 'key',
      params: Id,
      responses: { 200: { description: 'The hold, and how it ended.', schema: HoldAnswer } },
      errors,
      async handle(ctx) {
        const { params, caller } = ctx.state;
        const hold_id = params.hold_id.toLowerCase();
        const { log, heldIn, hold, closed_log } = ownHold(host, caller, hold_id);
        const { state, index, ended_by } = hold;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          ok: true,
          hold_id,
          state,
          action_ref: hold.action_ref,
          ...(closed_log === null ? {} : { closed_log }),
          receipt: await heldReceipt(host, heldIn, caller, index),
          ...(ended_by === null ? {} : endOf(log, ended_by)),
        };
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      tag: 'gate',
      summary: 'The acts that wait for a human',
      access: 'key',
      query: Type.Object({
        after: Type.Optional(Type.String({ pattern: '^[0-9a-f-]{36}$' })),
        limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })),
        log_number: Type.Optional(
          Type.String({
            pattern: '^[1-9][0-9]{0,8}$',
            description: 'The newest log unless given.',
          }),
        ),
      }),
      responses: { 200: { description: 'One page.', schema: OpenHolds } },
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const { page_default, page_max } = host.limits;
        const limit = Math.min(Number(query.limit ?? page_default), page_max);
        const log = logNumbered(host, caller.kind, query.log_number);
        const closed_logs = query.log_number === undefined ? await logsWithHolds(host, caller) : [];
        const prefix = openHolds(caller.tenant_ref);
        const after = query.after === undefined ? {} : { after: `${prefix}${query.after}` };
        const rows = await log.rows(prefix, { limit: limit + 1, ...after });
        const page = rows.slice(0, limit);
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          ok: true,
          holds: await Promise.all(
            page.map(([, row]) => {
              const place = row as unknown as CarriedPlace;
              const heldIn = logOfPlace(host.logs(caller.kind), log, place) ?? log;
              return heldReceipt(host, heldIn, caller, place.index);
            }),
          ),
          next: rows.length > limit ? (page.at(-1)?.[0].slice(prefix.length) ?? null) : null,
          ...(closed_logs.length === 0 ? {} : { closed_logs }),
        };
      },
    }),
  ];
}

/** With what only the tenant may read: nobody can judge an act by its hash. */
async function heldReceipt(
  host: PluginHost,
  log: LogView,
  caller: Caller,
  index: number,
): Promise<JsonObject> {
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} of a hold is missing`);
  const disclosures = await host.disclosed(caller, receipt['entry_id'] as string);
  return { ...receipt, disclosures } as unknown as JsonObject;
}

/** What a held decision shares with what ends it; its session has another name in another log. */
function inLog(host: PluginHost, { kind }: Caller, log: LogView, held: JsonObject): JsonObject {
  if (log.number === host.log(kind).number) return held;
  const { session_ref: _, ...rest } = held;
  return rest;
}

function endOf(log: LogView, index: number): JsonObject {
  const entry = answeredEntry(log, index);
  const { outcome, permit } = decisionAnswer([entry]);
  return {
    outcome: outcome ?? null,
    ...(permit === undefined ? {} : { permit }),
    decision_receipt: entry.receipt,
  };
}

function checkHeld(hold: HoldRow | undefined): void {
  if (hold?.state === 'held') return;
  throw new ApiError(
    restraintErrors.hold_resolved,
    `the hold was ${hold?.state ?? 'resolved'} already`,
    {
      param: 'hold_id',
    },
  );
}

/** The group that ends a hold. The held decision was the attempt, so nothing here has a surface; it paid the toll. */
function resolutionDrafts(
  hold_id: string,
  held: JsonObject,
  { action, reason }: { readonly action: 'release' | 'refuse'; readonly reason: string },
  catalog: GateCatalog,
): readonly Draft[] {
  const outcome = action === 'release' ? 'PERMIT' : 'DENY';
  const shared = membersOf(held, ['action_ref', 'session_ref', 'entity']);
  const tenant_ref = held['tenant_ref'] as string;
  const resolution: Draft = {
    type: RESOLUTION,
    members: { hold_id, action, ...shared },
    private: { reason },
  };
  const decision: Draft = {
    type: DECISION,
    members({ rows, issued_at_ms }) {
      const row = gateRow(rows, policyRow(tenant_ref)) as unknown as PolicyRow | undefined;
      return {
        outcome,
        basis: action === 'release' ? 'release' : 'refusal',
        reasons: [action === 'release' ? 'hold_released' : 'hold_refused'],
        hold_id,
        ...shared,
        ...membersOf(held, ['timestamp_ms', 'amount_atomic', 'currency', 'reversibility']),
        ...policyMembers(row ?? null),
        ...expiryMembers(outcome, issued_at_ms, catalog),
      };
    },
  };
  if (outcome === 'PERMIT') return [resolution, decision];
  const { session_ref, entity } = held as {
    readonly session_ref?: string;
    readonly entity?: string;
  };
  const restraint = restraintDraft({
    cause: CAUSES.DENY,
    action_ref: held['action_ref'] as string,
    timestamp_ms: held['timestamp_ms'] as number,
    decision: DECISION,
    private: { decision_reason: reason },
    ...(session_ref === undefined ? {} : { session_ref }),
    ...(entity === undefined ? {} : { entity }),
  });
  return [resolution, decision, restraint];
}

function membersOf(held: JsonObject, names: readonly string[]): JsonObject {
  const there = names.filter((name) => held[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, held[name] ?? null]));
}
