// Rules as data (catalogs/classify/rules): compiled once, then only those whose key word stands in a sentence are tried.
import type { Matcher } from './matcher.ts';
import { Needs } from './needs.ts';
import type { Pattern, Sentence, Step, Window } from './patterns.ts';
import { keysFor } from './rule-keys.ts';
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

/** Rules of one table, in the order of the text; the tables in the order they were given. */
export interface Hits {
  /** Those that spoke, each once. */
  readonly spoken: readonly Hit[][];
  /** For each table, whether a rule matched but was silenced by a guard or by what the sentence does with its words. */
  readonly silenced: boolean[];
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
  /** Which of the tables it stands in. */
  readonly table: number;
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
  readonly sentences: readonly Sentence[];
}

interface Guard {
  readonly steps: number;
  readonly needs: number;
}

interface Entry {
  readonly rule: Rule;
  readonly pattern: Pattern;
}

/** Tables of rules, tried together in one pass over a text. */
export class RuleSet {
  readonly #entries: Entry[] = [];
  readonly #needs = new Needs();
  /** For each entry where its needs and its steps are filed, whether its window is the neighbourhood, its rule's number. */
  readonly #rows: Int32Array;
  /** For each rule the text in which it spoke last. */
  readonly #spokeIn: Int32Array;
  #text = 0;
  /** Lists of patterns; the first is empty. */
  readonly #lists: (readonly number[])[] = [[]];
  /** Which list to try, by word id and by class id: small numbers, for a text asks for each of its words. */
  readonly #byWord: Uint16Array;
  readonly #byClass: Uint16Array;
  /** The round in which a pattern, and a class, was tried last. */
  readonly #seen: Int32Array;
  readonly #seenClass: Int32Array;
  #round = 0;
  readonly #matcher: Matcher;
  readonly #tables: number;

