// What the operator does in clearing: close what is due, and credit a tenant with the window it bought.
// gateway/API.md §10.3.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { ApiError, command, job, LOG_KINDS } from '../contract.ts';
import type { Command, Job, JsonObject, Kind, PluginHost } from '../contract.ts';
import { closeDue } from './close.ts';
import { GRANT } from './entries.ts';
import { orderRow } from './ledger.ts';
import type { Slots } from './slots.ts';
import { weekAfter, weekOf } from './weeks.ts';

/** A week ends once in a week; a late slot is a late answer to whoever waits for it. */
const LOOK_MS = 60_000;
const MICRO = 1_000_000;

interface Sku {
  readonly id: string;
  readonly weeks: number;
  readonly gam_credits_usd: number;
}

/** The windows of the catalog. */
export const skusOf = (catalog: JsonObject): readonly (Sku & JsonObject)[] =>
  catalog['skus'] as unknown as readonly (Sku & JsonObject)[];

/** `clearing close`. */
export function closeJob(host: PluginHost, slots: Slots): Job {
  return job({
    name: 'clearing close',
    summary: 'Close the slot of every week that is over, once and in order',
    args: Type.Object({}, { additionalProperties: false }),
    example: {},
    every_ms: LOOK_MS,
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
            description: 'What the payment is known by; one order grants once.',
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
