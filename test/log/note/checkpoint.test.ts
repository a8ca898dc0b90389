// Checkpoints of the absence vectors and of tlog-golden, and texts that are not checkpoints (log/FORMAT.md §5).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { fromBase64, utf8 } from '../../../log/encoding/bytes.ts';
import { LogError } from '../../../log/errors.ts';
import {
  formatCheckpoint,
  openCheckpoint,
  parseCheckpoint,
  signCheckpoint,
} from '../../../log/note/checkpoint.ts';
import {
  formatNote,
  signatureLine,
  signCosignature,
  splitNote,
  formatVkey,
  parseVkey,
} from '../../../log/note/note.ts';
import { vectors } from '../../support/absence-vectors.ts';
import { sharedVectors } from '../../support/vectors.ts';
import { seededSigner } from './seeded-signer.ts';

const ORIGIN = 'log.example/log/live/1';
const ROOT = native.sha256(utf8('root'));
const log = seededSigner(1);
const vkey = formatVkey(native, ORIGIN, 1, log.publicKey);
const refused = { name: 'LogError', code: 'note_invalid' };
const badKeys = { name: 'LogError', code: 'key_invalid' };
const cosigners = vectors.witnesses.map((witness) => witness.vkey);

describe('checkpoints of the absence vectors', () => {
  for (const [name, suite] of [
    ['native', native],
    ['portable', portable],
  ] as const) {
    it(`are verified with two witnesses and a monitor: ${name}`, () => {
      for (const [i, note] of vectors.checkpoints.entries()) {
        const opened = openCheckpoint(suite, note, { ...vectors, cosigners });
        assert.equal(opened.size, [11, 20][i]);
        assert.equal(Buffer.from(opened.root).toString('hex'), vectors.roots[opened.size - 1]);
        assert.deepEqual(
          opened.cosignatures.map((cosignature) => [cosignature.name, cosignature.map]),
          [
            ['witness.example/one', false],
            ['witness.example/two', false],
            ['monitor.example/one/map', true],
          ],
        );
        const keyIds = opened.cosignatures.map(({ key_id }) => key_id);
        assert.deepEqual(keyIds, [0x233930c8, 0x339bb75d, 0xb31d7488]);
      }
    });
  }

  it('are the same bytes when signed with the seeds in their note', () => {
    const names = vectors.witnesses.map((witness) => witness.name);
    for (const note of vectors.checkpoints) {
      const { text, cosignatures, ...head } = openCheckpoint(native, note, {
        ...vectors,
        cosigners,
      });
      const again = [0x51, 0x52, 0x53].map((seed, i) =>
        signCosignature(
          native,
          seededSigner(seed),
          names[i] ?? '',
          text,
          cosignatures[i]?.time_s ?? 0,
        ),
      );
      const signed = signCheckpoint(native, seededSigner(0x43), head);
      assert.equal(signed + again.join(''), note);
    }
  });

  it('are verified without cosigners; their lines are unknown', () => {
    const opened = openCheckpoint(native, vectors.checkpoints[0] ?? '', vectors);
    assert.deepEqual(opened.cosignatures, []);
  });
});

describe('checkpoints of tlog-golden (skipped if ../shared/vectors is missing)', () => {
  interface Golden {
    readonly origin: string;
    readonly vkey: string;
    readonly skey: string;
    readonly checkpoints: Readonly<Record<string, string>>;
  }
  let golden: Golden;
  before(function () {
    const file = sharedVectors('tlog-golden/log.json');
    if (file === null) this.skip();
    golden = file as Golden;
  });

  it('are verified, and are the same bytes when signed with their test key', () => {
    // PRIVATE+KEY+<name>+<key id>+<base64(type ‖ seed)>; the base64 may contain plus signs.
    const [, , , , ...base64] = golden.skey.split('+');
    const signer = seededSigner(fromBase64(base64.join('+'), 33).subarray(1));
    assert.equal(formatVkey(native, golden.origin, 1, signer.publicKey), golden.vkey);
    const notes = Object.entries(golden.checkpoints);
    assert.equal(notes.length, 16);
    for (const [size, note] of notes) {
      const { root, ...opened } = openCheckpoint(portable, note, golden);
      assert.equal(opened.size, Number(size));
      const again = signCheckpoint(native, signer, {
        origin: golden.origin,
        size: Number(size),
        root,
      });
      assert.equal(again, note);
    }
  });
});

