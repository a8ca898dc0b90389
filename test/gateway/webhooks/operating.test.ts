// What operators and receivers do: the snippet of gateway/API.md, the command line with and without a server, the key
// file, the schedule. gateway/API.md §11.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { skipInCluster } from '../../cluster/suite-cluster.ts';
import { adminCall } from '../../support/admin-call.ts';
import { DELAYS_MS, retryAfterMs, waitAfter } from '../../../gateway/webhooks/delivery.ts';
import { deadRows } from '../../../gateway/webhooks/job.ts';
import { KeyFiles } from '../../../gateway/host/key-files.ts';
import { SecretBox } from '../../../gateway/webhooks/secret-box.ts';
import { startReceiver } from '../egress/receiver.ts';
import type { Received, Receiver } from '../egress/receiver.ts';
import type { Running } from '../running.ts';
import { runSending, until } from './receiving.ts';

const ERROR = { message: '' };

describe('a receiver with the snippet of gateway/API.md', () => {
  it('accepts what the service sent and nothing else', async () => {
    const guide = await readFile(new URL('../../../gateway/API.md', import.meta.url), 'utf8');
    const [, snippet] = /## 11\. Webhooks\n[^]*?```js\n([^]*?)```/.exec(guide) ?? [];
    assert.ok(snippet);
    const folder = await mkdtemp(join(tmpdir(), 'actlog-receiver-'));
    const running = await runSending();
    const receiver = await startReceiver();
    try {
      const path = join(folder, 'receiver.mjs');
      await writeFile(path, snippet);
      const { openWebhook } = (await import(pathToFileURL(path).href)) as {
        openWebhook(
          service: string,
          headers: Received['headers'],
          body: string,
        ): Promise<{ type: string } | null>;
      };
      const body = { ...ERROR, webhook_url: receiver.url() };
      await running.post('/api/v1/classify', body, { key: running.live });
      const [received] = await receiver.whenReceived(1);
      assert.ok(received);
      const { headers, body: text } = received;
      assert.equal((await openWebhook(running.url, headers, text))?.type, 'classification.error');
      assert.equal(await openWebhook(running.url, headers, text.replace('ERROR', 'SAFE')), null);
      const late = { ...headers, 'webhook-timestamp': '1600000000' };
      assert.equal(await openWebhook(running.url, late, text), null);
    } finally {
      await receiver.close();
      await running.close();
      await rm(folder, { recursive: true });
    }
  });
});

describe('actlog webhooks', () => {
  let receiver: Receiver;
  let running: Running;
  beforeEach(async () => {
    receiver = await startReceiver();
    receiver.answer((_, res) => res.writeHead(410).end());
    running = await runSending();
  });
  afterEach(async () => {
    await running.close();
    await receiver.close();
  });

  it('lists and replays through the server, or on the data folder if none runs', async function () {
    skipInCluster(this, 'commands for a cluster work through a node that runs');
    const { data, live: key } = running;
    const env = { LOG_ORIGIN: 'test.example', BASE_URL: 'http://test.example', THREADS: 'off' };
    const letters = () =>
      adminCall(data, 'webhooks list', {}, env) as Promise<readonly { id: string; type: string }[]>;
    const body = { ...ERROR, webhook_url: receiver.url() };
    const { json } = await running.post('/api/v1/classify', body, { key });
    const [letter] = await until(async () => {
      const found = await letters();
      return found.length > 0 ? found : null;
    });
    assert.deepEqual([letter?.id, letter?.type], [`msg_${json.entry_id}`, 'classification.error']);
    await assert.rejects(
      adminCall(data, 'webhooks replay', { id: 'msg_none' }, env),
      /no dead letter/,
    );
    await assert.rejects(adminCall(data, 'webhooks replay', {}, env), /id is missing/);
    await running.close(true);

    assert.equal((await letters()).length, 1);
    const replayed = await adminCall(data, 'webhooks replay', { id: letter?.id ?? '' }, env);
    assert.deepEqual(replayed, { replayed: 1 });
    assert.deepEqual(await letters(), []);
    receiver.answer((_, res) => res.writeHead(204).end());
    running = await runSending({ DATA_DIR: data });
    await receiver.whenReceived(2);
  });

  it('removes messages after a month', async () => {
    const { dead } = running.gateway.webhooks;
    const body = { ...ERROR, webhook_url: receiver.url() };
    await running.post('/api/v1/classify', body, { key: running.live });
    await until(async () => (await dead.list(10)).length === 1);
    running.clock.pass(29 * 86_400_000);
    assert.equal(await dead.sweep(), 0);
    running.clock.pass(2 * 86_400_000);
    assert.equal(await dead.sweep(), 1);
    assert.deepEqual(await dead.list(10), []);
  });
});

