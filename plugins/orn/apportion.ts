// Largest remainder (Hamilton): an integer in parts by weight whose sum is that integer. gateway/API.md §10.4.

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
