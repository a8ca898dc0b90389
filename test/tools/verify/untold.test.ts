// What a kit that is too old cannot tell: no forgery is found, and nothing is shown. tools/MONITORING.md, Verify offline: exit code 2.

import assert from 'node:assert/strict';
import { untold } from '../../../gateway/static/verify/finding.ts';
import type { Line } from '../../../gateway/static/verify/finding.ts';
import type { JsonObject, Trust } from '../../../log/verify.ts';
import { check } from '../../../tools/verify/check.ts';
import { questionOf } from '../../support/absence-documents.ts';
import { vectors, vectorTrust } from '../../support/absence-vectors.ts';

const failed = (name: string, detail: string): Line => ({ name, outcome: 'failed', detail });
const STRANGE = failed('signature', 'kid is not a trusted receipt key');

describe('a thing by a key that the kit does not have', () => {
  it('is told neither good nor bad, with the hint that a newer kit may know it', () => {
    const [vector] = vectors.documents;
    assert.ok(vector !== undefined);
    const question = questionOf(vector.doc);
    const trust: Trust = { ...vectorTrust, keys: [] };
    const shown = { kind: 'absence', document: vector.doc } as const;
    const { valid, untold: cannot, summary } = check(shown, trust, { question });
    assert.deepEqual([valid, cannot], [false, true]);
    assert.equal(
      summary,
      'step 2: kid is not a trusted receipt key; a key that is younger than the kit needs a newer kit',
    );
    const lie = { ...vector.doc, verdict: 'PRESENT' };
    const known = check({ kind: 'absence', document: lie }, vectorTrust, { question });
    assert.deepEqual([known.valid, known.untold], [false, undefined]);
  });

  it('is bad all the same when anything else is', () => {
    const other = failed('entry_hash', 'entry_hash is not the hash of the entry');
    const ok: Line = { name: 'origin', outcome: 'ok', detail: '' };
    assert.match(untold([ok, STRANGE]) ?? '', /newer kit/);
    assert.equal(untold([STRANGE, other]), null);
    assert.equal(untold([other]), null);
    assert.equal(untold([ok]), null);
    const rest = failed('document', 'without a good receipt nothing commits to it');
    assert.match(untold([failed('receipt', `signature: ${STRANGE.detail}`), rest]) ?? '', /newer/);
    assert.equal(untold([rest]), null);
  });

  it('is so of a receipt as of an absence document', () => {
    const entry = JSON.parse(vectors.entries[1] ?? '') as JsonObject;
    const receipt = { ...entry, entry_hash: vectors.leaf_hashes[1] ?? '' };
    const told = (change: JsonObject, trust: Trust) => {
      const { valid, untold } = check(
        { kind: 'receipt', receipt: { ...receipt, ...change } },
        trust,
        {},
      );
      return [valid, untold];
    };
    assert.deepEqual(told({}, vectorTrust), [true, undefined]);
    assert.deepEqual(told({}, { ...vectorTrust, keys: [] }), [false, true]);
    assert.deepEqual(told({ index: 9 }, { ...vectorTrust, keys: [] }), [false, undefined]);
  });
});
