// Exponential and logistic from IEEE additions and multiplications alone: Math.exp may differ by a bit between engines.

const LN2 = 0.6931471805599453;

/** e^x for |x| <= 700, to about 1e-15. */
export function exponential(x: number): number {
  const k = Math.round(x / LN2);
  const r = x - k * LN2;
  let term = 1;
  let sum = 1;
  for (let n = 1; n <= 14; n++) {
    term = (term * r) / n;
    sum += term;
  }
  return sum * 2 ** k;
}

/** 1 / (1 + e^-x), clamped to |x| <= 40. */
export function logistic(x: number): number {
  const clamped = x > 40 ? 40 : x < -40 ? -40 : x;
  return 1 / (1 + exponential(-clamped));
}
