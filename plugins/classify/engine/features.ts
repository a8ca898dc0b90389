// The features of the linear models: words, pairs and letter groups, each hashed. Training and classification share this file.
import type { Analysis } from './analysis.ts';
import type { Window } from './marks.ts';
import { FIRST, GROUP, HOSTILE, KIND, SLUR, TELLING, YOU } from './kinds.ts';
import type { FeatureClasses } from './kinds.ts';
import { DENIED, QUOTED, REPORTED } from './scope.ts';
import { hashWord } from './vocabulary.ts';

/** Takes the features of one stretch of text. */
export interface Sink {
  /** A feature, as a 32-bit hash. */
  add(hash: number): void;
  /** What a word is by itself (`wordFeatures`); `id` is its vocabulary id or -1. */
  word(id: number, word: string, hash: number, state: number, company: number): void;
  /** A telling class in a state, in a sentence's company. */
  telling(cls: number, state: number, company: number): void;
  /** Every pair of the telling classes that occur in the text, in their order. */
  pairs(present: readonly number[]): void;
}

const UNIGRAM = 1;
const BIGRAM = 2;
const SKIP = 3;
const TOGETHER = 4;
const CLASS = 5;
const STYLE = 6;
const RULE = 7;
const SHAPE = 8;
const PAIR = 9;
/** Stand for the hash of every word of these classes. */
export const GROUP_WORD = 0x5bd1e995;
export const SLUR_WORD = 0x1b873593;
const EDGE = 0x2545f491;
/** From so many letters on "aaaaaaaa" would count for more than any word does. */
const LONG_WORD = 6;

/** Two 32-bit values into one; every bit of both counts. */
function mix(a: number, b: number): number {
  let h = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  h ^= h >>> 15;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 13);
}

/** Letter groups of three to five inside `<word>`; each but once in a long word that is made of few of them. */
export function letterGroups(word: string, sink: Pick<Sink, 'add'>): void {
  if (word.length < LONG_WORD || letters(word) * 2 > word.length) {
    eachGroup(word, sink);
    return;
  }
  const groups: number[] = [];
  eachGroup(word, { add: (hash) => groups.push(hash) });
  const distinct = new Set(groups);
  for (const hash of distinct.size * 2 > groups.length ? groups : distinct) sink.add(hash);
}

/** How many letters a word has, each counted once and some taken for each other: few groups are made of few letters. */
function letters(word: string): number {
  let bits = 0;
  let count = 0;
  for (let k = 0; k < word.length; k++) {
    const bit = 1 << (word.charCodeAt(k) & 31);
    if ((bits & bit) === 0) count++;
    bits |= bit;
  }
  return count;
}

function eachGroup(word: string, sink: Pick<Sink, 'add'>): void {
  const edged = `<${word}>`;
  for (let i = 0; i + 3 <= edged.length; i++) {
    let h = 0x7feb352d;
    for (let k = i; k < edged.length && k < i + 5; k++) {
      h = Math.imul(h ^ edged.charCodeAt(k), 0x01000193);
      if (k >= i + 2) sink.add(mix(h, k - i));
    }
  }
}

/** The features of a word in a state: alone, and with the company of the sentence. */
export function wordInState(
  hash: number,
  state: number,
  company: number,
  sink: Pick<Sink, 'add'>,
): void {
  sink.add(mix(mix(UNIGRAM, hash), state));
  sink.add(mix(mix(TOGETHER, hash), company * 4 + state));
}

/** The same and, where the word is the speaker's and no group, its letters. */
export function wordFeatures(
  word: string,
  hash: number,
  state: number,
  company: number,
  sink: Pick<Sink, 'add'>,
): void {
  wordInState(hash, state, company, sink);
  if (hash !== GROUP_WORD && state !== OTHERS) letterGroups(word, sink);
}

/** The features of one telling class, named by its hash: its state, alone and with the company of the sentence. */
export function tellingClass(
  hash: number,
  state: number,
  company: number,
  sink: Pick<Sink, 'add'>,
): void {
  const at = mix(CLASS, hash);
  sink.add(mix(at, state));
  sink.add(mix(at, 8 + state * 8 + company));
}

