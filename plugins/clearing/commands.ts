// The operator's part of clearing: the job that closes every finished week in order, including weeks that were missed;
// the command that credits a tenant with a purchased clearing window; and the windows on offer. A window is ready if
// the operator has configured a payment link for it. gateway/API.md §10.3.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { ApiError, command, job, LOG_KINDS, memberShapes, toHex } from '../contract/index.ts';
import type {
  Command,
  CommandState,
  Job,
  JsonObject,
  Kind,
  PluginHost,
} from '../contract/index.ts';
import { GRANT, SLOT } from './entries.ts';
import { LAST, orderRow } from './ledger.ts';
import type { SlotRow } from './ledger.ts';
import { dueOf } from './net.ts';
import type { Slots } from './slots.ts';
import { weekAfter, weekOf, windowOf } from '../contract/index.ts';

/** How long a close waits for the first checkpoint after the end of the week. */
const CLOSED_MS = 5000;

/** Another process or call has closed the week in the meantime. */
class Overtaken extends Error {}

/** Closes every finished week of a kind of log. Returns the weeks that this call closed. */
async function closeDue(
  host: PluginHost,
  slots: Slots,
  append: CommandState['append'],
  kind: Kind,
): Promise<readonly string[]> {
  const closed: string[] = [];
  for (;;) {
    const week = slots.open(kind);
    if (week === null || windowOf(week).to_ms >= host.now()) return closed;
    try {
      await close(host, slots, append, { kind, week });
      closed.push(week);
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
}

async function close(
  host: PluginHost,
  slots: Slots,
  append: CommandState['append'],
  { kind, week }: { readonly kind: Kind; readonly week: string },
): Promise<void> {
  const log = host.log(kind);
  const { from_ms, to_ms } = windowOf(week);
  // After this no entry can be added to the week, and the newest checkpoint covers all of it.
  await log.windowClosed(to_ms, CLOSED_MS);
  const { size, root } = log.published();
  const last = slots.last(kind)?.row.week;
  const { tree, total } = await slots.net(kind, week);
  const members: JsonObject = {
    cycle: 'weekly',
    week,
    from_ms,
    to_ms,
    root: toHex(tree.root),
    tenants: tree.size,
    acts: total.acts,
    sum_tolls_micro_usd: total.tolls_micro_usd,
    sum_credits_micro_usd: total.credits_micro_usd,
    sum_fees_micro_usd: total.fees_micro_usd,
    sum_cleared_micro_usd: total.cleared_micro_usd,
    sum_net_micro_usd: dueOf(total),
    checkpoint_size: size,
    checkpoint_root: toHex(root),
  };
  await append(kind, [{ type: SLOT, members }], {
    check({ rows }) {
      const now = rows.get(LAST) as unknown as SlotRow | undefined;
      // The log may have no slot although its predecessor has.
      if (now !== undefined && now.week !== last) throw new Overtaken();
    },
  });
}

/** Interval of the job; it bounds how late a slot is closed after the end of its week. */
const CLOSE_EVERY_MS = 60_000;
const MICRO = 1_000_000;

interface Sku {
  readonly id: string;
  readonly weeks: number;
  readonly gam_credits_usd: number;
}

/** The clearing windows of the catalog. */
const skusOf = (catalog: JsonObject): readonly (Sku & JsonObject)[] =>
  catalog['skus'] as unknown as readonly (Sku & JsonObject)[];

/** `clearing close`. */
export function closeJob(host: PluginHost, slots: Slots): Job {
  return job({
    name: 'clearing close',
    summary: 'Close the slot of every finished week, in order',
    args: Type.Object({}, { additionalProperties: false }),
    example: {},
    every_ms: CLOSE_EVERY_MS,
    async perform({ append }) {
      const closed: Record<Kind, readonly string[]> = { live: [], sandbox: [] };
      for (const kind of LOG_KINDS) closed[kind] = await closeDue(host, slots, append, kind);
      return { closed };
    },
  });
}

/** `clearing grant`. */
export function grantCommand(host: PluginHost): Command {
  const skus = skusOf(host.catalog('clearing.json') as JsonObject);
  return command({
    name: 'clearing grant',
    summary: 'Credit a tenant with the governed acts of a clearing window',
    args: Type.Object(
      {
        tenant: Type.String(),
        kind: Type.Enum(LOG_KINDS),
        sku: Type.Enum(skus.map(({ id }) => id)),
        order: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 256,
            description: 'Identifier of the payment. Each order can be credited once.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    example: { tenant: 'first', kind: 'sandbox', sku: 'clearing_quarterly' },
    async perform({ args, append, tenantRef }) {
      const { tenant, kind, order } = args;
      const sku = skus.find(({ id }) => id === args.sku);
      if (sku === undefined) throw new Error('the schema lists the SKUs');
      const tenant_ref = await tenantRef(tenant, kind);
      const { weeks, id } = sku;
      const credits_micro_usd = Math.round(sku.gam_credits_usd * MICRO);
      const order_sha256 =
        order === undefined ? undefined : createHash('sha256').update(order).digest('hex');
      const draft = {
        type: GRANT,
        tenant_ref,
        members: ({ issued_at_ms }: { readonly issued_at_ms: number }): JsonObject => {
          const from_week = weekOf(issued_at_ms);
          const through_week = weekAfter(from_week, weeks - 1);
          const window = { sku: id, weeks, from_week, through_week, credits_micro_usd };
          return order_sha256 === undefined ? window : { ...window, order_sha256 };
        },
      };
      const [entry] = await append(kind, [draft], {
        check({ rows }) {
          if (order_sha256 !== undefined && rows.get(orderRow(order_sha256)) !== undefined) {
            throw new ApiError('parameter_invalid', 'this order has been credited already', {
              param: 'order',
            });
          }
        },
      });
      if (entry === undefined) throw new Error('a grant has one entry');
      const { from_week = '', through_week = '' } = entry.statement;
      const { entry_id } = entry;
      return {
        tenant,
        tenant_ref,
        kind,
        sku: id,
        from_week,
        through_week,
        credits_micro_usd,
        entry_id,
      };
    },
  });
}

const link = (label: string) =>
  Type.Optional(
    Type.String({
      title: 'https address',
      pattern: '^https://',
      description: `Payment link of the ${label} clearing window. Without it the window is not ready.`,
    }),
  );

/** Settings of the plugin. */
export const ClearingSettings = Type.Object({
  CLEARING_ANNUAL_LINK: link('annual'),
  CLEARING_QUARTERLY_LINK: link('quarterly'),
});

const SETTING_OF: Readonly<Record<string, string>> = {
  clearing_annual: 'CLEARING_ANNUAL_LINK',
  clearing_quarterly: 'CLEARING_QUARTERLY_LINK',
};

/** Schema of the windows in the catalog; a window that is ready has its payment link. */
export function skuMembers(host: PluginHost): Record<string, TSchema> {
  const skus = skusOf(host.catalog('clearing.json') as JsonObject);
  const sku = {
    ...memberShapes(skus),
    payment_link: Type.Optional(Type.String({ format: 'uri' })),
  };
  return { skus: Type.Array(Type.Object(sku)) };
}

/** The members of the catalog that depend on the settings. */
export function readiness(host: PluginHost): JsonObject {
  const skus = skusOf(host.catalog('clearing.json') as JsonObject).map((sku): JsonObject => {
    const payment_link = host.settings[SETTING_OF[sku.id] ?? ''];
    return typeof payment_link === 'string'
      ? { ...sku, ready: true, payment_link }
      : { ...sku, ready: false };
  });
  const ready_count = skus.filter(({ ready }) => ready === true).length;
  return {
    all_ready: ready_count === skus.length,
    ready_count,
    total_count: skus.length,
    skus,
  };
}
