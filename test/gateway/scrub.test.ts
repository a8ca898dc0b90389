// The scrub finds flipped bits in a table of a served database, and health and metrics name the table.

import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { pino } from 'pino';
import { Scrub } from '../../gateway/scrub.ts';
import { skipInCluster } from '../cluster/suite-cluster.ts';
import { intoTables } from '../support/into-tables.ts';
import { ok, run, type Running } from './running.ts';

const LOG = 'live/1/db';

describe('gateway/scrub', () => {
  let running: Running;
  let entry_id: string;

  before(function () {
    skipInCluster(this, 'it damages files of the node that leads, and asks the other one');
  });
  beforeEach(async () => {
    const first = await run();
    for (let i = 0; i < 20; i += 1) {
      const body = { message: `one ${String(i)}` };
      ({ entry_id } = ok(await first.post('/api/v1/classify', body, { key: first.live })));
    }
    await first.close(true);
    for (const database of [LOG, 'gateway']) await intoTables(join(first.data, database));
    running = await run({ DATA_DIR: first.data });
  });
  afterEach(() => running.close());

  /** Changes a byte of the first block of the first table on disk. */
  async function bend(database: string): Promise<string> {
    const folder = join(running.data, database);
    const [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.ldb'));
    const bytes = await readFile(join(folder, name));
    bytes[20]! ^= 1;
    await writeFile(join(folder, name), bytes);
    return name;
  }

  it('finds nothing if every table is intact, and reports its progress', async () => {
    await running.gateway.scrub.run();
    const { status, degraded } = ok(await running.get('/health'));
    assert.deepEqual([status, degraded], ['ok', []]);
    for (const { name, bytes, of, finished_at_ms, faults } of running.gateway.scrub.states()) {
      assert.deepEqual([bytes, faults], [of, []], name);
      assert.ok(finished_at_ms !== null, name);
    }
    const names = running.gateway.scrub.states().map(({ name }) => name);
    assert.deepEqual(names, [LOG, 'sandbox/1/db', 'gateway', 'private']);
    assert.ok((running.gateway.scrub.states()[0]?.of ?? 0) > 0, 'a table was checked');
  });

  for (const database of [LOG, 'gateway']) {
    it(`names a damaged table of ${database} until it is repaired`, async () => {
      const table = await bend(database);
      await running.gateway.scrub.run();
      const health = ok(await running.get('/health'));
      assert.deepEqual([health.status, health.degraded], ['degraded', ['storage']]);
      const reason = `the table ${database}/${table} has a damaged block at byte 0`;
      assert.deepEqual(health.reasons, [reason]);
      const metrics = await running.gateway.metrics.registry.metrics();
      assert.match(metrics, new RegExp(`scrub_damaged_tables{database="${database}"} 1`));
      assert.match(metrics, new RegExp(`scrub_checked_bytes{database="${database}"} [1-9]`));
      await bend(database);
      await running.gateway.scrub.run();
      assert.equal(ok(await running.get('/health')).status, 'ok');
    });
  }

  for (const [database, rows] of [
    [LOG, 'asealed/'],
    ['private', ''],
  ] as const) {
    it(`is not needed to tell of a row of ${database} that does not read`, async () => {
      await running.close(true);
      await bendRows(join(running.data, database), rows);
      running = await run({ DATA_DIR: running.data, SCRUB: 'off' });
      assert.equal(ok(await running.get('/health')).status, 'ok');
      const { disclosures, served } = running.gateway;
      await assert.rejects(disclosures.open(served.live, entry_id), { code: 'store_corrupt' });
      const { status, degraded, reasons } = ok(await running.get('/health'));
      assert.deepEqual([status, degraded], ['degraded', ['storage']]);
      assert.deepEqual(reasons, [`a row or block of ${database} that was read is damaged`]);
    });
  }

  it('reads no faster than its rate, and ends at once when it is aborted', async () => {
    const folder = join(running.data, LOG);
    const logger = pino({ level: 'silent' });
    const scrub = new Scrub(() => [{ name: 'slow', folder }], { now: Date.now, logger }, 1);
    const stopped = new AbortController();
    const run = scrub.run(stopped.signal);
    const turn = new Promise<'running'>((resolve) => setImmediate(resolve, 'running'));
    assert.equal(await Promise.race([run, turn]), 'running');
    stopped.abort();
    await run;
    assert.equal(scrub.states()[0]?.finished_at_ms, null);
  });

  it('is off if SCRUB says so, and refuses an invalid interval', async () => {
    const off = await run({ SCRUB: 'off' });
    assert.equal(off.gateway.config.SCRUB, 0);
    assert.deepEqual(off.gateway.scrub.states(), []);
    await off.close();
    for (const bad of ['', '0', '1', '59s', '367d', 'daily', '-1d']) {
      if (bad !== '')
        await assert.rejects(run({ SCRUB: bad }), /SCRUB must be off, or an interval/);
    }
  });
});

/** Changes the values of rows, with valid checksums of LevelDB; rows of the database itself are kept. */
async function bendRows(folder: string, prefix: string): Promise<void> {
  const level = new ClassicLevel<string, Uint8Array>(folder, {
    valueEncoding: 'view',
    compression: false,
  });
  await level.open();
  for (const [key, value] of await level.iterator({ gt: prefix === '' ? '"' : prefix }).all()) {
    if (!key.startsWith(prefix)) continue;
    value[value.length >> 1]! ^= 1;
    await level.put(key, value);
  }
  await level.close();
}
