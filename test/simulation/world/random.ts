// Seeded randomness: the same name gives the same numbers on every machine. sfc32 by Chris Doty-Humphrey (PractRand).

import { hash } from 'node:crypto';

/** A sequence of random numbers that a name determines. */
export class Random {
  readonly #state: Uint32Array;

  constructor(name: string) {
    const digest = hash('sha256', `actlog simulation ${name}`, 'buffer');
    this.#state = Uint32Array.from({ length: 4 }, (_, i) => digest.readUInt32LE(4 * i));
  }

  /** An integer from 0 to 2^32 - 1. */
  u32(): number {
    const s = this.#state;
    const [a = 0, b = 0, c = 0, counter = 0] = s;
    const result = (a + b + counter) >>> 0;
    s[3] = counter + 1;
    s[0] = b ^ (b >>> 9);
    s[1] = c + (c << 3);
    s[2] = ((c << 21) | (c >>> 11)) + result;
    return result;
  }

  /** An integer from 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor((this.u32() / 2 ** 32) * below);
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.int(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.u32() < probability * 2 ** 32;
  }

  pick<T>(list: readonly T[]): T {
    const one = list[this.int(list.length)];
    if (one === undefined) throw new Error('nothing to pick from');
    return one;
  }

  /** One of the names, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries<number>(weights) as [K, number][];
    let left = this.int(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error('the weights have no sum');
  }

  fill(target: Uint8Array): void {
    for (let at = 0; at < target.length; at += 4) {
      const word = this.u32();
      for (let i = 0; i < 4 && at + i < target.length; i += 1) target[at + i] = word >>> (8 * i);
    }
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count);
    this.fill(bytes);
    return bytes;
  }
}
