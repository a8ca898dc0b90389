// Schemas and builders of the answers of the clear layer: usage, exposure, network. gateway/API.md §10.1, §10.2.

import { Type } from 'typebox';
import { add, feeLines, MONTH, tierOf, TIERS } from './usage.ts';
import type { Usage } from './usage.ts';
import { usd } from './entries.ts';
import { Count } from '../contract/index.ts';

const Micro = Type.String({
  pattern: '^-?(0|[1-9][0-9]*)$',
  description: 'Integer micro-USD as a string, because a sum may exceed 2^53.',
});
const Usd = Type.String({ description: 'USD with six decimals, the same amount.' });
const Month = Type.String({ pattern: MONTH });
const bound = Type.Union([Micro, Type.Null()]);

const tenantMonth = { tenant_ref: Type.String(), sandbox: Type.Boolean(), month: Month };

const spent = {
  acts: Count,
  tolls_micro_usd: Micro,
  tolls_usd: Usd,
  fees_micro_usd: {
    ...Micro,
    description: 'Basis points of the cleared amounts, and fees that settlements owe.',
  },
  fees_usd: Usd,
  cleared_micro_usd: Micro,
  cleared_usd: Usd,
  total_micro_usd: { ...Micro, description: 'Tolls and fees.' },
  total_usd: Usd,
};

const FeeLines = Type.Array(
  Type.Object({
    fee: Type.Enum(['basis_points', 'obligation']),
    acts: Count,
    micro_usd: Micro,
    usd: Usd,
  }),
  { description: 'Basis points of the cleared amounts, and fees that settlements owe.' },
);

const TollLine = Type.Object({ toll: Type.String(), acts: Count, micro_usd: Micro, usd: Usd });

/** One month of usage. */
export const UsageAnswer = Type.Object(
  {
    schema: Type.Literal('svc-clear-usage-v1'),
    ...tenantMonth,
    ...spent,
    tolls: Type.Array(TollLine, {
      description: 'One line for each key of tolls_usd, sorted by name.',
    }),
    fees: FeeLines,
    ceiling: Type.Union([
      Type.Object({
        acts: Type.Union([Count, Type.Null()]),
        micro_usd: Type.Union([Count, Type.Null()]),
      }),
      Type.Null(),
    ]),
  },
  { $id: 'ClearUsage' },
);

/** A month in the history of a tenant's usage. */
export const HistoryMonth = Type.Object({ month: Month, ...spent });

const TierLine = Type.Object({
  tier: Type.String(),
  bps: Type.Number(),
  upper_micro_usd: bound,
  acts: Count,
  cleared_micro_usd: Micro,
  fees_micro_usd: Micro,
});

/** One month of cleared exposure. */
export const ExposureAnswer = Type.Object(
  {
    schema: Type.Literal('svc-clear-exposure-v1'),
    ...tenantMonth,
    cleared_micro_usd: Micro,
    cleared_usd: Usd,
    fees_micro_usd: Micro,
    fees_usd: Usd,
    tier: {
      ...Type.String(),
      description: 'Tier of the next act, unless the act itself reaches a higher tier.',
    },
    to_next_tier_micro_usd: bound,
    tiers: Type.Array(TierLine),
  },
  { $id: 'ClearExposure' },
);

/** One month of all tenants. */
export const NetworkAnswer = Type.Object(
  {
    schema: Type.Literal('svc-clear-network-v1'),
    sandbox: Type.Boolean(),
    month: Month,
    tenants: Count,
    ...spent,
    tolls: Type.Array(TollLine),
    fees: FeeLines,
    checkpoint_url: Type.String({ format: 'uri' }),
  },
  { $id: 'ClearNetwork' },
);

/** Sums in micro-USD and in USD. */
export function spentOf({ acts, tolls_micro_usd, fees_micro_usd, cleared_micro_usd }: Usage) {
  const total_micro_usd = add(tolls_micro_usd, fees_micro_usd);
  return {
    acts,
    tolls_micro_usd,
    tolls_usd: usd(tolls_micro_usd),
    fees_micro_usd,
    fees_usd: usd(fees_micro_usd),
    cleared_micro_usd,
    cleared_usd: usd(cleared_micro_usd),
    total_micro_usd,
    total_usd: usd(total_micro_usd),
  };
}

/** The lines of tolls. */
export const tollLines = ({ tolls }: Usage) =>
  tolls
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([toll, acts, micro_usd]) => ({ toll, acts, micro_usd, usd: usd(micro_usd) }));

/** The lines of fees. */
export const shownFees = (usage: Usage) =>
  feeLines(usage).map((line) => ({ ...line, usd: usd(line.micro_usd) }));

/** Usage as a table: RFC 4180, a line for each toll, then one for each kind of fee, then the sum. */
export function usageCsv(month: string, usage: Usage): string {
  const { acts } = usage;
  const total = add(usage.tolls_micro_usd, usage.fees_micro_usd);
  const lines = [
    ...tollLines(usage),
    ...shownFees(usage).map(({ fee, ...line }) => ({ toll: fee, ...line })),
    { toll: 'total', acts, micro_usd: total, usd: usd(total) },
  ].map((line) => [month, line.toll, String(line.acts), line.micro_usd, line.usd].join(','));
  return ['month,toll,acts,micro_usd,usd', ...lines, ''].join('\r\n');
}

/** The place of a month's exposure among the tiers. */
export function exposureOf(usage: Usage) {
  const { cleared_micro_usd } = usage;
  const [{ micro_usd: fees_micro_usd }] = feeLines(usage);
  const { id, upper_micro_usd } = tierOf(BigInt(cleared_micro_usd));
  return {
    cleared_micro_usd,
    cleared_usd: usd(cleared_micro_usd),
    fees_micro_usd,
    fees_usd: usd(fees_micro_usd),
    tier: id,
    to_next_tier_micro_usd:
      upper_micro_usd === null ? null : String(upper_micro_usd - BigInt(cleared_micro_usd)),
    tiers: TIERS.map((tier) => {
      const [acts, exposure, fees] = usage.tiers[tier.id] ?? [0, '0', '0'];
      return {
        tier: tier.id,
        bps: tier.milli_bps / 1000,
        upper_micro_usd: tier.upper_micro_usd === null ? null : String(tier.upper_micro_usd),
        acts,
        cleared_micro_usd: exposure,
        fees_micro_usd: fees,
      };
    }),
  };
}
