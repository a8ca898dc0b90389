// Exact decimals: readings, thresholds, quantities and amounts of money are never floats.
// gateway/API.md §1.3, log/FORMAT.md §2.
//
// A decimal is held as a bigint that counts units of 10^-digits. Amounts of money count micro-USD (6 digits). What the
// foundry computes with has 24 digits, so that quotients and halves of 18-digit decimals stay exact enough to be rounded
// once. Each route states how many digits it accepts as a `DecimalGrammar`.

import { Type } from 'typebox';
import { ApiError } from './errors.ts';

/** How many digits a decimal has at most on either side of the point, and whether it may be negative. */
export interface DecimalGrammar {
  readonly whole: number;
  readonly fraction: number;
  readonly signed?: boolean;
}

/** The regular expression of a grammar: no leading zeros, no exponent, no `+`. */
export function decimalPattern({ whole, fraction, signed = false }: DecimalGrammar): string {
  return `^${signed ? '-?' : ''}(0|[1-9][0-9]{0,${whole - 1}})(\\.[0-9]{1,${fraction}})?$`;
}

/** Parses a decimal of a grammar that has at most `digits` digits behind the point. */
export function parseDecimal(text: string, digits: number): bigint {
  const negative = text.startsWith('-');
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(digits, '0'));
  return negative ? -value : value;
}

/** The decimal of a value with all of its digits behind the point. */
export function fixedDecimal(value: bigint, digits: number): string {
  const all = magnitude(value)
    .toString()
    .padStart(digits + 1, '0');
  return `${value < 0n ? '-' : ''}${all.slice(0, -digits)}.${all.slice(-digits)}`;
}

/** The shortest decimal of a value. */
export function printDecimal(value: bigint, digits: number): string {
  return fixedDecimal(value, digits).replace(/\.?0+$/, '');
}

/**
 * Parses a decimal of a request: text, or a JSON number by its shortest decimal form.
 *
 * @param param the member of the request, for the error
 * @param digits digits behind the point of the result, not fewer than the grammar has
 * @throws ApiError 400 `parameter_invalid` if the grammar does not have the input
 */
export function decimalOf(
  input: string | number,
  param: string,
  grammar: DecimalGrammar,
  digits = grammar.fraction,
): bigint {
  const text = typeof input === 'number' ? withoutExponent(input) : input;
  if (text !== null && new RegExp(decimalPattern(grammar), 'u').test(text)) {
    return parseDecimal(text, digits);
  }
  const { whole, fraction } = grammar;
  const rule = `a decimal of at most ${whole} digits before the point and ${fraction} after it`;
  throw new ApiError('parameter_invalid', `${param} must be ${rule}`, { param });
}

const SCIENTIFIC = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/u;

/** A number without its exponent; null for one that no grammar has. */
function withoutExponent(value: number): string | null {
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

/** Integer division, rounded half away from zero; `by` is positive. */
export function divided(value: bigint, by: bigint): bigint {
  const half = (2n * magnitude(value) + by) / (2n * by);
  return value < 0n ? -half : half;
}

/** |value|. */
export function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** The grammar of a decimal in a statement of the foundry. */
const STATED: DecimalGrammar = { whole: 31, fraction: 18, signed: true };

/** Its regular expression. */
export const DECIMAL = decimalPattern(STATED);

/** A decimal of a statement. */
export const DecimalText = Type.String({ pattern: DECIMAL });

/** A decimal of a request: text, or a JSON number by its shortest decimal form. */
export const DecimalInput = Type.Union([
  Type.String({ pattern: DECIMAL, description: 'At most 31 digits before the point, 18 behind.' }),
  Type.Number(),
]);

const WORKING = 24;

/** A decimal in units of 10^-24. */
export type Exact = bigint;

/** A decimal of a request in units of 10^-24; 400 `parameter_invalid` for what `DECIMAL` does not match. */
export function exactOf(input: string | number, param: string): Exact {
  return decimalOf(input, param, STATED, WORKING);
}

/** A decimal of a statement or a catalog in units of 10^-24. */
export function exact(text: string): Exact {
  return parseDecimal(text, WORKING);
}

/** The shortest decimal, rounded half away from zero to the 18 digits that a statement has. */
export function decimalText(value: Exact): string {
  const { fraction } = STATED;
  return printDecimal(divided(value, 10n ** BigInt(WORKING - fraction)), fraction);
}

/** `a / b`, rounded at 24 digits. */
export function quotient(a: Exact, b: Exact): Exact {
  return divided(a * exact('1'), b);
}

/** Digits of an amount of money: a micro-USD is a millionth. */
export const MICRO = 6;

/** An amount of a request in micro-USD; 400 when it is negative, finer than a micro-USD or over `max`. */
export function microUsdOf(input: string | number, param: string, max: bigint): bigint {
  const value = exactOf(input, param);
  const unit = 10n ** BigInt(WORKING - MICRO);
  const micro = value / unit;
  if (value < 0n || micro * unit !== value || micro > max) {
    const rule = `an amount of 0 to ${usdText(max)} USD with at most ${MICRO} digits after the point`;
    throw new ApiError('parameter_invalid', `${param} must be ${rule}`, { param });
  }
  return micro;
}

/** Micro-USD in USD, as text. */
export function usdText(micro_usd: bigint | number): string {
  return printDecimal(BigInt(micro_usd), MICRO);
}
