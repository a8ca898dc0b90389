// tools/mirror/open.ts: finds the log at the given place or below it, and refuses a log with another origin.

import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandError } from '../../../tools/command-line.ts';
import { openMirror } from '../../../tools/mirror/open.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import { serveFiles } from '../../support/static-server.ts';
import { writeMirror } from '../../support/write-mirror.ts';

describe('tools/mirror/open', function () {
  this.timeout(60_000);
  let folder: string;
  let url: string;
  let stop: () => Promise<void>;
  const wanted = { origin: 'log.example/log/live/1', kind: 'live', number: 1 };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-open-mirror-'));
    const test = await openTestLog();
    assert.equal(test.log.origin, wanted.origin);
    await writeMirror(test.log, join(folder, 'export', 'log', 'live', '1'));
    await test.stop();
    await cp(join(folder, 'export', 'log', 'live', '1'), join(folder, 'prefix'), {
      recursive: true,
    });
    ({ url, close: stop } = await serveFiles(folder));
  });
  after(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  const found = async (name: string): Promise<string> => {
    const mirror = await openMirror(name, wanted);
    await mirror.close();
    return mirror.name;
  };

  it('finds the log of an export, of a service, and at a prefix of any name', async () => {
    for (const at of [folder, url]) {
      const place = `${at}/export/log/live/1`;
      for (const name of ['', '/', '/log', '/log/live', '/log/live/1', '/log/live/1/']) {
        assert.equal(await found(`${at}/export${name}`), place, name);
      }
      // Another log of the same service next to the requested one.
      assert.equal(await found(`${at}/export/log/sandbox/1`), place);
      assert.equal(await found(`${at}/prefix`), `${at}/prefix`);
    }
  });

  it('reports where it looked and what it found', async () => {
    const refused = async (name: string, log = wanted): Promise<CommandError> => {
      const error = await openMirror(name, log).then(
        () => assert.fail(name),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof CommandError);
      return error;
    };
    const nowhere = await refused(`${folder}/none`);
    assert.equal(nowhere.exit, 2);
    for (const place of [`${folder}/none has no file`, `${folder}/none/log/live/1 has no file`]) {
      assert.ok(nowhere.message.includes(place), nowhere.message);
    }
    const other = await refused(`${url}/prefix`, { ...wanted, origin: 'other.example/log/live/1' });
    assert.equal(other.exit, 2);
    assert.match(other.message, /prefix is of "log\.example\/log\/live\/1"/);
    assert.match(other.message, /prefix\/log\/live\/1\/checkpoint: HTTP 404/);
    const none = await refused('https://');
    assert.equal(none.exit, 2);
    assert.match(none.message, /no http or https address/);
  });
});
