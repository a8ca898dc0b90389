// Schemas and functions that the routes of the orchestration layer share: names of agents, parties and nodes, their
// indexes ("places"), and amounts. Amounts and values have at most 6 digits after the point; an amount is divided by
// weights with the largest remainder (Hamilton) method. gateway/API.md §1.3, §10.4.

import { Type } from 'typebox';
import { ApiError, decimalOf, decimalPattern, MICRO, printDecimal } from '../contract/index.ts';

/**
 * Divides `amount` in proportion to `weights`, whose sum `whole` must not be 0. Each part is the exact share rounded
 * down; the remaining units go, one each, to the largest remainders, and among equal ones to the earlier. A weight of 0
 * gets 0. Weights may be negative.
 */
export function apportion(amount: bigint, weights: readonly bigint[], whole: bigint): bigint[] {
  if (whole === 0n) throw new Error('the sum of the weights is 0');
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

/** Largest number of agents, parties or nodes in a request. */
export const MAX_NAMED = 256;
/** Largest number of edges in a request. */
export const MAX_EDGES = 4096;

/** A named agent, party or node. Names are commitments, so they may be free text; commas separate names in a table. */
export const Named = Type.Object(
  { id: Type.String({ pattern: '^[^,]{1,256}$', description: 'A name without commas.' }) },
  { additionalProperties: false },
);

/** An end of an edge. */
export const End = Type.String({ minLength: 1, maxLength: 256 });

/** The indexes of names; 400 for a duplicate name. */
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

/** The index of a name; 400 for an unknown name. */
export function placeOf(places: ReadonlyMap<string, number>, id: string, param: string): number {
  const place = places.get(id);
  if (place !== undefined) return place;
  throw new ApiError('parameter_invalid', `${param} names ${id}, which the request does not list`, {
    param,
  });
}

const USD = { whole: 10, fraction: MICRO };
const VALUE = { ...USD, signed: true };
const STATED = { whole: 31, fraction: MICRO, signed: true };

const RULE = 'at most 6 digits after the point, up to 9,007,199,254';

/** An amount in USD in a request: a string, or a number, which is read in its shortest decimal form. */
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

/** Parses a decimal of a request into millionths; 400 `parameter_invalid` if that is not a safe integer. */
export function millionthsOf(input: string | number, param: string): number {
  const value = Number(decimalOf(input, param, VALUE));
  if (Number.isSafeInteger(value)) return value;
  throw new ApiError('parameter_invalid', `${param} must be a decimal of ${RULE}`, { param });
}

/** Formats millionths as the shortest decimal. */
export const millionthsText = (value: bigint): string => printDecimal(value, MICRO);

/** Formats an amount of a statement, in micro-USD, as USD. */
export const usdText = (micro_usd: unknown): string => millionthsText(BigInt(micro_usd as number));

/** Converts an amount for a statement; 400 `parameter_invalid` if it exceeds a safe integer of micro-USD. */
export function statedMicroUsd(micro_usd: bigint, param: string): number {
  const stated = Number(micro_usd);
  if (Number.isSafeInteger(stated)) return stated;
  const limit = millionthsText(BigInt(Number.MAX_SAFE_INTEGER));
  const message = `${param} makes an amount of ${millionthsText(micro_usd)} USD, the limit is ${limit}`;
  throw new ApiError('parameter_invalid', message, { param });
}
