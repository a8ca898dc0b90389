// The verify pool returns one result for each signature, from any thread.

import assert from 'node:assert/strict';
import { openVerifyPool } from '../../../log/crypto/verify-pool.ts';
import type { SignatureCheck } from '../../../log/crypto/verify-pool.ts';
import { seedKey } from '../../support/forge.ts';

const KEYS = [seedKey(1), seedKey(2)];

/** Signatures of two keys over messages of different lengths; every third one is of another message. */
function checks(count: number): { list: SignatureCheck[]; holds: number[] } {
  const list = Array.from({ length: count }, (_, i) => {
    const key = KEYS[i % 2]!;
    const message = new Uint8Array(i * 7).fill(i);
    const signed = i % 3 === 0 ? new Uint8Array(5) : message;
    return { publicKey: key.publicKey, message, signature: key.sign(signed) };
  });
  return { list, holds: list.map((_, i) => (i % 3 === 0 ? 0 : 1)) };
}

for (const threads of [0, 1, 3]) {
  describe(`verify pool with ${String(threads)} threads`, () => {
    const pool = openVerifyPool({ threads });
    after(() => pool.close());

    it('returns a result for each signature in order', async () => {
      const { list, holds } = checks(50);
      assert.deepEqual([...(await pool.verifyAll(list))], holds);
    });

    it('keeps concurrent batches separate', async () => {
      const batches = [checks(1), checks(20), checks(2), checks(0), checks(33)];
      const answers = await Promise.all(batches.map(({ list }) => pool.verifyAll(list)));
      assert.deepEqual(
        answers.map((answer) => [...answer]),
        batches.map(({ holds }) => holds),
      );
    });
  });
}

describe('verify pool', () => {
  it('rejects pending and later jobs once it is closed', async () => {
    const pool = openVerifyPool({ threads: 1 });
    const flying = pool.verifyAll(checks(5).list);
    const rejected = assert.rejects(flying, { code: 'log_unavailable' });
    await pool.close();
    await rejected;
    await assert.rejects(pool.verifyAll(checks(1).list), { code: 'log_unavailable' });
  });
});
