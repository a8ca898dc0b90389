// The rules that a monitor checks with its own clock: map heads from the future, late checkpoints, entries that were
// withheld for longer than the maximum merge delay.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/encoding/json.ts';
import type { Polled } from '../../../tools/monitor/clock-rules.ts';
import { type Outcome } from '../../../tools/monitor/line.ts';
import { Forge } from '../../support/forge.ts';
import { Monitor, grow } from './monitored.ts';

describe('a monitor with its own clock', () => {
  let monitor: Monitor;
  beforeEach(async () => {
    monitor = await Monitor.start();
  });
  afterEach(() => monitor.close());

  const at = (now_ms: number): Polled => ({ now_ms, interval_ms: 10_000 });
  const judged = async (now_ms: number): Promise<Outcome> => monitor.look(at(now_ms));

  it('accepts checkpoints and entries in time', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    assert.equal(await judged(forge.ms - 60_000), 'ok');
    assert.equal(await judged(forge.ms + 730_000), 'ok');
  });

  it('finds a map head from the future', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    const document = await monitor.finding(at(forge.ms - 60_001));
    assert.equal(document['rule'], 'map_head_future');
    assert.equal(document['clock_ms'], forge.ms - 60_001);
  });

  it('finds a checkpoint that is older than an idle log may have', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    assert.equal((await monitor.finding(at(forge.ms + 730_001)))['rule'], 'checkpoint_late');
  });

  it('requires no new checkpoint of a closed log', async () => {
    const forge = new Forge().usual();
    forge.add('log.closed.v1', { successor: null });
    monitor.server.put(forge.mapHead());
    assert.equal(await judged(forge.ms + 99_999_999), 'ok');
  });

  it('finds an entry that was withheld for too long', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    assert.equal(await judged(forge.ms + 131_001), 'ok');
    monitor.server.put(grow(forge, 1));
    const document = await monitor.finding(at(forge.ms + 131_001));
    assert.equal(document['rule'], 'merge_delay');
    assert.equal((document['entries'] as JsonObject[])[0]?.['index'], 6);
  });
});
