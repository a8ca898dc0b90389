// Tests of log/encoding/canonical.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import { fromHex, utf8 } from '../../../log/encoding/bytes.ts';
import { canonical, printsCanonically } from '../../../log/encoding/canonical.ts';
import type { Json, JsonObject } from '../../../log/encoding/json-types.ts';
import { parseJson } from '../../../log/encoding/json.ts';
import { ownVectors, sharedVectors } from '../../support/vectors.ts';

const refused = { name: 'LogError', code: 'json_invalid' };

function nested(depth: number): Json {
  let value: Json = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

describe('log/encoding/canonical', () => {
  it('prints one text for one value, whatever the order of its members', () => {
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

  it('sorts members by UTF-16 units and prints minus zero as 0', () => {
    assert.equal(
      canonical({ '\ufb33': 1, '\u{1f600}': 2, '10': 3, '9': -0, __proto__x: 4 }),
      '{"10":3,"9":0,"__proto__x":4,"\u{1f600}":2,"\ufb33":1}',
    );
    assert.equal(canonical(parseJson('{"b":1,"__proto__":2}')), '{"__proto__":2,"b":1}');
  });

  it('refuses what is no JSON value', () => {
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

  it('takes 64 levels and no more', () => {
    assert.equal(canonical(nested(64)), JSON.stringify(nested(64)));
    assert.throws(() => canonical(nested(65)), refused);
    assert.throws(() => canonical(nested(100_000)), refused);
  });

  it('finds the entries of the absence vectors canonical', () => {
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

  it('has them', () => {
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

describe('a text that prints canonically', () => {
  const printed = (text: string): boolean =>
    printsCanonically(parseJson(text, { fractions: true }), text);

  it('is canonical, and so is what is left of it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (members) => {
        let value: JsonObject;
        const text = JSON.stringify(members);
        try {
          value = parseJson(text, { fractions: true }) as JsonObject;
        } catch {
          return; // minus zero, lone surrogates
        }
        const isCanonical = text === canonical(value);
        if (printed(text)) assert.ok(isCanonical);
        const sorted = canonical(value);
        if (!printed(sorted)) {
          assert.match(sorted, /"\d+":/u, 'only names like array indexes are said no to');
          return;
        }
        const [, ...kept] = Object.entries(parseJson(sorted, { fractions: true }) ?? {});
        const rest = Object.fromEntries(kept as [string, Json][]);
        assert.equal(JSON.stringify(rest), canonical(rest));
      }),
    );
  });

  it('is one of sorted names, one spelling and no space, at every depth', () => {
    assert.equal(printed('{"a":[{"b":1,"c":"\u00e4"}],"d":null}'), true);
    for (const text of [
      '{"a":1, "b":2}',
      '{"b":1,"a":2}',
      '{"a":[{"c":1,"b":2}]}',
      '{"a":"\\u00e4"}',
      '{"a":"\\/"}',
      '{"-":1,"1":2}',
    ]) {
      assert.equal(printed(text), false, text);
    }
    assert.equal(canonical(parseJson('{"-":1,"1":2}')), '{"-":1,"1":2}', 'canonical all the same');
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
