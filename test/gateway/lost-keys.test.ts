// A service without some of its private key files: it serves what is intact, reports what is lost, and can continue with a
// successor.
// gateway/API.md §2.3, §13; log/FORMAT.md §5.

import assert from 'node:assert/strict';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { succeeded } from '../plugins/succeeded.ts';
import { skipInCluster } from '../cluster/suite-cluster.ts';
import type { Body } from '../support/body.ts';
import { codeOf } from './http/envelope.ts';
import { ok, run } from './running.ts';
import type { Running } from './running.ts';

for (const [file, lost] of [
  ['live-1-checkpoint', 'checkpoint'],
  ['live-1-receipt-', 'receipt'],
] as const) {
  describe(`a service without the ${lost} key of its live log`, function () {
    this.timeout(60_000);
    let running: Running;
    let live: string;
    let sandbox: string;
    let first: Body;
    let checkpoint: string;
    let kit: Body;
    const lines: string[] = [];

    const classify = (key: string, name: string) =>
      running.post(
        '/api/v1/classify',
        { message: 'Schedule the interview' },
        { key, headers: { 'Idempotency-Key': `lost-key-${name}` } },
      );

    before(async function () {
      skipInCluster(this, 'a cluster has its key files in the database');
      running = await run();
      ({ live, sandbox } = running);
      first = ok(await classify(live, 'before'));
      kit = ok(await running.get('/export/offline-verify-kit.json'));
      await running.close(true);
      checkpoint = running.gateway.logs.live.published().note;
      const keys = join(running.data, 'keys');
      for (const name of await readdir(keys)) if (name.startsWith(file)) await rm(join(keys, name));
      running = await run({ DATA_DIR: running.data }, { lines: (line) => lines.push(line) });
    });
    after(() => (running as Running | undefined)?.close());

    it('serves its entries, proofs, checkpoint and kit', async () => {
      const id = first.entry_id as string;
      const found = ok(await running.get(`/receipt/lookup?entry_id=${id}`, { key: live }));
      assert.equal(found.receipt.entry_hash, first.entry_hash);
      assert.deepEqual(found.receipt.disclosures, first.disclosures);
      const { signature_valid, inclusion_valid, checkpoint_valid } = found.checks;
      assert.deepEqual([signature_valid, inclusion_valid, checkpoint_valid], [true, true, true]);
      assert.equal((await running.get('/log/live/1/checkpoint')).text, checkpoint);
      assert.equal(
        (await running.get('/log/live/1/tile/0/000')).status,
        404,
        'the log is not reported as full',
      );
      running.clock.pass(7_200_000);
      const served = ok(await running.get('/export/offline-verify-kit.json'));
      assert.deepEqual(served.logs, kit.logs, 'the last kit that an entry commits to is served');
      assert.deepEqual(ok(await classify(live, 'before')), first, 'a replay');
    });

    it('reports the loss in /health, /readyz, /status.json and its log', async () => {
      const { status, degraded, reasons } = ok(await running.get('/health'));
      assert.equal(status, 'degraded');
      const reason = reasons[degraded.indexOf('live_log')];
      assert.match(reason, new RegExp(`takes no entries .*: its ${lost} key is lost`));
      const ready = ok(await running.get('/readyz'));
      assert.equal(ready.reasons[ready.degraded.indexOf('live_log')], reason);
      assert.equal(codeOf(await running.get('/readyz?for=writes'), 503), 'not_ready');
      assert.equal(ok(await running.get('/status.json')).status.indicator, 'major');
      const line = lines.find((one) => one.includes('a log is served read-only'));
      assert.match(line ?? '', new RegExp(`"lost_key":"${lost}".*is missing in .*--successor`));
    });

    it('refuses live entries, and accepts those of the sandbox', async () => {
      const size = running.gateway.logs.live.size();
      const refused = await classify(live, 'refused');
      assert.equal(codeOf(refused, 503), 'log_unavailable');
      assert.match(
        refused.json.error.message,
        new RegExp(`reading only.* its ${lost} key is lost`),
      );
      assert.match(refused.json.error.message, /does not help: the operator must/);
      assert.equal(refused.headers.get('retry-after'), null, 'a retry would not help');
      assert.doesNotMatch(refused.text, /\.pem|keys/, 'the client does not see the folder');
      const gate = await running.post(
        '/api/v1/execute-gate',
        { action_type: 'payment.release', agent_id: 'agent:a', reversibility: 'irreversible' },
        { key: live },
      );
      assert.equal(codeOf(gate, 503), 'log_unavailable');
      assert.match(gate.json.error.message, /nothing is permitted: .*reading only/);
      assert.equal(gate.headers.get('retry-after'), null);
      const erasure = await running.ask('DELETE', `/api/v1/disclosures/${String(first.entry_id)}`, {
        key: live,
      });
      assert.equal(codeOf(erasure, 503), 'log_unavailable');
      assert.equal(running.gateway.logs.live.size(), size);
      ok(await classify(sandbox, 'sandbox'));
    });

    it('continues with a successor, and the old log stays readable', async () => {
      running = await succeeded(running);
      const [old, next] = running.gateway.served.live;
      assert.deepEqual([old?.number, next?.number], [1, 2]);
      const { json } = await classify(live, 'after');
      assert.equal(json.origin, next?.origin);
      const id = first.entry_id as string;
      const found = ok(await running.get(`/receipt/lookup?entry_id=${id}`, { key: live }));
      assert.equal(found.checks.checkpoint_valid, true);
      assert.equal((await running.get('/log/live/1/checkpoint')).text, checkpoint);
      const { degraded } = ok(await running.get('/health'));
      assert.equal((degraded as readonly string[]).includes('live_log'), false);
      const { logs } = ok(await running.get('/export/offline-verify-kit.json'));
      assert.equal((logs as readonly unknown[]).length, 3);
      const erased = await running.ask('DELETE', `/api/v1/disclosures/${id}`, { key: live });
      assert.equal(erased.status, 200, erased.text);
      const { disclosures: _, ...rest } = first;
      assert.deepEqual(ok(await classify(live, 'before')), rest);
    });
  });
}

