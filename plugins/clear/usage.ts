// The sums of a month, computed act by act, and the tiers of basis points. gateway/API.md §10.2.
//
// Months are UTC months of the log's clock. Sums of money are bigint micro-USD, and decimal digits where they are
// stored, because a sum may exceed a JSON integer. The numbers of the tiers are in catalogs/clear.json.

import { readCatalog } from '../contract/index.ts';
import type { Json, JsonObject, Sequenced } from '../contract/index.ts';

/** Pattern of a month, `YYYY-MM`. */
export const MONTH = '^[0-9]{4}-(0[1-9]|1[0-2])$';

/** Cache of the last month, because consecutive acts are usually in the same month. */
let last = { from_ms: 0, to_ms: 0, month: '' };

/** The month of a time. */
export function monthOf(ms: number): string {
  if (ms < last.from_ms || ms >= last.to_ms) {
    const date = new Date(ms);
    const from_ms = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    last = { from_ms, to_ms: nextMonthMs(ms), month: date.toISOString().slice(0, 7) };
  }
  return last.month;
}

/** The first millisecond of the month after that of a time. */
export function nextMonthMs(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The first and the last millisecond of a month. */
export function monthWindow(month: string): { readonly from_ms: number; readonly to_ms: number } {
  const from_ms = Date.parse(`${month}-01T00:00:00Z`);
  return { from_ms, to_ms: nextMonthMs(from_ms) - 1 };
}

/** `count` months that end with this one, newest first. */
export function monthsBack(month: string, count: number): string[] {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return Array.from({ length: count }, (_, i) => monthOf(Date.UTC(year, number - 1 - i, 1)));
}

/** A tier of the month's cumulative exposure. */
interface Tier {
  readonly id: string;
  /** Thousandths of a basis point, so that 0.5 is an integer. */
  readonly milli_bps: number;
  /** The largest cumulative exposure of the tier, inclusive; null for no bound. */
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

/** The tier of a cumulative exposure. */
export function tierOf(cumulative_micro_usd: bigint, tiers: readonly Tier[] = TIERS): Tier {
  const tier = tiers.find(
    ({ upper_micro_usd: upper }) => upper === null || cumulative_micro_usd <= upper,
  );
  if (tier === undefined) throw new Error('the highest tier must have no upper bound');
  return tier;
}

/** The basis points of a tier applied to an exposure, in micro-USD, rounded down. */
export function feeOf(exposure_micro_usd: bigint, { milli_bps }: Tier): bigint {
  return (exposure_micro_usd * BigInt(milli_bps)) / MILLI_BPS;
}

/** Micro-USD as a string of decimal digits. */
export type Digits = string;

/** Number and sum of the acts with one toll. */
type TollCount = readonly [toll: string, acts: number, micro_usd: Digits];

/** A sum over governed acts, in the form of a row. */
export interface Usage {
  readonly acts: number;
  readonly tolls_micro_usd: Digits;
  /** Key of the toll, number of acts, micro-USD. An array, because every act copies it. */
  readonly tolls: readonly TollCount[];
  readonly cleared_micro_usd: Digits;
  /** Basis points and fees owed. */
  readonly fees_micro_usd: Digits;
  /** Acts, exposure and fees: by the id of the tier, and under `OWED` the fees that entries state. */
  readonly tiers: Readonly<Record<string, readonly [number, Digits, Digits]>>;
}

/** Key of the fees owed, among the ids of the tiers; no tier has this id. */
export const OWED = 'obligation';

/** The empty sum. */
export const NO_USAGE: Usage = {
  acts: 0,
  tolls_micro_usd: '0',
  tolls: [],
  cleared_micro_usd: '0',
  fees_micro_usd: '0',
  tiers: {},
};

/** The amounts of a governed act as its entry states them, in micro-USD. */
export interface Act {
  readonly toll: string;
  readonly toll_micro_usd: number;
  /** A bigint only above 2^53 - 1. */
  readonly cleared_micro_usd: number | bigint;
  /** A fee that the entry states beside its toll. */
  readonly owed_fee_micro_usd: number;
}

/** The amounts of a governed act; null for an entry without a toll. */
export function actOf({ statement }: Pick<Sequenced, 'statement'>): Act | null {
  const { toll, toll_micro_usd, cleared_micro_usd = 0, owed_fee_micro_usd = 0 } = statement;
  if (typeof toll !== 'string' || typeof toll_micro_usd !== 'number') return null;
  const { large_cleared_micro_usd: large } = statement;
  return {
    toll,
    toll_micro_usd,
    cleared_micro_usd: typeof large === 'string' ? BigInt(large) : Number(cleared_micro_usd),
    owed_fee_micro_usd: typeof owed_fee_micro_usd === 'number' ? owed_fee_micro_usd : 0,
  };
}

/** Adds an amount to a sum. */
export function add(sum: Digits, more: number | bigint | Digits): Digits {
  const [a, b] = [Number(sum), Number(more)];
  // Most sums are exact as a double, which is several times faster than a bigint.
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b) && Number.isSafeInteger(a + b)) {
    return String(a + b);
  }
  return String(BigInt(sum) + BigInt(more));
}

