// The first step of gateway/API.md §6.1: NFKC, case, zero-width, accents, confusables. Length at most grows by a constant.
import { readCatalog } from '../../contract/index.ts';

/** `text` in the one spelling that the tables use, and how much of the original shouts. */
interface Normalised {
  readonly text: string;
  /** Capital letters among all letters of the original, in thousandths. */
  readonly capitals_milli: number;
  /** Letters that are neither Latin nor mapped to Latin, in thousandths of all letters. */
  readonly foreign_milli: number;
}

const { latin } = readCatalog('classify/confusables.json') as { latin: Record<string, string> };
const CONFUSABLES = new Map<number, string>(
  Object.entries(latin).map(([from, to]) => [from.codePointAt(0) ?? 0, to]),
);

/** Applies the step to any string; lone surrogates become U+FFFD. */
export function normalise(original: string): Normalised {
  const ascii = asciiCapitals(original);
  if (ascii >= 0) return { text: original.toLowerCase(), capitals_milli: ascii, foreign_milli: 0 };
  const folded = original.toWellFormed().normalize('NFKC');
  const capitals_milli = capitals(folded);
  const { text, foreign, letters } = fold(folded.toLowerCase().normalize('NFD'));
  return { text, capitals_milli, foreign_milli: share(foreign, letters) };
}

/** What a unit adds to a count: a small letter, a capital, anything else of ASCII, and what is not read here (0x7f and above). */
const SMALL = 1;
const CAPITAL = 2 ** 16;
const COUNTED = Int32Array.from({ length: 128 }, (_hole, c) =>
  c >= 0x61 && c <= 0x7a ? SMALL : c >= 0x41 && c <= 0x5a ? CAPITAL : 0,
);

/** `capitals` of a text that is ASCII throughout, -1 for any other: one pass for nearly every text, and no branch in it. */
function asciiCapitals(text: string): number {
  let counts = 0;
  let highest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    counts += COUNTED[c & 0x7f] ?? 0;
    highest |= c;
  }
  if (highest > 0x7f) return -1;
  const upper = Math.floor(counts / CAPITAL);
  return share(upper, upper + (counts % CAPITAL));
}

function capitals(text: string): number {
  let upper = 0;
  let lower = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x41 && c <= 0x5a) upper++;
    else if (c >= 0x61 && c <= 0x7a) lower++;
  }
  return share(upper, upper + lower);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.floor((1000 * part) / whole);
}

/** Drops marks and invisible characters, then maps look-alikes when the text is Latin at heart. */
function fold(text: string): { text: string; foreign: number; letters: number } {
  const kept: string[] = [];
  let latinLetters = 0;
  let otherLetters = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (isInvisible(code)) continue;
    if (code >= 0x61 && code <= 0x7a) latinLetters++;
    else if (code > 0x7f && isLetter(code)) otherLetters++;
    kept.push(character);
  }
  // A Russian or Greek text stays what it is; a Latin one with a few such letters is disguised.
  const disguised = otherLetters > 0 && latinLetters >= otherLetters;
  if (disguised) otherLetters = 0;
  for (let i = 0; i < kept.length; i++) {
    const code = kept[i]?.codePointAt(0) ?? 0;
    if (code <= 0x7f) continue;
    const letter = isLetter(code);
    const to = letter && !disguised ? undefined : CONFUSABLES.get(code);
    if (to !== undefined) kept[i] = to;
    else if (letter && disguised) otherLetters++;
  }
  return { text: kept.join(''), foreign: otherLetters, letters: latinLetters + otherLetters };
}

function isInvisible(code: number): boolean {
  return (
    (code >= 0x300 && code <= 0x36f) || // combining marks: accents and stacked ornaments
    code === 0xad ||
    code === 0x34f ||
    code === 0x61c ||
    code === 0x115f ||
    code === 0x1160 ||
    code === 0x17b4 ||
    code === 0x17b5 ||
    code === 0x180e ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x206f) ||
    code === 0x3164 ||
    (code >= 0xfe00 && code <= 0xfe0f) ||
    code === 0xfeff ||
    (code >= 0xe0000 && code <= 0xe0fff)
  );
}

/** Letters beyond ASCII; symbols, punctuation and pictures are not. */
export function isLetter(code: number): boolean {
  if (code < 0xaa) return false;
  if (code < 0x250)
    return (
      code !== 0xd7 &&
      code !== 0xf7 &&
      (code >= 0xc0 || code === 0xaa || code === 0xba || code === 0xb5)
    );
  return (
    code < 0x2000 ||
    (code >= 0x2c00 && code < 0x2e00) ||
    (code >= 0x3040 && code < 0xd7a4) ||
    (code >= 0xf900 && code < 0xfb50) ||
    (code >= 0xfb50 && code < 0xfdd0) ||
    (code >= 0x10000 && code < 0x1d000) ||
    (code >= 0x20000 && code < 0x32000)
  );
}
