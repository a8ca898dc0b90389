// The monitor of logs that break a rule: each finding is a file with the signed objects that prove it. log/FORMAT.md §7;
// C2SP tlog-checkpoint.

import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { native } from '../../../log/crypto/native.ts';
import { utf8 } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { formatCheckpoint } from '../../../log/note/checkpoint.ts';
import { formatNote, signatureLine, parseVkey } from '../../../log/note/note.ts';
import { ACT, CHECKPOINT_KEY, Forge } from '../../support/forge.ts';
import { forgeVkey } from '../../support/serve-log.ts';
import { Monitor, assertProves, grow } from './monitored.ts';

describe('a monitor of a log that breaks a rule', () => {
  let monitor: Monitor;
  beforeEach(async () => {
    monitor = await Monitor.start();
  });
  afterEach(() => monitor.close());

  it('shows the entry under the note that commits to it', async () => {
    const forge = new Forge().usual();
    forge.add('gate.decision.v1', ACT, { after_ms: 0 });
    monitor.server.put(forge.mapHead());
    const document = await monitor.finding();
    assert.equal(document['rule'], 'time_after_map_head');
    assertProves(document, [5, 6]);
  });

  it('reports an invalid signature, which only the worker threads find', async () => {
    const forge = new Forge().usual();
    forge.add('gate.decision.v1', ACT, {
      text: (text) => text.replace(/"signature":"..../, '"signature":"AAAA'),
    });
    monitor.server.put(grow(forge, 1));
    const document = await monitor.finding();
    assert.equal(document['rule'], 'signature');
    assert.deepEqual(
      (document['entries'] as JsonObject[]).map(({ index }) => index),
      [6],
    );
  });

  it('reports an invalid signature before a rule that a later entry breaks', async () => {
    const forge = new Forge().usual();
    forge.add('gate.decision.v1', ACT, {
      text: (text) => text.replace(/"signature":"..../, '"signature":"AAAA'),
    });
    forge.add('gate.decision.v1', ACT, { statement: { links: [] } });
    monitor.server.put(forge.mapHead());
    const document = await monitor.finding();
    assert.equal(document['rule'], 'signature');
    assert.deepEqual(
      (document['entries'] as JsonObject[]).map(({ index }) => index),
      [6],
    );
  });

  it('shows a map root that is not that of the entries', async () => {
    const forge = new Forge().usual();
    forge.add('gate.decision.v1', ACT);
    forge.mapHead({ statement: { map_root: '0'.repeat(64) } });
    monitor.server.put(forge);
    const document = await monitor.finding();
    assert.equal(document['rule'], 'map_root');
    assertProves(document, [7]);
  });

  it('shows a checkpoint that does not end with a map head', async () => {
    const forge = new Forge().usual();
    forge.add('gate.decision.v1', ACT);
    monitor.server.put(forge);
    assert.equal((await monitor.finding())['rule'], 'checkpoint_map_head');
  });

  it('shows a signed note that is not three lines', async () => {
    const forge = new Forge().usual();
    const { origin } = forge;
    const text = `${formatCheckpoint({ origin, size: 6, root: forge.root() })}extension\n`;
    const { key_id } = parseVkey(native, forgeVkey(origin));
    const note = formatNote(text, [signatureLine(origin, key_id, CHECKPOINT_KEY.sign(utf8(text)))]);
    monitor.server.put(forge).note = note;
    const document = await monitor.finding();
    assert.equal(document['rule'], 'checkpoint_form');
    assert.deepEqual(document['notes'], [note]);
  });

  it('reads nothing after a finding until its file is moved away', async () => {
    const forge = new Forge().usual();
    forge.add('gate.decision.v1', ACT, { statement: { links: [] } });
    monitor.server.put(forge.mapHead());
    await monitor.finding();
    const requests = monitor.server.asked.length;
    await monitor.again();
    assert.equal(await monitor.look(), 'violation');
    assert.equal(monitor.server.asked.length, requests + 1, 'the monitor made one request only');
    await rename(join(monitor.state, 'live-1.violation.json'), join(monitor.state, 'seen.json'));
    await monitor.finding();
    assert.equal(monitor.told.violations.length, 3);
  });
});
