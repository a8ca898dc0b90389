// Sealing on a thread: the same as without one, in the order asked, and nothing is lost with the thread.

import assert from 'node:assert/strict';
import { SealPool } from '../../../gateway/tenants/seal-pool.ts';
import { openSealed } from '../../../gateway/tenants/sealing.ts';

const texts = Array.from({ length: 60 }, (_, i) => ({
  entry_id: `entry-${String(i)}`,
  text: `${'é'.repeat(i)} private ${String(i)}`,
}));

for (const threads of [true, false]) {
  describe(`a seal pool ${threads ? 'with its thread' : 'without one'}`, () => {
    let pool: SealPool;
    beforeEach(() => {
      pool = new SealPool({ threads });
    });
    afterEach(() => pool.close());

    it('seals each text under a key of its own, also over several turns', async () => {
      const asked = [];
      for (const [i, { entry_id, text }] of texts.entries()) {
        asked.push(pool.seal(entry_id, text));
        if (i % 9 === 0) await new Promise(setImmediate);
      }
      const sealed = await Promise.all(asked);
      for (const [i, { entry_id, text }] of texts.entries()) {
        assert.equal(openSealed(entry_id, sealed[i]!), text);
        assert.throws(() => openSealed(`${entry_id}0`, sealed[i]!));
        assert.equal(Buffer.from(sealed[i]!.value).includes('private'), false);
      }
      const keys = new Set(sealed.map(({ key }) => Buffer.from(key).toString('hex')));
      assert.equal(keys.size, texts.length);
    });

    it('seals what was asked before it closes', async () => {
      const sealed = pool.seal('entry-1', 'the text');
      await pool.close();
      assert.equal(openSealed('entry-1', await sealed), 'the text');
    });

    it('loses nothing with its thread, and mixes nothing up with the next one', async () => {
      const lost = pool.seal('entry-1', 'with the first');
      await Promise.resolve(); // by now the thread has it
      const closed = pool.close();
      const next = pool.seal('entry-2', 'with the second');
      await closed;
      assert.equal(openSealed('entry-1', await lost), 'with the first');
      assert.equal(openSealed('entry-2', await next), 'with the second');
    });

    it('goes on after it has been closed', async () => {
      await pool.close();
      assert.equal(openSealed('entry-1', await pool.seal('entry-1', 'later')), 'later');
    });
  });
}
