// The monitor of honest logs: what it checks, stores and follows over restarts and successors, over real HTTP and with
// real files.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { toHex } from '../../../log/encoding/bytes.ts';
import { Forge } from '../../support/forge.ts';
import { forgeVkey } from '../../support/serve-log.ts';
import { Monitor, grow } from './monitored.ts';

describe('a monitor of an honest log', () => {
  let monitor: Monitor;
  beforeEach(async () => {
    monitor = await Monitor.start();
  });
  afterEach(() => monitor.close());

  it('checks everything, pins the key, and then checks only new entries', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    assert.equal(await monitor.look(), 'ok');
    assert.deepEqual(monitor.told.pins, [forgeVkey(forge.origin)]);
    monitor.server.put(grow(forge, 3));
    assert.equal(await monitor.look(), 'ok');
    assert.equal(await monitor.look(), 'ok');
    assert.deepEqual(
      monitor.told.looks.map(({ size, entries }) => [size, entries]),
      [
        [6, 6],
        [10, 4],
        [10, 0],
      ],
    );
    assert.equal(monitor.told.pins.length, 1);
  });

  it('continues after a restart from what it has checked', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    await monitor.look();
    monitor.server.put(grow(forge, 2));
    await monitor.again();
    assert.equal(await monitor.look(), 'ok');
    assert.deepEqual(
      monitor.told.looks.map(({ entries }) => entries),
      [6, 3],
    );
    assert.equal(monitor.told.pins.length, 1);
  });

  it('starts again if the stored replay is gone, and reaches the note that it had seen', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    await monitor.look();
    await monitor.line.close();
    await rm(join(monitor.state, 'live-1.replay'));
    await monitor.again();
    assert.equal(await monitor.look(), 'ok');
    assert.deepEqual(
      monitor.told.looks.map(({ entries }) => entries),
      [6, 6],
    );
  });

  it('reports an older, consistent note as a stale copy', async () => {
    const forge = new Forge().usual();
    const old = monitor.server.put(forge).note;
    const served = monitor.server.put(grow(forge, 2));
    await monitor.look();
    served.note = old;
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.told.looks.at(-1)?.stale, true);
  });

  it('reads a prefix without a service with a key that is given', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    await monitor.line.close();
    const vkey = [forgeVkey(forge.origin)];
    await monitor.again({ vkey }, `${monitor.server.url}/log/live/1/`);
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.server.asked.includes('/export/offline-verify-kit.json'), false);
  });

  it('follows a closed log to its successor', async () => {
    const first = new Forge().usual();
    const end = first.ms;
    first.add('log.closed.v1', { successor: 'log.example/log/live/2' });
    first.mapHead();
    monitor.server.put(first);
    assert.equal(await monitor.look(), 'ok');
    const second = new Forge('log.example/log/live/2');
    second.ms = end + 10_000;
    const predecessor = { origin: first.origin, size: first.size, root: toHex(first.root()) };
    second.open({ predecessor }).mapHead();
    monitor.server.put(second);
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.line.name, 'live/2');
    monitor.server.put(second.mapHead());
    await monitor.again();
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.line.name, 'live/2');
    assert.equal(monitor.told.looks.at(-1)?.size, 3);
  });

  it('follows a lost log to its successor, and reports what can no longer be checked', async () => {
    const first = new Forge().usual();
    monitor.server.put(first);
    const lost = grow(first, 1);
    const second = new Forge('log.example/log/live/2');
    second.ms = lost.ms + 10_000;
    const predecessor = { origin: lost.origin, size: lost.size, root: toHex(lost.root()) };
    monitor.server.put(second.open({ predecessor }).mapHead());
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.line.name, 'live/2');
    assert.match(monitor.told.notes.join(), /given up at 8 entries, of which 2 are not served/);
  });
});