  constructor(
    tables: readonly (readonly RuleSource[])[],
    patterns: ReadonlyMap<string, Pattern>,
    matcher: Matcher,
    lexicon: Lexicon,
    vocabulary: Vocabulary,
    common: ReadonlySet<string>,
  ) {
    this.#tables = tables.length;
    this.#matcher = matcher;
    const compiled = (source: string): Pattern => {
      const pattern = patterns.get(source);
      if (pattern === undefined) throw new Error(`pattern not compiled: ${source}`);
      return pattern;
    };
    const words = new Map<number, number[]>();
    const classes = new Map<number, number[]>();
    const needs: number[] = [];
    const keyOf = keysFor(lexicon, new Set([...common].map((word) => vocabulary.id(word))));
    for (const [table, source] of tables.flatMap((own, at) =>
      own.map((one) => [at, one] as const),
    )) {
      const rule: Rule = {
        id: source.id,
        table,
        milli: source.milli,
        mask: MASKS[source.scope ?? 'assert'],
        span: source.span ?? 1,
        unless: (source.unless ?? []).map((text) => {
          const pattern = compiled(text);
          return { steps: matcher.add(pattern), needs: this.#needs.add(pattern) };
        }),
      };
      for (const text of source.any) {
        const pattern = compiled(text);
        this.#index({ rule, pattern }, keyOf(pattern, rule.span), words, classes, needs);
      }
    }
    this.#needs.seal();
    const ids = [...new Set(this.#entries.map(({ rule }) => rule.id))];
    this.#spokeIn = new Int32Array(ids.length);
    const numbers = new Map(ids.map((id, number) => [id, number]));
    this.#rows = Int32Array.from(
      this.#entries.flatMap(({ rule: { id, span }, pattern }, at) => [
        needs[at] ?? 0,
        matcher.add(pattern),
        span === 2 ? 1 : 0,
        numbers.get(id) ?? 0,
      ]),
    );
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

  /** Files a pattern under every alternative of its key. */
  #index(
    entry: Entry,
    key: Step,
    words: Map<number, number[]>,
    classes: Map<number, number[]>,
    needs: number[],
  ): void {
    const at = this.#entries.push(entry) - 1;
    needs.push(this.#needs.add(entry.pattern, key));
    for (const word of key.words) push(words, word, at);
    for (const cls of key.classes) push(classes, cls, at);
  }

  /** Every rule that speaks. */
  hits(text: Text): Hits {
    const hits: Hits = {
      spoken: Array.from({ length: this.#tables }, () => []),
      silenced: new Array<boolean>(this.#tables).fill(false),
    };
    const { marks, sentences } = text;
    const { ids } = text.tokens;
    const byWord = this.#byWord;
    const byClass = this.#byClass;
    const seenClass = this.#seenClass;
    this.#text = (this.#text + 1) | 0;
    for (let s = 0; s < sentences.length; s++) {
      const sentence = sentences[s];
      if (sentence === undefined) continue;
      const round = (this.#round = (this.#round + 1) | 0);
      const around = neighbourhood(sentences, s, sentence);
      for (let k = sentence.from; k < sentence.to; k++) {
        const id = ids[k] ?? -1;
        const list = id >= 0 ? (byWord[id] ?? 0) : 0;
        if (list !== 0) this.#tryAll(list, text, sentence, around, hits);
        const spans = marks.spans[k];
        if (spans === undefined) continue;
        for (let c = 0; c < spans.length; c += 2) {
          const cls = spans[c] ?? 0;
          if (seenClass[cls] === round) continue;
          seenClass[cls] = round;
          const own = byClass[cls] ?? 0;
          if (own !== 0) this.#tryAll(own, text, sentence, around, hits);
        }
      }
    }
    return hits;
  }

  #tryAll(list: number, text: Text, own: Sentence, around: Sentence, hits: Hits): void {
    const seen = this.#seen;
    const round = this.#round;
    const rows = this.#rows;
    for (const at of this.#lists[list] ?? []) {
      if (seen[at] === round) continue;
      seen[at] = round;
      const row = at * ROW;
      const rule = rows[row + 3] ?? 0;
      if (this.#spokeIn[rule] === this.#text) continue;
      const window = rows[row + 2] === 1 ? around : own;
      if (!this.#needs.met(rows[row] ?? 0, text.marks, window.words, window.classes)) continue;
      const span = this.#matcher.find(rows[row + 1] ?? 0, text.tokens, text.marks, window);
      const entry = span === undefined ? undefined : this.#entries[at];
      if (span === undefined || entry === undefined) continue;
      if (this.#take(entry, span, text, window, hits)) this.#spokeIn[rule] = this.#text;
    }
  }

  /** Whether the rule speaks where its pattern stands. */
  #take({ rule, pattern }: Entry, span: Window, text: Text, window: Sentence, hits: Hits): boolean {
    if (rule.milli === 0 || this.#silent(rule, span, text, window)) {
      if (rule.milli === 0 || rule.milli >= GRAVE) hits.silenced[rule.table] = true;
      return false;
    }
    const { from, to } = span;
    hits.spoken[rule.table]?.push({
      id: rule.id,
      milli: rule.milli,
      pattern: pattern.source,
      from,
      to,
    });
    return true;
  }

  #silent(rule: Rule, span: Window, { tokens, marks, flags }: Text, window: Sentence): boolean {
    for (let k = span.from; k < span.to; k++) if (((flags[k] ?? 0) & rule.mask) !== 0) return true;
    for (const { steps, needs } of rule.unless) {
      if (!this.#needs.met(needs, marks, window.words, window.classes)) continue;
      if (this.#matcher.find(steps, tokens, marks, window) !== undefined) return true;
    }
    return false;
  }
}

/** A sentence with the ones before and behind it. */
function neighbourhood(sentences: readonly Sentence[], at: number, own: Sentence): Sentence {
  const before = sentences[at - 1] ?? own;
  const behind = sentences[at + 1] ?? own;
  return {
    from: before.from,
    to: behind.to,
    words: before.words | own.words | behind.words,
    classes: before.classes | own.classes | behind.classes,
  };
}

function push(map: Map<number, number[]>, key: number, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** Guards of rules this sure speak to the models too. */
const GRAVE = 900;
/** Numbers of each entry. */
const ROW = 4;
const MASKS = {
  assert: DENIED | QUOTED | REPORTED,
  plain: QUOTED | REPORTED,
  unquoted: QUOTED,
  any: 0,
} as const;
