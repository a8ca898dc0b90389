// Rules as data (catalogs/classify/rules): compiled once, then only those whose key word stands in a sentence are tried.
import { Needs } from './needs.ts';
import { compile, find, newScratch } from './patterns.ts';
import type { Pattern, Step, Window } from './patterns.ts';
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
  readonly unless: readonly Guard[];
}

/** One text, as the rules read it. */
interface Text {
  readonly tokens: Tokens;
  readonly marks: Marks;
  readonly flags: Uint8Array;
}

interface Guard {
  readonly pattern: Pattern;
  readonly needs: number;
}

interface Entry {
  readonly rule: Rule;
  readonly pattern: Pattern;
}

/** A set of rules, tried together. */
export class RuleSet {
  readonly #entries: Entry[] = [];
  readonly #needs = new Needs();
  /** For each entry, where its needs are filed. */
  readonly #places: number[] = [];
  /** Lists of patterns; the first is empty. */
  readonly #lists: (readonly number[])[] = [[]];
  /** Which list to try, by word id and by class id: small numbers, for a text asks for each of its words. */
  readonly #byWord: Uint16Array;
  readonly #byClass: Uint16Array;
  /** The round in which a pattern, and a class, was tried last. */
  readonly #seen: Int32Array;
  readonly #seenClass: Int32Array;
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
        unless: (source.unless ?? []).map((text) => {
          const pattern = compile(text, lexicon, vocabulary);
          return { pattern, needs: this.#needs.add(pattern) };
        }),
      };
      for (const text of source.any)
        this.#index(
          { rule, pattern: compile(text, lexicon, vocabulary) },
          commonIds,
          words,
          classes,
        );
    }
    this.#needs.seal();
    this.#byWord = this.#file(words, vocabulary.size);
    this.#byClass = this.#file(classes, lexicon.size);
    this.#seen = new Int32Array(this.#entries.length);
    this.#seenClass = new Int32Array(lexicon.size);
  }

  #file(lists: ReadonlyMap<number, number[]>, size: number): Uint16Array {
    const at = new Uint16Array(size);
    for (const [key, list] of lists) at[key] = this.#lists.push(list) - 1;
    return at;
  }

  /** Files a pattern under every alternative of its rarest step. */
  #index(
    entry: Entry,
    common: ReadonlySet<number>,
    words: Map<number, number[]>,
    classes: Map<number, number[]>,
  ): void {
    const at = this.#entries.push(entry) - 1;
    let key: Step | undefined;
    let least = Infinity;
    for (const step of entry.pattern.steps) {
      if (!entry.pattern.needed.includes(step)) continue;
      let cost = step.words.length + 3 * step.classes.length;
      for (const word of step.words) if (common.has(word)) cost += 100;
      if (cost <= least) {
        least = cost;
        key = step;
      }
    }
    if (key === undefined)
      throw new Error(`pattern without a word it needs: ${entry.pattern.source}`);
    this.#places.push(this.#needs.add(entry.pattern, key));
    for (const word of key.words) push(words, word, at);
    for (const cls of key.classes) push(classes, cls, at);
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
    const text: Text = { tokens, marks, flags };
    const { ids } = tokens;
    const byWord = this.#byWord;
    const byClass = this.#byClass;
    const seenClass = this.#seenClass;
    for (let s = 0; s < sentences.length; s++) {
      const sentence = sentences[s];
      if (sentence === undefined) continue;
      const pair = pairs[s] ?? sentence;
      const round = (this.#round = (this.#round + 1) | 0);
      for (let k = sentence.from; k < sentence.to; k++) {
        const id = ids[k] ?? -1;
        const list = id >= 0 ? (byWord[id] ?? 0) : 0;
        if (list !== 0) this.#tryAll(list, text, sentence, pair, hits);
        const spans = marks.spans[k];
        if (spans === undefined) continue;
        for (let c = 0; c < spans.length; c += 2) {
          const cls = spans[c] ?? 0;
          if (seenClass[cls] === round) continue;
          seenClass[cls] = round;
          const own = byClass[cls] ?? 0;
          if (own !== 0) this.#tryAll(own, text, sentence, pair, hits);
        }
      }
    }
    return hits;
  }

  #tryAll(list: number, text: Text, sentence: Window, pair: Window, hits: Hits): void {
    const seen = this.#seen;
    const round = this.#round;
    for (const at of this.#lists[list] ?? []) {
      if (seen[at] === round) continue;
      seen[at] = round;
      if (!this.#needs.met(this.#places[at] ?? 0, text.marks)) continue;
      const entry = this.#entries[at];
      if (entry !== undefined) this.#try(entry, text, sentence, pair, hits);
    }
  }

  #try({ rule, pattern }: Entry, text: Text, sentence: Window, pair: Window, hits: Hits): void {
    const { tokens, marks, flags } = text;
    for (const { id } of hits.spoken) if (id === rule.id) return;
    const window = rule.span === 2 ? pair : sentence;
    const span = find(pattern, tokens, marks, window, this.#scratch);
    if (span === undefined) return;
    if (rule.milli === 0 || this.#silent(rule, span, tokens, marks, flags, window)) {
      if (rule.milli === 0 || rule.milli >= GRAVE) hits.silenced.add(rule.id);
      return;
    }
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
    for (const { pattern, needs } of rule.unless) {
      if (!this.#needs.met(needs, marks)) continue;
      if (find(pattern, tokens, marks, window, this.#scratch) !== undefined) return true;
    }
    return false;
  }
}

function push(map: Map<number, number[]>, key: number, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** Guards of rules this sure speak to the models too. */
const GRAVE = 900;
const MASKS = {
  assert: DENIED | QUOTED | REPORTED,
  plain: QUOTED | REPORTED,
  unquoted: QUOTED,
  any: 0,
} as const;
