// Verifier keys (C2SP signed-note).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { LogError } from '../../../log/errors.ts';
import { formatVkey, isKeyName, parseVkey } from '../../../log/note/note.ts';
import { vectors } from '../../support/absence-vectors.ts';

/** The example of C2SP signed-note. */
const EXAMPLE = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
const refused = { name: 'LogError', code: 'key_invalid' };

describe('verifier keys', () => {
  it('reads and writes the example of C2SP signed-note', () => {
    const verifier = parseVkey(native, EXAMPLE);
    assert.equal(verifier.name, 'example.com/foo');
    assert.equal(verifier.key_id, 0x530d903a);
    assert.equal(verifier.type, 1);
    assert.equal(formatVkey(portable, verifier.name, verifier.type, verifier.publicKey), EXAMPLE);
  });

  it('reads and writes the keys of the absence vectors', () => {
    for (const vkey of [vectors.vkey, ...vectors.witnesses.map((witness) => witness.vkey)]) {
      const { name, type, publicKey } = parseVkey(portable, vkey);
      assert.equal(formatVkey(native, name, type, publicKey), vkey);
    }
    assert.equal(parseVkey(native, vectors.witnesses[0]?.vkey ?? '').type, 4);
  });

  it('are parsed to any name and key, with or without plus signs in the base64', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter(isKeyName);
    const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(name, fc.constantFrom(1 as const, 4 as const), key, (n, type, publicKey) => {
        const verifier = parseVkey(native, formatVkey(native, n, type, publicKey));
        assert.deepEqual([verifier.name, verifier.type], [n, type]);
        assert.deepEqual(verifier.publicKey, publicKey);
      }),
    );
  });

  it('refuse names with a plus sign, a Unicode space, a control character or a lone surrogate', () => {
    for (const name of [
      '',
      'a+b',
      'a b',
      'a\u00a0b',
      'a\u2003b',
      'a\u0085',
      'a\n',
      '\t',
      '\ud800',
    ]) {
      assert.equal(isKeyName(name), false, JSON.stringify(name));
      assert.throws(() => formatVkey(native, name, 1, new Uint8Array(32)), refused);
    }
    for (const name of ['log.example/log/live/1', 'ü', '日本', 'a—b', '\u{1f512}']) {
      assert.equal(isKeyName(name), true, name);
    }
  });

  const cases: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['no key id', 'example.com/foo'],
    ['no key', 'example.com/foo+530d903a'],
    ['an empty key', 'example.com/foo+530d903a+'],
    ['an empty name', EXAMPLE.replace('example.com/foo', '')],
    ['another name', EXAMPLE.replace('foo', 'bar')],
    ['a space in the name', EXAMPLE.replace('/', ' ')],
    ['another key id', EXAMPLE.replace('530d903a', '530d903b')],
    ['an upper-case key id', EXAMPLE.replace('530d903a', '530D903A')],
    ['a short key id', EXAMPLE.replace('530d903a', '530d903')],
    ['another key', EXAMPLE.replace('AekyeR', 'AekyeS')],
    ['another type', EXAMPLE.replace('+Aeky', '+AOky')],
    ['base64url', EXAMPLE.replace('AekyeR', 'Aek-eR')],
    ['a byte more', `${EXAMPLE}AAAA`],
    ['padding missing', `${EXAMPLE}AA`],
    ['a newline at the end', `${EXAMPLE}\n`],
    ['a very long text', EXAMPLE + 'A'.repeat(4096)],
  ];
  for (const [name, vkey] of cases) {
    it(`refuses ${name}`, () => {
      assert.throws(() => parseVkey(native, vkey), refused);
    });
  }

  it('refuses public keys of another length', () => {
    assert.throws(() => formatVkey(native, 'a', 1, new Uint8Array(33)), refused);
  });

  it('throw only LogError for any text', () => {
    const cut = fc.tuple(fc.nat(70), fc.string(), fc.nat(70));
    const mutated = cut.map(([a, text, b]) => EXAMPLE.slice(0, a) + text + EXAMPLE.slice(b));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), mutated), (text) => {
        try {
          const { name, type, publicKey } = parseVkey(native, text);
          assert.equal(formatVkey(native, name, type, publicKey), text);
        } catch (error) {
          if (!(error instanceof LogError)) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});
