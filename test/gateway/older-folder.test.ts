// A data folder of an older build opens with this build: its entries are served with proofs, and this build derives the
// same rows from them.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { commandVerbs } from '../../gateway/host/commands.ts';
import { LOG_KINDS } from '../../log/index.ts';
import { fsck } from '../../log/operate.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { olderFacts, olderFolder, reindexed, runOlder } from '../support/older-folder.ts';
import { ok } from './running.ts';

describe('a data folder of an older build', function () {
  this.timeout(60_000);

  it('opens, serves its entries, takes new ones and passes fsck', async () => {
    const { keys, ids, sizes } = await olderFacts();
    const data = await olderFolder();
    await reindexed(data);
    const running = await runOlder(data);
    try {
      for (const kind of LOG_KINDS) {
        const log = running.gateway.logs[kind];
        assert.ok(log.published().size >= sizes[kind], kind);
      }
      const { live: key } = keys;
      const asked = `/receipt/lookup?entry_id=${ids.entry_id}`;
      const { checks } = ok(await running.get(asked, { key }));
      assert.equal(checks?.signature_valid, true);
      assert.equal(checks?.inclusion_valid, true);

      const gate = '/api/v1/execute-gate';
      await commandVerbs(running.gateway)['gate expire']?.({});
      const { state, resolution } = ok(await running.get(`${gate}/holds/${ids.hold_id}`, { key }));
      assert.deepEqual([state, resolution?.action], ['refused', 'expire']);
      assert.equal(
        ok(await running.get(`${gate}/holds/${ids.released_hold_id}`, { key })).state,
        'released',
      );
      assert.equal(ok(await running.get(`${gate}/policy`, { key })).policy_version, 1);
      const { mandate_id } = ok(
        await running.get(`/carrier/v1/insured/${ids.slug}/compliance`, { key }),
      );
      assert.equal(mandate_id, ids.mandate_id);
      assert.equal(ok(await running.get(`/tcb/twin/${ids.twin}`)).entry_id, ids.twin);
      ok(
        await running.post(
          '/api/v1/classify',
          { message: 'Hello there', entity: ids.entity },
          { key },
        ),
      );
    } finally {
      await running.close(true);
    }
    const types = await broughtTypes({ PLUGINS: [] });
    for (const kind of LOG_KINDS) {
      const folder = join(data, kind, '1');
      assert.deepEqual((await fsck({ folder, types })).differences, [], kind);
    }
    await rm(data, { recursive: true });
  });
});