describe('a service without a key file that belongs to no log', function () {
  this.timeout(120_000);
  let running: Running;
  let folder: string;
  let live: string;
  const again = async (): Promise<void> => {
    running = await run({ DATA_DIR: running.data });
  };
  const purposes = async (): Promise<Body> => {
    const { keys } = ok(await running.get('/crypto/jwks.json'));
    return (keys as Body[]).filter(({ purpose }) => purpose !== undefined);
  };

  before(async function () {
    skipInCluster(this, 'a cluster has its key files in the database');
    running = await run();
    ({ live } = running);
    folder = join(running.data, 'keys');
  });
  after(() => (running as Running | undefined)?.close());

  it('does not start, names each missing file, and creates none in its place', async () => {
    const published = await purposes();
    await running.close(true);
    const others = (await readdir(folder)).filter((name) => !/^(live|sandbox)-/.test(name));
    assert.ok(others.includes('webhook-secrets.pem') && others.length >= 7, others.join());
    for (const name of others) {
      const path = join(folder, name);
      await rename(path, join(running.data, name));
      const files = await readdir(folder);
      await assert.rejects(run({ DATA_DIR: running.data }), (error: Error) => {
        assert.match(error.message, new RegExp(`key file .*${name} is missing`));
        assert.match(error.message, /Restore it .*create the empty file .*\.revoked\.pem/);
        return true;
      });
      assert.deepEqual(await readdir(folder), files);
      await rename(join(running.data, name), path);
    }
    await again();
    assert.deepEqual(await purposes(), published);
  });

  it('creates a new key if the operator gives up the old one, once for each loss', async () => {
    const subscribed = ok(
      await running.post(
        '/signal/trigger/subscriptions',
        { url: 'https://hooks.example/a', types: ['trigger.fired'] },
        { key: live },
      ),
    );
    const published = await purposes();
    await running.close(true);
    const names = (await readdir(folder)).filter((name) => !/^(live|sandbox)-/.test(name));
    for (const name of names) {
      await rm(join(folder, name));
      await writeFile(join(folder, name.replace(/pem$/, 'revoked.pem')), '');
    }
    await again();
    const fresh = await purposes();
    assert.equal(fresh.length, published.length);
    const old = new Set(published.map(({ kid }: Body) => kid));
    assert.deepEqual(
      fresh.filter(({ kid }: Body) => old.has(kid)),
      [],
    );
    const list = ok(await running.get('/signal/trigger/subscriptions', { key: live }));
    assert.match(
      JSON.stringify(list),
      new RegExp(subscribed.subscription.id as string),
      'the subscription is listed',
    );
    assert.doesNotMatch(JSON.stringify(list), /hooks\.example/);

    await running.close(true);
    await rm(join(folder, 'webhook-secrets.pem'));
    await assert.rejects(run({ DATA_DIR: running.data }), { code: 'key_lost' });
    await writeFile(join(folder, 'webhook-secrets.revoked.pem'), '');
    await again();
    assert.deepEqual(await purposes(), fresh);
  });
});
