// Rules as data (catalogs/classify/rules): compiled once, then only those whose key word stands in a sentence are tried.
import { compile, find, newScratch, possible } from './patterns.ts';
import type { Pattern, Window } from './patterns.ts';
import type { Lexicon, Marks } from './lexicon.ts';
import { DENIED, QUOTED, REPORTED } from './scope.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** One rule as it stands in the catalog. */
export interface RuleSource {
  readonly id: string;
  /** How sure the rule is, in thousandths; 500 and more decides alone. 0 is a guard for the models: it never speaks. */
  readonly milli: number;
  /** `assert` (default): silent when denied, quoted or reported. `plain`: silent when quoted or reported. `unquoted`: silent when quoted. `any`: always. */
  readonly scope?: 'assert' | 'plain' | 'unquoted' | 'any';
  /** How many neighbouring sentences a match may cover, 1 (default) or 2. */
  readonly span?: 1 | 2;
  readonly any: readonly string[];
  /** Patterns that silence the rule in the same window. */
  readonly unless?: readonly string[];
}

/** The rules that spoke, and those that matched but were silenced by a guard or by what the sentence does with its words. */
export interface Hits {
  readonly spoken: Hit[];
  readonly silenced: Set<string>;
}

/** A rule that spoke: which one, on which tokens. */
export interface Hit {
  readonly id: string;
  readonly milli: number;
  readonly pattern: string;
  readonly from: number;
  readonly to: number;
}

interface Rule {
  readonly id: string;
  readonly milli: number;
  readonly mask: number;
  readonly span: 1 | 2;
  readonly unless: readonly Pattern[];
}

interface Entry {
  readonly rule: Rule;
  readonly pattern: Pattern;
}

/** A set of rules, tried together. */
export class RuleSet {
  readonly #entries: Entry[] = [];
  /** Patterns by word id and by class id; dense, since holes make lookups slow. */
  readonly #byWord: (number[] | undefined)[];
  readonly #byClass: (number[] | undefined)[];
  readonly #seen: Int32Array;
  #round = 0;
  readonly #scratch = newScratch();

  constructor(
    sources: readonly RuleSource[],
    lexicon: Lexicon,
    vocabulary: Vocabulary,
    common: ReadonlySet<string>,
  ) {
    const words = new Map<number, number[]>();
    const classes = new Map<number, number[]>();
    const commonIds = new Set([...common].map((word) => vocabulary.id(word)));
    for (const source of sources) {
      const rule: Rule = {
        id: source.id,
        milli: source.milli,
        mask: MASKS[source.scope ?? 'assert'],
        span: source.span ?? 1,
        unless: (source.unless ?? []).map((text) => compile(text, lexicon, vocabulary)),
      };
      for (const text of source.any)
        this.#index(
          { rule, pattern: compile(text, lexicon, vocabulary) },
          commonIds,
          words,
          classes,
        );
    }
    this.#byWord = dense(words, vocabulary.size);
    this.#byClass = dense(classes, lexicon.size);
    this.#seen = new Int32Array(this.#entries.length);
  }

  /** Files a pattern under every alternative of its rarest step. */
  #index(
    entry: Entry,
    common: ReadonlySet<number>,
    words: Map<number, number[]>,
    classes: Map<number, number[]>,
  ): void {
    const at = this.#entries.push(entry) - 1;
    let key = -1;
    let least = Infinity;
    entry.pattern.steps.forEach((step, k) => {
      if (step.kind !== 'match' || step.optional) return;
      let cost = step.words.length + 3 * step.classes.length;
      for (const word of step.words) if (common.has(word)) cost += 100;
      if (cost <= least) {
        least = cost;
        key = k;
      }
    });
    const step = entry.pattern.steps[key];
    if (step === undefined)
      throw new Error(`pattern without a word it needs: ${entry.pattern.source}`);
    for (const word of step.words) push(words, word, at);
    for (const cls of step.classes) push(classes, cls, at);
  }

  /** Every rule that speaks, each once, in the order of the text. */
  hits(
    tokens: Tokens,
    marks: Marks,
    flags: Uint8Array,
    sentences: readonly Window[],
    pairs: readonly Window[],
  ): Hits {
    const hits: Hits = { spoken: [], silenced: new Set() };
    const spoken = new Set<string>();
    for (let s = 0; s < sentences.length; s++) {
      const sentence = sentences[s];
      if (sentence === undefined) continue;
      const pair = pairs[s];
      this.#round = (this.#round + 1) | 0;
      const attempt = (list: readonly number[] | undefined): void => {
        if (list === undefined) return;
        for (const at of list) {
          if (this.#seen[at] === this.#round) continue;
          this.#seen[at] = this.#round;
          this.#try(at, tokens, marks, flags, sentence, pair, spoken, hits);
        }
      };
      for (let k = sentence.from; k < sentence.to; k++) {
        const id = tokens.ids[k] ?? -1;
        if (id >= 0 && id < this.#byWord.length) attempt(this.#byWord[id]);
        const spans = marks.spans[k];
        if (spans === undefined) continue;
        for (let c = 0; c < spans.length; c += 2) attempt(this.#byClass[spans[c] ?? 0]);
      }
    }
    return hits;
  }

  #try(
    at: number,
    tokens: Tokens,
    marks: Marks,
    flags: Uint8Array,
    sentence: Window,
    pair: Window | undefined,
    spoken: Set<string>,
    hits: Hits,
  ): void {
    const entry = this.#entries[at];
    if (entry === undefined || spoken.has(entry.rule.id)) return;
    if (!possible(entry.pattern, marks)) return;
    const { rule, pattern } = entry;
    const window = rule.span === 2 && pair !== undefined ? pair : sentence;
    const span = find(pattern, tokens, marks, window, this.#scratch);
    if (span === undefined) return;
    if (rule.milli === 0 || this.#silent(rule, span, tokens, marks, flags, window)) {
      if (rule.milli === 0 || rule.milli >= GRAVE) hits.silenced.add(rule.id);
      return;
    }
    spoken.add(rule.id);
    const { from, to } = span;
    hits.spoken.push({ id: rule.id, milli: rule.milli, pattern: pattern.source, from, to });
  }

  #silent(
    rule: Rule,
    span: Window,
    tokens: Tokens,
    marks: Marks,
    flags: Uint8Array,
    window: Window,
  ): boolean {
    for (let k = span.from; k < span.to; k++) if (((flags[k] ?? 0) & rule.mask) !== 0) return true;
    return rule.unless.some(
      (guard) =>
        possible(guard, marks) && find(guard, tokens, marks, window, this.#scratch) !== undefined,
    );
  }
}

function push(map: Map<number, number[]>, key: number, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

function dense(map: ReadonlyMap<number, number[]>, size: number): (number[] | undefined)[] {
  return Array.from({ length: size }, (_hole, k) => map.get(k));
}

/** Guards of rules this sure speak to the models too. */
const GRAVE = 900;
const MASKS = {
  assert: DENIED | QUOTED | REPORTED,
  plain: QUOTED | REPORTED,
  unquoted: QUOTED,
  any: 0,
} as const;
