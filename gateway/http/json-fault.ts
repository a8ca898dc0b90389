// Finds the first fault of a body that strict JSON refuses, and describes it without repeating any of its text.
// gateway/API.md §1.3. The rules are those of log/encoding/json.ts, which has refused the body already.

import { isLogError, parseJson } from '../../log/index.ts';

/** A fault and its place. */
export interface JsonFault {
  /** A fixed text. It never quotes the body, because even names of members may be private. */
  readonly reason: string;
  /** Bytes before the fault. */
  readonly offset: number;
  /** From 1; lines end with \n, \r\n or \r. */
  readonly line: number;
  /** From 1, in characters (code points). */
  readonly column: number;
}

const BYTE_ORDER_MARK = '\ufeff';
const REPLACEMENT = '\ufffd';
const SPACE = /[ \t\n\r]*/y;
const LITERAL = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** A number that certainly breaks no rule. */
const PLAIN_NUMBER = /^\d{1,15}$/;
/** Characters that a string may hold unescaped: all but quotes, backslashes and control characters. */
const PLAIN_TEXT = /[ !#-[\]-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** The first fault of a body, null when it has none; `maxDepth` as for `parseJson`. */
export function jsonFault(bytes: Uint8Array, maxDepth: number): JsonFault | null {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const malformed = malformedAt(text, bytes);
  if (malformed !== null) return placed(text, malformed, 'the bytes are not UTF-8');
  if (text.startsWith(BYTE_ORDER_MARK)) return placed(text, 0, 'it begins with a byte order mark');
  try {
    new Walk(text, maxDepth).document();
    return null;
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return placed(text, fault.at, fault.message);
  }
}

/** Thrown to end the walk at the first fault. */
class Fault extends Error {
  readonly at: number;

  constructor(at: number, reason: string) {
    super(reason);
    this.at = at;
  }
}

/** One pass over a text, which ends at the first fault. */
class Walk {
  private at = 0;
  private readonly text: string;
  private readonly maxDepth: number;

  constructor(text: string, maxDepth: number) {
    this.text = text;
    this.maxDepth = maxDepth;
  }

  document(): void {
    this.value(1);
    this.skip();
    if (this.at < this.text.length) throw new Fault(this.at, 'something follows the JSON value');
  }

  private value(depth: number): void {
    this.skip();
    const first = this.text[this.at];
    if (first === '{' || first === '[') {
      if (depth > this.maxDepth) {
        throw new Fault(this.at, `nesting is over ${String(this.maxDepth)} levels`);
      }
      this.at++;
      if (first === '{') this.members(depth);
      else this.elements(depth);
    } else if (first === '"') {
      this.string();
    } else if (this.match(LITERAL) === null) {
      this.number();
    }
  }

  private members(depth: number): void {
    const names = new Set<string>();
    if (this.ends('}')) return;
    do {
      this.skip();
      const start = this.at;
      if (this.text[start] !== '"') throw this.expected('a member name in double quotes');
      const name = this.string();
      if (names.has(name)) throw new Fault(start, 'one object has a member name twice');
      names.add(name);
      if (!this.ends(':')) throw this.expected('a colon');
      this.value(depth + 1);
    } while (this.ends(','));
    if (!this.ends('}')) throw this.expected('a comma or }');
  }

  private elements(depth: number): void {
    if (this.ends(']')) return;
    do this.value(depth + 1);
    while (this.ends(','));
    if (!this.ends(']')) throw this.expected('a comma or ]');
  }

  private number(): void {
    const start = this.at;
    const spelling = this.match(NUMBER);
    if (spelling === null) throw this.expected('a value');
    if (!PLAIN_NUMBER.test(spelling)) check(spelling, start);
  }

  /** The string that begins here, as it reads without its escapes. */
  private string(): string {
    const start = this.at;
    this.at++;
    do this.match(PLAIN_TEXT);
    while (this.match(ESCAPE) !== null);
    const next = this.text[this.at];
    if (next === undefined) throw new Fault(start, 'a string begins that never ends');
    if (next === '\\') throw new Fault(this.at, 'a backslash begins no escape that JSON has');
    if (next !== '"') throw new Fault(this.at, 'a string has an unescaped control character');
    this.at++;
    return check(this.text.slice(start, this.at), start) as string;
  }

  private expected(what: string): Fault {
    const over = this.at >= this.text.length;
    return new Fault(this.at, over ? `it ends where ${what} is expected` : `${what} is expected`);
  }

  /** Skips the character if it is next, and returns whether it was. */
  private ends(character: string): boolean {
    this.skip();
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private skip(): void {
    this.match(SPACE);
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const [found = null] = pattern.exec(this.text) ?? [];
    this.at += found?.length ?? 0;
    return found;
  }
}

/** The value of a whole number or string; rules beyond the grammar are those of the log's JSON parser. */
function check(spelling: string, at: number): unknown {
  try {
    return parseJson(spelling, { fractions: true });
  } catch (error) {
    throw isLogError(error) ? new Fault(at, error.message) : error;
  }
}

/** Finds the first place where the decoder inserted a replacement character that the bytes do not contain. */
function malformedAt(text: string, bytes: Uint8Array): number | null {
  let before = 0;
  let offset = 0;
  for (;;) {
    const at = text.indexOf(REPLACEMENT, before);
    if (at < 0) return null;
    offset += Buffer.byteLength(text.slice(before, at));
    if (bytes[offset] !== 0xef || bytes[offset + 1] !== 0xbf || bytes[offset + 2] !== 0xbd) {
      return at;
    }
    before = at + 1;
    offset += 3;
  }
}

function placed(text: string, at: number, reason: string): JsonFault {
  const before = text.slice(0, at);
  const lines = before.split(/\r\n|\r|\n/);
  return {
    reason,
    offset: Buffer.byteLength(before),
    line: lines.length,
    column: Array.from(lines.at(-1) ?? '').length + 1,
  };
}
