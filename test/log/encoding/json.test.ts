// Tests of log/encoding/json.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import { fromHex, utf8 } from '../../../log/encoding/bytes.ts';
import type { JsonOptions } from '../../../log/encoding/json.ts';
import { isJsonObject, parseJson } from '../../../log/encoding/json.ts';
import { sharedVectors } from '../../support/vectors.ts';

const refused = { name: 'LogError', code: 'json_invalid' };

/** An independent implementation of the rules, token by token: whether a text must be accepted. */
function isAccepted(text: string, { fractions = false, maxDepth = 16 }: JsonOptions): boolean {
  if (!text.isWellFormed()) return false;
  try {
    JSON.parse(text);
  } catch {
    return false;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  const names: Set<string>[] = [];
  for (const [i, token] of tokens.entries()) {
    if (token === '{' || token === '[') names.push(new Set());
    if (token === '}' || token === ']') names.pop();
    if (names.length > maxDepth) return false;
    if (token.startsWith('"')) {
      const value = JSON.parse(token) as string;
      if (/\p{Surrogate}/u.test(value)) return false;
      if (tokens[i + 1] !== ':') continue;
      if (names.at(-1)?.has(value) === true) return false;
      names.at(-1)?.add(value);
    } else if (/^[-0-9]/.test(token) && !isAcceptedNumber(token, fractions)) return false;
  }
  return true;
}

function isAcceptedNumber(spelling: string, fractions: boolean): boolean {
  const value = Number(spelling);
  if (Object.is(value, -0) || !Number.isFinite(value)) return false;
  const plain = /^-?[0-9]+$/.test(spelling);
  if (plain && Number.isSafeInteger(value)) return true;
  return fractions && (!plain || String(value) === spelling);
}

function agrees(text: string, options: JsonOptions): void {
  if (!isAccepted(text, options)) {
    assert.throws(() => parseJson(text, options), refused, text);
    return;
  }
  const expected = JSON.parse(text) as unknown;
  assert.deepEqual(parseJson(text, options), expected, text);
  assert.deepEqual(parseJson(utf8(text), options), expected, text);
}

const scalar = fc.oneof(
  fc.constantFrom(
    'true',
    'false',
    'null',
    '0',
    '-0',
    '-1',
    '1.0',
    '1e2',
    '1E400',
    '-0.0',
    '-1e-400',
  ),
  fc.constantFrom('9007199254740991', '-9007199254740991', '9007199254740992', '-9007199254740993'),
  fc.constantFrom('100000000000000000000', '100000000000000000001', '123456789012345', '00', '+1'),
  fc.maxSafeInteger().map(String),
  fc.double().map(String),
);
const name = fc.constantFrom(
  '"a"',
  '"b"',
  '"\\u0061"',
  '"__proto__"',
  '"a\\""',
  '"\\\\"',
  '"{"',
  '"1.5:"',
);
const text = fc.oneof(
  name,
  fc.constantFrom('"\\ud800"', '"\\udc00"', '"\\uD83D\\uDE00"', '"\\ud800\\u0041"', '"\\\\ud800"'),
  fc.constantFrom('"\\ud83d\\\\ude00"', '"\\ud83d\ude00"', '"\ud83d\ude00"', '"\\u12"', '"\\x"'),
  fc.string({ unit: 'binary' }).map((s) => JSON.stringify(s)),
);
const space = fc.constantFrom('', '', '', ' ', '\n\t', '\u00a0', '\ufeff');

/** JSON texts, and texts similar to JSON. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'medium' },
    scalar,
    text,
    fc
      .tuple(space, fc.array(tie('json'), { maxLength: 4 }))
      .map(([s, e]) => `[${s}${e.join(`${s},`)}]`),
    fc
      .tuple(space, fc.array(fc.tuple(name, tie('json')), { maxLength: 4 }))
      .map(([s, e]) => `${s}{${e.map(([n, v]) => `${n}${s}:${v}`).join(`,${s}`)}}`),
  ),
}));
const options = fc.record({ fractions: fc.boolean(), maxDepth: fc.constantFrom(1, 2, 16) });

describe('log/encoding/json', () => {
  it('accepts what JSON.parse accepts, except what the rules refuse', () => {
    fc.assert(fc.property(json, options, agrees), { numRuns: 3000 });
  });

  it('does so for texts with a few changed characters', () => {
    const edit = fc.tuple(
      fc.nat(),
      fc.nat({ max: 2 }),
      fc.string({ unit: fc.constantFrom(...'{}[]",:\\ud8-+.eE10 '.split('')), maxLength: 2 }),
    );
    const edited = fc
      .tuple(fc.oneof(json, fc.json()), fc.array(edit, { minLength: 1, maxLength: 3 }))
      .map(([source, edits]) =>
        edits.reduce((s, [at, cut, put]) => {
          const i = at % (s.length + 1);
          return s.slice(0, i) + put + s.slice(i + cut);
        }, source),
      );
    fc.assert(fc.property(edited, options, agrees), { numRuns: 5000 });
  });

  it('refuses repeated names, also if they are written with escapes', () => {
    for (const s of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '[{"b":{"__proto__":1,"__proto__":2}}]',
    ]) {
      assert.throws(() => parseJson(s), refused, s);
    }
    assert.deepEqual(parseJson('[{"a":1},{"a":1}]'), [{ a: 1 }, { a: 1 }]);
  });

  it('keeps __proto__ as an ordinary member', () => {
    const value = parseJson('{"__proto__":{"polluted":1},"constructor":2}');
    assert.deepEqual(Object.keys(value as object), ['__proto__', 'constructor']);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal((value as { polluted?: number }).polluted, undefined);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  it('refuses bad UTF-8, byte order marks and lone surrogates', () => {
    for (const hex of ['22ff22', '22eda08022', 'efbbbf31', '22c08022']) {
      assert.throws(() => parseJson(fromHex(hex)), refused, hex);
    }
    for (const s of ['\ufeff1', '"\ud800"', '"\udc00"', '', ' ']) {
      assert.throws(() => parseJson(s), refused);
    }
  });

  it('counts depth from the outermost container, and refuses deeper nesting without exhausting the stack', () => {
    const nested = (n: number) => '['.repeat(n) + ']'.repeat(n);
    assert.equal(JSON.stringify(parseJson(nested(16))), nested(16));
    assert.throws(() => parseJson(nested(17)), { ...refused, message: /16/ });
    assert.throws(() => parseJson('{"a":'.repeat(17) + '1' + '}'.repeat(17)), refused);
    assert.throws(() => parseJson(nested(10_000)), refused);
    assert.throws(() => parseJson(']'.repeat(10_000) + '['.repeat(10_000)), refused);
    assert.equal(parseJson('1', { maxDepth: 0 }), 1);
    assert.throws(() => parseJson('[]', { maxDepth: 0 }), refused);
  });

  it('limits bytes of UTF-8, not characters', () => {
    assert.equal(parseJson('"\u20ac"', { maxBytes: 5 }), '\u20ac');
    assert.throws(() => parseJson('"\u20ac"', { maxBytes: 4 }), {
      ...refused,
      message: /limit is 4/,
    });
    assert.throws(() => parseJson(utf8('"\u20ac"'), { maxBytes: 4 }), refused);
    assert.throws(() => parseJson('"aaaa"', { maxBytes: 5 }), refused);
  });

  it('accepts fractions only on request, and never minus zero or a number that a double changes', () => {
    for (const s of ['1.5', '1e2', '1E30', '4.50', '100000000000000000000']) {
      assert.throws(() => parseJson(s), refused, s);
      assert.equal(parseJson(s, { fractions: true }), Number(s));
    }
    for (const s of ['-0', '-0.0', '-0e9', '9007199254740993', '1e999', '-1e999']) {
      assert.throws(() => parseJson(s, { fractions: true }), refused, s);
    }
  });

  it('refuses tokens that resemble numbers but are not JSON', () => {
    for (const s of ['-', '--1', '{"a":-}', '<!doctype html><meta name="x-y">', '1-2']) {
      assert.throws(() => parseJson(s, { fractions: true }), { message: 'text is not json' }, s);
    }
  });

  it('recognises objects', () => {
    assert.equal(isJsonObject({}), true);
    for (const value of [null, [], 'a', 1, true, undefined])
      assert.equal(isJsonObject(value), false);
  });
});

describe('log/encoding/json: jcs inputs (need ../shared/vectors/jcs)', () => {
  const cases = sharedVectors('jcs/vectors.json') as { name: string; input: string }[] | null;
  before(function () {
    if (cases === null) this.skip();
  });

  it('reads them all with fractions', () => {
    for (const { name, input } of cases ?? []) {
      assert.deepEqual(parseJson(input, { fractions: true }), JSON.parse(input), name);
    }
    assert.equal(cases?.length, 6);
  });
});
