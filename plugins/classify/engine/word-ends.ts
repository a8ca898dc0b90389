// Where words begin and end, and what parts them, by the UTF-16 units of normalised text. gateway/API.md §6.1.
import { isLetter } from './normalise.ts';

/** How strongly a word is parted from the one before it: not at all, by a comma or a dash, by the end of a sentence. */
export type Break = 0 | 1 | 2;
export const CLAUSE: Break = 1;
export const SENTENCE: Break = 2;

/** How strongly a unit that is no part of a word parts the words around it. */
export function breakOf(code: number, next: number): Break {
  if (code === 0x0a || code === 0x0d) return SENTENCE;
  if (code === 0x21 || code === 0x3f || code === 0x3002) return SENTENCE;
  if (code === 0x2e || code === 0x3b)
    return next <= 0x20 || next === 0x22 || next === 0x27 || next === 0x2e ? SENTENCE : 0;
  if (code === 0x2c || code === 0x3a || code === 0x28 || code === 0x29) return CLAUSE;
  if (code === 0x2d) return next <= 0x20 || next === 0x2d ? CLAUSE : 0;
  return 0;
}

function isWordCode(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x30 && code <= 0x39) ||
    (code > 0x7f && isLetter(code))
  );
}

/** Whether a word begins at a unit. */
export function startsWord(code: number, next: number): boolean {
  // "@ss", "$hit": a symbol opens a word only when letters follow it.
  return isWordCode(code) || ((code === 0x40 || code === 0x24) && isWordCode(next));
}

/** After these the word is over, whatever comes next. */
export function endsPlainWord(code: number): boolean {
  return code === 0x20 || code === 0x2c || code === 0x2e || code === 0x0a || code === 0x3f;
}

/** Symbols that are written in place of letters count inside a word; so do the apostrophe and the mask `*`. */
export function wordEnd(codes: Uint16Array, n: number, from: number): number {
  let i = from + 1;
  while (i < n) {
    const code = codes[i] ?? 0;
    if (isWordCode(code)) {
      i++;
    } else if (
      code === 0x2a ||
      code === 0x24 ||
      code === 0x40 ||
      code === 0x21 ||
      code === 0x7c ||
      code === 0x27 ||
      code === 0x23
    ) {
      let k = i + 1;
      while (k < n && k < i + 6 && (codes[k] === 0x2a || codes[k] === 0x24)) k++;
      const after = k < n ? (codes[k] ?? 0) : 0;
      if (isWordCode(after)) i = k;
      else return code === 0x24 || (code === 0x2a && k > i + 1) ? k : i;
    } else return i;
  }
  return i;
}

/** The end of "k i l l" or "k.i.l.l" beginning at `from`, or 0 if fewer than three letters are spaced. */
export function letterRun(codes: Uint16Array, n: number, from: number): number {
  const separator = from + 1 < n ? codes[from + 1] : 0;
  if (separator !== 0x20 && separator !== 0x2e && separator !== 0x2d && separator !== 0x5f)
    return 0;
  let i = from;
  let letters = 1;
  while (i + 2 < n && codes[i + 1] === separator) {
    const code = codes[i + 2] ?? 0;
    const after = i + 3 < n ? (codes[i + 3] ?? 0) : 0x20;
    if (!isRunCode(code) || isWordCode(after)) break;
    letters++;
    i += 2;
  }
  return letters >= 3 ? i + 1 : 0;
}

function isRunCode(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x40 ||
    code === 0x24 ||
    code === 0x21
  );
}
