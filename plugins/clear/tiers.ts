// Basis points on cleared exposure: which tier an act falls in, and what it costs.
// gateway/API.md §10.2. Pure; the numbers are those of catalogs/clear.json.

import { readCatalog } from '../catalog.ts';

/** A tier of the month's cumulative cleared exposure. */
export interface Tier {
  readonly id: string;
  /** Thousandths of a basis point, so that 0.5 is an integer. */
  readonly milli_bps: number;
  /** The highest cumulative of the tier, itself included; null where there is none. */
  readonly upper_micro_usd: bigint | null;
}

/** One basis point is a ten thousandth. */
const MILLI_BPS = 10_000_000n;
const MICRO = 1_000_000n;

interface CataloguedTier {
  readonly id: string;
  readonly bps: number;
  readonly upper_bound_usd_per_month: number | null;
}

/** The tiers of the catalog, lowest first. */
export const TIERS: readonly Tier[] = (
  readCatalog('clear.json') as unknown as { readonly bps_tiers: readonly CataloguedTier[] }
).bps_tiers.map(({ id, bps, upper_bound_usd_per_month: upper }) => ({
  id,
  milli_bps: Math.round(bps * 1000),
  upper_micro_usd: upper === null ? null : BigInt(upper) * MICRO,
}));

/** The tier in which a month's cumulative falls. */
export function tierOf(cumulative_micro_usd: bigint, tiers: readonly Tier[] = TIERS): Tier {
  const tier = tiers.find(
    ({ upper_micro_usd: upper }) => upper === null || cumulative_micro_usd <= upper,
  );
  if (tier === undefined) throw new Error('the highest tier has no bound');
  return tier;
}

/** What a tier takes of an exposure, in micro-USD, rounded down. */
export function feeOf(exposure_micro_usd: bigint, { milli_bps }: Tier): bigint {
  return (exposure_micro_usd * BigInt(milli_bps)) / MILLI_BPS;
}
