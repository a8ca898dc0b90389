// Cuts normalised text into words and undoes the usual disguises: leet, spaced letters, stretched letters. gateway/API.md §6.1.
import { FNV_BASIS, FNV_PRIME } from './vocabulary.ts';
import type { Vocabulary } from './vocabulary.ts';
import {
  CLAUSE,
  SENTENCE,
  breakOf,
  endsPlainWord,
  letterRun,
  startsWord,
  wordEnd,
} from './word-ends.ts';
import type { Break } from './word-ends.ts';

/** What is known of each word, in parallel rows; they may be longer than the text. */
interface Rows {
  /** Vocabulary ids, -1 for a word the tables do not know. */
  ids: Int32Array;
  /** Offsets into the normalised text. */
  starts: Int32Array;
  ends: Int32Array;
  /** How strongly each is parted from the one before it, a `Break`. */
  breaks: Uint8Array;
}

/** The words of one text. The rows live until the next text is cut: making them anew takes longer than filling them. */
export interface Tokens extends Rows {
  readonly words: string[];
  /** True if the word is between quotation marks; no longer than up to the last such word, and empty if there is none. */
  readonly quoted: boolean[];
  /** The word after each mark. */
  exclamations: readonly number[];
  questions: readonly number[];
  /** Words that had to be undisguised. */
  disguised: readonly number[];
}

/** The UTF-16 units of the text in work: a string gives them one by one and slowly. Grows with the longest text. */
let units = new Uint16Array(1024);

function unitsOf(text: string): Uint16Array {
  const n = text.length;
  if (units.length < n) units = new Uint16Array(n * 2);
  for (let i = 0; i < n; i++) units[i] = text.charCodeAt(i);
  return units;
}

function rowsOf(length: number, { ids, starts, ends, breaks }: Partial<Rows>): Rows {
  const longer = {
    ids: new Int32Array(length),
    starts: new Int32Array(length),
    ends: new Int32Array(length),
    breaks: new Uint8Array(length),
  };
  longer.ids.set(ids ?? []);
  longer.starts.set(starts ?? []);
  longer.ends.set(ends ?? []);
  longer.breaks.set(breaks ?? []);
  return longer;
}

/** Grow with the text of the most words. */
let rows = rowsOf(256, {});

/** One left-to-right pass; the work for each character is bounded by a constant. */
export function tokenise(text: string, vocabulary: Vocabulary): Tokens {
  const codes = unitsOf(text);
  const tokens: Tokens = {
    words: [],
    quoted: [],
    ids: rows.ids,
    starts: rows.starts,
    ends: rows.ends,
    breaks: rows.breaks,
    exclamations: NOWHERE,
    questions: NOWHERE,
    disguised: NOWHERE,
  };
  const n = text.length;
  let pending: Break = SENTENCE;
  let quoteFrom = -1; // the token after the last opening mark
  let i = 0;
  while (i < n) {
    const code = codes[i] ?? 0;
    if (code >= 0x61 && code <= 0x7a) {
      // Nearly every word of nearly every text: small letters and nothing that belongs to a word behind them.
      let to = i + 1;
      let hash = Math.imul(FNV_BASIS ^ code, FNV_PRIME);
      let letter = 0;
      while (to < n) {
        letter = codes[to] ?? 0;
        if (letter < 0x61 || letter > 0x7a) break;
        hash = Math.imul(hash ^ letter, FNV_PRIME);
        to++;
      }
      if (to > i + 1 && (to === n || endsPlainWord(letter))) {
        const id = vocabulary.plainId(codes, i, to, hash);
        if (id >= 0) {
          push(tokens, vocabulary.word(id), id, i, to, pending);
          pending = 0;
          i = to;
          continue;
        }
      }
    }
    const next = i + 1 < n ? (codes[i + 1] ?? 0) : 0x20;
    if (startsWord(code, next)) {
      const end = wordEnd(codes, n, i);
      const run = code >= 0x61 && code <= 0x7a && end - i === 1 ? letterRun(codes, n, i) : 0;
      if (run > 0) {
        pushRun(tokens, text, i, run, pending, vocabulary);
        i = run;
      } else {
        pushWord(tokens, text.slice(i, end), i, end, pending, vocabulary);
        i = end;
      }
      pending = 0;
      continue;
    }
    if (
      code === 0x22 ||
      (code === 0x27 && (i === 0 || (codes[i - 1] ?? 0) <= 0x20 || quoteFrom >= 0))
    ) {
      if (quoteFrom < 0) quoteFrom = tokens.words.length;
      else if (code === 0x22 || next < 0x30) {
        closeQuote(tokens, quoteFrom);
        quoteFrom = -1;
      }
      if (pending < CLAUSE) pending = CLAUSE;
    } else {
      const strength = breakOf(code, next);
      if (strength > pending) pending = strength;
      if (code === 0x21) note(tokens, 'exclamations');
      else if (code === 0x3f) note(tokens, 'questions');
      else if (code > 0x1fff && code !== 0xfffd) {
        const width = code >= 0xd800 && code < 0xdc00 ? 2 : 1;
        pushPlain(tokens, text.slice(i, i + width), i, i + width, pending, vocabulary);
        pending = 0;
        i += width;
        continue;
      }
    }
    i++;
  }
  return tokens;
}

/** Shared by the texts that have none: most. */
const NOWHERE: readonly number[] = [];

/** Notes the place of the next word. */
function note(tokens: Tokens, name: 'exclamations' | 'questions' | 'disguised'): void {
  const places = tokens[name];
  if (places === NOWHERE) tokens[name] = [tokens.words.length];
  else (places as number[]).push(tokens.words.length);
}

const LONGEST_QUOTE = 80;

function closeQuote(tokens: Tokens, from: number): void {
  if (tokens.words.length - from > LONGEST_QUOTE) return;
  while (tokens.quoted.length < from) tokens.quoted.push(false);
  for (let k = from; k < tokens.words.length; k++) tokens.quoted[k] = true;
}

function pushRun(
  tokens: Tokens,
  text: string,
  from: number,
  to: number,
  mark: Break,
  vocabulary: Vocabulary,
): void {
  note(tokens, 'disguised');
  let letters = '';
  for (let i = from; i < to; i += 2) letters += text.charAt(i);
  let first = true;
  for (const word of vocabulary.segment(letters)) {
    pushPlain(tokens, word, from, to, first ? mark : 0, vocabulary);
    first = false;
  }
}

function pushPlain(
  tokens: Tokens,
  word: string,
  from: number,
  to: number,
  mark: Break,
  vocabulary: Vocabulary,
): void {
  push(tokens, word, vocabulary.id(word), from, to, mark);
}

function push(
  tokens: Tokens,
  word: string,
  id: number,
  from: number,
  to: number,
  mark: Break,
): void {
  const at = tokens.words.push(word) - 1;
  if (at === tokens.ids.length) {
    rows = rowsOf(at * 2, tokens);
    Object.assign(tokens, rows);
  }
  tokens.ids[at] = id;
  tokens.starts[at] = from;
  tokens.ends[at] = to;
  tokens.breaks[at] = mark;
}

function pushWord(
  tokens: Tokens,
  raw: string,
  from: number,
  to: number,
  mark: Break,
  vocabulary: Vocabulary,
): void {
  const spelled = vocabulary.spell(raw);
  if (spelled.disguised) note(tokens, 'disguised');
  for (let k = 0; k < spelled.words.length; k++) {
    push(tokens, spelled.words[k] ?? '', spelled.ids[k] ?? -1, from, to, k === 0 ? mark : 0);
  }
}