/**
 * The basis points of an act in micro-USD: the tier of the cumulative exposure including the act, for the whole act.
 */
export function shareOf(
  before: Digits,
  cleared_micro_usd: number | bigint,
): { readonly tier: string; readonly fee_micro_usd: bigint } {
  const exposure = BigInt(cleared_micro_usd);
  const tier = tierOf(BigInt(before) + exposure);
  return { tier: tier.id, fee_micro_usd: feeOf(exposure, tier) };
}

/** The tier and the fee of an act that cleared an amount; null for an act that cleared nothing. */
export type Share = ReturnType<typeof shareOf> | null;

/** Adds an act to a sum. */
export function withAct(usage: Usage, act: Act, share: Share): Usage {
  const { toll, toll_micro_usd, cleared_micro_usd, owed_fee_micro_usd } = act;
  const cleared = share === null ? usage : withShare(usage, cleared_micro_usd, share);
  const owed = { tier: OWED, fee_micro_usd: BigInt(owed_fee_micro_usd) };
  const after = owed_fee_micro_usd === 0 ? cleared : withShare(cleared, 0, owed);
  return {
    acts: usage.acts + 1,
    tolls_micro_usd: add(usage.tolls_micro_usd, toll_micro_usd),
    tolls: withToll(usage.tolls, [toll, 1, String(toll_micro_usd)]),
    cleared_micro_usd: after.cleared_micro_usd,
    fees_micro_usd: after.fees_micro_usd,
    tiers: after.tiers,
  };
}

type Shares = Pick<Usage, 'cleared_micro_usd' | 'fees_micro_usd' | 'tiers'>;

function withShare(usage: Shares, micro_usd: number | bigint, share: NonNullable<Share>): Shares {
  const { tier, fee_micro_usd } = share;
  const [taken, exposure, fees] = usage.tiers[tier] ?? [0, '0', '0'];
  const counted = [taken + 1, add(exposure, micro_usd), add(fees, fee_micro_usd)] as const;
  return {
    cleared_micro_usd: add(usage.cleared_micro_usd, micro_usd),
    fees_micro_usd: add(usage.fees_micro_usd, fee_micro_usd),
    tiers: { ...usage.tiers, [tier]: counted },
  };
}

function withToll(tolls: readonly TollCount[], [toll, more, usd]: TollCount): readonly TollCount[] {
  const at = tolls.findIndex(([known]) => known === toll);
  const [, acts, micro_usd] = tolls[at] ?? [toll, 0, '0'];
  const counted: TollCount = [toll, acts + more, add(micro_usd, usd)];
  return at < 0 ? [...tolls, counted] : tolls.with(at, counted);
}

/** Adds two sums, for example those of two logs. */
export function plus(a: Usage, b: Usage): Usage {
  const tiers = { ...a.tiers };
  for (const [tier, [acts, exposure, fees]] of Object.entries(b.tiers)) {
    const [before, cleared, taken] = tiers[tier] ?? [0, '0', '0'];
    tiers[tier] = [before + acts, add(cleared, exposure), add(taken, fees)];
  }
  return {
    acts: a.acts + b.acts,
    tolls_micro_usd: add(a.tolls_micro_usd, b.tolls_micro_usd),
    tolls: b.tolls.reduce(withToll, a.tolls),
    cleared_micro_usd: add(a.cleared_micro_usd, b.cleared_micro_usd),
    fees_micro_usd: add(a.fees_micro_usd, b.fees_micro_usd),
    tiers,
  };
}

/** Splits the fees of a sum into basis points and fees that entries state. */
export function feeLines({ fees_micro_usd, tiers }: Usage) {
  const [owed, , owed_micro_usd] = tiers[OWED] ?? [0, '0', '0'];
  const cleared = Object.values(tiers).reduce((sum, [acts]) => sum + acts, 0) - owed;
  const basis_points = String(BigInt(fees_micro_usd) - BigInt(owed_micro_usd));
  return [
    { fee: 'basis_points', acts: cleared, micro_usd: basis_points },
    { fee: OWED, acts: owed, micro_usd: owed_micro_usd },
  ] as const;
}

/** Reads a sum from its row; the empty sum without a row. */
export const usageOf = (row: Json | undefined): Usage =>
  row === undefined ? NO_USAGE : (row as unknown as Usage);

/** Converts a sum to its row. */
export const usageRow = (usage: Usage): JsonObject => usage as unknown as JsonObject;
