// Sums the weights of features. What the tables fix beforehand (known words, classes, pairs of classes) is summed as they load and
// read from small rows afterwards: the table of weights is too large for the cache, and the commonest words occupy few
// rows. Features are noted as they come and summed in one go, for then their places in memory are fetched side by side.
import {
  classPair,
  GROUP_WORD,
  letterGroups,
  SLUR_WORD,
  tellingClass,
  wordFeatures,
  wordInState,
} from './features.ts';
import type { Sink } from './features.ts';
import type { FeatureClasses } from './kinds.ts';
import { hashWord } from './vocabulary.ts';

/** Weights in a row of the table, one for each model. */
export const WIDTH = 3;
/** Words said, denied or someone else's; the persons in the sentence, as three bits. */
const STATES = 3;
const COMPANIES = 8;
/** Rows of a word: said and denied. Each begins with the number of its features, then come the sums in each company. */
const WORD_STATES = 2;
const WORD_ROW = 32;
/** A sum has 16 bits: longer words would not fit. */
const LONGEST_WORD = 64;
/** Features of each kind that are noted before they are summed. */
const NOTED = 1024;

/** What features sum to in each model, and how many they are. */
interface Sum {
  readonly violation: number;
  readonly policy: number;
  readonly crisis: number;
  readonly count: number;
}

/** One instance serves one engine and is emptied for each stretch. */
export class Sums implements Sink {
  #violation = 0;
  #policy = 0;
  #crisis = 0;
  #count = 0;
  /** For each row of the table its weights, a byte each, in one number: one place to fetch. */
  readonly #weights: Int32Array;
  readonly #shift: number;
  readonly #wordSums: Int16Array;
  /** For each class its place among the telling ones. */
  readonly #place: Uint16Array;
  readonly #telling: number;
  /** For each telling class, state and company, and for each pair of telling classes: a row of sums. */
  readonly #tellingSums: Int16Array;
  readonly #pairSums: Int8Array;
  /** What was noted and not yet summed: rows of the table, of the words, of the telling classes. */
  readonly #rows = new Int32Array(NOTED);
  readonly #words = new Int32Array(NOTED);
  readonly #tellings = new Int32Array(NOTED);
  #rowsNoted = 0;
  #wordsNoted = 0;
  #tellingsNoted = 0;

