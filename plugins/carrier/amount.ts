// Limits and authorities in USD, compared exactly: integers of micro-USD, never floats. gateway/API.md §1.3.

import { Type } from 'typebox';
import { ApiError } from '../contract.ts';

const GRAMMAR = /^(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?$/;

/** An amount of a request: text, or a JSON number by its shortest decimal form. */
export const AmountInput = Type.Union(
  [Type.String({ pattern: GRAMMAR.source }), Type.Number({ minimum: 0 })],
  { description: 'USD: at most 15 digits before the point, 6 behind. A commitment in the log.' },
);

/** An amount in micro-USD; 400 `parameter_invalid` for what the grammar cannot hold. */
export function microUsd(input: string | number, param: string): bigint {
  const text = String(input);
  if (!GRAMMAR.test(text)) {
    const rule = 'is not an amount of at most 15 digits before the point and 6 behind it';
    throw new ApiError('parameter_invalid', `${param} ${rule}`, { param });
  }
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(6, '0'));
}
