// Routes that read slots, their proofs and the balance of credits. gateway/API.md §10.1, §10.3.

import { Type } from 'typebox';
import { usd } from '../clear/index.ts';
import {
  ApiError,
  listRoute,
  namedStatement,
  Nullable,
  receiptOf,
  route,
  toBase64,
  toHex,
} from '../contract/index.ts';
import type { JsonObject, Kind, LogView, PluginHost, Route } from '../contract/index.ts';
import { SlotMembers, slotType } from './entries.ts';
import { creditRow, leftOf, own, shownCredit } from './ledger.ts';
import { ProofAnswer, proofOf, provenSlot } from './proof.ts';
import type { Slot, Slots } from './slots.ts';
import { WEEK, weekWindow, windowOf } from '../contract/index.ts';

const Path = Type.Array(Type.String(), { description: 'Base64, in the order of RFC 9162.' });
const Week = Type.String({ pattern: WEEK });
/** Schema of a slot in the list. */
const SlotShown = Type.Object(
  {
    ...SlotMembers.properties,
    sum_cleared_usd: Type.String(),
    sum_net_usd: Type.String(),
    entry_id: Type.String({ format: 'uuid' }),
    permalink: Type.String({ format: 'uri' }),
  },
  { $id: 'ClearingSlot' },
);

/** Schema of the newest slot with everything needed to check it. */
const LatestAnswer = Type.Object(
  {
    schema: Type.Literal('svc-clearing-network-v1'),
    origin: Type.String(),
    sandbox: Type.Boolean(),
    window: Type.Union([
      Type.Object({ week: Week, from_ms: Type.Integer(), to_ms: Type.Integer() }),
      Type.Null(),
    ]),
    root: Nullable(Type.String()),
    tenants: Type.Integer(),
    acts: Type.Integer(),
    cleared_micro_usd: Type.String(),
    cleared_usd: Type.String(),
    checkpoint: Type.String({ description: 'Signed note of a checkpoint that covers the slot.' }),
    slot: Type.Union([receiptOf(slotType), Type.Null()], { description: "The slot's receipt." }),
    consistency: Type.Union(
      [
        Type.Object({
          from: Type.Integer({
            description: 'Size of the checkpoint that the previous slot names.',
          }),
          from_root: Type.String({ description: 'Hex.' }),
          to: Type.Integer(),
          path: Path,
        }),
        Type.Null(),
      ],
      {
        description:
          'Consistency proof from the checkpoint of the previous slot; null if the log has no previous slot.',
      },
    ),
    next: Type.Union([Type.Object({ week: Week, closes_at_ms: Type.Integer() }), Type.Null()]),
  },
  { $id: 'ClearingLatest' },
);

/** The statement of a slot. */
const statementOf = ({ log, row }: Slot): JsonObject => namedStatement(log, row.index);

/** Renders a slot of the list. */
function slotShown(slot: Slot): JsonObject {
  const statement = statementOf(slot);
  const names = Object.keys(SlotMembers.properties);
  const receipt = slot.log.receipt(slot.row.index);
  return {
    ...Object.fromEntries(names.map((name) => [name, statement[name] ?? null])),
    sum_cleared_usd: usd(statement['sum_cleared_micro_usd'] as string),
    sum_net_usd: usd(statement['sum_net_micro_usd'] as string),
    entry_id: statement['entry_id'] ?? '',
    permalink: receipt?.['permalink'] ?? '',
  };
}

/** The newest slot with its proofs; members are null or zero before the first slot is closed. */
async function latestOf(slots: Slots, kind: Kind, newest: LogView): Promise<JsonObject> {
  const open = slots.open(kind);
  const next = open === null ? null : { week: open, closes_at_ms: windowOf(open).to_ms + 1 };
  const common = { schema: 'svc-clearing-network-v1', sandbox: kind === 'sandbox', next };
  const last = slots.last(kind);
  if (last === null) {
    return {
      ...common,
      origin: newest.origin,
      window: null,
      root: null,
      tenants: 0,
      acts: 0,
      cleared_micro_usd: '0',
      cleared_usd: usd(0),
      checkpoint: newest.published().note,
      slot: null,
      consistency: null,
    };
  }
  const { log, row } = last;
  const { size, note } = await log.covering(row.index + 1);
  const slot = await provenSlot(last);
  const { week, from_ms, to_ms, root, tenants, acts, sum_cleared_micro_usd } = statementOf(last);
  return {
    ...common,
    origin: log.origin,
    window: { week: week ?? '', from_ms: from_ms ?? 0, to_ms: to_ms ?? 0 },
    root: root ?? null,
    tenants: tenants ?? 0,
    acts: acts ?? 0,
    cleared_micro_usd: sum_cleared_micro_usd ?? '0',
    cleared_usd: usd(sum_cleared_micro_usd as string),
    checkpoint: note,
    slot,
    consistency: await consistencyOf(slots, kind, last, size),
  };
}

