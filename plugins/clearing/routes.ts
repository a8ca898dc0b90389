// Slots, their proofs and what is left of credits. gateway/API.md §10.1, §10.3.

import { Type } from 'typebox';
import { usd } from '../clear/index.ts';
import { ApiError, route } from '../contract.ts';
import type { Kind, PluginHost, Route } from '../contract.ts';
import { creditRow, leftOf, shownCredit, own } from './ledger.ts';
import { ProofAnswer, proofOf } from './proof.ts';
import { LatestAnswer, latestOf, provenSlot, slotShown, SlotShown, Week } from './shown.ts';
import type { Slot, Slots } from './slots.ts';
import { WEEK, weekWindow } from './weeks.ts';

const Micro = Type.String({ description: 'Integer micro-USD, in digits.' });

/** The routes of the layer, but for its catalog. */
export function clearingRoutes(host: PluginHost, slots: Slots): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/clearing/network/latest.json',
      tag: 'clearing',
      summary: 'The newest slot, its checkpoint, and the proof of growth since the slot before',
      description: 'Of the live log, or of the sandbox when a sandbox key asks.',
      access: 'read',
      responses: { 200: { description: 'The slot.', schema: LatestAnswer } },
      errors: ['log_unavailable'],
      async handle(ctx) {
        const { kind } = ctx.state.caller;
        ctx.body = await latestOf(slots, kind, host.log(kind));
      },
    }),
    listRoute(host, slots),
    route({
      method: 'GET',
      path: '/api/v1/clearing/slots/{week}/proof',
      tag: 'clearing',
      summary: "Proof of the caller's own week in its slot",
      description: '`actlog verify` checks it without the service.',
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
          throw new ApiError('resource_missing', `no governed act of yours is in ${params.week}`, {
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

function listRoute({ limits }: PluginHost, slots: Slots): Route {
  const { page_default, page_max } = limits;
  return route({
    method: 'GET',
    path: '/api/v1/clearing/slots',
    tag: 'clearing',
    summary: 'Closed slots, newest first',
    access: 'read',
    query: Type.Object({
      cursor: Type.Optional(Type.String({ maxLength: 64 })),
      limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })),
    }),
    responses: {
      200: {
        description: 'The slots.',
        schema: Type.Object({
          slots: Type.Array(SlotShown),
          next_cursor: Type.Union([Type.String(), Type.Null()]),
        }),
      },
    },
    async handle(ctx) {
      const { query, caller } = ctx.state;
      const limit = Number(query.limit ?? page_default);
      if (limit > page_max) {
        throw new ApiError('parameter_invalid', `limit is 1 to ${String(page_max)}`, {
          param: 'limit',
        });
      }
      const found = await slots.before(caller.kind, weekOfCursor(query.cursor), limit + 1);
      const shown = found.slice(0, limit);
      const next = found.length > limit ? shown.at(-1)?.row.week : undefined;
      ctx.body = {
        slots: shown.map(slotShown),
        next_cursor: next === undefined ? null : Buffer.from(next).toString('base64url'),
      };
    },
  });
}

function weekOfCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const week = Buffer.from(cursor, 'base64url').toString('latin1');
  if (new RegExp(WEEK).test(week)) return week;
  throw new ApiError('parameter_invalid', 'cursor is none of ours', { param: 'cursor' });
}

function creditsRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/api/v1/clearing/credits',
    tag: 'clearing',
    summary: "What is left of the caller's governed-act credits",
    description:
      'Credits of a clearing window pay tolls before anything is due; they do not expire.',
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
