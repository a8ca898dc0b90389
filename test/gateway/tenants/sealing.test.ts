// Sealing on a worker thread: the same results as without one, in order, and nothing is lost if the thread ends.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { openSealed, SealPool } from '../../../gateway/tenants/sealing.ts';

const texts = Array.from({ length: 60 }, (_, i) => ({
  entry_id: `entry-${String(i)}`,
  text: `${'é'.repeat(i)} private ${String(i)}`,
}));

/** A key and a copy of it, because the pool wipes the key that it receives. */
const twoOf = (key = randomBytes(32)): [Uint8Array, Uint8Array] => [key, Uint8Array.from(key)];

for (const threads of [true, false]) {
  describe(`a seal pool ${threads ? 'with its thread' : 'without one'}`, () => {
    let pool: SealPool;
    beforeEach(() => {
      pool = new SealPool({ threads });
    });
    afterEach(() => pool.close());

    it('seals each text under its key, which it wipes, also over several turns', async () => {
      const asked = [];
      const keys = texts.map(() => twoOf());
      for (const [i, { entry_id, text }] of texts.entries()) {
        asked.push(pool.seal(entry_id, keys[i]![0], text));
        if (i % 9 === 0) await new Promise(setImmediate);
      }
      const sealed = await Promise.all(asked);
      for (const [i, { entry_id, text }] of texts.entries()) {
        const [given, key] = keys[i]!;
        assert.equal(openSealed(entry_id, key, sealed[i]!), text);
        assert.throws(() => openSealed(`${entry_id}0`, key, sealed[i]!));
        assert.throws(() => openSealed(entry_id, keys[(i + 1) % keys.length]![1], sealed[i]!));
        assert.equal(Buffer.from(sealed[i]!).includes('private'), false);
        assert.deepEqual(given, Buffer.alloc(32));
      }
    });

    it('finishes pending work before it closes', async () => {
      const [given, key] = twoOf();
      const sealed = pool.seal('entry-1', given, 'the text');
      await pool.close();
      assert.equal(openSealed('entry-1', key, await sealed), 'the text');
    });

    it('loses and confuses no result if its thread ends and another one starts', async () => {
      const [[given, key], [other, otherKey]] = [twoOf(), twoOf()];
      const lost = pool.seal('entry-1', given, 'with the first');
      await Promise.resolve(); // by now the thread has received it
      const closed = pool.close();
      const next = pool.seal('entry-2', other, 'with the second');
      await closed;
      assert.equal(openSealed('entry-1', key, await lost), 'with the first');
      assert.equal(openSealed('entry-2', otherKey, await next), 'with the second');
    });

    it('can be used again after it was closed', async () => {
      await pool.close();
      const [given, key] = twoOf();
      assert.equal(openSealed('entry-1', key, await pool.seal('entry-1', given, 'later')), 'later');
    });
  });
}
