// Exact decimals for readings, thresholds, quantities and amounts of money, which are never floats.
// gateway/API.md §1.3, log/FORMAT.md §2.
//
// A decimal is a bigint that counts units of 10^-digits. Amounts of money count micro-USD (6 digits). The foundry
// computes with 24 digits, so that quotients and halves of 18-digit decimals need to be rounded only once. Each route
// states the number of digits that it accepts as a `DecimalGrammar`.

import { Type } from 'typebox';
import { ApiError } from './errors.ts';

/** The largest number of digits before and after the decimal point, and whether the decimal may be negative. */
export interface DecimalGrammar {
  readonly whole: number;
  readonly fraction: number;
  readonly signed?: boolean;
}

/** The regular expression of a grammar: no leading zeros, no exponent, no `+`. */
export function decimalPattern({ whole, fraction, signed = false }: DecimalGrammar): string {
  return `^${signed ? '-?' : ''}(0|[1-9][0-9]{0,${whole - 1}})(\\.[0-9]{1,${fraction}})?$`;
}

/** Parses a valid decimal with at most `digits` digits after the point. */
export function parseDecimal(text: string, digits: number): bigint {
  const negative = text.startsWith('-');
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(digits, '0'));
  return negative ? -value : value;
}

/** Formats a value with exactly `digits` digits after the point. */
export function fixedDecimal(value: bigint, digits: number): string {
  const all = magnitude(value)
    .toString()
    .padStart(digits + 1, '0');
  return `${value < 0n ? '-' : ''}${all.slice(0, -digits)}.${all.slice(-digits)}`;
}

/** Formats a value as the shortest decimal. */
export function printDecimal(value: bigint, digits: number): string {
  return fixedDecimal(value, digits).replace(/\.?0+$/, '');
}

/**
 * Parses a decimal of a request: a string, or a JSON number, which is read in its shortest decimal form.
 *
 * @param param the member of the request, for the error
 * @param digits digits after the point of the result, at least as many as the grammar allows
 * @throws ApiError 400 `parameter_invalid` if the input does not match the grammar
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

/** Formats a number without an exponent. Null if its magnitude is beyond every grammar. */
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

/** The absolute value. */
export function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** The grammar of a decimal in a statement of the foundry. */
const STATED: DecimalGrammar = { whole: 31, fraction: 18, signed: true };

/** Its regular expression. */
export const DECIMAL = decimalPattern(STATED);

/** A decimal of a statement. */
export const DecimalText = Type.String({ pattern: DECIMAL });

/** A decimal of a request: a string, or a JSON number, which is read in its shortest decimal form. */
export const DecimalInput = Type.Union([
  Type.String({
    pattern: DECIMAL,
    description: 'At most 31 digits before the point, 18 after it.',
  }),
  Type.Number(),
]);

const WORKING = 24;

/** A decimal in units of 10^-24. */
export type Exact = bigint;

/** Parses a decimal of a request into units of 10^-24. Throws 400 `parameter_invalid` if `DECIMAL` does not match. */
export function exactOf(input: string | number, param: string): Exact {
  return decimalOf(input, param, STATED, WORKING);
}

/** Parses a decimal of a statement or a catalog into units of 10^-24. */
export function exact(text: string): Exact {
  return parseDecimal(text, WORKING);
}

/** Formats the shortest decimal, rounded half away from zero to the 18 digits that statements allow. */
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

/** An amount in atomic units: a number up to 2^53 - 1, above it decimal digits. */
export type Atomic = number | string;

const LARGEST_NUMBER = Number.MAX_SAFE_INTEGER;
/** 78 digits hold 2^256 - 1, the largest amount of a token contract. */
const ATOMIC_DIGITS = '^(0|[1-9][0-9]{0,77})$';

const atomicSchema = (pattern: string, description: string) =>
  Type.Unsafe<Atomic>({
    type: ['integer', 'string'],
    ...{ minimum: 0, maximum: LARGEST_NUMBER, pattern, description },
  });

/** An amount in atomic units in a request. */
export const AtomicInput = atomicSchema(
  ATOMIC_DIGITS,
  'An integer up to 2^53 - 1, or a string of at most 78 digits.',
);

/** An amount in atomic units in a statement; see `atomicOf`. */
export const AtomicAmount = atomicSchema(
  '^[1-9][0-9]{15,77}$',
  'An integer up to 2^53 - 1; above it a string of digits.',
);

/** Whether a value matches `AtomicInput`, for members that no schema checks. */
export const isAtomic = (value: unknown): value is Atomic =>
  typeof value === 'string'
    ? new RegExp(ATOMIC_DIGITS, 'u').test(value)
    : Number.isSafeInteger(value) && (value as number) >= 0;

/** The canonical form of an amount in a statement: a number up to 2^53 - 1, a string of digits above it. */
export function atomicOf(amount: Atomic | bigint): Atomic {
  const value = BigInt(amount);
  return value <= LARGEST_NUMBER ? Number(value) : String(value);
}
