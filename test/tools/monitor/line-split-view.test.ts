// The monitor of logs that show a split view: the finding contains both signed notes.

import assert from 'node:assert/strict';
import { toHex } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { ACT, Forge } from '../../support/forge.ts';
import { Monitor, assertProves, grow } from './monitored.ts';

describe('a monitor of a log with a split view', () => {
  let monitor: Monitor;
  beforeEach(async () => {
    monitor = await Monitor.start();
  });
  afterEach(() => monitor.close());

  /** Two histories that differ after the usual six entries. */
  function fork(): { one: Forge; other: Forge } {
    const one = new Forge().usual();
    const other = new Forge().usual();
    other.add('gate.decision.v1', { ...ACT, outcome: 'DENY' });
    other.mapHead();
    return { one: grow(one, 1), other };
  }

  it('shows both notes of one size', async () => {
    const { one, other } = fork();
    const first = monitor.server.put(one).note;
    await monitor.look();
    const second = monitor.server.put(other).note;
    const document = await monitor.finding();
    assert.equal(document['rule'], 'two_roots');
    assert.deepEqual(document['notes'], [first, second]);
  });

  it('shows both notes if the later one is not consistent with the earlier one', async () => {
    const { one, other } = fork();
    const first = monitor.server.put(one).note;
    await monitor.look();
    const second = monitor.server.put(grow(other, 2)).note;
    const document = await monitor.finding();
    assert.equal(document['rule'], 'inconsistent');
    assert.deepEqual(document['notes'], [first, second]);
    assert.equal(document['proof'], 'signed');
  });

  it('shows both notes if the smaller one is served later', async () => {
    const { one, other } = fork();
    const old = monitor.server.put(one).note;
    const served = monitor.server.put(grow(other, 2));
    const newer = served.note;
    await monitor.look();
    served.note = old;
    const document = await monitor.finding();
    assert.equal(document['rule'], 'inconsistent');
    assert.deepEqual(document['notes'], [old, newer]);
  });

  it('shows a signed entry that is served in place of the one in the tree', async () => {
    const { one, other } = fork();
    const served = monitor.server.put(one);
    served.texts = other.texts;
    const document = await monitor.finding();
    assert.equal(document['rule'], 'two_entries');
    const [key, entry, committed] = document['entries'] as JsonObject[];
    assert.equal(key?.['index'], 0, 'the entry that declares the key');
    assert.equal(entry?.['entry'], other.texts[6]);
    assert.equal(committed?.['leaf_hash'], toHex(one.leaves[6] ?? new Uint8Array(0)));
    assert.equal(document['proof'], 'signed');
  });

  it('shows a successor that names another last checkpoint than the published one', async () => {
    const first = new Forge().usual();
    first.add('log.closed.v1', { successor: 'log.example/log/live/2' });
    const { note } = monitor.server.put(first.mapHead());
    const second = new Forge('log.example/log/live/2');
    second.ms = first.ms + 10_000;
    const predecessor = { origin: first.origin, size: first.size, root: '0'.repeat(64) };
    const own = monitor.server.put(second.open({ predecessor }).mapHead());
    const document = await monitor.finding();
    assert.equal(document['rule'], 'predecessor');
    assert.deepEqual(document['notes'], [note, own.note]);
    assertProves(document, [0]);
  });
});