  constructor(
    weights: Int8Array,
    bits: number,
    words: readonly string[],
    { kinds, hashes, tellingTrade }: FeatureClasses,
  ) {
    this.#weights = new Int32Array(2 ** bits);
    for (let row = 0; row < this.#weights.length; row++) {
      const at = row * WIDTH;
      const [violation, policy, crisis] = [weights[at], weights[at + 1], weights[at + 2]];
      this.#weights[row] = byte(violation, 0) | byte(policy, 1) | byte(crisis, 2);
    }
    this.#shift = 32 - bits;
    this.#wordSums = new Int16Array(words.length * WORD_STATES * WORD_ROW);
    words.forEach((word, id) => {
      this.#fillWord(word, id);
    });
    const telling = tellingTrade.length;
    this.#telling = telling;
    this.#place = new Uint16Array(kinds.length);
    tellingTrade.forEach((cls, place) => (this.#place[cls] = place));
    this.#tellingSums = new Int16Array(telling * STATES * COMPANIES * WIDTH);
    this.#pairSums = new Int8Array(telling * telling * WIDTH);
    tellingTrade.forEach((cls, place) => {
      for (let k = 0; k < STATES * COMPANIES; k++) {
        tellingClass(hashes[cls] ?? 0, Math.floor(k / COMPANIES), k % COMPANIES, this);
        const { violation, policy, crisis } = this.take();
        const at = (place * STATES * COMPANIES + k) * WIDTH;
        this.#tellingSums.set([violation, policy, crisis], at);
      }
      tellingTrade.forEach((other, second) => {
        this.add(classPair(hashes[cls] ?? 0, hashes[other] ?? 0));
        const { violation, policy, crisis } = this.take();
        this.#pairSums.set([violation, policy, crisis], (place * telling + second) * WIDTH);
      });
    });
  }

  add(hash: number): void {
    if (this.#rowsNoted === NOTED) this.#sum();
    this.#rows[this.#rowsNoted++] = hash >>> this.#shift;
  }

  word(id: number, word: string, hash: number, state: number, company: number): void {
    if (id < 0 || state >= WORD_STATES || hash === GROUP_WORD || hash === SLUR_WORD) {
      wordFeatures(word, hash, state, company, this);
      return;
    }
    if (this.#wordsNoted === NOTED) this.#sum();
    this.#words[this.#wordsNoted++] = (id * WORD_STATES + state) * WORD_ROW + 1 + company * WIDTH;
  }

  #fillWord(word: string, id: number): void {
    if (word.length > LONGEST_WORD) throw new Error(`word of the tables too long: ${word}`);
    const hash = hashWord(word);
    letterGroups(word, this);
    const letters = this.take();
    for (let state = 0; state < WORD_STATES; state++) {
      const row = (id * WORD_STATES + state) * WORD_ROW;
      for (let company = 0; company < COMPANIES; company++) {
        wordInState(hash, state, company, this);
        const own = this.take();
        const at = row + 1 + company * WIDTH;
        this.#wordSums[row] = letters.count + own.count;
        this.#wordSums[at] = letters.violation + own.violation;
        this.#wordSums[at + 1] = letters.policy + own.policy;
        this.#wordSums[at + 2] = letters.crisis + own.crisis;
      }
    }
  }

  telling(cls: number, state: number, company: number): void {
    if (this.#tellingsNoted === NOTED) this.#sum();
    const place = this.#place[cls] ?? 0;
    this.#tellings[this.#tellingsNoted++] =
      ((place * STATES + state) * COMPANIES + company) * WIDTH;
  }

  pairs(present: readonly number[]): void {
    const place = this.#place;
    const sums = this.#pairSums;
    const n = present.length;
    let violation = 0;
    let policy = 0;
    let crisis = 0;
    let count = 0;
    for (let k = 0; k < n; k++) {
      const row = (place[present[k] ?? 0] ?? 0) * this.#telling;
      for (let other = k + 1; other < n; other++) {
        const at = (row + (place[present[other] ?? 0] ?? 0)) * WIDTH;
        violation += sums[at] ?? 0;
        policy += sums[at + 1] ?? 0;
        crisis += sums[at + 2] ?? 0;
        count++;
      }
    }
    this.#keep(violation, policy, crisis, count);
  }

  /** What has come since it was taken last. */
  take(): Sum {
    this.#sum();
    const [violation, policy, crisis] = [this.#violation, this.#policy, this.#crisis];
    const sum = { violation, policy, crisis, count: this.#count };
    this.#violation = this.#policy = this.#crisis = this.#count = 0;
    return sum;
  }

  #sum(): void {
    let violation = 0;
    let policy = 0;
    let crisis = 0;
    let count = this.#rowsNoted + 2 * this.#tellingsNoted;
    for (let k = 0; k < this.#rowsNoted; k++) {
      const row = this.#weights[this.#rows[k] ?? 0] ?? 0;
      violation += (row << 24) >> 24;
      policy += (row << 16) >> 24;
      crisis += (row << 8) >> 24;
    }
    for (let k = 0; k < this.#wordsNoted; k++) {
      const at = this.#words[k] ?? 0;
      violation += this.#wordSums[at] ?? 0;
      policy += this.#wordSums[at + 1] ?? 0;
      crisis += this.#wordSums[at + 2] ?? 0;
      count += this.#wordSums[at & -WORD_ROW] ?? 0;
    }
    for (let k = 0; k < this.#tellingsNoted; k++) {
      const at = this.#tellings[k] ?? 0;
      violation += this.#tellingSums[at] ?? 0;
      policy += this.#tellingSums[at + 1] ?? 0;
      crisis += this.#tellingSums[at + 2] ?? 0;
    }
    this.#rowsNoted = this.#wordsNoted = this.#tellingsNoted = 0;
    this.#keep(violation, policy, crisis, count);
  }

  #keep(violation: number, policy: number, crisis: number, count: number): void {
    this.#violation += violation;
    this.#policy += policy;
    this.#crisis += crisis;
    this.#count += count;
  }
}

function byte(weight: number | undefined, place: number): number {
  return ((weight ?? 0) & 0xff) << (8 * place);
}
