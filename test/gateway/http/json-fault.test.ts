// Tests of gateway/http/json-fault.ts.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { jsonFault } from '../../../gateway/http/json-fault.ts';
import { LogError, parseJson } from '../../../log/index.ts';

const MAX_DEPTH = 16;
const faultOf = (text: string | Uint8Array) => jsonFault(Buffer.from(text), MAX_DEPTH);

function isRefused(text: Uint8Array): boolean {
  try {
    parseJson(text, { fractions: true, maxDepth: MAX_DEPTH });
    return false;
  } catch (error) {
    assert.ok(error instanceof LogError);
    return true;
  }
}

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** Text, reason, line, column; the offset is that of the column if the text has no wide characters. */
const FAULTS: readonly (readonly [string, RegExp, number, number, number?])[] = [
  ['{', /^it ends where a member name in double quotes is expected$/, 1, 2],
  ['{"a":"x"', /^it ends where a comma or } is expected$/, 1, 9],
  ['{"a":', /^it ends where a value is expected$/, 1, 6],
  ['{"a":[1', /^it ends where a comma or ] is expected$/, 1, 8],
  ['{"a', /^a string begins that never ends$/, 1, 2],
  ['  ', /^it ends where a value is expected$/, 1, 3],
  ['{"a":1,}', /^a member name in double quotes is expected$/, 1, 8],
  ['[1,]', /^a value is expected$/, 1, 4],
  ["{'a':1}", /^a member name in double quotes is expected$/, 1, 2],
  ['{"a":\'x\'}', /^a value is expected$/, 1, 6],
  ['{"a" 1}', /^a colon is expected$/, 1, 6],
  ['{"a":1 "b":2}', /^a comma or } is expected$/, 1, 8],
  ['{"a":1} {}', /^something follows the JSON value$/, 1, 9],
  ['{"a":NaN}', /^a value is expected$/, 1, 6],
  ['{"a":01}', /^a comma or } is expected$/, 1, 7],
  ['{"a":tru}', /^a value is expected$/, 1, 6],
  ['{"a":"\t"}', /^a string has an unescaped control character$/, 1, 7],
  ['{"a":"\\x41"}', /^a backslash begins no escape/, 1, 7],
  ['{"a":"\\u00g0"}', /^a backslash begins no escape/, 1, 7],
  ['{"a":1,"b":{"a":2},"a":3}', /^one object has a member name twice$/, 1, 20],
  ['{"a":1,"\\u0061":3}', /^one object has a member name twice$/, 1, 8],
  ['{"a":"\\ud800"}', /^text has a lone surrogate$/, 1, 6],
  ['{"a":-0}', /^a number is minus zero$/, 1, 6],
  ['{"a":9007199254740993}', /^an integer is not between/, 1, 6],
  ['{"a":1e400}', /^a number is too large$/, 1, 6],
  [deep(17), /^nesting is over 16 levels$/, 1, 17],
  ['\ufeff{"a":1}', /^it begins with a byte order mark$/, 1, 1],
  ['{\n  "a": 1,\r\n  "b": x\n}', /^a value is expected$/, 3, 8, 20],
  ['{\r"ä😀": \'\'}', /^a value is expected$/, 2, 7, 12],
];

describe('gateway/http/json-fault', () => {
  for (const [text, reason, line, column, offset = column - 1] of FAULTS) {
    it(`finds the fault of ${JSON.stringify(text)}`, () => {
      assert.ok(isRefused(Buffer.from(text)));
      const fault = faultOf(text);
      assert.match(fault?.reason ?? '', reason);
      assert.deepEqual([fault?.line, fault?.column, fault?.offset], [line, column, offset]);
    });
  }

  it('finds bytes that are not UTF-8, also behind a valid replacement character', () => {
    for (const bad of [[0xff], [0xc3], [0xef, 0xbf], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const bytes = Buffer.concat([
        Buffer.from('{"\ufffdä":\n"'),
        Buffer.of(...bad),
        Buffer.from('"}'),
      ]);
      assert.ok(isRefused(bytes));
      const [reason, offset, line, column] = ['the bytes are not UTF-8', 11, 2, 2];
      assert.deepEqual(faultOf(bytes), { reason, offset, line, column });
    }
  });

  it('finds a fault in exactly the texts that the strict parser refuses', () => {
    const piece = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"', '\\', '\\u', 'd800', '0061', 'dc00', ' ', '\n', '\t'],
      ...['"a"', '"b"', '"\\u0061"', '"\\ud83d\\ude00"', '"__proto__"', 'true', 'null', "'", 'é'],
      ...['0', '-', '1', '.', 'e', '+', '-0', '9007199254740993', '1e400', '-1e-400', '\ufeff'],
    );
    const edit = fc.tuple(fc.nat(), fc.nat(3), piece);
    const sound = fc.json({ maxDepth: 5 });
    const built = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    const broken = fc.tuple(sound, fc.array(edit, { maxLength: 2 })).map(([text, edits]) =>
      edits.reduce((made, [at, drop, add]) => {
        const place = at % (made.length + 1);
        return made.slice(0, place) + add + made.slice(place + drop);
      }, text),
    );
    const bytes = fc
      .tuple(fc.oneof(sound, built, broken), fc.option(fc.tuple(fc.nat(), fc.nat(255))))
      .map(([text, other]) => {
        const made = Buffer.from(text);
        if (other !== null && made.length > 0) made[other[0] % made.length] = other[1];
        return made;
      });
    fc.assert(
      fc.property(bytes, (text) => {
        const fault = jsonFault(text, MAX_DEPTH);
        assert.equal(fault !== null, isRefused(text));
        assert.ok(fault === null || fault.offset <= text.length);
      }),
      { numRuns: 5000 },
    );
  });

  it('takes time in proportion to the text', () => {
    const member = (i: number): string => `"member ${String(i)}":[-1.5,"\\n",{}],`;
    const text = `{${Array.from({ length: 40_000 }, (_, i) => member(i)).join('')}`;
    const started = performance.now();
    assert.equal(faultOf(text)?.offset, text.length);
    assert.ok(performance.now() - started < 3000);
  });
});
