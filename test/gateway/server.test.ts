// Start and stop of a whole gateway. gateway/API.md §3.5, §13.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { skipInCluster } from '../cluster/suite-cluster.ts';
import { adminCall } from '../support/admin-call.ts';
import { LogError } from '../../log/index.ts';
import { definePlugin, route } from '../../plugins/contract/index.ts';
import type { EarlierPlugin } from '../../plugins/contract/index.ts';
import { Hold, notes } from './notes.ts';
import { run } from './running.ts';

/** A plugin whose route is the same for every plugin made by this function. */
const twin = (name: string): EarlierPlugin =>
  definePlugin({
    contract: 1,
    name,
    title: name,
    types: [],
    routes: () => [
      route({
        method: 'GET',
        path: '/twins',
        tag: name,
        summary: name,
        access: 'read',
        responses: { 200: { description: 'Text.', type: 'text/plain' } },
        handle: (ctx) => void (ctx.body = name),
      }),
    ],
  });

/** Collects the lines of the gateway's log at level warn or above. */
function warnings(): { readonly warned: readonly string[]; lines(line: string): void } {
  const warned: string[] = [];
  const isWarning = (line: string): boolean => (JSON.parse(line) as { level: number }).level >= 40;
  return {
    warned,
    lines(line) {
      if (isWarning(line)) warned.push(line);
    },
  };
}

