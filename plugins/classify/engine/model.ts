// The linear models: int8 weights in a hashed table, summed as integers, so that every machine gets the same number.
import type { Analysis } from './analysis.ts';
import { emit, emitWhole, hashWord, letterGroups } from './features.ts';
import type { FeatureClasses, Sink } from './features.ts';
import { QUOTED, REPORTED } from './scope.ts';
import { logistic } from './arithmetic.ts';

/** What the linear models say, in thousandths; 500 is the threshold of each. */
export interface ModelScores {
  /** Hate, harassment, threats: any domain. */
  readonly violation_milli: number;
  /** Breaches of the rules of a trade: the domains with rules of their own. */
  readonly policy_milli: number;
  readonly crisis_milli: number;
}

/** The models in the order of their weights. */
export const HEADS = ['violation', 'policy', 'crisis'] as const;
const WIDTH = HEADS.length;
const VIOLATION = 0;

/** How the sum of a model becomes thousandths: logistic(slope x (sum x scale + bias - threshold)). */
export interface Head {
  readonly scale: number;
  readonly bias: number;
  readonly threshold: number;
  /** The same for texts of few words, where one word weighs too much. */
  readonly threshold_short: number;
  /** The threshold for texts without a word of the model's own kind: harsh ones, or words of distress. */
  readonly threshold_bare: number;
  /** The same for texts of few words. */
  readonly threshold_short_bare: number;
  /** The threshold for short questions and orders to an assistant, which talk about a thing more often than do it. */
  readonly threshold_request: number;
  readonly slope: number;
}

/** catalogs/classify/model.json. */
export interface ModelTable {
  /** Binary logarithm of the number of rows of weights.bin; a row holds one byte for each head. */
  readonly bits: number;
  readonly heads: Readonly<Record<(typeof HEADS)[number], Head>>;
}

/** Stretches of about this many words are judged one by one, and the worst counts: length hides nothing. */
const STRETCH = 90;

/** Sums weights; one instance serves one engine and is emptied for each stretch. */
class Sums implements Sink {
  readonly sums = new Int32Array(WIDTH);
  count = 0;
  readonly #weights: Int8Array;
  readonly #shift: number;
  /** For each vocabulary word the summed letter groups of each head, then their number; computed when first met. */
  readonly #letterSums: Int32Array;

  constructor(weights: Int8Array, bits: number, words: number) {
    this.#weights = weights;
    this.#shift = 32 - bits;
    this.#letterSums = new Int32Array(words * (WIDTH + 1));
  }

  clear(): void {
    this.sums.fill(0);
    this.count = 0;
  }

