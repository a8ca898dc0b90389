// /metrics: every metric is in the table of the guide, and changes with what it measures.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Type } from 'typebox';
import { definePlugin, job } from '../../plugins/contract/index.ts';
import { IN_CLUSTER } from '../cluster/suite-cluster.ts';
import { run } from './running.ts';
import type { Running } from './running.ts';

const GUIDE = readFileSync(new URL('../../tools/OPERATING.md', import.meta.url), 'utf8');

const jobs = definePlugin({
  contract: 2,
  name: 'chores',
  title: 'Chores',
  types: [],
  setup: () => ({
    jobs: [
      job({
        name: 'chores fail',
        summary: 'Fails',
        args: Type.Object({}),
        example: {},
        every_ms: 3_600_000,
        perform: () => Promise.reject(new Error('it failed')),
      }),
    ],
  }),
});

describe('gateway/metrics', () => {
  let running: Running;
  let text = '';

  const value = (line: RegExp): number => {
    const found = new RegExp(`^${line.source} (\\S+)$`, 'm').exec(text);
    assert.ok(found !== null, `${line.source} is missing`);
    return Number(found[1]);
  };
  const scrape = async (): Promise<void> => {
    text = await running.gateway.metrics.registry.metrics();
  };

  before(async () => {
    running = await run({}, { plugins: [jobs] });
    await running.post('/api/v1/classify', { message: 'a' }, { key: running.live });
    await running.gateway.logs.live.whenPublished(running.gateway.logs.live.size());
    await scrape();
  });
  after(() => running.close());

  it('are all in the table of tools/OPERATING.md', () => {
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
    assert.ok(names.length > 20);
    const missing = names.filter(
      (name) => !/^actlog_(process|nodejs)_/.test(name) && !GUIDE.includes(`| \`${name}\` `),
    );
    assert.deepEqual(missing, []);
  });

  it('measure appends, synced batches and an fsync', () => {
    assert.equal(value(/actlog_append_duration_seconds_count\{kind="live"\}/), 1);
    assert.ok(value(/actlog_commit_duration_seconds_count\{kind="live"\}/) >= 1);
    assert.ok(value(/actlog_fsync_duration_seconds_count/) >= 1);
  });

  it('show the age of the checkpoint, the disk and the databases', async () => {
    assert.ok(value(/actlog_log_checkpoint_age_seconds\{kind="live"\}/) < 60);
    assert.ok(value(/actlog_disk_free_bytes/) > 0);
    const own = IN_CLUSTER ? ['gateway-copy/db'] : ['gateway', 'private'];
    for (const database of ['live/1/db', 'sandbox/1/db', ...own]) {
      assert.ok(value(new RegExp(`actlog_database_bytes\\{database="${database}"\\}`)) > 0);
    }
  });

  it('count a job that failed, by its name', () => {
    assert.equal(value(/actlog_job_runs_total\{job="chores fail",end="failed"\}/), 1);
  });

  it('count the waiting webhooks, and show the age of the oldest', async () => {
    const log = running.gateway.logs.live;
    assert.equal(value(/actlog_webhook_waiting_messages\{kind="live"\}/), 0);
    const index = String(log.size() - 1).padStart(15, '0');
    const row = Buffer.from(JSON.stringify({ type: 'trigger.fired', attempts: 0 }));
    await log.putAttached([{ key: `webhook/ready/0123456789abcdef/${index}/url`, value: row }]);
    const ahead = running.clock.wall();
    running.clock.pass(5000);
    await scrape();
    assert.equal(value(/actlog_webhook_waiting_messages\{kind="live"\}/), 1);
    const age = value(/actlog_webhook_oldest_seconds\{kind="live"\}/);
    assert.ok(age >= 5 && age < 5 + (running.clock.wall() - ahead) / 1000, String(age));
    assert.equal(value(/actlog_webhook_dead_messages\{kind="live"\}/), 0);
  });
});
