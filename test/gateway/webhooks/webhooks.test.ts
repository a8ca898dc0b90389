// Webhooks of classifications: content, signatures, retries, restarts.
// gateway/API.md §11.

import assert from 'node:assert/strict';
import { startReceiver } from '../egress/receiver.ts';
import type { Receiver } from '../egress/receiver.ts';
import { Clock, ok } from '../running.ts';
import type { Running } from '../running.ts';
import { header, pass, runSending, signedByJwks, until } from './receiving.ts';

const CRISIS = { message: 'I want to kill myself tonight', domain: 'companion' };
const SAFE = { message: 'Schedule the interview for Monday' };
const HOUR = 3_600_000;

describe('webhooks of classifications', () => {
  let receiver: Receiver;
  let running: Running;

  before(async () => {
    running = await runSending();
  });
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());
  after(() => running.close());

  const classify = async (more: object, key = running.sandbox) => {
    return ok(await running.post('/api/v1/classify', more, { key }));
  };
  /** A receiver that was closed with its test may leave messages behind, so each test reads only its own. */
  const deadLetters = async (...ids: readonly string[]) => {
    const letters = await running.gateway.webhooks.dead.list(1000);
    return letters.filter(({ id }) => ids.includes(id.replace('msg_', '')));
  };

  it('contain the public receipt, signed with the webhook key of the JWKS', async () => {
    const receipt = await classify({ ...CRISIS, webhook_url: receiver.url('/hook?token=x') });
    const [received] = await receiver.whenReceived(1);
    assert.ok(received);
    assert.equal(received.path, '/hook?token=x');
    assert.equal(received.headers['content-type'], 'application/json; charset=utf-8');
    assert.equal(header(received, 'id'), `msg_${receipt.entry_id}`);
    assert.ok(await signedByJwks(running.url, received));
    const body = JSON.parse(received.body);
    assert.equal(body.type, 'classification.crisis');
    assert.equal(body.timestamp, new Date(receipt.issued_at_ms).toISOString());
    assert.equal(body.data.entry_id, receipt.entry_id);
    assert.equal(body.data.verify_url, receipt.verify_url);
    const { disclosures, ...shown } = receipt;
    assert.ok(disclosures.message);
    assert.deepEqual(body.data.receipt, shown);
    assert.ok(!received.body.includes('tonight'), 'the message is private');
    assert.ok(!received.body.includes('token'), 'so is the address');
  });

  it('do not verify with another byte, another time or another id', async () => {
    await classify({ ...CRISIS, webhook_url: receiver.url() });
    const [received] = await receiver.whenReceived(1);
    assert.ok(received);
    const changed = (name: string, value: string) => ({
      ...received,
      headers: { ...received.headers, [name]: value },
    });
    for (const forged of [
      { ...received, body: received.body.replace('crisis', 'error') },
      changed('webhook-timestamp', String(Number(header(received, 'timestamp')) + 1)),
      changed('webhook-id', `${header(received, 'id')}0`),
    ]) {
      assert.equal(await signedByJwks(running.url, forged), false);
    }
  });

  it('have separate keys, one for each log, that sign no receipt', async () => {
    const { keys } = (await running.get('/crypto/jwks.json')).json;
    const webhook = keys.filter((key: { purpose?: string }) => key.purpose === 'webhook');
    assert.equal(new Set(webhook.map((key: { origin: string }) => key.origin)).size, 2);
    assert.equal(new Set(keys.map((key: { x: string }) => key.x)).size, keys.length);
  });

  it('are not sent for SAFE, nor without a subscription', async () => {
    await classify({ ...SAFE, webhook_url: receiver.url('/safe') });
    await classify(CRISIS);
    await classify({ message: '', webhook_url: receiver.url('/error') });
    const [received] = await receiver.whenReceived(1);
    assert.equal(received?.path, '/error');
    assert.equal(JSON.parse(received.body).type, 'classification.error');
  });

  it('are sent once for a request that is repeated under one Idempotency-Key', async () => {
    const body = { ...CRISIS, webhook_url: receiver.url('/first') };
    const ask = { key: running.sandbox, headers: { 'Idempotency-Key': 'webhook-test-1' } };
    for (let i = 0; i < 3; i += 1) await running.post('/api/v1/classify', body, ask);
    await classify({ ...CRISIS, webhook_url: receiver.url('/second') });
    const paths = (await receiver.whenReceived(2)).map(({ path }) => path);
    assert.deepEqual(paths.sort(), ['/first', '/second']);
  });

  it('do not delay a request, however slow the receiver is', async () => {
    const release: (() => void)[] = [];
    receiver.answer((_, res) => release.push(() => res.writeHead(204).end()));
    // More messages than may be in flight: none of the answers below waits for them.
    for (let i = 0; i < 12; i += 1) {
      await classify({ ...CRISIS, webhook_url: receiver.url(`/${String(i)}`) });
    }
    await receiver.whenReceived(4);
    receiver.answer((_, res) => res.writeHead(204).end());
    for (const one of release) one();
    assert.equal((await receiver.whenReceived(12)).length, 12);
  });

  it('are repeated with the same id until the receiver answers 2xx', async () => {
    const clock = running.clock;
    receiver.answer((_, res) => res.writeHead(500).end());
    const { entry_id, log } = await classify({ ...CRISIS, webhook_url: receiver.url() });
    const waits = [5000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR];
    for (const [i, wait] of waits.entries()) {
      await receiver.whenReceived(i + 1);
      await until(() => nextDue(running, log.index, wait));
      // Not before its time, and at most a fifth later.
      pass(clock, running, wait * 1.2 + 1);
    }
    await receiver.whenReceived(9);
    await until(() => nextDue(running, log.index, 24 * HOUR));
    receiver.answer((_, res) => res.writeHead(302, { location: '/elsewhere' }).end());
    pass(clock, running, 24 * HOUR * 1.2 + 1);
    const all = await receiver.whenReceived(10);
    assert.deepEqual([...new Set(all.map((one) => header(one, 'id')))], [`msg_${entry_id}`]);
    assert.equal(new Set(all.map(({ body }) => body)).size, 1);
    assert.equal(new Set(all.map((one) => header(one, 'timestamp'))).size, 10);
    const [letter] = await until(async () => {
      const letters = await deadLetters(entry_id);
      return letters.length > 0 ? letters : null;
    });
    assert.equal(letter?.id, `msg_${entry_id}`);
    assert.equal(letter.attempts, 10);
    assert.equal(letter.reason, 'answered 302');
    assert.equal(letter.to, 'webhook_url');
    assert.ok(!JSON.stringify(letter).includes('127.0.0.2'));
    // A replayed message is treated like any other.
    receiver.answer((_, res) => res.writeHead(204).end());
    assert.equal(await running.gateway.webhooks.dead.replay(letter.id), 1);
    await receiver.whenReceived(11);
    assert.deepEqual(await deadLetters(entry_id), []);
  });

  it('wait as long as the receiver asks', async () => {
    receiver.answer((_, res) => res.writeHead(429, { 'retry-after': '3600' }).end());
    const { log } = await classify({ ...CRISIS, webhook_url: receiver.url() });
    await receiver.whenReceived(1);
    await until(() => nextDue(running, log.index, HOUR));
    receiver.answer((_, res) => res.writeHead(204).end());
    pass(running.clock, running, HOUR + 1);
    await receiver.whenReceived(2);
  });

  it('are given up immediately after a 410, also later ones to the same address', async () => {
    receiver.answer((_, res) => res.writeHead(410).end());
    const first = await classify({ ...CRISIS, webhook_url: receiver.url('/gone') });
    await until(async () => (await deadLetters(first.entry_id)).length === 1);
    const second = await classify({ ...CRISIS, webhook_url: receiver.url('/gone') });
    const letters = await until(async () => {
      const found = await deadLetters(first.entry_id, second.entry_id);
      return found.length === 2 ? found : null;
    });
    assert.deepEqual(
      letters.map(({ id }) => id),
      [`msg_${first.entry_id}`, `msg_${second.entry_id}`],
    );
    assert.equal(receiver.received.length, 1);
    receiver.answer((_, res) => res.writeHead(204).end());
    assert.ok((await running.gateway.webhooks.dead.replayAll()) >= 2);
    await receiver.whenReceived(3);
    assert.deepEqual(await running.gateway.webhooks.dead.list(1000), []);
  });

  it('do not reach private addresses by redirect or by name, and a literal one is refused by classify', async () => {
    const inside = await startReceiver('127.0.0.1');
    try {
      receiver.answer((_, res) => res.writeHead(307, { location: inside.url() }).end());
      const redirected = await classify({ ...CRISIS, webhook_url: receiver.url() });
      await receiver.whenReceived(1);
      const named = inside.url('/', 'localhost');
      const hidden = await classify({ ...CRISIS, webhook_url: named });
      const refused = await running.post(
        '/api/v1/classify',
        { ...CRISIS, webhook_url: inside.url() },
        { key: running.sandbox },
      );
      assert.equal(refused.status, 400);
      assert.equal(refused.json.error.code, 'invalid_webhook_url');
      // Both are tried again later, like any failure.
      for (const { log } of [redirected, hidden]) {
        await until(() => nextDue(running, log.index, 5000));
      }
      assert.equal(inside.received.length, 0);
    } finally {
      await inside.close();
    }
  });
});

