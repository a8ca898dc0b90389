// GET /api/v1/nap/usage: a tenant's negative acts of a month, by premium SKU. gateway/API.md §10.1, §10.2.

import { Type } from 'typebox';
import clear, { add, MONTH, monthOf, usd } from '../clear/index.ts';
import type { Digits, Usage } from '../clear/index.ts';
import { Count, route } from '../contract/index.ts';
import type { JsonObject, PluginHost, Route } from '../contract/index.ts';

/** A premium SKU: the key of its toll, and the SKU under which it is counted. */
interface Sku {
  readonly sku: string;
  readonly counted_as: string;
}

/** Acts under one SKU. */
interface SkuCount {
  readonly sku: string;
  readonly acts: number;
  readonly micro_usd: Digits;
}

/** The SKUs of the catalog. A legacy alias is counted under the SKU that it maps to. */
export function skusOf(catalog: JsonObject): readonly Sku[] {
  const { skus } = catalog as unknown as {
    readonly skus: readonly { readonly sku: string; readonly maps_to?: string }[];
  };
  return skus.map(({ sku, maps_to = sku }) => ({ sku, counted_as: maps_to }));
}

/** Every SKU that is not an alias, with its acts. */
export function negativeActs({ tolls }: Usage, skus: readonly Sku[]): readonly SkuCount[] {
  return skus
    .filter(({ sku, counted_as }) => sku === counted_as)
    .map(({ sku }) => {
      const own = skus.filter(({ counted_as }) => counted_as === sku).map((one) => one.sku);
      return tolls
        .filter(([toll]) => own.includes(toll))
        .reduce<SkuCount>(
          (sum, [, acts, usd]) => ({
            sku,
            acts: sum.acts + acts,
            micro_usd: add(sum.micro_usd, usd),
          }),
          { sku, acts: 0, micro_usd: '0' },
        );
    });
}

const Micro = Type.String({ description: 'Integer micro-USD as a string.' });
const sums = { acts: Count, micro_usd: Micro, usd: Type.String() };

const NapUsage = Type.Object(
  {
    schema: Type.Literal('svc-nap-usage-v1'),
    tenant_ref: Type.String(),
    sandbox: Type.Boolean(),
    month: Type.String({ pattern: MONTH }),
    ...sums,
    skus: Type.Array(Type.Object({ sku: Type.String(), ...sums }), {
      description: 'restraint_call is counted under restraint.',
    }),
    governed_acts: { ...Count, description: 'All governed acts of the month.' },
  },
  { $id: 'NapUsage' },
);

/** GET /api/v1/nap/usage. */
export function usageRoute(host: PluginHost): Route {
  const { usage: usageIn } = host.use(clear);
  const skus = skusOf(host.catalog('nap.json') as JsonObject);
  return route({
    method: 'GET',
    path: '/api/v1/nap/usage',
    tag: 'nap',
    summary: "A tenant's negative acts of a month, by SKU",
    description:
      'Acts that ended in BLOCK, HOLD, DENY or SILENCE have a premium toll instead of the commodity toll. The answer has ' +
      'the sums of the premium tolls.',
    access: 'open',
    query: Type.Object({
      month: Type.Optional(
        Type.String({ pattern: MONTH, description: 'YYYY-MM; the default is the present month.' }),
      ),
    }),
    responses: { 200: { description: 'The negative acts.', schema: NapUsage } },
    handle(ctx) {
      const { caller, query } = ctx.state;
      const { month = monthOf(host.now()) } = query;
      const usage = usageIn(caller.kind, caller.tenant_ref, month);
      const counted = negativeActs(usage, skus);
      const micro_usd = counted.reduce((sum, line) => add(sum, line.micro_usd), '0');
      ctx.body = {
        schema: 'svc-nap-usage-v1',
        tenant_ref: caller.tenant_ref,
        sandbox: caller.sandbox,
        month,
        acts: counted.reduce((sum, { acts }) => sum + acts, 0),
        micro_usd,
        usd: usd(micro_usd),
        skus: counted.map((line) => ({ ...line, usd: usd(line.micro_usd) })),
        governed_acts: usage.acts,
      };
    },
  });
}
