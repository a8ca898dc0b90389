// Cosignatures with a time (C2SP tlog-cosignature v1).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { concat, u64, utf8 } from '../../../log/encoding/bytes.ts';
import {
  cosignatureMessage,
  parseSignatureLine,
  signCosignature,
  verifyCosignature,
  keyId,
} from '../../../log/note/note.ts';
import { seededSigner } from './seeded-signer.ts';

const TEXT = 'example.com/log\n3\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
const NAME = 'witness.example';
const witness = seededSigner(9);
const payload = (time_s: number): Uint8Array =>
  parseSignatureLine(signCosignature(native, witness, NAME, TEXT, time_s).slice(0, -1)).signature;

describe('cosignature/v1', () => {
  it('signs the header, the time and the whole text (C2SP tlog-cosignature)', () => {
    const expected = utf8(`cosignature/v1\ntime 1679315147\n${TEXT}`);
    assert.deepEqual(cosignatureMessage(TEXT, 1679315147), expected);
  });

  it('is a line with name, key id, big-endian time and signature', () => {
    const line = signCosignature(native, witness, NAME, TEXT, 1679315147);
    const { name, key_id, signature } = parseSignatureLine(line.slice(0, -1));
    assert.equal(name, NAME);
    assert.equal(key_id, keyId(native, NAME, 4, witness.publicKey));
    assert.equal(signature.length, 72);
    assert.deepEqual([...signature.subarray(0, 8)], [0, 0, 0, 0, 0x64, 0x18, 0x50, 0xcb]);
    assert.equal(verifyCosignature(native, witness.publicKey, TEXT, signature), 1679315147);
  });

  it('is valid for its own text and time only', () => {
    const signature = payload(50);
    fc.assert(
      fc.property(fc.nat(71), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const other = Uint8Array.from(signature);
        other[at] = (other[at] ?? 0) ^ change;
        assert.equal(verifyCosignature(native, witness.publicKey, TEXT, other), null);
      }),
    );
    const otherText = TEXT.replace('3', '4');
    assert.equal(verifyCosignature(native, witness.publicKey, otherText, signature), null);
    assert.equal(verifyCosignature(native, witness.publicKey, TEXT, signature.subarray(8)), null);
  });

  it('refuses time 0 and times above 2^53 - 1', () => {
    for (const time_s of [0, -1, 1.5, 2 ** 53]) {
      assert.throws(() => signCosignature(native, witness, NAME, TEXT, time_s), {
        code: 'note_invalid',
      });
    }
    const zero = concat(u64(0), witness.sign(cosignatureMessage(TEXT, 0)));
    assert.equal(verifyCosignature(native, witness.publicKey, TEXT, zero), null);
    const late = utf8(`cosignature/v1\ntime 9223372036854775807\n${TEXT}`);
    const time = Uint8Array.of(0x7f, 255, 255, 255, 255, 255, 255, 255);
    const far = concat(time, witness.sign(late));
    assert.equal(verifyCosignature(native, witness.publicKey, TEXT, far), null);
  });
});
