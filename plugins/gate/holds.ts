// Holds: what waits for a human, and what the human makes of it. A release logs the resolution and, behind it in
// one group, the PERMIT that the act waited for; a refusal its DENY. Either happens once. gateway/API.md §8.1, §14.

import { Type } from 'typebox';
import {
  answeredEntry,
  ApiError,
  described,
  isApiError,
  job,
  listRoute,
  LOG_KINDS,
  logOfPlace,
  knownEntry,
  namedStatement,
  receiptOf,
  route,
} from '../contract/index.ts';
import type {
  Caller,
  CarriedPlace,
  CommandState,
  Draft,
  Job,
  JsonObject,
  Kind,
  LogView,
  PluginHost,
  Route,
} from '../contract/index.ts';
import { CAUSES, restraintDraft, restraintErrors } from '../restraint/index.ts';
import { decisionAmong, decisionAnswer, decisionAnswerMembers, PermitObject } from './answer.ts';
import { gateCatalog } from './asking.ts';
import type { GateCatalog } from './asking.ts';
import { expiryMembers, policyMembers, secretOf } from './drafts.ts';
import { checkEndable, logNumbered, logsWithHolds, ownHold } from './earlier.ts';
import { DECISION, DecisionMembers, decisionType, RESOLUTION, resolutionType } from './entries.ts';
import { holdExpiry, rfc3339 } from './expiry.ts';
import { gateRow, holdRow, openHolds, policyRow } from './rows.ts';
import type { HoldRow, PolicyRow } from './rows.ts';

const PATH = '/api/v1/execute-gate/holds';
const { action_ref } = DecisionMembers.properties;
const State = Type.Enum(['held', 'released', 'refused']);

const Resolution = Type.Object(
  {
    entry_id: Type.String({ format: 'uuid' }),
    action: Type.Enum(['release', 'refuse', 'expire'], {
      description: '`expire` where no human decided in time: the act is refused.',
    }),
    resolved_at: Type.String({ format: 'date-time' }),
    receipt: receiptOf(resolutionType),
  },
  { $id: 'GateHoldEnd' },
);

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
    expires_at: Type.String({
      format: 'date-time',
      description:
        'From then on the act is refused, unless a human has decided it: `hold_ttl_s` of the policy.',
    }),
    resolution: Type.Union([Resolution, Type.Null()], { description: 'How the hold ended.' }),
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
        const expires_ms = holdExpiry(host, caller.kind, held);
        await ctx.state.append(
          resolutionDrafts(hold_id, inLog(host, caller.kind, heldIn, held), body, catalog),
          {
            check({ rows, now_ms }) {
              checkHeld(gateRow(rows, holdRow(hold_id)) as unknown as HoldRow | undefined);
              if (now_ms >= expires_ms) throw expired();
            },
          },
        );
      },
      respond(entries, disclosures) {
        const resolution = entries.find(({ statement }) => statement['type'] === RESOLUTION);
        if (resolution === undefined) throw new Error('a hold ends with a resolution');
        const { statement } = decisionAmong(entries);
        return decisionAnswer(entries, disclosures, {
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
        const { log, heldIn, hold, held, closed_log } = ownHold(host, caller, hold_id);
        const { state, index, ended_by } = hold;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          ok: true,
          hold_id,
          state,
          action_ref: hold.action_ref,
          ...(closed_log === null ? {} : { closed_log }),
          expires_at: rfc3339(holdExpiry(host, caller.kind, held)),
          resolution: null,
          receipt: await heldReceipt(host, heldIn, caller, index),
          ...(ended_by === null ? {} : await endOf(host, caller, log, ended_by)),
        };
      },
    }),
    openHoldsRoute(host),
  ];
}

function openHoldsRoute(host: PluginHost): Route {
  const query = {
    log_number: Type.Optional(
      Type.String({ pattern: '^[1-9][0-9]{0,8}$', description: 'The newest log unless given.' }),
    ),
  };
  return listRoute<OpenHold, typeof query>(host, {
    path: PATH,
    tag: 'gate',
    summary: 'The acts that wait for a human',
    access: 'key',
    query,
    ...{ $id: 'GateOpenHolds', row: receiptOf(decisionType) },
    rows: 'Decisions that hold an act, oldest first; the entry_id of each is the hold_id, and its disclosures say what waits.',
    former: { data: 'holds', next_cursor: 'next', cursor: 'after' },
    members: {
      ok: Type.Literal(true),
      closed_logs: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'Closed logs in which acts are still held, such as `live/1`: nothing ends those holds, `log_number=1` ' +
            'lists them, and the gate is asked about the acts again.',
        }),
      ),
    },
    places: '^[0-9a-f-]{36}$',
    async find({ query: { log_number }, caller: { kind, tenant_ref } }, { after, limit }) {
      const log = logNumbered(host, kind, log_number);
      const prefix = openHolds(tenant_ref);
      const start = after === undefined ? {} : { after: `${prefix}${after}` };
      const rows = await log.rows(prefix, { ...start, limit });
      return rows.map(([name, row]) => {
        const place = row as unknown as CarriedPlace; // the gate's own projection wrote it
        const heldIn = logOfPlace(host.logs(kind), log, place) ?? log;
        return { hold_id: name.slice(prefix.length), heldIn, index: place.index };
      });
    },
    placeOf: ({ hold_id }) => hold_id,
    shown: ({ heldIn, index }, { caller }) => heldReceipt(host, heldIn, caller, index),
    async beside({ query: { log_number }, caller }) {
      const closed = log_number === undefined ? await logsWithHolds(host, caller) : [];
      return { ok: true, closed_logs: closed.length === 0 ? undefined : closed };
    },
  });
}

