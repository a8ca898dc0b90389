// What a monitor reports as trouble and not as a violation: no answer, torn answers, unknown keys.

import assert from 'node:assert/strict';
import { formatCheckpoint } from '../../../log/note/checkpoint.ts';
import { formatNote, signatureLine } from '../../../log/note/note.ts';
import { Forge } from '../../support/forge.ts';
import { forgeVkey } from '../../support/serve-log.ts';
import { Monitor, grow } from './monitored.ts';

describe('a monitor of a service that does not answer or answers wrongly', () => {
  let monitor: Monitor;
  beforeEach(async () => {
    monitor = await Monitor.start();
  });
  afterEach(() => monitor.close());

  it('reports trouble if the service does not answer, and continues when it does', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    monitor.server.interfere = () => 503;
    assert.equal(await monitor.look(), 'trouble');
    monitor.server.interfere = (path) => (path.includes('entries') ? 500 : 0);
    assert.equal(await monitor.look(), 'trouble');
    monitor.server.interfere = () => 0;
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.told.violations.length, 0);
  });

  it('reports trouble if the note is signed by another key', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge).note = formatNote(
      formatCheckpoint({ origin: forge.origin, size: 6, root: forge.root() }),
      [signatureLine(forge.origin, 7, new Uint8Array(64))],
    );
    assert.equal(await monitor.look(), 'trouble');
    assert.match(monitor.told.troubles.join(), /is not signed by log\.example/);
  });

  it('reads a torn bundle again, and checks it', async () => {
    const forge = new Forge().usual();
    const served = monitor.server.put(forge);
    await monitor.look();
    const whole = monitor.server.put(grow(forge, 2));
    assert.notEqual(whole, served);
    const { texts } = whole;
    whole.texts = texts.with(7, (texts[7] ?? '').replace('PERMIT', 'DENY'));
    monitor.server.interfere = (path) => {
      // The first answer is inconsistent, the second one is not.
      if (
        path.includes('entries') &&
        monitor.server.asked.filter((one) => one === path).length > 1
      ) {
        whole.texts = texts;
      }
      return 0;
    };
    assert.equal(await monitor.look(), 'ok');
    assert.equal(monitor.told.violations.length, 0);
    assert.equal(monitor.told.looks.at(-1)?.size, 9);
  });

  it('reads full tiles during the replay, and those that it could not read again at the end', async () => {
    const { server } = monitor;
    server.put(grow(new Forge().usual(), 800));
    let failures = 1;
    server.interfere = (path) => {
      if (!path.endsWith('tile/0/001') || failures === 0) return 0;
      failures -= 1;
      return 503;
    };
    assert.equal(await monitor.look(), 'ok', monitor.told.troubles.join());
    const asked = server.asked.filter((path) => /tile\/0\/\d{3}$/.test(path));
    assert.deepEqual(
      asked.map((path) => path.slice(-3)),
      ['000', '001', '001', '002'],
    );
  });

  it('refuses another key than the pinned one', async () => {
    const forge = new Forge().usual();
    monitor.server.put(forge);
    await monitor.look();
    await monitor.again({ vkey: [forgeVkey('other.example/log/live/1')] });
    await assert.rejects(monitor.look(), { name: 'CommandError', message: /is pinned to/ });
  });

  it('asks for a key if neither the caller nor the kit names one', async () => {
    monitor.server.put(new Forge('log.example/log/live/7').usual());
    await assert.rejects(monitor.look(), { message: /nothing says which key live\/1 signs with/ });
  });
});
