// What a month adds up to, act by act, and the tier whose basis points apply to it. gateway/API.md §10.2.
//
// Months are UTC months of the log's clock. Sums of money are bigint micro-USD, and decimal digits where they are
// stored, because a sum may exceed a JSON integer. The numbers of the tiers are in catalogs/clear.json.

import { readCatalog } from '../contract/index.ts';
import type { Json, JsonObject, Sequenced } from '../contract/index.ts';

/** `YYYY-MM`. */
export const MONTH = '^[0-9]{4}-(0[1-9]|1[0-2])$';

/** The month asked for last: one act after another lies in it. */
let last = { from_ms: 0, to_ms: 0, month: '' };

/** The month that a time lies in. */
export function monthOf(ms: number): string {
  if (ms < last.from_ms || ms >= last.to_ms) {
    const date = new Date(ms);
    const from_ms = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    last = { from_ms, to_ms: nextMonthMs(ms), month: date.toISOString().slice(0, 7) };
  }
  return last.month;
}

/** The first millisecond of the month after the one that a time lies in. */
export function nextMonthMs(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** `count` months that end with this one, newest first. */
export function monthsBack(month: string, count: number): string[] {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return Array.from({ length: count }, (_, i) => monthOf(Date.UTC(year, number - 1 - i, 1)));
}

/** A tier of the month's cumulative cleared exposure. */
interface Tier {
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

/** Micro-USD in decimal digits. */
export type Digits = string;

/** Acts under one toll, and what they came to. */
type TollCount = readonly [toll: string, acts: number, micro_usd: Digits];

/** A sum over governed acts, as rows hold it. */
export interface Usage {
  readonly acts: number;
  readonly tolls_micro_usd: Digits;
  /** Key of the toll, acts, micro-USD; a list, since every act copies it. */
  readonly tolls: readonly TollCount[];
  readonly cleared_micro_usd: Digits;
  /** Basis points and fees owed. */
  readonly fees_micro_usd: Digits;
  /** Acts, exposure and fees: by the id of the tier, and under `OWED` the fees that entries state. */
  readonly tiers: Readonly<Record<string, readonly [number, Digits, Digits]>>;
}

/** Key of the fees owed among the tiers; no tier has it as its id. */
export const OWED = 'obligation';

/** Nothing yet. */
export const NO_USAGE: Usage = {
  acts: 0,
  tolls_micro_usd: '0',
  tolls: [],
  cleared_micro_usd: '0',
  fees_micro_usd: '0',
  tiers: {},
};

/** A governed act as its entry states it, in integers of micro-USD. */
export interface Act {
  readonly toll: string;
  readonly toll_micro_usd: number;
  readonly cleared_micro_usd: number;
  /** A fee that the entry itself states, beside its toll. */
  readonly owed_fee_micro_usd: number;
}

/** The governed act of an entry; null for an entry without a toll. */
export function actOf({ statement }: Pick<Sequenced, 'statement'>): Act | null {
  const { toll, toll_micro_usd, cleared_micro_usd = 0, owed_fee_micro_usd = 0 } = statement;
  if (typeof toll !== 'string' || typeof toll_micro_usd !== 'number') return null;
  return {
    toll,
    toll_micro_usd,
    cleared_micro_usd: Number(cleared_micro_usd),
    owed_fee_micro_usd: typeof owed_fee_micro_usd === 'number' ? owed_fee_micro_usd : 0,
  };
}

/** A sum and something more. */
export function add(sum: Digits, more: number | bigint | Digits): Digits {
  const [a, b] = [Number(sum), Number(more)];
  // Sums that a double holds exactly need no bigint, which costs several times as much; most sums are.
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b) && Number.isSafeInteger(a + b)) {
    return String(a + b);
  }
  return String(BigInt(sum) + BigInt(more));
}

/** What is taken of an act's exposure when the month stood at `before`: the tier after the act, flat on it. */
export function shareOf(
  before: Digits,
  cleared_micro_usd: number,
): { readonly tier: string; readonly fee_micro_usd: bigint } {
  const exposure = BigInt(cleared_micro_usd);
  const tier = tierOf(BigInt(before) + exposure);
  return { tier: tier.id, fee_micro_usd: feeOf(exposure, tier) };
}

/** The share of an act that clears anything; null for the others. */
export type Share = ReturnType<typeof shareOf> | null;

/** A sum with one more act. */
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

function withShare(usage: Shares, micro_usd: number, share: NonNullable<Share>): Shares {
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

/** Two sums as one: of the logs of a kind, each of which has its own. */
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

/** The fees of a sum by what they are for: basis points on what was cleared, and fees that entries state. */
export function feeLines({ fees_micro_usd, tiers }: Usage) {
  const [owed, , owed_micro_usd] = tiers[OWED] ?? [0, '0', '0'];
  const cleared = Object.values(tiers).reduce((sum, [acts]) => sum + acts, 0) - owed;
  const basis_points = String(BigInt(fees_micro_usd) - BigInt(owed_micro_usd));
  return [
    { fee: 'basis_points', acts: cleared, micro_usd: basis_points },
    { fee: OWED, acts: owed, micro_usd: owed_micro_usd },
  ] as const;
}

/** Out of a row; nothing where there is none. */
export const usageOf = (row: Json | undefined): Usage =>
  row === undefined ? NO_USAGE : (row as unknown as Usage);

/** Into a row. */
export const usageRow = (usage: Usage): JsonObject => usage as unknown as JsonObject;
