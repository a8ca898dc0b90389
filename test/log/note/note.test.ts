// Signed notes, and texts that are not notes (C2SP signed-note).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { toBase64, utf8 } from '../../../log/encoding/bytes.ts';
import { LogError } from '../../../log/errors.ts';
import {
  formatNote,
  MAX_NOTE_BYTES,
  openNote,
  signatureLine,
  signCosignature,
  splitNote,
  makeVerifier,
} from '../../../log/note/note.ts';
import { seededSigner } from './seeded-signer.ts';

const TEXT =
  'If you think cryptography is the answer to your problem,\n\nthen you do not know it.\n';
const alice = seededSigner(1);
const bob = seededSigner(2);
const witness = seededSigner(3);
const knownAlice = makeVerifier(native, 'alice.example', 1, alice.publicKey);
const knownBob = makeVerifier(native, 'bob.example', 1, bob.publicKey);
const knownWitness = makeVerifier(native, 'witness.example', 4, witness.publicKey);
const byAlice = signatureLine('alice.example', knownAlice.key_id, alice.sign(utf8(TEXT)));
const byBob = signatureLine('bob.example', knownBob.key_id, bob.sign(utf8(TEXT)));
const cosign = (time_s: number): string =>
  signCosignature(native, witness, 'witness.example', TEXT, time_s);
const NOTE = formatNote(TEXT, [byAlice]);
const refused = { name: 'LogError', code: 'note_invalid' };