/** A hold in the list: the log that has its decision, and the decision's index. */
interface OpenHold {
  readonly hold_id: string;
  readonly heldIn: LogView;
  readonly index: number;
}

/** With the members that only the tenant may read: a person cannot judge an act by its hash. */
async function heldReceipt(
  host: PluginHost,
  log: LogView,
  caller: Caller,
  index: number,
): Promise<JsonObject> {
  const receipt = knownEntry(log.receipt(index), index);
  const disclosures = await host.disclosed(caller, receipt['entry_id'] as string);
  return { ...receipt, disclosures } as unknown as JsonObject;
}

/** What a held decision shares with what ends it; its session has another name in another log. */
function inLog(host: PluginHost, kind: Kind, log: LogView, held: JsonObject): JsonObject {
  if (log.number === host.log(kind).number) return held;
  const { session_ref: _, ...rest } = held;
  return rest;
}

/** The decision that ended a hold, and before it in their group the resolution. */
async function endOf(
  host: PluginHost,
  caller: Caller,
  log: LogView,
  index: number,
): Promise<JsonObject> {
  const entry = answeredEntry(log, index);
  const resolution = answeredEntry(log, index - 1);
  const disclosures = await host.disclosed(caller, entry.entry_id);
  const { outcome, permit } = decisionAnswer([entry], [disclosures]);
  return {
    resolution: {
      entry_id: resolution.entry_id,
      action: resolution.statement['action'] ?? null,
      resolved_at: rfc3339(resolution.issued_at_ms),
      receipt: resolution.receipt,
    } as unknown as JsonObject, // a receipt is text until the answer is written
    outcome: outcome ?? null,
    ...(permit === undefined ? {} : { permit }),
    decision_receipt: entry.receipt,
  };
}

const expired = (): ApiError =>
  new ApiError(restraintErrors.hold_resolved, 'the hold expired: no human decided it in time', {
    param: 'hold_id',
  });

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

/** How a hold ends; a human gives a reason. */
interface Ending {
  readonly action: 'release' | 'refuse' | 'expire';
  readonly reason?: string;
}

/** The reason of the decision that ends a hold, as catalogs/gate/gate.json has it. */
const ENDED = { release: 'hold_released', refuse: 'hold_refused', expire: 'hold_expired' } as const;

/** The group that ends a hold. The held decision was the attempt, so nothing here has a surface; it paid the toll. */
function resolutionDrafts(
  hold_id: string,
  held: JsonObject,
  { action, reason }: Ending,
  catalog: GateCatalog,
): readonly Draft[] {
  const outcome = action === 'release' ? 'PERMIT' : 'DENY';
  const shared = membersOf(held, ['action_ref', 'session_ref', 'entity']);
  const tenant_ref = held['tenant_ref'] as string;
  const resolution: Draft = {
    type: RESOLUTION,
    tenant_ref,
    members: { hold_id, action, ...shared },
    ...(reason === undefined ? {} : { private: { reason } }),
  };
  const decision: Draft = {
    type: DECISION,
    tenant_ref,
    private: secretOf(outcome),
    members({ rows, issued_at_ms }) {
      const row = gateRow(rows, policyRow(tenant_ref)) as unknown as PolicyRow | undefined;
      return {
        outcome,
        basis: action === 'release' ? 'release' : 'refusal',
        reasons: [ENDED[action]],
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
    private: { decision_reason: reason ?? ENDED.expire },
    ...(session_ref === undefined ? {} : { session_ref }),
    ...(entity === undefined ? {} : { entity }),
  });
  return [resolution, decision, { ...restraint, tenant_ref }];
}

/** Holds that one run of the job ends in one log, and the rows that it reads at a time. */
const PAGE = 1000;

/** The job that refuses the holds which no human decided in time. */
export const expiryJob = (host: PluginHost): Job =>
  job({
    name: 'gate expire',
    summary: 'refuse the held acts that no human decided in time',
    args: Type.Object({}),
    example: {},
    every_ms: 60_000,
    async perform({ append }) {
      const expired: Record<string, number> = {};
      for (const kind of LOG_KINDS) expired[kind] = await expireHolds(host, kind, append);
      return { expired };
    },
  });

async function expireHolds(
  host: PluginHost,
  kind: Kind,
  append: CommandState['append'],
): Promise<number> {
  const catalog = gateCatalog(host);
  const log = host.log(kind);
  const prefix = openHolds('').slice(0, -1);
  let count = 0;
  for (let after: string | undefined; ;) {
    const rows = await log.rows(prefix, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const [name] of rows) {
      const hold_id = name.slice(-36);
      const hold = log.row(holdRow(hold_id)) as unknown as HoldRow | undefined;
      const heldIn = hold === undefined ? null : logOfPlace(host.logs(kind), log, hold);
      if (hold?.state !== 'held' || heldIn === null) continue;
      const held = namedStatement(heldIn, hold.index);
      if (host.now() < holdExpiry(host, kind, held)) continue;
      const drafts = resolutionDrafts(
        hold_id,
        inLog(host, kind, heldIn, held),
        { action: 'expire' },
        catalog,
      );
      try {
        await append(kind, drafts, {
          check({ rows: at }) {
            checkHeld(gateRow(at, holdRow(hold_id)) as unknown as HoldRow | undefined);
          },
        });
        count += 1;
      } catch (error) {
        // A human was faster.
        if (!isApiError(error)) throw error;
      }
    }
    after = rows.at(-1)?.[0];
    if (rows.length < PAGE) return count;
  }
}

function membersOf(held: JsonObject, names: readonly string[]): JsonObject {
  const there = names.filter((name) => held[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, held[name] ?? null]));
}
