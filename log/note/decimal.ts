// Decimals of the line formats: sizes, indexes, times. C2SP tlog-checkpoint, tlog-proof.

/** A decimal without sign or leading zeros, as a safe integer; null for every other text. */
export function parseDecimal(text: string): number | null {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}