async function consistencyOf(
  slots: Slots,
  kind: Kind,
  { log, row }: Slot,
  to: number,
): Promise<JsonObject | null> {
  const [previous] = await slots.before(kind, row.week, 1);
  if (previous?.log.origin !== log.origin) return null;
  const { size: from } = previous.row;
  const path = log.consistency(from, to).map(toBase64);
  return { from, from_root: toHex(log.rootAt(from)), to, path };
}

const Micro = Type.String({ description: 'Integer micro-USD as a string.' });

/** The routes of the layer, except those of its catalog. */
export function clearingRoutes(host: PluginHost, slots: Slots): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/clearing/network/latest.json',
      tag: 'clearing',
      summary: 'The newest slot, its checkpoint, and the consistency proof from the previous slot',
      description: 'From the live log, or from the sandbox log for a sandbox key.',
      access: 'read',
      responses: { 200: { description: 'The slot.', schema: LatestAnswer } },
      errors: ['log_unavailable'],
      async handle(ctx) {
        const { kind } = ctx.state.caller;
        ctx.body = await latestOf(slots, kind, host.log(kind));
      },
    }),
    slotsRoute(host, slots),
    route({
      method: 'GET',
      path: '/api/v1/clearing/slots/{week}/proof',
      tag: 'clearing',
      summary: "Proof of the caller's week in its slot",
      description: '`actlog verify` checks it offline.',
      access: 'key',
      params: Type.Object({ week: Week }),
      responses: { 200: { description: 'The proof.', schema: ProofAnswer } },
      errors: ['resource_missing', 'window_not_closed', 'log_unavailable'],
      async handle(ctx) {
        const { params, caller } = ctx.state;
        const { kind, tenant_ref } = caller;
        const slot = slotOf(host, slots, kind, params.week);
        const netted = await slots.net(kind, params.week);
        const proof = proofOf(netted, tenant_ref, await provenSlot(slot));
        if (proof === null) {
          throw new ApiError('resource_missing', `you have no governed act in ${params.week}`, {
            param: 'week',
          });
        }
        ctx.body = proof;
      },
    }),
    creditsRoute(host),
  ];
}

function slotOf(host: PluginHost, slots: Slots, kind: Kind, week: string): Slot {
  const slot = slots.of(kind, week);
  if (slot !== null) return slot;
  const window = weekWindow(week);
  const open = slots.open(kind);
  if (window === null || open === null || week < open) {
    throw new ApiError('resource_missing', `there is no slot ${week}`, { param: 'week' });
  }
  const seconds = Math.max(60, Math.ceil((window.to_ms - host.now()) / 1000));
  throw new ApiError('window_not_closed', `the slot ${week} is not closed yet`, {
    param: 'week',
    headers: { 'Retry-After': String(seconds) },
  });
}

const slotsRoute = (host: PluginHost, slots: Slots): Route =>
  listRoute(host, {
    path: '/api/v1/clearing/slots',
    tag: 'clearing',
    summary: 'Closed slots, newest first',
    access: 'read',
    ...{ $id: 'ClearingSlots', row: SlotShown, former: { data: 'slots' } },
    places: WEEK,
    find: ({ caller: { kind } }, { after, limit }) => slots.before(kind, after ?? null, limit),
    placeOf: ({ row }) => row.week,
    shown: slotShown,
  });

function creditsRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/api/v1/clearing/credits',
    tag: 'clearing',
    summary: "The caller's remaining credits",
    description:
      'Tolls are first paid from the credits of purchased clearing windows. Credits do not expire.',
    access: 'key',
    responses: {
      200: {
        description: 'The credits.',
        schema: Type.Object({
          tenant_ref: Type.String(),
          sandbox: Type.Boolean(),
          granted_micro_usd: Micro,
          drawn_micro_usd: Micro,
          left_micro_usd: Micro,
          left_usd: Type.String(),
        }),
      },
    },
    handle(ctx) {
      const { kind, tenant_ref, sandbox } = ctx.state.caller;
      const row = host.log(kind).row(own(creditRow(tenant_ref)));
      const credit = shownCredit(row) ?? { granted_micro_usd: '0', drawn_micro_usd: '0' };
      const left = leftOf(credit);
      ctx.body = {
        tenant_ref,
        sandbox,
        ...credit,
        left_micro_usd: String(left),
        left_usd: usd(left),
      };
    },
  });
}
