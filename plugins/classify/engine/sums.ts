// Sums the weights of features. What the tables fix beforehand (letter groups of known words, classes, pairs of classes) is
// summed once and read from small rows afterwards: the table of weights is too large to be near at hand.
import { classPair, letterGroups, tellingClass } from './features.ts';
import type { FeatureClasses, Sink } from './features.ts';

/** Weights in a row of the table, one for each model. */
export const WIDTH = 3;
/** Words said, denied or someone else's; who stands in the sentence, as three bits. */
const STATES = 3;
const COMPANIES = 8;

/** One instance serves one engine and is emptied for each stretch. */
export class Sums implements Sink {
  violation = 0;
  policy = 0;
  crisis = 0;
  count = 0;
  readonly #weights: Int8Array;
  readonly #shift: number;
  /** For each vocabulary word the summed letter groups of each head, then their number; computed when first met. */
  readonly #letterSums: Int32Array;
  /** For each class its place among the telling ones. */
  readonly #place: Uint16Array;
  readonly #telling: number;
  /** For each telling class, state and company, and for each pair of telling classes: a row of sums. */
  readonly #tellingSums: Int16Array;
  readonly #pairSums: Int8Array;

  constructor(weights: Int8Array, bits: number, words: number, classes: FeatureClasses) {
    this.#weights = weights;
    this.#shift = 32 - bits;
    this.#letterSums = new Int32Array(words * (WIDTH + 1));
    const { kinds, tellingTrade } = classes;
    const telling = tellingTrade.length;
    this.#telling = telling;
    this.#place = new Uint16Array(kinds.length);
    tellingTrade.forEach((cls, place) => (this.#place[cls] = place));
    this.#tellingSums = new Int16Array(telling * STATES * COMPANIES * WIDTH);
    this.#pairSums = new Int8Array(telling * telling * WIDTH);
    tellingTrade.forEach((cls, place) => {
      for (let k = 0; k < STATES * COMPANIES; k++) {
        this.#tellingSums.set(
          this.#sumOf(() => {
            tellingClass(cls, Math.floor(k / COMPANIES), k % COMPANIES, this);
          }),
          (place * STATES * COMPANIES + k) * WIDTH,
        );
      }
      tellingTrade.forEach((other, second) => {
        this.#pairSums.set(
          this.#sumOf(() => {
            this.add(classPair(cls, other));
          }),
          (place * telling + second) * WIDTH,
        );
      });
    });
  }

  clear(): void {
    this.violation = this.policy = this.crisis = this.count = 0;
  }

  add(hash: number): void {
    const at = (hash >>> this.#shift) * WIDTH;
    const weights = this.#weights;
    this.violation += weights[at] ?? 0;
    this.policy += weights[at + 1] ?? 0;
    this.crisis += weights[at + 2] ?? 0;
    this.count++;
  }

  letters(id: number, word: string): void {
    if (id < 0) {
      letterGroups(word, this);
      return;
    }
    const cache = this.#letterSums;
    const at = id * (WIDTH + 1);
    if (cache[at + WIDTH] === 0) this.#learn(at, word);
    this.violation += cache[at] ?? 0;
    this.policy += cache[at + 1] ?? 0;
    this.crisis += cache[at + 2] ?? 0;
    this.count += cache[at + WIDTH] ?? 0;
  }

  telling(cls: number, state: number, company: number): void {
    const at = (((this.#place[cls] ?? 0) * STATES + state) * COMPANIES + company) * WIDTH;
    const sums = this.#tellingSums;
    this.violation += sums[at] ?? 0;
    this.policy += sums[at + 1] ?? 0;
    this.crisis += sums[at + 2] ?? 0;
    this.count += 2;
  }

  pairs(present: readonly number[]): void {
    const place = this.#place;
    const sums = this.#pairSums;
    const n = present.length;
    let violation = 0;
    let policy = 0;
    let crisis = 0;
    for (let k = 0; k < n; k++) {
      const row = (place[present[k] ?? 0] ?? 0) * this.#telling;
      for (let other = k + 1; other < n; other++) {
        const at = (row + (place[present[other] ?? 0] ?? 0)) * WIDTH;
        violation += sums[at] ?? 0;
        policy += sums[at + 1] ?? 0;
        crisis += sums[at + 2] ?? 0;
      }
    }
    this.violation += violation;
    this.policy += policy;
    this.crisis += crisis;
    this.count += (n * (n - 1)) / 2;
  }

  #learn(at: number, word: string): void {
    const { violation, policy, crisis, count } = this;
    let groups = 0;
    const sums = this.#sumOf(() => {
      letterGroups(word, this);
      groups = this.count;
    });
    this.#letterSums.set([...sums, groups], at);
    this.violation = violation;
    this.policy = policy;
    this.crisis = crisis;
    this.count = count;
  }

  /** The sums of what is added in between. */
  #sumOf(emit: () => void): readonly number[] {
    this.clear();
    emit();
    const sums = [this.violation, this.policy, this.crisis];
    this.clear();
    return sums;
  }
}