describe('a gateway', () => {
  it('issues one key of each kind on an empty data folder, once', async () => {
    const first = await run();
    assert.match(first.live, /^svc_live_[0-9A-Za-z]{32}$/);
    assert.match(first.sandbox, /^svc_sandbox_[0-9A-Za-z]{32}$/);
    await first.close(true);
    const second = await run({ DATA_DIR: first.data });
    assert.equal(second.live, '');
    const answer = await second.post('/api/v1/classify', { message: 'hi' }, { key: first.live });
    assert.equal(answer.status, 200);
    await second.close();
  });

  it('creates no log and no key if its port is in use', async function () {
    skipInCluster(this, 'the origin of a cluster is set, and does not follow from a port');
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const parent = await mkdtemp(join(tmpdir(), 'actlog-'));
    const env = { DATA_DIR: join(parent, 'data'), LOG_ORIGIN: '', BASE_URL: '' };
    await assert.rejects(run({ ...env, PORT: String(port) }), { code: 'EADDRINUSE' });
    assert.equal(existsSync(env.DATA_DIR), false);
    taken.close();
    const running = await run(env);
    assert.match(running.live, /^svc_live_/);
    assert.equal(running.gateway.logs.live.origin, `localhost:${String(running.port)}/log/live/1`);
    await running.close();
    await rm(parent, { recursive: true });
  });

  it('issues no key if an invalid route ends the first start, and shows the keys at the next one', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'actlog-'));
    const env = { DATA_DIR: join(parent, 'data') };
    const twice = [twin('one'), twin('two')];
    await assert.rejects(run(env, { plugins: twice }), /twins/);
    const running = await run(env);
    const answer = await running.post('/api/v1/classify', { message: 'hi' }, { key: running.live });
    assert.equal(answer.status, 200);
    assert.match(running.sandbox, /^svc_sandbox_/);
    await running.close();
    await rm(parent, { recursive: true });
  });

  it('creates a data folder that other users cannot read', async () => {
    const running = await run();
    assert.equal(statSync(running.data).mode & 0o777, 0o700);
    assert.equal(statSync(join(running.data, 'admin.sock')).mode & 0o777, 0o600);
    await running.close();
  });

  it('refuses a data folder that another gateway uses, and does not change it', async () => {
    const running = await run();
    await assert.rejects(
      run({ DATA_DIR: running.data }),
      (error: unknown) =>
        error instanceof LogError &&
        error.code === 'log_locked' &&
        error.message.includes('DATA_DIR'),
    );
    const answer = await running.post('/api/v1/classify', { message: 'hi' }, { key: running.live });
    assert.equal(answer.status, 200);
    await running.close();
  });

  it('answers requests in flight when it stops, and publishes a checkpoint over their entries', async () => {
    const hold = new Hold();
    const running = await run({}, { plugins: [notes(hold)] });
    const pending = running.post('/notes/flight', { text: 'a' }, { key: running.live });
    await hold.entered;
    const closed = running.close(true);
    hold.release();
    const answer = await pending;
    assert.equal(answer.status, 200);
    await closed;
    assert.equal(existsSync(join(running.data, 'admin.sock')), false);

    const again = await run({ DATA_DIR: running.data }, { plugins: [notes()] });
    const { index } = answer.json.receipt;
    const log = again.gateway.logs.live;
    assert.ok(log.published().size > index);
    assert.equal(JSON.parse(log.entry(index) ?? '').entry_id, answer.json.receipt.entry_id);
    await again.close();
  });

  it('separates the two logs', async () => {
    const running = await run({}, { plugins: [notes()] });
    const { json } = await running.post('/notes/one', { text: 'a' }, { key: running.sandbox });
    assert.equal(json.receipt.sandbox, true);
    assert.match(json.receipt.permalink, /\?log=sandbox$/);
    assert.deepEqual((await running.get('/notes/total')).json, { total: 0 });
    assert.deepEqual((await running.get('/notes/total?kind=sandbox')).json, { total: 1 });
    await running.close();
  });

  it('refuses logs whose tenants are lost, with or without the register, until new keys are asked for', async function () {
    skipInCluster(this, 'a cluster has its tenants in the database');
    const { warned, lines } = warnings();
    const first = await run({}, { lines, plugins: [notes()] });
    const env = { DATA_DIR: first.data, CHECKPOINT_DIR: first.gateway.config.CHECKPOINT_DIR };
    await first.post('/notes/a', { text: 'x' }, { key: first.live });
    await first.close(true);
    await (await run(env, { lines, plugins: [notes()] })).close(true);
    assert.deepEqual(warned, []);
    await rm(join(first.data, 'gateway'), { recursive: true });
    const again = () => run(env, { plugins: [notes()] });
    const refused = (message: RegExp) =>
      assert.rejects(again(), { code: 'log_rolled_back', message });
    await refused(/gateway is gone.*"actlog keys first --new-keys"/);
    await rm(first.gateway.register.where('gateway'));
    await refused(/has entries of tenants.*"actlog keys first --new-keys"/);
    await refused(/has entries of tenants.*"actlog keys first --new-keys"/);
    const call = (verb: string, args = {}) => adminCall(first.data, verb, args, env);
    const order = { tenant: 'acme', kind: 'live' };
    await assert.rejects(call('keys issue', order), { code: 'log_rolled_back' });
    const keys = (await call('keys first')) as unknown as { kind: string; key: string }[];
    assert.deepEqual(keys.map(({ kind }) => kind).sort(), ['live', 'sandbox']);
    await assert.rejects(call('keys first'), /is not empty: "actlog keys issue"/);
    const restored = await again();
    const key = keys.find(({ kind }) => kind === 'live')?.key ?? '';
    assert.equal((await restored.get('/notes/total', { key })).status, 200);
    assert.equal((await restored.get('/notes/total', { key: first.live })).status, 401);
    assert.equal(restored.live, '');
    await restored.close();
  });

  it('encrypts the key files of a folder that had no passphrase, and says so once', async function () {
    skipInCluster(this, 'a node needs a passphrase from its first start on');
    const { warned, lines } = warnings();
    const first = await run();
    const kids = (await first.get('/crypto/jwks.json')).json;
    await first.close(true);
    const folder = join(first.data, 'keys');
    const file = join(first.data, 'passphrase');
    await writeFile(file, 'open sesame\n', { mode: 0o600 });
    const env = { DATA_DIR: first.data, KEY_PASSPHRASE_FILE: file };
    for (let start = 0; start < 2; start += 1) {
      const running = await run(env, { lines });
      assert.deepEqual((await running.get('/crypto/jwks.json')).json, kids);
      await running.close(true);
    }
    const names = await readdir(folder);
    for (const name of names) {
      assert.match(await readFile(join(folder, name), 'utf8'), /^-----BEGIN ENCRYPTED/, name);
    }
    assert.equal(warned.length, 1);
    const [line = ''] = warned;
    assert.deepEqual((JSON.parse(line) as { files: string[] }).files.sort(), names.sort());
    await assert.rejects(run({ DATA_DIR: first.data }), { code: 'key_invalid' });
    await rm(first.data, { recursive: true });
  });
});
