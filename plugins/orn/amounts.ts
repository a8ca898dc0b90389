// Amounts of money and values of games: exact decimals of at most 6 digits behind the point, held as integers of a
// millionth. gateway/API.md §1.3.

import { Type } from 'typebox';
import { ApiError } from '../contract.ts';

const WHOLE = '(0|[1-9][0-9]{0,9})(\\.[0-9]{1,6})?';
const GRAMMAR = new RegExp(`^-?${WHOLE}$`, 'u');
const UNIT = 1_000_000n;

const RULE = 'at most 6 digits behind the point and 9,007,199,254 before it';

/** An amount in USD as a request has it: text, or a number by its shortest decimal. */
export const UsdInput = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  ...{ pattern: `^${WHOLE}$`, minimum: 0 },
  description: `A decimal of ${RULE}.`,
});

/** A value that may be below zero. */
export const ValueInput = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  pattern: `^-?${WHOLE}$`,
  description: `A decimal of ${RULE}.`,
});

/** A decimal of a statement or an answer. */
export const DecimalText = Type.String({ pattern: '^-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,6})?$' });

/** An amount in an entry, in micro-USD. */
export const MicroUsd = Type.Integer({
  minimum: -Number.MAX_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
});

/** A decimal of a request in millionths, a safe integer; 400 `parameter_invalid` for any other. */
export function millionthsOf(input: string | number, param: string): number {
  const text = String(input);
  const value = GRAMMAR.test(text) ? Number(text.replace('.', '') + zeros(text)) : Number.NaN;
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  throw new ApiError('parameter_invalid', `${param} is not a decimal of ${RULE}`, { param });
}

/** The zeros that a decimal lacks to six digits behind its point. */
const zeros = (text: string): string => {
  const point = text.indexOf('.');
  return '0'.repeat(6 - (point === -1 ? 0 : text.length - point - 1));
};

/** The shortest decimal of so many millionths. */
export function millionthsText(value: bigint): string {
  const magnitude = value < 0n ? -value : value;
  const fraction = (magnitude % UNIT).toString().padStart(6, '0').replace(/0+$/, '');
  const whole = (magnitude / UNIT).toString() + (fraction === '' ? '' : `.${fraction}`);
  return value < 0n ? `-${whole}` : whole;
}

/** An integer of a statement as text in USD. */
export const usdText = (micro_usd: unknown): string => millionthsText(BigInt(micro_usd as number));

/** An amount for a statement; 400 where it is more than an entry can say. */
export function statedMicroUsd(micro_usd: bigint, param: string): number {
  const stated = Number(micro_usd);
  if (Number.isSafeInteger(stated)) return stated;
  const limit = millionthsText(BigInt(Number.MAX_SAFE_INTEGER));
  const message = `${param} makes an amount of ${millionthsText(micro_usd)} USD, the limit is ${limit}`;
  throw new ApiError('parameter_invalid', message, { param });
}
