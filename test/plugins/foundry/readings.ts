// Oracle readings for the tests of the foundry.

const SOURCES = ['net_a', 'net_b', 'net_c', 'first_party', 'sealed'] as const;

/** A reading of the nth source of the catalog. */
export const reading = (n: number, value: string | number) => ({ source_id: SOURCES[n], value });

/** One reading of each source in the order of the catalog; three equal ones if one value is given. */
export function readingsOf(...values: readonly (string | number)[]): object[] {
  const all = values.length === 1 ? [values[0]!, values[0]!, values[0]!] : values;
  return all.map((value, n) => reading(n, value));
}