  add(hash: number): void {
    const at = (hash >>> this.#shift) * WIDTH;
    const { sums } = this;
    const weights = this.#weights;
    for (let h = 0; h < WIDTH; h++) sums[h] = (sums[h] ?? 0) + (weights[at + h] ?? 0);
    this.count++;
  }

  letters(id: number, word: string): void {
    if (id < 0) {
      letterGroups(word, (hash) => {
        this.add(hash);
      });
      return;
    }
    const cache = this.#letterSums;
    const at = id * (WIDTH + 1);
    if (cache[at + WIDTH] === 0) this.#learn(at, word);
    const { sums } = this;
    for (let h = 0; h < WIDTH; h++) sums[h] = (sums[h] ?? 0) + (cache[at + h] ?? 0);
    this.count += cache[at + WIDTH] ?? 0;
  }

  #learn(at: number, word: string): void {
    const cache = this.#letterSums;
    letterGroups(word, (hash) => {
      const row = (hash >>> this.#shift) * WIDTH;
      for (let h = 0; h < WIDTH; h++) {
        cache[at + h] = (cache[at + h] ?? 0) + (this.#weights[row + h] ?? 0);
      }
      cache[at + WIDTH] = (cache[at + WIDTH] ?? 0) + 1;
    });
  }
}

/** The loaded models. */
export class Model {
  readonly #sums: Sums;
  readonly #heads: readonly Head[];
  readonly #classes: FeatureClasses;
  readonly #wordHash: (id: number, word: string) => number;

  constructor(
    weights: Uint8Array,
    table: ModelTable,
    classes: FeatureClasses,
    words: readonly string[],
  ) {
    if (weights.length !== WIDTH * 2 ** table.bits) {
      throw new Error(
        `classifier weights are ${String(weights.length)} bytes, not ${String(WIDTH)} x 2^${String(table.bits)}`,
      );
    }
    const signed = new Int8Array(weights.buffer, weights.byteOffset, weights.length);
    this.#sums = new Sums(signed, table.bits, words.length);
    this.#heads = HEADS.map((name) => table.heads[name]);
    this.#classes = classes;
    const hashes = Int32Array.from(words, hashWord);
    this.#wordHash = (id, word) => (id >= 0 ? (hashes[id] ?? 0) : hashWord(word));
  }

  #thresholds(analysis: Analysis): number[] {
    const classes = this.#classes;
    const anywhere = (set: ReadonlySet<number>): boolean =>
      analysis.tokens.words.some((_word, k) => says(analysis, k, set));
    const short = analysis.tokens.words.length <= FEW_WORDS;
    const request =
      begins(analysis, classes.request, LONGEST_REQUEST) ||
      (analysis.tokens.questions > 0 && begins(analysis, classes.question, FEW_WORDS));
    // "I'm such an idiot" is aimed at nobody else.
    const atSelf = analysis.marks.present[classes.first] === 1 && !anywhere(classes.persons);
    const harsh =
      (anywhere(classes.harsh) && !atSelf) ||
      (anywhere(classes.coarse) && anywhere(short ? classes.addressed : classes.persons));
    const own = [harsh, true, anywhere(classes.distress)];
    return this.#heads.map((head, h) => {
      if (request && !(h === VIOLATION && harsh)) return head.threshold_request;
      if (own[h] === true) return short ? head.threshold_short : head.threshold;
      return short ? head.threshold_short_bare : head.threshold_bare;
    });
  }

  /** The highest score of any stretch of the text. */
  score(analysis: Analysis, ruleIds: readonly string[]): ModelScores {
    const best = [0, 0, 0];
    const thresholds = this.#thresholds(analysis);
    const { sentences } = analysis;
    let from = 0;
    for (let to = 1; to <= sentences.length; to++) {
      const start = sentences[from]?.from ?? 0;
      const end = sentences[to - 1]?.to ?? 0;
      if (to < sentences.length && end - start < STRETCH) continue;
      this.#sums.clear();
      emit(analysis, from, to, this.#classes, this.#wordHash, this.#sums);
      emitWhole(analysis, ruleIds, this.#classes, this.#sums);
      const norm = Math.sqrt(this.#sums.count);
      for (let h = 0; h < WIDTH; h++) {
        const head = this.#heads[h];
        if (head === undefined) continue;
        const margin = ((this.#sums.sums[h] ?? 0) * head.scale) / norm + head.bias;
        const milli = Math.round(1000 * logistic(head.slope * (margin - (thresholds[h] ?? 0))));
        if (milli > (best[h] ?? 0)) best[h] = milli;
      }
      from = to;
    }
    return {
      violation_milli: best[0] ?? 0,
      policy_milli: best[1] ?? 0,
      crisis_milli: best[2] ?? 0,
    };
  }
}

function says(analysis: Analysis, k: number, classes: ReadonlySet<number>): boolean {
  const spans = analysis.marks.spans[k];
  if (spans === undefined || ((analysis.flags[k] ?? 0) & OTHERS) !== 0) return false;
  for (let c = 0; c < spans.length; c += 2) if (classes.has(spans[c] ?? -1)) return true;
  return false;
}

const OTHERS = QUOTED | REPORTED;
/** "I hate my hair today": texts this short. */
const FEW_WORDS = 12;
const LONGEST_REQUEST = 24;

/** "How do I ...?", "Write a ...": short, and begun by a word of asking. */
function begins(analysis: Analysis, begin: number, longest: number): boolean {
  if (analysis.tokens.words.length > longest) return false;
  const spans = analysis.marks.spans[0];
  if (spans === undefined) return false;
  for (let c = 0; c < spans.length; c += 2) if (spans[c] === begin) return true;
  return false;
}
