// `actlog serve`, and the commands that act on a running service: keys, tenants, backup.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findRegister } from '../../log/store/data-folder.ts';
import { actlog, start, type Ran } from '../support/actlog.ts';
import { freePort } from '../support/free-port.ts';
import { Served } from './served.ts';

describe('actlog serve, and commands against a running service', function () {
  this.timeout(240_000);
  let served: Served;
  before(async () => {
    served = await Served.start();
  });
  after(() => served.stop());

  /** The key ids of the JWKS. */
  async function publishedKids(): Promise<readonly string[]> {
    const { keys } = JSON.parse(await served.answer('/crypto/jwks.json')) as {
      keys: readonly { readonly kid: string }[];
    };
    return keys.map(({ kid }) => kid);
  }

  const run = (...args: string[]): Promise<Ran> => actlog(args);
  const beside = (...args: string[]): Promise<Ran> => actlog([...args, '--data', served.data]);

  it('prints the first keys once', () => {
    assert.match(served.printed, /sandbox key: svc_sandbox_[0-9A-Za-z]{32}\n/);
    assert.match(served.key, /^svc_live_[0-9A-Za-z]{32}$/);
  });

  it('refuses a second server on the same data, with a reason', async () => {
    const { code, stderr } = await beside('serve');
    assert.equal(code, 1);
    assert.match(stderr, /another process has the data in .* open/);
    assert.doesNotMatch(stderr, /\n {4}at /);
  });

  it('continues if the reader of its output has closed the pipe', async () => {
    const port = await freePort();
    const data = join(served.folder, 'unread');
    const unread = start(['serve', '--data', data], { env: { PORT: String(port) } });
    unread.stdout.destroy();
    const health = () =>
      fetch(`http://127.0.0.1:${String(port)}/health`).then(
        ({ status }) => status,
        () => (unread.exitCode === null ? 0 : -1),
      );
    let status = 0;
    while (status === 0) {
      await setTimeout(100);
      status = await health();
    }
    // The last lines are printed after the first answer, and access lines a second later.
    await setTimeout(1500);
    assert.deepEqual([status, await health()], [200, 200]);
    const ended = once(unread, 'exit');
    unread.kill('SIGTERM');
    assert.equal((await ended)[0], 0);
  });

  it('refuses an unknown setting by its name', async () => {
    const { code, stderr } = await actlog(['serve'], { env: { PORT: 'eighty' } });
    assert.equal(code, 1);
    assert.match(stderr, /^actlog: PORT must be an integer/);
  });

  describe('keys and tenants', () => {
    it('issues a key that works immediately, and revokes it immediately', async () => {
      const issued = await beside('keys', 'issue', '--tenant', 'acme', '--kind', 'live', '--json');
      assert.equal(issued.code, 0, issued.stderr);
      const { key: text, key_id } = issued.json;
      const me = () => fetch(`${served.url}/api/v1/me`, { headers: { 'x-api-key': text } });
      assert.equal((await me()).status, 200);
      const listed = await beside('keys', 'list');
      assert.ok(listed.stdout.includes(key_id));
      assert.ok(!listed.stdout.includes(text));
      assert.equal((await beside('keys', 'revoke', key_id)).code, 0);
      assert.equal((await me()).status, 401);
      assert.match((await beside('keys', 'list')).stdout, /revoked \d{4}-/);
    });

    it('rotates a key with a grace period', async () => {
      const { json: old } = await beside(
        ...['keys', 'issue', '--tenant', 'acme', '--expires', '1d', '--json'],
      );
      const { json, code } = await beside(
        ...['keys', 'rotate', old.key_id, '--grace', '1h', '--expires', '9d', '--json'],
      );
      assert.equal(code, 0);
      assert.equal(json.rotated_from, old.key_id);
      assert.ok(json.expires_at_ms > old.expires_at_ms);
    });

    it('prints a reason for what cannot be done', async () => {
      for (const [args, said] of [
        [['keys', 'revoke', 'key_none'], /there is no key key_none/],
        [['keys', 'issue', '--tenant', 'Not A Name'], /tenant must match/],
        [['keys', 'rotate', 'key_none', '--grace', 'soon'], /soon is no span of time/],
        [['keys', 'rotate'], /name an API key, or give --use/],
        [['keys', 'issue', '--tenant', 'acme', '--expires', '2020-01-01'], /is over already/],
        [['keys', 'rotate', '--use', 'air'], /--use needs --log/],
        [['keys', 'revoke', 'x', '--use', 'air', '--log', 'live'], /there is no air key x/],
      ] as const) {
        const { code, stderr } = await beside(...args);
        assert.ok(code === 1 || code === 2);
        assert.match(stderr, said);
      }
    });

    it('lists the tenants without their secrets', async () => {
      const { stdout } = await beside('tenants', 'list', '--json');
      const tenants = JSON.parse(stdout) as { name: string }[];
      assert.ok(tenants.some(({ name }) => name === 'public'));
      assert.doesNotMatch(stdout, /tenant_key/);
    });

    it('rotates the receipt key of a log: the new key signs the next receipt', async () => {
      const { stdout, code } = await beside('keys', 'rotate-receipt', '--log', 'live');
      assert.equal(code, 0);
      const kid = /signs with (\S+)/.exec(stdout)?.[1];
      const { receipt } = JSON.parse(await readFile(await served.silence('s-7'), 'utf8'));
      assert.equal(receipt.kid, kid);
      const revoked = await beside('keys', 'revoke-receipt', kid ?? '', '--log', 'live');
      assert.equal(revoked.code, 0, revoked.stderr);
    });

    it('rotates the keys of webhooks, AIR and COSE', async () => {
      const args = ['keys', 'rotate', '--use', 'air', '--log', 'live'];
      const { json, code, stderr } = await beside(...args, '--json');
      assert.equal(code, 0, stderr);
      assert.match(json.kid, /^[A-Za-z0-9_-]{43}$/);
      const { stdout } = await beside(...args);
      assert.match(stdout, /^the air key of the live log is \S{43} from now on$/m);
      assert.ok(!stdout.includes(json.kid));
    });

    it('withdraws a stolen signing key: the JWKS no longer contains it', async () => {
      const use = ['--use', 'webhook', '--log', 'live'];
      const { json } = await beside('keys', 'rotate', ...use, '--json');
      assert.ok((await publishedKids()).includes(json.kid));
      const { stdout, stderr } = await beside('keys', 'revoke', json.kid, ...use);
      const successor = /^the webhook key of the live log is (\S{43})$/m.exec(stdout)?.[1];
      const kids = await publishedKids();
      assert.ok(successor !== undefined && kids.includes(successor), stderr);
      assert.ok(!kids.includes(json.kid));
    });

    it('confirms the clock', async () => {
      assert.equal((await beside('clock', 'confirm')).code, 0);
    });
  });

  it('writes a backup of a running service, which fsck finds clean, and overwrites none', async () => {
    const target = join(served.folder, 'backup');
    const { code, stdout } = await beside('backup', target);
    assert.equal(code, 0);
    assert.match(stdout, /\/log\/live\/1: \d+ entries/);
    const copy = await actlog(['fsck', '--data', target], {
      env: { CHECKPOINT_DIR: (await findRegister({ data: served.data })).place },
    });
    assert.match(copy.stdout, /live\/1 .* clean/);
    assert.equal(copy.code, 0, copy.stdout);
    const again = await beside('backup', target);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /exists already/);
  });

  it('makes fsck refuse the data folder of a running service', async () => {
    const { code, stderr } = await beside('fsck');
    assert.equal(code, 2);
    assert.match(stderr, /another process has the data/);
  });

  it('passes the checks of the monitor', async () => {
    const { code, stdout } = await run(
      ...['monitor', served.url, '--once', '--state', join(served.folder, 'monitor')],
    );
    assert.equal(code, 0, stdout);
    assert.match(stdout, /live\/1 {2}ok/);
    assert.match(stdout, /sandbox\/1 {2}ok/);
  });
});
