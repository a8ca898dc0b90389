// A document that a kit is too old to decide: it is neither valid nor invalid. tools/MONITORING.md, Verify offline: exit
// code 2.

import assert from 'node:assert/strict';
import { checkDocument, untold } from '../../../plugins/verifiers.ts';
import type { JsonObject, Line, Trust } from '../../../plugins/verifiers.ts';
import { questionOf } from '../../support/absence-documents.ts';
import { vectors, vectorTrust } from '../../support/absence-vectors.ts';

const failed = (name: string, detail: string): Line => ({ name, outcome: 'failed', detail });
const STRANGE = failed('signature', 'kid is not a trusted receipt key');

describe('a document signed by a key that the kit does not have', () => {
  it('is undecided, with the hint that a newer kit may have the key', async () => {
    const [vector] = vectors.documents;
    assert.ok(vector !== undefined);
    const question = questionOf(vector.doc);
    const trust: Trust = { ...vectorTrust, keys: [] };
    const shown = { kind: 'absence', document: vector.doc } as const;
    const { valid, untold: cannot, summary } = await checkDocument(shown, trust, { question });
    assert.deepEqual([valid, cannot], [false, true]);
    assert.equal(
      summary,
      'step 2: kid is not a trusted receipt key; a key that is younger than the kit needs a newer kit',
    );
    const lie = { ...vector.doc, verdict: 'PRESENT' };
    const lied = { kind: 'absence', document: lie };
    const known = await checkDocument(lied, vectorTrust, { question });
    assert.deepEqual([known.valid, known.untold], [false, undefined]);
  });

  it('is invalid if any other check fails', () => {
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

  it('is undecided as a receipt and as an absence document', async () => {
    const entry = JSON.parse(vectors.entries[1] ?? '') as JsonObject;
    const receipt = { ...entry, entry_hash: vectors.leaf_hashes[1] ?? '' };
    const told = async (change: JsonObject, trust: Trust) => {
      const shown = { kind: 'receipt', document: { ...receipt, ...change } };
      const { valid, untold } = await checkDocument(shown, trust);
      return [valid, untold];
    };
    assert.deepEqual(await told({}, vectorTrust), [true, undefined]);
    assert.deepEqual(await told({}, { ...vectorTrust, keys: [] }), [false, true]);
    assert.deepEqual(await told({ index: 9 }, { ...vectorTrust, keys: [] }), [false, undefined]);
  });
});
