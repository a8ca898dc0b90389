// The carrier layer over a restart and a succession: its state follows from the entries of the logs.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fsck } from '../../../log/operate/fsck/fsck.ts';
import { PLUGIN_ROW, readRowKey } from '../../../log/store/layout.ts';
import { rowsOf } from '../../../log/operate/fsck/rows.ts';
import { openStore, write } from '../../../log/store/store.ts';
import { broughtTypes } from '../../../tools/brought-types.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import { succeeded } from '../succeeded.ts';
import { HARMLESS, VIOLATION } from './carriers.ts';

const PATH = '/carrier/v1/insured/lasting/compliance';

/** A gateway with an insured that has a resolved finding and a later open one. */
async function found(): Promise<{ running: Running; resolved: string; open: string }> {
  const running = await run();
  const { live: key } = running;
  const { entity } = ok(await running.post('/carrier/v1/enroll', { company: 'Lasting' }, { key }));
  const violation = async (): Promise<string> => {
    const body = { message: VIOLATION, entity };
    const { entry_id } = ok(await running.post('/api/v1/classify', body, { key }));
    return entry_id as string;
  };
  const [open, resolved] = [await violation(), await violation()];
  ok(await resolve(running, resolved));
  ok(await running.post('/api/v1/classify', { message: HARMLESS, entity }, { key }));
  return { running, resolved, open };
}

const resolve = (running: Running, id: string, key = running.live) =>
  running.post(
    `/carrier/v1/findings/${id}/resolve`,
    { outcome: 'dismissed', reason: 'a quotation' },
    { key },
  );

describe('plugins/carrier, started again', function () {
  this.timeout(60_000);

  it('has the mandates, findings and resolutions of the log', async () => {
    const { running: first, open } = await found();
    const { live: key, data } = first;
    const before = ok(await first.get(PATH, { key }));
    await first.close(true);
    const folder = join(data, 'live', '1');
    const types = await broughtTypes({ PLUGINS: [] });
    assert.deepEqual((await fsck({ folder, types })).differences, []);
    const again = await run({ DATA_DIR: data });
    try {
      const { decision, reasons, mandate_id, resolutions } = ok(await again.get(PATH, { key }));
      assert.deepEqual([decision, reasons], ['BLOCK', ['open_violation']]);
      assert.equal(mandate_id, before.mandate_id);
      assert.deepEqual(resolutions, before.resolutions);
      ok(await resolve(again, open, key));
      assert.equal(ok(await again.get(PATH, { key })).decision, 'ALLOW');
    } finally {
      await again.close();
    }
  });

  it('has no resolution without an entry, and detects a lost one', async () => {
    const { running, resolved, open } = await found();
    await running.close(true);
    const folder = join(running.data, 'live', '1');
    const store = await openStore(join(folder, 'db'));
    for await (const [key, value] of rowsOf(store, PLUGIN_ROW)) {
      const name = readRowKey(key);
      if (!name.startsWith('carrier/resolution/')) continue;
      const forged = Buffer.from(Buffer.from(key).toString().replace(resolved, open));
      await store.write([write(key, null), write(forged, value)]);
    }
    await store.close();
    const { differences } = await fsck({ folder, types: await broughtTypes({ PLUGINS: [] }) });
    const named = differences.map(({ where }) => where).join('\n');
    assert.ok(named.includes(resolved) && named.includes(open), named);
  });

  it('counts findings and resolutions of a log that was closed', async () => {
    const { running, resolved, open } = await found();
    const again = await succeeded(running);
    try {
      const { live: key } = running;
      const said = async () => {
        const { decision, resolutions } = ok(await again.get(PATH, { key }));
        return [decision, resolutions.map((one: { finding_id: string }) => one.finding_id)];
      };
      assert.deepEqual(await said(), ['BLOCK', [resolved]]);
      assert.equal(codeOf(await resolve(again, resolved, key), 409), 'finding_resolved');
      const { receipt } = ok(await resolve(again, open, key));
      assert.match(receipt.origin as string, /\/live\/2$/);
      assert.deepEqual(await said(), ['ALLOW', [resolved]]);
      assert.equal(codeOf(await resolve(again, open, key), 409), 'finding_resolved');
    } finally {
      await again.close();
    }
  });
});
