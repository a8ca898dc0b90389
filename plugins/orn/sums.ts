// Exact sums of very many safe integers: numbers as long as they hold, bigint beyond.

/** So many sums, each 0 at first. */
export class Sums {
  readonly #near: Float64Array;
  readonly #far: bigint[];

  constructor(count: number) {
    this.#near = new Float64Array(count);
    this.#far = new Array<bigint>(count).fill(0n);
  }

  /** Adds a safe integer to the sum at a place. */
  add(at: number, value: number): void {
    const near = this.#near[at] ?? 0;
    const sum = near + value;
    if (Number.isSafeInteger(sum)) {
      this.#near[at] = sum;
      return;
    }
    this.#far[at] = (this.#far[at] ?? 0n) + BigInt(near);
    this.#near[at] = value;
  }

  get(at: number): bigint {
    return (this.#far[at] ?? 0n) + BigInt(this.#near[at] ?? 0);
  }
}