describe('signed notes', () => {
  it('are verified with each suite, and split at the last blank line', () => {
    for (const suite of [native, portable]) {
      const { text, verified, unknown } = openNote(suite, NOTE, [knownAlice, knownBob]);
      assert.equal(text, TEXT);
      assert.deepEqual(
        verified.map(({ verifier }) => verifier),
        [knownAlice],
      );
      assert.equal(unknown, 0);
    }
  });

  it('ignore lines of unknown keys of any length, but count them', () => {
    const other = signatureLine('carol.example', 7, new Uint8Array(3293));
    const sameName = signatureLine('alice.example', 7, new Uint8Array(64));
    const sameId = signatureLine('alice.example2', knownAlice.key_id, new Uint8Array(1));
    const note = formatNote(TEXT, [other, byBob, byAlice, sameName, sameId]);
    const { verified, unknown } = openNote(native, note, [knownAlice]);
    assert.equal(verified.length, 1);
    assert.equal(unknown, 4);
  });

  it('are refused without a valid signature of a known key', () => {
    assert.throws(() => openNote(native, NOTE, [knownBob]), refused);
    assert.throws(() => openNote(native, NOTE, []), refused);
  });

  it('are refused with an invalid signature of a known key, even if another is valid', () => {
    const bad = signatureLine('bob.example', knownBob.key_id, alice.sign(utf8(TEXT)));
    const short = signatureLine('bob.example', knownBob.key_id, new Uint8Array(63));
    const timed = signatureLine('bob.example', knownBob.key_id, new Uint8Array(72));
    for (const line of [bad, short, timed]) {
      const note = formatNote(TEXT, [byAlice, line]);
      assert.throws(() => openNote(native, note, [knownAlice, knownBob]), refused);
      assert.equal(openNote(native, note, [knownAlice]).unknown, 1);
    }
  });

  it('count a key once, with its newest time, and are refused with an invalid second line', () => {
    const lines = [byAlice, cosign(20), byAlice, cosign(30), cosign(10)];
    const { verified, unknown } = openNote(native, formatNote(TEXT, lines), [
      knownAlice,
      knownWitness,
    ]);
    assert.deepEqual(
      verified.map(({ verifier, time_s }) => [verifier.name, time_s]),
      [
        ['alice.example', undefined],
        ['witness.example', 30],
      ],
    );
    assert.equal(unknown, 0);
    const bad = signatureLine('alice.example', knownAlice.key_id, bob.sign(utf8(TEXT)));
    assert.throws(() => openNote(native, formatNote(TEXT, [byAlice, bad]), [knownAlice]), refused);
  });

  it('do not accept a key of one type as a key of another', () => {
    const asCosigner = makeVerifier(native, 'alice.example', 4, alice.publicKey);
    const line = signatureLine('alice.example', asCosigner.key_id, alice.sign(utf8(TEXT)));
    assert.throws(() => openNote(native, formatNote(TEXT, [line]), [asCosigner]), refused);
  });

  it('refuse two verifiers of the same name and key id', () => {
    const twin = { ...knownAlice, publicKey: bob.publicKey };
    assert.throws(() => openNote(native, NOTE, [knownAlice, twin]), { code: 'key_invalid' });
  });

  const base64 = byAlice.slice(byAlice.lastIndexOf(' ') + 1, -1);
  const withLine = (line: string): string => `${TEXT}\n${line}`;
  const cases: readonly (readonly [string, string])[] = [
    ['an empty text', ''],
    ['a text without signatures', TEXT],
    ['no blank line', `a\n${byAlice}`],
    ['nothing after the blank line', `${TEXT}\n`],
    ['nothing before the signatures', `\n${byAlice}`],
    ['no newline at the end', NOTE.slice(0, -1)],
    ['an empty line at the end', `${NOTE}\n`],
    ['a tab', NOTE.replace('cryptography', 'crypto\tgraphy')],
    ['a carriage return', NOTE.replaceAll('\n', '\r\n')],
    ['a zero byte', NOTE.replace('cryptography', 'crypto\0graphy')],
    ['half a surrogate pair', NOTE.replace('cryptography', '\udc00')],
    ['a hyphen', withLine(byAlice.replace('—', '-'))],
    ['an en dash', withLine(byAlice.replace('—', '–'))],
    ['a horizontal bar', withLine(byAlice.replace('—', '―'))],
    ['two em dashes', withLine(byAlice.replace('—', '——'))],
    ['no space after the em dash', withLine(byAlice.replace('— ', '—'))],
    ['a no-break space after the em dash', withLine(byAlice.replace('— ', '—\u00a0'))],
    ['two spaces after the em dash', withLine(byAlice.replace('— ', '—  '))],
    ['a space before the em dash', withLine(` ${byAlice}`)],
    ['two spaces before the signature', withLine(byAlice.replace('example ', 'example  '))],
    ['a space in the name', withLine(byAlice.replace('alice.', 'alice '))],
    ['a Unicode space in the name', withLine(byAlice.replace('alice.', 'alice\u2009'))],
    ['a plus sign in the name', withLine(byAlice.replace('alice.', 'alice+'))],
    ['no name', withLine(`—  ${base64}\n`)],
    ['no signature', withLine('— alice.example\n')],
    ['an empty signature', withLine('— alice.example \n')],
    ['a key id alone', withLine(`— alice.example ${toBase64(new Uint8Array(4))}\n`)],
    ['a space at the end', withLine(byAlice.replace('\n', ' \n'))],
    ['base64 without padding', withLine(byAlice.replace('=\n', '\n'))],
    ['base64 with more padding', withLine(byAlice.replace('=\n', '==\n'))],
    ['base64 with spare bits', withLine(byAlice.replace(/.=\n/, '9=\n'))],
    ['base64url', withLine(`— a ${base64.slice(0, 8)}_-_-${base64.slice(12)}\n`)],
    ['a stray line among the signatures', `${NOTE}hello\n`],
    [
      '101 signatures',
      formatNote(
        TEXT,
        Array.from({ length: 101 }, () => byAlice),
      ),
    ],
    ['a note over a million bytes', `${'é'.repeat(MAX_NOTE_BYTES / 2)}\n\n${byAlice}`],
  ];
  for (const [name, note] of cases) {
    it(`are refused with ${name}`, () => {
      assert.throws(() => splitNote(note), refused);
      assert.throws(() => openNote(native, note, [knownAlice]), refused);
    });
  }

  it('may have 100 signatures, or fewer if the caller sets a limit', () => {
    const note = formatNote(TEXT, [...Array.from({ length: 99 }, () => byBob), byAlice]);
    assert.equal(openNote(native, note, [knownAlice]).unknown, 99);
    const maxSignatures = 99;
    assert.throws(() => openNote(native, note, [knownAlice], { maxSignatures }), refused);
  });

  it('are not written if they could not be read', () => {
    assert.throws(() => formatNote('no newline', [byAlice]), refused);
    assert.throws(() => formatNote('a\tb\n', [byAlice]), refused);
    assert.throws(() => signatureLine('a b', 1, new Uint8Array(64)), refused);
  });

  it('are refused after any change of a signed character', () => {
    fc.assert(
      fc.property(fc.nat(TEXT.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (i, char) => {
        fc.pre(NOTE[i] !== char);
        const note = NOTE.slice(0, i) + char + NOTE.slice(i + 1);
        assert.throws(() => openNote(native, note, [knownAlice]), refused);
      }),
    );
  });

  it('cause only LogErrors for any text', () => {
    const unit = fc.constantFrom('\n', '\n\n', '— ', 'a', ' ', '+', '=', byAlice, byBob, cosign(1));
    const built = fc.array(unit, { maxLength: 12 }).map((parts) => parts.join(''));
    const any = fc.oneof(fc.string({ unit: 'binary' }), built);
    const known = [knownAlice, knownWitness];
    fc.assert(
      fc.property(any, fc.nat(NOTE.length), fc.boolean(), (text, at, inside) => {
        const note = inside ? NOTE.slice(0, at) + text + NOTE.slice(at) : text;
        try {
          assert.ok(openNote(native, note, known).verified.length > 0);
        } catch (error) {
          if (!(error instanceof LogError)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
