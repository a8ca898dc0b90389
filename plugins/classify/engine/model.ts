// The linear models: int8 weights in a hashed table, summed as integers, so that every machine gets the same number.
import type { Analysis } from './analysis.ts';
import { emit, emitWhole } from './features.ts';
import { ADDRESSED, COARSE, DISTRESS, FIRST, HARSH, PERSON, QUESTION, REQUEST } from './kinds.ts';
import type { FeatureClasses } from './kinds.ts';
import { QUOTED, REPORTED } from './scope.ts';
import { logistic } from './arithmetic.ts';
import { Sums, WIDTH } from './sums.ts';
import { hashWord } from './vocabulary.ts';

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
const VIOLATION = 0;

/** How the sum of a model becomes thousandths: logistic(slope x (sum x scale + bias - threshold)). */
export interface Head {
  readonly scale: number;
  readonly bias: number;
  readonly threshold: number;
  /** The same for texts of few words, where one word weighs too much. */
  readonly threshold_short: number;
  /** The threshold for texts without what is the model's own: a harsh word, a rule of the trade, a word of distress. */
  readonly threshold_bare: number;
  /** The same for texts of few words. */
  readonly threshold_short_bare: number;
  /** The threshold for short questions and orders to an assistant, which talk about a thing more often than do it. */
  readonly threshold_request: number;
  /** Added to each of them in texts of a trade, where a named group is the subject more often than the target. */
  readonly threshold_trade: number;
  readonly slope: number;
}

/** catalogs/classify/model.json. */
export interface ModelTable {
  /** Binary logarithm of the number of rows of weights.bin; a row holds one byte for each head. */
  readonly bits: number;
  /**
   * How much higher the thresholds are for the worst of two stretches, of four again, and so on: of many, one looks bad by
   * chance. On the scale of the margin.
   */
  readonly caution: number;
  readonly heads: Readonly<Record<(typeof HEADS)[number], Head>>;
}

/** The loaded models. */
export class Model {
  readonly #sums: Sums;
  readonly #heads: readonly Head[];
  readonly #caution: number;
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
    this.#sums = new Sums(signed, table.bits, words, classes);
    this.#caution = table.caution;
    this.#heads = HEADS.map((name) => table.heads[name]);
    this.#classes = classes;
    const hashes = Int32Array.from(words, hashWord);
    this.#wordHash = (id, word) => (id >= 0 ? (hashes[id] ?? 0) : hashWord(word));
  }

  #thresholds(analysis: Analysis, ruled: boolean, trade: boolean): number[] {
    const { tokens, marks } = analysis;
    const said = saidOf(analysis);
    const short = tokens.words.length <= FEW_WORDS;
    const begin = tokens.words.length > 0 ? (marks.kinds[0] ?? 0) : 0;
    const request =
      ((begin & REQUEST) !== 0 && tokens.words.length <= LONGEST_REQUEST) ||
      (tokens.questions.length > 0 && (begin & QUESTION) !== 0 && short);
    // "I'm such an idiot" is aimed at the speaker.
    const atSelf = namesSpeaker(analysis) && (said & PERSON) === 0;
    const harsh =
      ((said & HARSH) !== 0 && !atSelf) ||
      ((said & COARSE) !== 0 && (said & (short ? ADDRESSED : PERSON)) !== 0);
    const own = [harsh, ruled, (said & DISTRESS) !== 0];
    return this.#heads.map((head, h) => {
      const more = trade ? head.threshold_trade : 0;
      if (request && !(h === VIOLATION && harsh)) return head.threshold_request + more;
      if (own[h] === true) return (short ? head.threshold_short : head.threshold) + more;
      return (short ? head.threshold_short_bare : head.threshold_bare) + more;
    });
  }

  /** `trade` where a domain has rules of its own; `stretches` is of how many the worst will be taken. */
  score(
    analysis: Analysis,
    ruleIds: readonly string[],
    trade: boolean,
    stretches: number,
  ): ModelScores {
    emit(analysis, this.#classes, this.#wordHash, this.#sums);
    emitWhole(analysis, ruleIds, trade, this.#classes, this.#sums);
    const { violation, policy, crisis, count } = this.#sums.take();
    const norm = Math.sqrt(count);
    const thresholds = this.#thresholds(analysis, ruleIds.some(isTrade), trade);
    const more = this.#caution * doublings(stretches);
    const milli = (sum: number, h: number): number => {
      const { scale, bias, slope } = this.#heads[h] ?? NO_HEAD;
      const margin = (sum * scale) / norm + bias;
      return Math.round(1000 * logistic(slope * (margin - (thresholds[h] ?? 0) - more)));
    };
    return {
      violation_milli: milli(violation, 0),
      policy_milli: milli(policy, 1),
      crisis_milli: milli(crisis, 2),
    };
  }
}

/** The binary logarithm, read from a polygon: every machine gets the same number. */
function doublings(n: number): number {
  const whole = 31 - Math.clz32(n);
  return whole + n / 2 ** whole - 1;
}

/** Whether a rule is one of a trade, and not of hate, threats or distress. */
function isTrade(rule: string): boolean {
  return !rule.startsWith('general.') && !rule.startsWith('crisis.');
}

/** What the words are that the speaker says himself. */
function saidOf({ marks, flags }: Analysis): number {
  let said = 0;
  for (let k = 0; k < flags.length; k++)
    if (((flags[k] ?? 0) & OTHERS) === 0) said |= marks.kinds[k] ?? 0;
  return said;
}

function namesSpeaker({ marks, flags }: Analysis): boolean {
  for (let k = 0; k < flags.length; k++) if (((marks.kinds[k] ?? 0) & FIRST) !== 0) return true;
  return false;
}

const NO_HEAD = { scale: 0, bias: 0, slope: 0 };
const OTHERS = QUOTED | REPORTED;
/** "I hate my hair today": texts this short. */
const FEW_WORDS = 12;
/** "How do I ...?", "Write a ...": this short, and begun by a word of asking. */
const LONGEST_REQUEST = 24;
