// Subscriptions: which events each subscriber gets, in which order, signed with which key. gateway/API.md §11.

import assert from 'node:assert/strict';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startReceiver } from '../egress/receiver.ts';
import type { Receiver, Received } from '../egress/receiver.ts';
import { ok } from '../running.ts';
import type { Running } from '../running.ts';
import { header, openedWithSecret, pass, runSending, signedByJwks, until } from './receiving.ts';

const PATH = '/signal/trigger/subscriptions';
const TRIGGERS = ['trigger.armed', 'trigger.fired'];

describe('subscriptions to webhooks', () => {
  let running: Running;
  let receiver: Receiver;
  let other: string;

  before(async () => {
    running = await runSending();
    const { tenants } = running.gateway;
    other = (await tenants.issue({ tenant: 'other', kind: 'sandbox' })).key;
  });
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    for (const key of [running.sandbox, other, running.live]) {
      const { json } = await running.get(PATH, { key });
      for (const { id } of json.data) await running.ask('DELETE', `${PATH}/${id}`, { key });
    }
    await receiver.close();
  });
  after(() => running.close());

  const subscribe = async (order: object = {}, key = running.sandbox) => {
    const body = { url: receiver.url(), types: TRIGGERS, ...order };
    return ok(await running.post(PATH, body, { key }));
  };
  const arm = async (key = running.sandbox): Promise<string> => {
    const body = { template_id: 'incident_sealed' };
    const { json, text, status } = await running.post('/signal/trigger/publish', body, { key });
    assert.equal(status, 200, text);
    return json.trigger_id;
  };
  const fire = async (trigger_id: string, key = running.sandbox): Promise<void> => {
    const body = { trigger_id, reading: { metric: 'incident', value: 1 } };
    const { json, text } = await running.post('/api/v1/foundry/trigger/fire', body, { key });
    assert.equal(json.fired, true, text);
  };
  const told = (received: readonly Received[]) =>
    received.map(({ body }) => {
      const { type, data } = JSON.parse(body);
      return [type, data.receipt.trigger_id];
    });

  it('send a tenant its triggers, signed with the key of the JWKS and with its own secret', async () => {
    const { secret, subscription } = await subscribe({ secret: true });
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(subscription.signed_with_secret, true);
    const trigger_id = await arm();
    const [received] = await receiver.whenReceived(1);
    assert.ok(received);
    const opened = openedWithSecret(secret, received) as {
      type: string;
      data: { receipt: object };
    };
    assert.equal(opened.type, 'trigger.armed');
    assert.ok(await signedByJwks(running.url, received));
    assert.equal(header(received, 'id'), `msg_${trigger_id}`);
    assert.ok(!('disclosures' in opened.data.receipt));
    const forged = { ...received, body: received.body.replace('armed', 'fired') };
    assert.throws(() => openedWithSecret(secret, forged), /No matching signature/);
    const listed = (await running.get(PATH, { key: running.sandbox })).text;
    assert.ok(!listed.includes(secret.slice(6)), 'shown once');
  });

  it('keep the order of one trigger, also if its first message is repeated', async () => {
    await subscribe();
    const first = await arm();
    await receiver.whenReceived(1);
    const failing: string[] = [];
    receiver.answer(({ body }, res) => {
      failing.push(JSON.parse(body).data.receipt.trigger_id);
      res.writeHead(failing.length === 1 ? 503 : 204).end();
    });
    const second = await arm();
    await until(() => failing.length === 1);
    await fire(second);
    // A message of another trigger does not wait for it.
    await fire(first);
    await receiver.whenReceived(3);
    await until(async () => {
      const rows = await running.gateway.logs.sandbox.attachedRows('webhook/later/');
      return rows.some(([, row]) => JSON.parse(Buffer.from(row).toString()).attempts > 0);
    });
    pass(running.clock, running, 7000);
    const all = told(await receiver.whenReceived(5));
    const of = (id: string) =>
      all.filter(([, trigger_id]) => trigger_id === id).map(([type]) => type);
    assert.deepEqual(of(second), ['trigger.armed', 'trigger.armed', 'trigger.fired']);
    assert.deepEqual(of(first), ['trigger.armed', 'trigger.fired']);
    assert.equal(receiver.received.length, 5);
  });

  it('send no triggers of other tenants, except one that is named', async () => {
    const theirs = await arm(other);
    await subscribe({ trigger_id: theirs });
    await subscribe({ url: receiver.url('/own') });
    await arm(other);
    await fire(theirs, other);
    const own = await arm();
    const received = await receiver.whenReceived(2);
    assert.deepEqual(
      new Set(
        received.map(({ path, body }) => [path, JSON.parse(body).data.receipt.trigger_id].join()),
      ),
      new Set([`/hook,${theirs}`, `/own,${own}`]),
    );
  });

  it('send a tenant its own classifications and the requested types', async () => {
    await subscribe({ types: ['classification.crisis'] });
    await subscribe({ types: ['classification.crisis'], url: receiver.url('/other') }, other);
    const classify = (message: string, key: string) =>
      running.post('/api/v1/classify', { message, domain: 'companion' }, { key });
    await classify('', running.sandbox);
    await classify('I want to kill myself tonight', other);
    await classify('I want to kill myself tonight', running.live);
    const [received] = await receiver.whenReceived(1);
    assert.equal(received?.path, '/other');
    await classify('I want to kill myself tonight', running.sandbox);
    assert.equal((await receiver.whenReceived(2))[1]?.path, '/hook');
  });

  it('send checkpoints to monitors, only the newest one after an outage', async () => {
    let up = false;
    receiver.answer((_, res) => res.writeHead(up ? 204 : 503).end());
    await subscribe({ types: ['checkpoint.published'] });
    await arm();
    await receiver.whenReceived(1);
    await arm();
    const log = running.gateway.logs.sandbox;
    const { size, note } = await log.whenPublished(log.size());
    up = true;
    pass(running.clock, running, 7000);
    const last = await until(() => {
      const bodies = receiver.received.map(({ body }) => JSON.parse(body));
      return bodies.find(({ data }) => data.size >= size);
    });
    assert.equal(last.type, 'checkpoint.published');
    assert.equal(last.data.origin, log.origin);
    assert.equal(log.checkpointAt(last.data.size), last.data.checkpoint);
    assert.ok(note.startsWith(log.origin));
    for (const one of receiver.received) assert.ok(await signedByJwks(running.url, one));
  });

  it('are disabled by a 410, get nothing then, and are enabled by a replay', async () => {
    const { subscription } = await subscribe();
    receiver.answer((_, res) => res.writeHead(410).end());
    const trigger_id = await arm();
    const listed = async () => (await running.get(PATH, { key: running.sandbox })).json.data;
    await until(async () => (await listed())[0].status === 'disabled');
    assert.equal((await listed())[0].disabled_reason, 'gone');
    const { dead } = running.gateway.webhooks;
    const [letter] = await until(async () => {
      const letters = await dead.list(10);
      return letters.length > 0 ? letters : null;
    });
    assert.deepEqual([letter?.id, letter?.to], [`msg_${trigger_id}`, subscription.id]);
    await arm();
    receiver.answer((_, res) => res.writeHead(204).end());
    assert.equal(await dead.replayAll(), 1);
    await receiver.whenReceived(2);
    assert.equal((await listed())[0].status, 'enabled');
  });

  it('survive a restart with their secrets, which are in no file in clear', async () => {
    const one = await runSending();
    const url = receiver.url('/restarted');
    const { secret } = (
      await one.post(PATH, { url, types: TRIGGERS, secret: true }, { key: one.sandbox })
    ).json;
    const key = one.sandbox;
    await one.close(true);
    for (const file of await filesIn(one.data)) {
      const bytes = await readFile(file);
      for (const text of [secret, secret.slice(6), '/restarted']) {
        assert.ok(!bytes.includes(text), file);
      }
      if (file.endsWith('.pem')) assert.equal((await stat(file)).mode & 0o777, 0o600);
    }
    const two = await runSending({ DATA_DIR: one.data });
    await two.post('/signal/trigger/publish', { template_id: 'incident_sealed' }, { key });
    const [received] = await receiver.whenReceived(1);
    assert.ok(received);
    openedWithSecret(secret, received);
    await two.close();
  });

  it('belong to the tenant and the log of the key that made them', async () => {
    const { subscription } = await subscribe();
    for (const key of [other, running.live]) {
      assert.deepEqual((await running.get(PATH, { key })).json.data, []);
      const { status } = await running.ask('DELETE', `${PATH}/${subscription.id}`, { key });
      assert.equal(status, 404);
    }
    assert.equal((await running.get(PATH)).status, 401);
    const again = await subscribe({ types: [...TRIGGERS].reverse() });
    assert.equal(
      again.subscription.id,
      subscription.id,
      'the same request returns the same subscription',
    );
    const path = `${PATH}/${subscription.id}`;
    assert.equal((await running.ask('DELETE', path, { key: running.sandbox })).status, 200);
    await arm();
    await subscribe({ url: receiver.url('/last') });
    await arm();
    assert.deepEqual(
      (await receiver.whenReceived(1)).map(({ path: to }) => to),
      ['/last'],
    );
  });

  it('are refused for unreachable URLs, unknown events, and beyond the limit', async () => {
    const bad = async (order: object, code: string, param: string) => {
      const body = { url: receiver.url(), types: TRIGGERS, ...order };
      const { status, json } = await running.post(PATH, body, { key: running.sandbox });
      assert.deepEqual([status, json.error?.code, json.error?.param], [400, code, param], code);
    };
    await bad({ url: 'https://127.0.0.1/' }, 'invalid_webhook_url', 'url');
    await bad({ url: 'ftp://example.com/' }, 'invalid_webhook_url', 'url');
    await bad({ types: [] }, 'parameter_invalid', 'types');
    await bad({ trigger_id: 'x' }, 'parameter_invalid', 'trigger_id');
    const unknown = await running.post(
      PATH,
      { url: receiver.url(), types: ['trigger.unknown'] },
      { key: running.sandbox },
    );
    assert.equal(unknown.status, 400);
    for (let i = 0; i < 20; i += 1) await subscribe({ url: receiver.url(`/${String(i)}`) });
    const more = await running.post(
      PATH,
      { url: receiver.url('/more'), types: TRIGGERS },
      { key: running.sandbox },
    );
    assert.equal(more.status, 400);
    assert.match(more.json.error.message, /the limit is 20/);
  });

  it('do not exceed the limit, and have no duplicates, with concurrent requests', async () => {
    const order = (path: string) => ({ url: receiver.url(path), types: TRIGGERS });
    const paths = Array.from({ length: 30 }, (_, i) => `/${String(i % 25)}`);
    const key = running.sandbox;
    const answers = await Promise.all(
      paths.map((path) => running.post(PATH, order(path), { key })),
    );
    const made = answers.filter(({ status }) => status === 200);
    assert.equal(new Set(made.map(({ json }) => json.subscription.id)).size, 20);
    assert.equal((await running.get(PATH, { key })).json.data.length, 20);
  });

  it('stay deleted, also with concurrent changes', async () => {
    const { subscriptions } = running.gateway.webhooks;
    const key = running.sandbox;
    const { id } = (await subscribe()).subscription;
    const [one] = (await running.get(PATH, { key })).json.data;
    assert.equal(one.id, id);
    const caller = { tenant: subscriptions.get(id)?.tenant ?? '', kind: 'sandbox' } as const;
    await Promise.all([subscriptions.delete(caller, id), subscriptions.disable(id, 'gone')]);
    assert.deepEqual((await running.get(PATH, { key })).json.data, []);
    const again = (await subscribe()).subscription.id as string;
    await Promise.all([subscriptions.disable(again, 'gone'), subscriptions.delete(caller, again)]);
    assert.deepEqual((await running.get(PATH, { key })).json.data, []);
  });
});

async function filesIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
}
