// ML-DSA-44 keys, cosignatures and log signatures, with the vectors that the verifiers in Go and Python use too. C2SP
// tlog-cosignature, type 06; FIPS 204.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { native } from '../../../log/crypto/native.ts';
import { openCheckpoint } from '../../../log/note/checkpoint.ts';
import { mlDsaMessage, openNote, parseVkey, splitNote } from '../../../log/note/note.ts';
import { NotePool } from '../../../log/note/note-pool.ts';
import { countQuorum, parsePolicy } from '../../../log/note/policy.ts';

interface Vectors {
  readonly torchwood: { readonly vkey: string; readonly note: string };
  readonly checkpoint: Readonly<
    Record<
      'origin' | 'log' | 'log_ml_dsa' | 'witness' | 'witness_ml_dsa' | 'note' | 'policy',
      string
    >
  > & { readonly times: readonly number[] };
}

const { torchwood, checkpoint } = JSON.parse(
  readFileSync(new URL('../../vectors/ml-dsa.json', import.meta.url), 'utf8'),
) as Vectors;
const keys = {
  origin: checkpoint.origin,
  vkey: checkpoint.log,
  cosigners: [checkpoint.witness, checkpoint.witness_ml_dsa, checkpoint.log_ml_dsa],
};

/** The note with one character of the base64 of a line changed. */
function broken(note: string, line: number): string {
  const lines = note.split('\n');
  const at = lines.length - 2 - line;
  const text = lines[at] ?? '';
  const other = text.at(-8) === 'A' ? 'B' : 'A';
  lines[at] = `${text.slice(0, -8)}${other}${text.slice(-7)}`;
  return lines.join('\n');
}

describe('ML-DSA-44 signatures of checkpoints', () => {
  it('match the vectors of torchwood', () => {
    const verifier = parseVkey(native, torchwood.vkey);
    const { verified } = openNote(native, torchwood.note, [verifier]);
    assert.equal(verified[0]?.time_s, 0);
    const { text } = splitNote(torchwood.note);
    assert.throws(() => openNote(native, broken(torchwood.note, 0), [verifier]), /not valid/);
    assert.throws(() => mlDsaMessage(verifier.name, `${text}extension\n`, 0), /three lines/);
    assert.throws(() => mlDsaMessage('n'.repeat(256), text, 0), /255/);
  });

  it('count like Ed25519 ones, except those without a time', () => {
    const { cosignatures } = openCheckpoint(native, checkpoint.note, keys);
    assert.deepEqual(
      cosignatures.map(({ time_s }) => time_s),
      checkpoint.times,
    );
    const policy = parsePolicy(native, checkpoint.policy);
    assert.ok(countQuorum(policy, cosignatures.slice(1)));
    assert.ok(!countQuorum(policy, []));
  });

  it('are refused with the note if they are not valid', () => {
    for (const line of [0, 2]) {
      assert.throws(() => openCheckpoint(native, broken(checkpoint.note, line), keys), /not valid/);
    }
  });

  it('of the log are found, and are refused with the note if they are not valid', () => {
    const [witness = '', second = ''] = keys.cosigners;
    const own = { ...keys, cosigners: [witness, second], vkey_ml_dsa: checkpoint.log_ml_dsa };
    const { ml_dsa, cosignatures } = openCheckpoint(native, checkpoint.note, own);
    assert.ok(ml_dsa);
    assert.equal(cosignatures.length, 2);
    const line = splitNote(checkpoint.note).signatures.findLastIndex(
      ({ name, signature }) => name === checkpoint.origin && signature.length > 64,
    );
    const lines = checkpoint.note.slice(checkpoint.note.indexOf('\n\n') + 2).split('\n');
    const last = lines.length - 2 - line;
    assert.throws(() => openCheckpoint(native, broken(checkpoint.note, last), own), /not valid/);
    const without = checkpoint.note.replace(`${lines[line] ?? ''}\n`, '');
    assert.equal(openCheckpoint(native, without, own).ml_dsa, false);
    assert.equal(openCheckpoint(native, checkpoint.note, keys).ml_dsa, false);
    for (const vkey_ml_dsa of [checkpoint.witness_ml_dsa, checkpoint.log]) {
      assert.throws(
        () => openCheckpoint(native, checkpoint.note, { ...own, cosigners: [], vkey_ml_dsa }),
        /no.* ML-DSA-44 key of the log/,
      );
    }
    const twice = { ...own, cosigners: keys.cosigners };
    assert.throws(() => openCheckpoint(native, checkpoint.note, twice), /same key id|another name/);
  });

  it('are verified in a thread', async () => {
    const pool = new NotePool({ threads: true });
    try {
      const parsed = keys.cosigners.map((vkey) => parseVkey(native, vkey));
      const found = await pool.cosignatures(checkpoint.note, { ...keys, cosigners: parsed });
      assert.equal(found.length, 2);
    } finally {
      await pool.close();
    }
  });
});