describe('the failed messages of a tenant', () => {
  it('are listed page by page, and only its own', async () => {
    const running = await runSending();
    const { gateway, live: key } = running;
    const { key: other } = await gateway.tenants.issue({
      ...{ tenant: 'acme', kind: 'live', role: 'service' },
    });
    const receiver = await startReceiver();
    const subscription = { url: receiver.url(), types: ['trigger.armed'] };
    await running.post('/signal/trigger/subscriptions', subscription, { key });
    const tenant = { tenant: 'first', kind: 'live' } as const;
    const [{ id } = { id: '' }] = gateway.webhooks.subscriptions.of(tenant);
    const log = gateway.logs.live;
    const dead = { host: '0'.repeat(16), type: 'trigger.armed', attempts: 10, reason: 'failed' };
    for (const asked of [key, other, key, key]) {
      const { json } = await running.post('/api/v1/classify', ERROR, { key: asked });
      const { index, tenant_ref } = json as { readonly index: number; readonly tenant_ref: string };
      for (const target of asked === key ? [id, 'url'] : ['url']) {
        const rows = deadRows({ ...dead, index, target, died_at_ms: 1 }, tenant_ref);
        await log.putAttached(rows);
      }
    }
    const pages = async (asked: string, limit: number): Promise<string[]> => {
      const told: string[] = [];
      let path: string | null = `/signal/trigger/deliveries?limit=${String(limit)}`;
      while (path !== null) {
        const { json } = await running.get(path, { key: asked });
        assert.ok(json.data.length <= limit);
        for (const { id: message, to } of json.data) told.push(`${message} ${to}`);
        path = json.has_more
          ? `/signal/trigger/deliveries?limit=${String(limit)}&cursor=${json.next_cursor}`
          : null;
      }
      return told;
    };
    const all = await pages(key, 50);
    assert.equal(all.length, 6);
    assert.deepEqual(
      all.map((one) => one.split(' ')[1]),
      [id, 'webhook_url', id, 'webhook_url', id, 'webhook_url'],
    );
    for (const limit of [1, 2, 4]) assert.deepEqual(await pages(key, limit), all);
    assert.equal((await pages(other, 1)).length, 1);
    assert.equal(await gateway.webhooks.dead.sweep(), 7);
    assert.deepEqual([await pages(key, 2), await pages(other, 2)], [[], []]);
    await running.close();
    await receiver.close();
  });
});

describe('the schedule of retries', () => {
  it('waits as documented, at most a fifth longer, and ends after the tenth attempt', () => {
    const seconds = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
    assert.deepEqual(
      DELAYS_MS,
      seconds.map((s) => s * 1000),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (n, chance) => {
          const wait = waitAfter(n, chance) ?? Number.NaN;
          const delay = DELAYS_MS[n] ?? Number.NaN;
          return wait >= delay && wait <= delay * 1.2;
        },
      ),
    );
    assert.equal(waitAfter(10, 0), null);
  });

  it('waits as long as the receiver asks, at most a day', () => {
    assert.equal(waitAfter(1, 0, 3_600_000), 3_600_000);
    assert.equal(waitAfter(1, 0, 1e12), 86_400_000);
    assert.equal(waitAfter(2, 0, 1000), 300_000);
    const now = Date.parse('2026-11-21T12:00:00Z');
    assert.equal(retryAfterMs('120', now), 120_000);
    assert.equal(retryAfterMs('Sat, 21 Nov 2026 12:01:00 GMT', now), 60_000);
    for (const text of [undefined, '', '-5', 'soon', '1e9', 'Sat, 21 Nov 2020 12:01:00 GMT']) {
      assert.equal(retryAfterMs(text, now), 0, text);
    }
  });
});

describe('the secret box', () => {
  it('opens what it sealed, only in the same place and with the same key', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-box-'));
    const opened = async (name: string, passphrase?: string): Promise<SecretBox> =>
      SecretBox.open(await KeyFiles.open(join(folder, name), { passphrase }));
    try {
      const box = await opened('a');
      const sealed = box.seal('one', 'whsec_secret');
      assert.notEqual(box.seal('one', 'whsec_secret'), sealed);
      assert.equal((await opened('a')).open('one', sealed), 'whsec_secret');
      assert.equal(box.open('two', sealed), null);
      assert.equal((await opened('b')).open('one', sealed), null);
      for (const broken of ['', 'AAAA', sealed.slice(0, -4), `A${sealed.slice(1)}`]) {
        if (broken !== sealed) assert.equal(box.open('one', broken), null);
      }
      await opened('c', 'a passphrase');
      await assert.rejects(opened('c'), /needs a passphrase/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
