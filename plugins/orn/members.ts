// What the requests and entries of the orchestration layer share: names of agents, parties and nodes, their places, and
// amounts. Amounts of money and values of games have at most 6 digits behind the point; an amount is divided by weights
// with the largest remainder (Hamilton) method. gateway/API.md §1.3, §10.4.

import { Type } from 'typebox';
import { ApiError, decimalOf, decimalPattern, MICRO, printDecimal } from '../contract/index.ts';
import type { AnsweredEntry } from '../contract/index.ts';

/**
 * Parts of `amount` in the proportion of `weights`, whose sum is `whole`, which is not 0. Each is its exact share
 * rounded down, and what is then left goes, a unit each, to the largest remainders; of equal ones to the earlier.
 * A weight of 0 gets 0. Weights may be negative.
 */
export function apportion(amount: bigint, weights: readonly bigint[], whole: bigint): bigint[] {
  if (whole === 0n) throw new Error('weights of the sum 0 have no proportion');
  const sign = whole < 0n ? -1n : 1n;
  const by = whole * sign;
  const remainders: bigint[] = [];
  const parts = weights.map((weight) => {
    const share = amount * weight * sign;
    const remainder = ((share % by) + by) % by;
    remainders.push(remainder);
    return (share - remainder) / by;
  });
  const left = Number(amount - parts.reduce((sum, part) => sum + part, 0n));
  const order = remainders
    .map((remainder, at) => ({ remainder, at }))
    .sort((a, b) =>
      a.remainder === b.remainder ? a.at - b.at : a.remainder < b.remainder ? 1 : -1,
    );
  for (const { at } of order.slice(0, left)) parts[at] = (parts[at] ?? 0n) + 1n;
  return parts;
}

/** The quotient rounded to an integer, halves away from zero; `by` is not 0. */
export function rounded(value: bigint, by: bigint): bigint {
  const negative = value < 0n !== by < 0n;
  const [a, b] = [value < 0n ? -value : value, by < 0n ? -by : by];
  const half = (2n * a + b) / (2n * b);
  return negative ? -half : half;
}

/** The most agents, parties or nodes of a request. */
export const MAX_NAMED = 256;
/** The most edges of a request. */
export const MAX_EDGES = 4096;

/** One that is named: names are commitments, so they may be free text; a comma would part them in a table. */
export const Named = Type.Object(
  { id: Type.String({ pattern: '^[^,]{1,256}$', description: 'A name without commas.' }) },
  { additionalProperties: false },
);

/** An end of an edge. */
export const End = Type.String({ minLength: 1, maxLength: 256 });

/** The places of names; 400 for a name that stands twice. */
export function placesOf(
  named: readonly { readonly id: string }[],
  param: string,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [at, { id }] of named.entries()) {
    if (places.has(id)) {
      throw new ApiError('parameter_invalid', `${param} names ${id} twice`, {
        param: `${param}.${String(at)}.id`,
      });
    }
    places.set(id, at);
  }
  return places;
}

/** The place of a name; 400 for one that is not among them. */
export function placeOf(places: ReadonlyMap<string, number>, id: string, param: string): number {
  const place = places.get(id);
  if (place !== undefined) return place;
  throw new ApiError('parameter_invalid', `${param} names ${id}, which is none of the request`, {
    param,
  });
}

/** The entry of a group of one. */
export function onlyEntry(entries: readonly AnsweredEntry[]): AnsweredEntry {
  const [entry] = entries;
  if (entry === undefined) throw new Error('a group has an entry');
  return entry;
}

const USD = { whole: 10, fraction: MICRO };
const VALUE = { ...USD, signed: true };
const STATED = { whole: 31, fraction: MICRO, signed: true };

const RULE = 'at most 6 digits behind the point and 9,007,199,254 before it';

/** An amount in USD as a request has it: text, or a number by its shortest decimal. */
export const UsdInput = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  ...{ pattern: decimalPattern(USD), minimum: 0 },
  description: `A decimal of ${RULE}.`,
});

/** A value that may be negative. */
export const ValueInput = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  pattern: decimalPattern(VALUE),
  description: `A decimal of ${RULE}.`,
});

/** A decimal of a statement or an answer. */
export const DecimalText = Type.String({ pattern: decimalPattern(STATED) });

/** An amount in an entry, in micro-USD. */
export const MicroUsd = Type.Integer({
  minimum: -Number.MAX_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
});

/** A decimal of a request in millionths, a safe integer; 400 `parameter_invalid` for any other. */
export function millionthsOf(input: string | number, param: string): number {
  const value = Number(decimalOf(input, param, VALUE));
  if (Number.isSafeInteger(value)) return value;
  throw new ApiError('parameter_invalid', `${param} must be a decimal of ${RULE}`, { param });
}

/** The shortest decimal of so many millionths. */
export const millionthsText = (value: bigint): string => printDecimal(value, MICRO);

/** An amount of a statement, in micro-USD, as text in USD. */
export const usdText = (micro_usd: unknown): string => millionthsText(BigInt(micro_usd as number));

/** An amount for a statement; 400 `parameter_invalid` for more than a safe integer of micro-USD. */
export function statedMicroUsd(micro_usd: bigint, param: string): number {
  const stated = Number(micro_usd);
  if (Number.isSafeInteger(stated)) return stated;
  const limit = millionthsText(BigInt(Number.MAX_SAFE_INTEGER));
  const message = `${param} makes an amount of ${millionthsText(micro_usd)} USD, the limit is ${limit}`;
  throw new ApiError('parameter_invalid', message, { param });
}