describe('webhooks over restarts', () => {
  it('continue from a queue that delivered nothing, and from one that was interrupted', async () => {
    const clock = new Clock();
    const receiver = await startReceiver();
    const ids: string[] = [];
    const first = await runSending({ WEBHOOKS: 'off' }, { clock });
    const { data, live, sandbox } = first;
    for (const key of [live, sandbox, live, sandbox]) {
      const body = { ...CRISIS, webhook_url: receiver.url() };
      ids.push((await first.post('/api/v1/classify', body, { key })).json.entry_id);
    }
    await first.close(true);
    assert.equal(receiver.received.length, 0);

    // The receiver never answers: the stop interrupts the attempt, which does not count.
    receiver.answer(() => undefined);
    const env = { DATA_DIR: data, SHUTDOWN_TIMEOUT_MS: '0' };
    const second = await runSending(env, { clock });
    await receiver.whenReceived(4);
    await second.close(true);

    receiver.answer((_, res) => res.writeHead(204).end());
    const third = await runSending(env, { clock });
    const again = (await receiver.whenReceived(8)).slice(4);
    assert.deepEqual(
      again.map((one) => header(one, 'id')).sort(),
      ids.map((id) => `msg_${id}`).sort(),
    );
    for (const one of again) assert.ok(await signedByJwks(third.url, one));
    await until(async () => (await waiting(third)) === 0);
    await third.close(true);

    const fourth = await runSending(env, { clock });
    assert.equal(await waiting(fourth), 0);
    await fourth.close();
    assert.equal(receiver.received.length, 8);
    await receiver.close();
  });
});

/** The number of messages waiting on disk. */
async function waiting({ gateway }: Running): Promise<number> {
  const rows = await Promise.all(
    Object.values(gateway.logs).map((log) => log.attachedRows('webhook/')),
  );
  return rows.flat().length;
}

/**
 * Whether the next attempt for the message of an entry is due after this delay, up to a fifth more, less the time of
 * the test.
 */
async function nextDue({ gateway, clock }: Running, index: number, wait: number): Promise<boolean> {
  const rows = await gateway.logs.sandbox.attachedRows('webhook/later/');
  return rows.some(([key, value]) => {
    const [, , due, at] = key.split('/');
    const { attempts } = JSON.parse(Buffer.from(value).toString()) as { attempts: number };
    const left = Number(due) - clock.wall();
    return Number(at) === index && attempts > 0 && left <= wait * 1.2 && left > wait - 60_000;
  });
}
