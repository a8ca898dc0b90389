// Exact decimals: readings, thresholds, quantities and amounts of money are never floats. log/FORMAT.md §2, decimal grammar.

import { Type } from 'typebox';
import { ApiError } from '../contract.ts';

/** The grammar of a decimal in a statement. */
export const DECIMAL = '^-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,18})?$';

/** A decimal of a statement. */
export const DecimalText = Type.String({ pattern: DECIMAL });

/** A decimal of a request: text, or a JSON number by its shortest decimal form. */
export const DecimalInput = Type.Union([
  Type.String({ pattern: DECIMAL, description: 'At most 31 digits before the point, 18 behind.' }),
  Type.Number(),
]);

/** Digits behind the point of what is computed with: more than a statement has, so that halves stay exact. */
const WORKING = 24;
const SHOWN = 18;
const ONE = 10n ** BigInt(WORKING);
const ROUND = 10n ** BigInt(WORKING - SHOWN);
const GRAMMAR = new RegExp(DECIMAL, 'u');
const SCIENTIFIC = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/u;

/** A number as an integer of 10^-24: exact for every decimal of the grammar. */
export type Exact = bigint;

/** A decimal of a request; 400 `parameter_invalid` for a number that the grammar cannot hold. */
export function exactOf(input: string | number, param: string): Exact {
  const text = typeof input === 'number' ? written(input) : input;
  if (text === null || !GRAMMAR.test(text)) {
    const rule = 'is not a decimal of at most 31 digits before the point and 18 behind it';
    throw new ApiError('parameter_invalid', `${param} ${rule}`, { param });
  }
  return exact(text);
}

/** A decimal that stands in a statement or a catalog. */
export function exact(text: string): Exact {
  const negative = text.startsWith('-');
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(WORKING, '0'));
  return negative ? -value : value;
}

/** The shortest decimal, rounded half away from zero at 18 digits behind the point. */
export function decimalText(value: Exact): string {
  const rounded = divided(value, ROUND);
  const digits = magnitude(rounded)
    .toString()
    .padStart(SHOWN + 1, '0');
  const fraction = digits.slice(-SHOWN).replace(/0+$/, '');
  const text = digits.slice(0, -SHOWN) + (fraction === '' ? '' : `.${fraction}`);
  return rounded < 0n ? `-${text}` : text;
}

/** `a / b` of two exact numbers as one. */
export function quotient(a: Exact, b: Exact): Exact {
  return divided(a * ONE, b);
}

/** Integer division, rounded half away from zero; `by` is positive. */
export function divided(value: bigint, by: bigint): bigint {
  const half = (2n * magnitude(value) + by) / (2n * by);
  return value < 0n ? -half : half;
}

/** |value|. */
export function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** A number without its exponent; null where it has none that the grammar could hold. */
function written(value: number): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    SCIENTIFIC.exec(String(value)) ?? [];
  const shift = Number(exponent);
  if (whole === '' || Math.abs(shift) > 60) return null;
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const at = Math.max(point, 1);
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const right = padded.slice(at).replace(/0+$/, '');
  return `${sign}${left}${right === '' ? '' : `.${right}`}`;
}

const MICRO_DIGITS = 6;

/** An amount in USD as micro-USD; 400 when it is negative, finer than a micro-USD or over `max`. */
export function microUsdOf(input: string | number, param: string, max: bigint): bigint {
  const value = exactOf(input, param);
  const unit = 10n ** BigInt(WORKING - MICRO_DIGITS);
  const micro = value / unit;
  if (value < 0n || micro * unit !== value || micro > max) {
    const limit = decimalText(max * unit);
    throw new ApiError('parameter_invalid', `${param} is not 0 to ${limit} USD in micro-USD`, {
      param,
    });
  }
  return micro;
}

/** Micro-USD in USD, as text. */
export function usdText(micro: bigint): string {
  return decimalText(micro * 10n ** BigInt(WORKING - MICRO_DIGITS));
}
