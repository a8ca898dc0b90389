// Rules as data (catalogs/classify/rules): compiled once, then only the rules whose key word occurs in a sentence are tried.
//
// A pattern is filed under the rarest of its steps. Compiled rules are rows of numbers: a text needs dozens of them, and
// separate objects would be scattered over the memory.

import { oftenness } from './lexicon.ts';
import type { Lexicon } from './lexicon.ts';
import type { Marks, Sentence, Window } from './marks.ts';
import type { Matcher } from './matcher.ts';
import { Needs } from './needs.ts';
import type { Pattern, Step } from './patterns.ts';
import { DENIED, QUOTED, REPORTED } from './scope.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** The key of a pattern in a rule of this span; `common` are the ids of function words. */
function keysFor(
  lexicon: Lexicon,
  common: ReadonlySet<number>,
): (pattern: Pattern, span: 1 | 2) => Step {
  const often = ({ words, classes }: Step): number =>
    words.reduce((all, id) => all + oftenness(common.has(id) ? 0 : id), 0) +
    classes.reduce((all, cls) => all + lexicon.often(cls), 0);
  const breadth = ({ words, classes }: Step): number =>
    words.length + 3 * classes.length + 100 * words.filter((word) => common.has(word)).length;
  // Of a rule that looks at neighbours the key also says whose: it may not hang on how common words are.
  return (pattern, span) => cheapest(pattern, span === 2 ? breadth : often);
}

function cheapest({ source, needed, steps }: Pattern, cost: (step: Step) => number): Step {
  let key: Step | undefined;
  let least = Infinity;
  for (const step of steps) {
    if (!needed.includes(step)) continue;
    const own = cost(step);
    if (own <= least) {
      least = own;
      key = step;
    }
  }
  if (key === undefined) throw new Error(`pattern without a word it needs: ${source}`);
  return key;
}

/** Numbers of each entry: what refuses it most often comes first. */
const ROW = 8;
/** The bits of the first thing it needs, see `Needs`. */
const WORD_BITS = 0;
const CLASS_BITS = 1;
/** 1 when its window is the neighbourhood. */
const NEIGHBOURS = 2;
/** The round in which it was tried last. */
const SEEN = 3;
/** The number of its rule. */
const RULE = 4;
/** Where its needs and its steps are filed. */
const NEEDS = 5;
const STEPS = 6;

/** Appends lists of entries to `lists`; gives where each is, by key. */
function fileLists(
  filed: ReadonlyMap<number, readonly number[]>,
  size: number,
  lists: number[],
): Int32Array {
  const at = new Int32Array(size);
  for (const [key, list] of filed) {
    at[key] = lists.push(list.length) - 1;
    lists.push(...list.map((entry) => entry * ROW));
  }
  return at;
}

/** One rule of the catalog. */
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
interface Hits {
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
  /** The table that holds it. */
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
  /** For each entry a row of numbers, see `ROW`. */
  readonly #rows: Int32Array;
  /** For each rule the text in which it spoke last. */
  readonly #spokeIn: Int32Array;
  #text = 0;
  /** Lists of entries: how many, then their rows. The first is empty. */
  readonly #lists: Int32Array;
  /** Where the list to try is, by word id and by class id. */
  readonly #byWord: Int32Array;
  readonly #byClass: Int32Array;
  /** The round in which a class was tried last. */
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
      this.#entries.flatMap(({ rule: { id, span }, pattern }, at) => {
        const [wordBits, classBits] = this.#needs.bits(needs[at] ?? 0);
        const neighbours = span === 2 ? 1 : 0;
        const number = numbers.get(id) ?? 0;
        const steps = matcher.add(pattern);
        return [wordBits, classBits, neighbours, 0, number, needs[at] ?? 0, steps, 0];
      }),
    );
    const lists = [0];
    this.#byWord = fileLists(words, vocabulary.size, lists);
    this.#byClass = fileLists(classes, lexicon.size, lists);
    this.#lists = Int32Array.from(lists);
    this.#seenClass = new Int32Array(lexicon.size);
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
    const { marks } = text;
    const { ids } = text.tokens;
    const { places, lists, sentences } = marks;
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
        const place = places[k] ?? 0;
        const last = place + (lists[place] ?? 0);
        for (let c = place + 1; c < last; c += 2) {
          const cls = lists[c] ?? 0;
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
    const lists = this.#lists;
    const round = this.#round;
    const rows = this.#rows;
    const last = list + (lists[list] ?? 0);
    for (let k = list + 1; k <= last; k++) {
      const row = lists[k] ?? 0;
      const window = rows[row + NEIGHBOURS] === 1 ? around : own;
      const words = (rows[row + WORD_BITS] ?? 0) & window.words;
      if ((words | ((rows[row + CLASS_BITS] ?? 0) & window.classes)) === 0) continue;
      if (rows[row + SEEN] === round) continue;
      rows[row + SEEN] = round;
      const rule = rows[row + RULE] ?? 0;
      if (this.#spokeIn[rule] === this.#text) continue;
      const needs = rows[row + NEEDS] ?? 0;
      if (!this.#needs.met(needs, text.marks, window)) continue;
      const span = this.#matcher.find(rows[row + STEPS] ?? 0, text.tokens, text.marks, window);
      const entry = span === undefined ? undefined : this.#entries[row / ROW];
      if (span === undefined || entry === undefined) continue;
      if (this.#take(entry, span, text, window, hits)) this.#spokeIn[rule] = this.#text;
    }
  }

  /** Whether the rule applies where its pattern occurs. */
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
      if (!this.#needs.met(needs, marks, window)) continue;
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
    mask: before.mask | own.mask | behind.mask,
  };
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