describe('checkpoint text', () => {
  const TEXT = formatCheckpoint({ origin: ORIGIN, size: 7, root: ROOT });
  const line3 = TEXT.split('\n')[2] ?? '';

  it('is parsed to its parts', () => {
    const size = fc.oneof(fc.nat(), fc.constantFrom(0, 2 ** 32, Number.MAX_SAFE_INTEGER));
    fc.assert(
      fc.property(size, fc.uint8Array({ minLength: 32, maxLength: 32 }), (n, root) => {
        const checkpoint = { origin: ORIGIN, size: n, root };
        assert.deepEqual(parseCheckpoint(formatCheckpoint(checkpoint)), checkpoint);
      }),
    );
  });

  const cases: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['two lines', `${ORIGIN}\n7\n`],
    ['no newline at the end', TEXT.slice(0, -1)],
    ['an extension line', `${TEXT}extension\n`],
    ['an empty extension line', `${TEXT}\n`],
    ['an empty origin', TEXT.replace(ORIGIN, '')],
    ['a space in the origin', TEXT.replace('/', ' ')],
    ['a plus sign in the origin', TEXT.replace('/', '+')],
    ['a leading zero', TEXT.replace('\n7\n', '\n07\n')],
    ['zero twice', TEXT.replace('\n7\n', '\n00\n')],
    ['a plus sign before the size', TEXT.replace('\n7\n', '\n+7\n')],
    ['a minus sign', TEXT.replace('\n7\n', '\n-7\n')],
    ['no size', TEXT.replace('\n7\n', '\n\n')],
    ['a space before the size', TEXT.replace('\n7\n', '\n 7\n')],
    ['an exponent', TEXT.replace('\n7\n', '\n7e0\n')],
    ['hex', TEXT.replace('\n7\n', '\n0x7\n')],
    ['another digit seven', TEXT.replace('\n7\n', '\n\u0667\n')],
    ['2^53', TEXT.replace('\n7\n', '\n9007199254740992\n')],
    ['2^64', TEXT.replace('\n7\n', '\n18446744073709551616\n')],
    ['a root without padding', TEXT.replace('=\n', '\n')],
    ['a short root', TEXT.replace(line3, line3.slice(4))],
    ['a long root', TEXT.replace(line3, `AAAA${line3}`)],
    ['a root with spare bits', TEXT.replace(/.=\n$/, '9=\n')],
    ['a space after the root', TEXT.replace('=\n', '= \n')],
  ];
  for (const [name, text] of cases) {
    it(`refuses ${name}`, () => {
      assert.throws(() => parseCheckpoint(text), refused);
      const line = signatureLine(ORIGIN, parseVkey(native, vkey).key_id, log.sign(utf8(text)));
      const note = `${text}\n${line}`;
      assert.throws(() => openCheckpoint(native, note, { origin: ORIGIN, vkey }), refused);
    });
  }

  it('is not written from values out of range', () => {
    for (const checkpoint of [
      { origin: 'a b', size: 1, root: ROOT },
      { origin: ORIGIN, size: -1, root: ROOT },
      { origin: ORIGIN, size: 1.5, root: ROOT },
      { origin: ORIGIN, size: 2 ** 53, root: ROOT },
      { origin: ORIGIN, size: 1, root: ROOT.subarray(1) },
    ]) {
      assert.throws(() => formatCheckpoint(checkpoint), refused);
    }
  });
});

describe('opening a checkpoint', () => {
  const note = signCheckpoint(native, log, { origin: ORIGIN, size: 7, root: ROOT });
  const { text } = splitNote(note);
  const witness = seededSigner(3);
  const witnessVkey = formatVkey(native, 'w.example', 4, witness.publicKey);

  it('requires the signature of the log, with any other signatures', () => {
    const alone = formatNote(text, [signCosignature(native, witness, 'w.example', text, 9)]);
    const keys = { origin: ORIGIN, vkey, cosigners: [witnessVkey] };
    assert.throws(() => openCheckpoint(native, alone, keys), refused);
  });

  it('refuses an invalid cosignature of a known cosigner', () => {
    const other = text.replace('\n7\n', '\n8\n');
    const bad = note + signCosignature(native, witness, 'w.example', other, 9);
    const keys = { origin: ORIGIN, vkey, cosigners: [witnessVkey] };
    assert.throws(() => openCheckpoint(native, bad, keys), refused);
    assert.equal(openCheckpoint(native, bad, { origin: ORIGIN, vkey }).size, 7);
  });

  it('refuses an unexpected origin in the key or in the text', () => {
    const origin = 'log.example/log/live/2';
    assert.throws(() => openCheckpoint(native, note, { origin, vkey }), badKeys);
    const foreign = formatCheckpoint({ origin, size: 7, root: ROOT });
    const key_id = parseVkey(native, vkey).key_id;
    const signed = formatNote(foreign, [signatureLine(ORIGIN, key_id, log.sign(utf8(foreign)))]);
    assert.throws(() => openCheckpoint(native, signed, { origin: ORIGIN, vkey }), refused);
  });

  it('refuses keys of the wrong type or given twice', () => {
    const asCosigner = formatVkey(native, ORIGIN, 4, log.publicKey);
    const twice = formatVkey(native, 'w.example/map', 4, witness.publicKey);
    assert.throws(
      () => openCheckpoint(native, note, { origin: ORIGIN, vkey: asCosigner }),
      badKeys,
    );
    for (const wrong of [[vkey], [asCosigner], [witnessVkey, witnessVkey], [witnessVkey, twice]]) {
      const keys = { origin: ORIGIN, vkey, cosigners: wrong };
      assert.throws(() => openCheckpoint(native, note, keys), badKeys);
    }
  });

  it('refuses size 0 with any root but the empty one', () => {
    const empty = native.sha256(new Uint8Array(0));
    const good = signCheckpoint(native, log, { origin: ORIGIN, size: 0, root: empty });
    assert.equal(openCheckpoint(native, good, { origin: ORIGIN, vkey }).size, 0);
    const bad = signCheckpoint(native, log, { origin: ORIGIN, size: 0, root: ROOT });
    assert.throws(() => openCheckpoint(native, bad, { origin: ORIGIN, vkey }), refused);
  });

  it('throws only LogError for any change', () => {
    const whole = vectors.checkpoints[0] ?? '';
    const change = fc.tuple(fc.nat(whole.length), fc.nat(4), fc.string({ maxLength: 4 }));
    fc.assert(
      fc.property(fc.oneof(fc.string(), change), (edit) => {
        const hostile =
          typeof edit === 'string'
            ? edit
            : whole.slice(0, edit[0]) + edit[2] + whole.slice(edit[0] + edit[1]);
        try {
          const { size } = openCheckpoint(native, hostile, { ...vectors, cosigners });
          assert.equal(size, 11);
        } catch (error) {
          if (!(error instanceof LogError)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
