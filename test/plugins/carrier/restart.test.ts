// The carrier layer over a restart: its state is what the log says.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fsck } from '../../../log/operate/fsck/fsck.ts';
import { broughtTypes } from '../../../tools/brought-types.ts';
import { run } from '../../gateway/running.ts';
import { VIOLATION } from './carriers.ts';

describe('plugins/carrier, started again', () => {
  it('has its mandates and findings, which are what the log says', async () => {
    const first = await run();
    const { live: key, data } = first;
    const path = '/carrier/v1/insured/lasting/compliance';
    const enrolled = await first.post('/carrier/v1/enroll', { company: 'Lasting' }, { key });
    const { entity } = enrolled.json;
    await first.post('/api/v1/classify', { message: VIOLATION, entity }, { key });
    const before = (await first.get(path, { key })).json;
    await first.close(true);
    const folder = join(data, 'live', '1');
    const types = await broughtTypes({ PLUGINS: [] });
    assert.deepEqual((await fsck({ folder, types })).differences, []);
    const again = await run({ DATA_DIR: data });
    try {
      const { decision, reasons, mandate_id } = (await again.get(path, { key })).json;
      assert.deepEqual([decision, reasons], ['BLOCK', ['open_violation']]);
      assert.equal(mandate_id, before.mandate_id);
    } finally {
      await again.close();
    }
  });
});