/** The feature of two telling classes in one text, named by their hashes. */
export function classPair(first: number, second: number): number {
  return mix(mix(PAIR, first), second);
}

/** Emits the features of all sentences. */
export function emit(
  analysis: Analysis,
  classes: FeatureClasses,
  wordHash: (id: number, word: string) => number,
  sink: Sink,
): void {
  for (const sentence of analysis.marks.sentences)
    emitSentence(analysis, sentence, classes, wordHash, sink);
}

/** Emits what concerns a stretch as a whole: pairs of its classes, rules that spoke in it, its manner. */
export function emitWhole(
  analysis: Analysis,
  ruleIds: readonly string[],
  trade: boolean,
  classes: FeatureClasses,
  sink: Sink,
): void {
  const present: number[] = [];
  const { present: stands } = analysis.marks;
  for (const cls of trade ? classes.tellingTrade : classes.telling) {
    if (stands[cls] !== 0) present.push(cls);
  }
  sink.pairs(present);
  for (const id of ruleIds) sink.add(mix(RULE, hashWord(id)));
  const { tokens } = analysis;
  sink.add(mix(STYLE, 16 + Math.min(9, Math.floor(analysis.capitals_milli / 100))));
  sink.add(mix(STYLE, 32 + Math.min(3, tokens.exclamations.length)));
  sink.add(mix(STYLE, 48 + Math.min(2, tokens.questions.length)));
  sink.add(mix(STYLE, 64 + Math.min(2, tokens.disguised.length)));
  sink.add(mix(STYLE, 80 + Math.min(7, Math.floor(Math.log2(tokens.words.length + 1)))));
}

function emitSentence(
  analysis: Analysis,
  sentence: Window,
  classes: FeatureClasses,
  wordHash: (id: number, word: string) => number,
  sink: Sink,
): void {
  const { tokens, marks, flags } = analysis;
  const { kinds } = classes;
  const { places, lists } = marks;
  let company = 0;
  let hostile = 0;
  let kind = 0;
  for (let k = sentence.from; k < sentence.to; k++) {
    const all = marks.kinds[k] ?? 0;
    if (all === 0) continue;
    if ((all & HOSTILE) !== 0) hostile |= 1 << stateOf(flags[k] ?? 0);
    if ((all & KIND) !== 0) kind |= 1 << stateOf(flags[k] ?? 0);
    if ((all & (GROUP | SLUR)) !== 0) company |= 1;
    if ((all & YOU) !== 0) company |= 2;
    if ((all & FIRST) !== 0) company |= 4;
  }
  const shape = company | (hostile << 3) | (kind << 6);
  sink.add(mix(SHAPE, shape));
  sink.add(mix(SHAPE, 1024 + (company & 1) * 8 + hostile));
  let before = EDGE;
  let beforeThat = EDGE;
  for (let k = sentence.from; k < sentence.to; k++) {
    const id = tokens.ids[k] ?? -1;
    const word = tokens.words[k] ?? '';
    const state = stateOf(flags[k] ?? 0);
    let hash = wordHash(id, word);
    if (((marks.kinds[k] ?? 0) & OWN_FEATURE) !== 0) {
      const place = places[k] ?? 0;
      const last = place + (lists[place] ?? 0);
      for (let c = place + 1; c < last; c += 2) {
        const cls = lists[c] ?? 0;
        const is = kinds[cls] ?? 0;
        if ((is & GROUP) !== 0) hash = GROUP_WORD;
        else if ((is & SLUR) !== 0) hash = SLUR_WORD;
        if ((is & TELLING) !== 0) sink.telling(cls, state, company);
      }
    }
    sink.word(id, word, hash, state, company);
    sink.add(mix(mix(BIGRAM + state * 16, before), hash));
    if (beforeThat !== EDGE) sink.add(mix(mix(SKIP, beforeThat), hash));
    beforeThat = before;
    before = hash;
  }
  sink.add(mix(mix(BIGRAM, before), EDGE));
}

const OWN_FEATURE = GROUP | SLUR | TELLING;

const OTHERS = 2;

/** 0 said, 1 denied, 2 someone else's words. */
function stateOf(flag: number): number {
  return (flag & (QUOTED | REPORTED)) !== 0 ? OTHERS : (flag & DENIED) !== 0 ? 1 : 0;
}
