// Administration: the same commands through a running server and without one.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { skipInCluster } from '../../cluster/suite-cluster.ts';
import { adminCall } from '../../support/admin-call.ts';
import { askServer, serveAdmin, socketPath } from '../../../gateway/tenants/admin-socket.ts';
import { AdminError } from '../../../gateway/tenants/tenants.ts';
import { notes } from '../notes.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

const env = { LOG_ORIGIN: 'test.example', THREADS: 'off' };
type Issued = { key: string; key_id: string; expires_at_ms?: number };

describe('administration of a running gateway', () => {
  let running: Running;
  before(async () => (running = await run({}, { plugins: [notes()] })));
  after(() => running.close());
  const call = (verb: string, args = {}) => adminCall(running.data, verb, args, env);

  it('issues, rotates and revokes keys with immediate effect', async () => {
    const { key, key_id } = (await call('keys issue', {
      tenant: 'acme',
      kind: 'live',
      role: 'carrier',
    })) as Issued;
    assert.equal((await running.get('/notes/total', { key })).status, 200);
    const expires_at_ms = Date.now() + 86_400_000;
    const next = (await call('keys rotate', { key_id, expires_at_ms })) as Issued;
    assert.equal(next.expires_at_ms, expires_at_ms);
    assert.equal((await running.get('/notes/total', { key: next.key })).status, 200);
    assert.equal((await running.get('/notes/total', { key })).status, 200);
    await call('keys revoke', { key_id });
    assert.equal((await running.get('/notes/total', { key })).json.error.code, 'api_key_revoked');
  });

  it('lists keys and tenants without secrets', async () => {
    const keys = JSON.stringify(await call('keys list'));
    assert.match(keys, /"tenant":"acme"/);
    assert.doesNotMatch(keys, /svc_|[0-9a-f]{64}/);
    assert.match(JSON.stringify(await call('tenants list')), /"name":"public"/);
  });

  it('reports with a reason what cannot be done', async () => {
    await assert.rejects(call('keys revoke', { key_id: 'key_none' }), AdminError);
    await assert.rejects(call('keys issue', { tenant: 'acme' }), /kind is missing/);
    await assert.rejects(
      call('keys issue', { tenant: 'acme', kind: 'live', role: 'king' }),
      /role must be one of/,
    );
    await assert.rejects(call('toString'), /there is no verb/);
  });

  it('rotates a receipt key: the old one is retired, its receipts stay valid, the new one signs', async () => {
    const before = await running.post('/notes/a', { text: 'x' }, { key: running.live });
    const { kid } = (await call('receipt-key rotate', { kind: 'live' })) as { kid: string };
    const after = await running.post('/notes/a', { text: 'x' }, { key: running.live });
    assert.notEqual(before.json.receipt.kid, kid);
    assert.equal(after.json.receipt.kid, kid);
    const keys = running.gateway.logs.live.receiptKeys();
    assert.deepEqual(keys.map(({ status }) => status).sort(), ['active', 'retired']);
  });

  it('writes a backup of the running service, without the keys of disclosures', async function () {
    skipInCluster(this, 'PostgreSQL is backed up with its own tools');
    const folder = await mkdtemp(join(tmpdir(), 'actlog-backup-'));
    const target = join(folder, 'b');
    const { sizes } = (await call('backup', { folder: target })) as {
      sizes: Record<string, number>;
    };
    assert.deepEqual(Object.keys(sizes).sort(), [
      'test.example/log/live/1',
      'test.example/log/sandbox/1',
    ]);
    assert.ok((sizes['test.example/log/live/1'] ?? 0) > 0);
    for (const name of ['live/1/db', 'sandbox/1/db', 'gateway'])
      assert.ok(existsSync(join(target, name)), name);
    assert.equal(existsSync(join(target, 'private')), false);
    assert.equal(existsSync(join(target, 'keys')), false);
    await rm(folder, { recursive: true });
  });

  it('confirms a clock that jumped', async () => {
    const jump = { wall: running.clock.wall.bind(running.clock) };
    running.clock.wall = () => jump.wall() + 3_600_000;
    const refused = await running.post('/notes/a', { text: 'x' }, { key: running.live });
    assert.deepEqual([refused.status, refused.json.error.code], [503, 'log_unavailable']);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    await call('clock confirm');
    assert.equal(
      (await running.post('/notes/a', { text: 'x' }, { key: running.live })).status,
      200,
    );
  });

  it('ignores invalid messages on its socket', async () => {
    const socket = connect(socketPath(running.data));
    const answer = new Promise<string>((resolve) => {
      socket.setEncoding('utf8');
      socket.once('data', (text: string) => resolve(text));
    });
    socket.write('nonsense\n');
    assert.match(await answer, /"error"/);
    const long = connect(socketPath(running.data));
    long.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => long.once('close', () => resolve()));
    long.write('x'.repeat(200_000));
    await closed;
    await call('status');
  });
});

describe('administration without a server', () => {
  it('opens the data folder itself, and the next start can use it', async function () {
    skipInCluster(this, 'commands for a cluster work through a node that runs');
    const running = await run({}, { plugins: [notes()] });
    const { live, data } = running;
    await running.close(true);
    const { key } = (await adminCall(
      data,
      'keys issue',
      { tenant: 'acme', kind: 'live' },
      env,
    )) as Issued;
    const { kid } = (await adminCall(data, 'receipt-key rotate', { kind: 'live' }, env)) as {
      kid: string;
    };
    await assert.rejects(adminCall(data, 'clock confirm', {}, env), /no server runs/);
    const again = await run({ DATA_DIR: data }, { plugins: [notes()] });
    assert.equal((await again.get('/notes/total', { key })).status, 200);
    const { json } = await again.post('/notes/a', { text: 'x' }, { key: live });
    assert.equal(json.receipt.kid, kid);
    await again.close();
  });

  it('finds the socket also if the path of the data folder is long', () => {
    const path = socketPath(`/data/${'x'.repeat(200)}`);
    assert.ok(Buffer.byteLength(path) <= 100);
    assert.notEqual(path, socketPath(`/data/${'x'.repeat(201)}`));
  });

  describe('through a socket outside of the data folder', () => {
    const data = `/data/${'x'.repeat(200)}`;
    const { TMPDIR } = process.env;
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'actlog-'));
      process.env['TMPDIR'] = folder;
    });
    afterEach(async () => {
      if (TMPDIR === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = TMPDIR;
      await rm(folder, { recursive: true });
    });

    it('reaches its own server', async () => {
      assert.equal(await askServer(data, 'ping', {}), null);
      const served = await serveAdmin(data, { ping: () => Promise.resolve('pong') });
      assert.deepEqual(await askServer(data, 'ping', {}), { result: 'pong' });
      await served.close();
    });

    it('trusts no folder that is a link to another', async () => {
      await mkdir(join(folder, 'strange'));
      await symlink(join(folder, 'strange'), dirname(socketPath(data)));
      await assert.rejects(serveAdmin(data, {}), /not a folder of this user/);
      await assert.rejects(askServer(data, 'status', {}), /not a folder of this user/);
    });

    it('trusts no folder of another user', async function () {
      // Only the superuser can change the owner of a folder.
      if (process.getuid?.() !== 0) this.skip();
      await mkdir(dirname(socketPath(data)));
      await chown(dirname(socketPath(data)), 65_534, 65_534);
      await assert.rejects(serveAdmin(data, {}), /not a folder of this user/);
      await assert.rejects(askServer(data, 'status', {}), /not a folder of this user/);
    });
  });
});
