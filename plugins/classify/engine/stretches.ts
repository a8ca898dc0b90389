// A long text is read in stretches, each like a text of its own, and the worst counts: distant sentences must neither hide a
// sentence nor lend it a meaning. gateway/API.md §6.1.
import type { Analysis } from './analysis.ts';
import type { Marks } from './marks.ts';
import type { Sentence } from './marks.ts';
import type { Tokens } from './tokens.ts';

/** Up to so many words a text is read as one: what was learnt from is no longer, and its sentences explain each other. */
const LONGEST_WHOLE = 90;
/** After so many words a stretch ends with its sentence. A sentence alone shows its words; among others, their meaning. */
const SCALES = [12, LONGEST_WHOLE];

/**
 * The readings of a long text, each the stretches it is cut into: views on its rows, which live as long as these. Undefined for
 * a text that is read as one.
 */
export function readingsOf(analysis: Analysis): Analysis[][] | undefined {
  if (analysis.tokens.words.length <= LONGEST_WHOLE) return undefined;
  return SCALES.map((words) => stretchesOf(analysis, words));
}

function stretchesOf(analysis: Analysis, words: number): Analysis[] {
  const { sentences } = analysis.marks;
  const stretches: Analysis[] = [];
  let first = 0;
  sentences.forEach(({ to }, last) => {
    const from = sentences[first]?.from ?? 0;
    if (last + 1 < sentences.length && to - from < words) return;
    stretches.push(stretch(analysis, sentences.slice(first, last + 1), from, to));
    first = last + 1;
  });
  return stretches;
}

function stretch(
  { text, tokens, marks, flags, capitals_milli, foreign_milli }: Analysis,
  sentences: readonly Sentence[],
  start: number,
  end: number,
): Analysis {
  return {
    text,
    tokens: tokensIn(tokens, start, end),
    marks: marksIn(marks, sentences, start, end),
    flags: flags.subarray(start, end),
    capitals_milli,
    foreign_milli,
  };
}

function tokensIn(tokens: Tokens, start: number, end: number): Tokens {
  // A mark belongs to the word before it, or to the first word.
  const within = (places: readonly number[], behind: 0 | 1): number[] =>
    places
      .slice(start === 0 ? 0 : firstFrom(places, start + behind), firstFrom(places, end + behind))
      .map((place) => place - start);
  return {
    words: tokens.words.slice(start, end),
    quoted: tokens.quoted.slice(start, end),
    ids: tokens.ids.subarray(start, end),
    starts: tokens.starts.subarray(start, end),
    ends: tokens.ends.subarray(start, end),
    breaks: tokens.breaks.subarray(start, end),
    exclamations: within(tokens.exclamations, 1),
    questions: within(tokens.questions, 1),
    disguised: within(tokens.disguised, 0),
  };
}

/** Index of the first of ascending numbers that is at least `least`, by binary search, since every stretch asks. */
function firstFrom(rising: readonly number[], least: number): number {
  let from = 0;
  let to = rising.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((rising[middle] ?? 0) < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** `words` stays that of the whole text: it only says what need not be looked for. */
function marksIn(marks: Marks, sentences: readonly Sentence[], start: number, end: number): Marks {
  const { places, lists, words } = marks;
  const present = new Uint8Array(marks.present.length);
  for (const { from, to, mask } of sentences) {
    for (let at = from; at < to; at++) {
      const place = places[at] ?? 0;
      const last = place + (lists[place] ?? 0);
      for (let k = place + 1; k < last; k += 2) {
        const cls = lists[k] ?? 0;
        present[cls] = (present[cls] ?? 0) | mask;
      }
    }
  }
  return {
    ...{ lists, words, present },
    places: places.subarray(start, end),
    sentences: sentences.map((one) => ({ ...one, from: one.from - start, to: one.to - start })),
    bits: marks.bits.subarray(start, end),
    kinds: marks.kinds.subarray(start, end),
    known: marks.known,
  };
}
