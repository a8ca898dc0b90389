// The sample receipts of the draft of RFC 9942 are parsed, and encoded to the same bytes.

import assert from 'node:assert/strict';
import { consistencyOf, decodeCbor, decodeSign1, encodeSign1 } from '../../../log/cose/portable.ts';
import { HEADER, inclusionOf, isReceipt } from '../../../log/cose/portable.ts';
import type { CborMap } from '../../../log/cose/portable.ts';
import { sharedVectorBytes } from '../../support/vectors.ts';

describe('the sample receipts of RFC 9942 (skipped without the shared vectors)', () => {
  const read = (name: string): Uint8Array =>
    sharedVectorBytes(`cose/${name}.cbor`) ?? new Uint8Array();

  before(function () {
    if (sharedVectorBytes('cose/inclusion-receipt.cbor') === null) this.skip();
  });

  for (const name of ['inclusion-receipt', 'consistency-receipt']) {
    it(`reads ${name} and writes the same bytes`, () => {
      const bytes = read(name);
      const message = decodeSign1(bytes);
      assert.deepEqual(encodeSign1(message), bytes);
      assert.equal(isReceipt(message), true);
      assert.equal(message.payload, null);
      assert.equal(message.protected.get(HEADER.alg), -7);
      const claims = message.protected.get(HEADER.cwt_claims) as CborMap;
      assert.equal(claims.get(1), 'https://transparency-service.example.com');
    });
  }

  it('reads their proofs', () => {
    const { size, index, path } = inclusionOf(decodeSign1(read('inclusion-receipt')));
    assert.deepEqual([size, index, path.length], [5, 3, 3]);
    const { from, to, path: nodes } = consistencyOf(decodeSign1(read('consistency-receipt')));
    assert.deepEqual([from, to, nodes.length], [3, 5, 4]);
    assert.throws(() => consistencyOf(decodeSign1(read('inclusion-receipt'))), /no consistency/);
  });

  it('finds their protected headers not in deterministic order', () => {
    const { protectedBytes } = decodeSign1(read('inclusion-receipt'));
    assert.throws(() => decodeCbor(protectedBytes), /not deterministic/);
  });
});
