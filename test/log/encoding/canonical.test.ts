// Tests of log/encoding/canonical.ts.

import assert from 'node:assert/strict';

import canonicalize from 'canonicalize';
import fc from 'fast-check';

import { fromHex, utf8 } from '../../../log/encoding/bytes.ts';
import { canonical, isCanonical } from '../../../log/encoding/canonical.ts';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { parseJson } from '../../../log/encoding/json.ts';
import { ownVectors, sharedVectors } from '../../support/vectors.ts';

const refused = { name: 'LogError', code: 'json_invalid' };

function nested(depth: number): Json {
  let value: Json = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

describe('log/encoding/canonical', () => {
  it('gives one text for a value, in any order of its members', () => {
    const value = fc.jsonValue({ stringUnit: 'grapheme' });
    fc.assert(
      fc.property(value, (v) => {
        const text = canonical(v as Json);
        assert.equal(canonical(reversed(v as Json)), text);
        assert.equal(canonical(JSON.parse(text) as Json), text);
        assert.deepEqual(parseJson(text, { fractions: true, maxDepth: 64 }), unsigned(v as Json));
      }),
    );
  });

  it('distinguishes the canonical text from every other text of its value', () => {
    const unit = fc.constantFrom(
      'a',
      'B',
      '1',
      '9',
      ':',
      ' ',
      '\\',
      '"',
      '\n',
      '\u20ac',
      '\u{1f600}',
    );
    const string = fc.string({ unit, maxLength: 3 });
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, string, fc.maxSafeInteger(), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 3 }),
      object: fc.dictionary(string, tie('value'), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(value, fc.boolean(), fc.constantFrom(undefined, 1), (made, inOrder, space) => {
        const v = made as Json;
        const text = JSON.stringify(inOrder ? JSON.parse(canonical(v)) : reversed(v), null, space);
        assert.equal(isCanonical(text, parseJson(text)), text === canonical(v), text);
        assert.equal(isCanonical(canonical(v), parseJson(canonical(v))), true);
      }),
    );
    for (const text of [
      '{"b":1,"1":2}',
      '{"9":1,"10":2}',
      '{"a":"\\u0062"}',
      '{"a": 1}',
      '{"b":1,"a":2}',
    ]) {
      assert.equal(isCanonical(text, parseJson(text)), false, text);
    }
    for (const text of [
      '{"1":2,"b":1}',
      '{"10":2,"9":1}',
      '{"-":1}',
      '"a b"',
      '{"":1,"a":"\\n"}',
    ]) {
      assert.equal(isCanonical(text, parseJson(text)), true, text);
    }
  });

  it('sorts members by UTF-16 code units, and writes minus zero as 0', () => {
    assert.equal(
      canonical({ '\ufb33': 1, '\u{1f600}': 2, '10': 3, '9': -0, __proto__x: 4 }),
      '{"10":3,"9":0,"__proto__x":4,"\u{1f600}":2,"\ufb33":1}',
    );
    assert.equal(canonical(parseJson('{"b":1,"__proto__":2}')), '{"__proto__":2,"b":1}');
  });

  it('refuses values that are not JSON', () => {
    const hole: unknown[] = [1];
    hole[2] = 3;
    const circle: unknown[] = [];
    circle.push(circle);
    const values: unknown[] = [
      undefined,
      () => 1,
      Symbol('a'),
      1n,
      NaN,
      Infinity,
      -Infinity,
      '\ud800',
      { '\udc00': 1 },
      { a: undefined },
      [undefined],
      hole,
      { toJSON: () => 1 },
      new Date(0),
      new Map(),
      new Uint8Array(1),
      Object.create({ a: 1 }),
      circle,
    ];
    for (const value of values) {
      assert.throws(() => canonical(value as Json), refused);
      assert.throws(() => canonical({ a: [value as Json] }), refused);
    }
  });

  it('accepts up to 64 levels', () => {
    assert.equal(canonical(nested(64)), JSON.stringify(nested(64)));
    assert.throws(() => canonical(nested(65)), refused);
    assert.throws(() => canonical(nested(100_000)), refused);
  });

  it('finds that the entries of the absence vectors are canonical', () => {
    const { entries } = ownVectors('absence') as { entries: string[] };
    for (const entry of entries) assert.equal(canonical(parseJson(entry)), entry);
    assert.equal(entries.length, 20);
  });
});

describe('log/encoding/canonical: RFC 8785 vectors (need ../shared/vectors/jcs)', () => {
  const cases = sharedVectors('jcs/vectors.json') as
    { name: string; input: string; canonical: string; canonical_hex: string }[] | null;
  before(function () {
    if (cases === null) this.skip();
  });

  it('reads the file of vectors', () => {
    assert.equal(cases?.length, 6);
  });

  for (const vector of cases ?? []) {
    it(vector.name, () => {
      const text = canonical(parseJson(vector.input, { fractions: true }));
      assert.equal(text, vector.canonical);
      assert.deepEqual(utf8(text), fromHex(vector.canonical_hex));
    });
  }
});

describe('log/encoding/canonical: sorted and unsorted member names', () => {
  const name = fc.oneof(fc.string({ unit: 'grapheme' }), fc.nat(20).map(String), fc.constant('-'));

  it('gives the same text as the package canonicalize', () => {
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue({ maxDepth: 4 })), (members) => {
        let value: JsonObject;
        try {
          value = parseJson(JSON.stringify(members), { fractions: true }) as JsonObject;
        } catch {
          return; // minus zero
        }
        const text = canonicalize(value) ?? '';
        assert.equal(canonical(value), text);
        const sorted = parseJson(text, { fractions: true }) as JsonObject;
        assert.equal(canonical(sorted), text);
        const [, ...kept] = Object.entries(sorted);
        const rest = Object.fromEntries<Json>(kept);
        assert.equal(canonical(rest), canonicalize(rest));
      }),
    );
  });

  it('sorts at every depth, also integer-like names, which JavaScript orders first', () => {
    for (const [text, wanted] of [
      ['{"b":1,"a":2}', '{"a":2,"b":1}'],
      ['{"a":[{"c":1,"b":2}],"b":3}', '{"a":[{"b":2,"c":1}],"b":3}'],
      ['{"a":{"c":{"e":1,"d":2}}}', '{"a":{"c":{"d":2,"e":1}}}'],
      ['{"-":1,"1":2}', '{"-":1,"1":2}'],
      ['{"1":1,"10":2,"9":3}', '{"1":1,"10":2,"9":3}'],
      ['{"10":1,"9":2}', '{"10":1,"9":2}'],
      ['{"":1,"a":2}', '{"":1,"a":2}'],
    ] as const) {
      assert.equal(canonical(parseJson(text)), wanted);
    }
  });
});

/** The same value with the members of every object in another order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return (value as Json[]).map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, v]) => [name, reversed(v)] as const);
  return Object.fromEntries(members.reverse());
}

/** The same value with 0 for minus zero. */
function unsigned(value: Json): Json {
  if (value === 0) return 0;
  if (Array.isArray(value)) return (value as Json[]).map(unsigned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, v]) => [name, unsigned(v)]));
}
