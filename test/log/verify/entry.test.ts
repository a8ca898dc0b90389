// Tests of log/verify/entry.ts: the signed text of an entry.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import { native } from '../../../log/crypto/native.ts';
import { toBase64, utf8 } from '../../../log/encoding/bytes.ts';
import { canonical } from '../../../log/encoding/canonical.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { leafHash } from '../../../log/merkle/hash.ts';
import { MAX_ENTRY_BYTES, readEntry } from '../../../log/verify/entry.ts';

const BYTES = new Uint8Array(64).fill(7);
const signature = toBase64(BYTES);

/** Reads the entry of a statement, and asserts that the signed text is that of the statement. */
function checkRead(statement: JsonObject): void {
  const text = canonical({ ...statement, signature });
  const entry = readEntry(native, text);
  assert.equal(entry.text, text);
  assert.equal(canonical(entry.statement), canonical(statement));
  assert.deepEqual(entry.message, utf8(canonical(statement)));
  assert.deepEqual(entry.signature, BYTES);
  assert.deepEqual(entry.leafHash, leafHash(native, utf8(text)));
}

describe('log/verify/entry', () => {
  it('removes the signature from the text at any position', () => {
    const name = fc.constantFrom('a', 'links', 'signature_', 'type', 'z', '1', '\u00e4');
    const value = fc.oneof(fc.nat(9), fc.constant(signature), fc.constant('\u{1f600}"\\'));
    fc.assert(fc.property(fc.dictionary(name, value), checkRead));
  });

  it('does not remove a nested signature, or one inside a string', () => {
    const inner = { signature, z: 1 };
    const quoted = JSON.stringify(inner);
    for (const statement of [
      { a: inner, type: 'x' },
      { a: inner },
      { type: inner },
      { a: [inner, inner], type: inner },
      { a: quoted, type: quoted },
      { a: `"signature":"${signature}",` },
      { a: { signature } },
    ]) {
      checkRead(statement);
    }
  });

  it('refuses a text that is not canonical', () => {
    const text = canonical({ a: 1, signature, type: 'x' });
    for (const other of [
      text.replace('"a":1', '"a": 1'),
      text.replace('"a"', '"\\u0061"'),
      `{"type":"x",${text.slice(1, -12)}}`,
      ` ${text}`,
    ]) {
      assert.notEqual(other, text);
      assert.throws(() => readEntry(native, other), { code: 'entry_invalid' }, other);
    }
  });

  it('counts bytes, not characters', () => {
    const padded = (length: number): string =>
      canonical({ a: '\u00e4'.repeat(length), b: '', signature });
    const room = MAX_ENTRY_BYTES - Buffer.byteLength(padded(0));
    const most = canonical({ a: '\u00e4'.repeat(room >> 1), b: 'b'.repeat(room % 2), signature });
    assert.equal(Buffer.byteLength(most), MAX_ENTRY_BYTES);
    assert.equal(readEntry(native, most).text, most);
    assert.throws(() => readEntry(native, most.replace('"b":"', '"b":"b')), {
      code: 'entry_too_large',
    });
  });

  it('refuses an entry without a signature of 64 bytes', () => {
    for (const bad of [undefined, null, 1, '', toBase64(BYTES.subarray(1))]) {
      const text = JSON.stringify({ a: 1, signature: bad });
      assert.throws(() => readEntry(native, text), { code: 'encoding_invalid' });
    }
  });
});
