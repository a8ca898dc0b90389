// The webhook queue under load: every message is delivered, none twice unless it failed, and no host gets more concurrent
// requests than allowed. gateway/API.md §11.

import assert from 'node:assert/strict';
import { startReceiver } from '../egress/receiver.ts';
import { header, pass, runSending, until } from './receiving.ts';

const MESSAGES = 300;
const CONNECTIONS = 3;

describe('the queue of webhooks', () => {
  it('delivers each message once for each time that it did not fail', async () => {
    const receiver = await startReceiver();
    const running = await runSending({ WEBHOOK_CONNECTIONS: String(CONNECTIONS) });
    const failed = new Set<string>();
    let [now, most] = [0, 0];
    receiver.answer((received, res) => {
      now += 1;
      most = Math.max(most, now);
      const id = header(received, 'id');
      // Each seventh fails the first time.
      const fails = Number(received.path.slice(1)) % 7 === 0 && !failed.has(id);
      if (fails) failed.add(id);
      res.on('close', () => (now -= 1));
      setImmediate(() => res.writeHead(fails ? 500 : 204).end());
    });
    const ids = await Promise.all(
      Array.from({ length: MESSAGES }, async (_, i) => {
        const body = { message: '', webhook_url: receiver.url(`/${String(i)}`) };
        const { json } = await running.post('/api/v1/classify', body, { key: running.sandbox });
        return `msg_${json.entry_id as string}`;
      }),
    );
    await receiver.whenReceived(MESSAGES);
    const waiting = () => running.gateway.logs.sandbox.attachedRows('webhook/', { limit: 1000 });
    // Failed messages are on disk again, or were sent again if this took seconds.
    const left = Math.ceil(MESSAGES / 7);
    const repeated = (): number => receiver.received.length - MESSAGES;
    await until(async () => failed.size === left && (await waiting()).length + repeated() === left);
    pass(running.clock, running, 7000);
    await receiver.whenReceived(MESSAGES + left);
    await until(async () => (await waiting()).length === 0);
    const counts = new Map<string, number>();
    for (const one of receiver.received) {
      counts.set(header(one, 'id'), (counts.get(header(one, 'id')) ?? 0) + 1);
    }
    for (const id of ids) assert.equal(counts.get(id), failed.has(id) ? 2 : 1);
    assert.equal(receiver.received.length, MESSAGES + left);
    assert.ok(most <= CONNECTIONS, `${String(most)} at a time`);
    await running.close();
    await receiver.close();
  });

  it('does not delay a host if others do not answer, however many', async () => {
    const SLOW = 70;
    const EACH = 3;
    const receiver = await startReceiver();
    const resolve = () => Promise.resolve([{ address: '127.0.0.2', family: 4 }]);
    const running = await runSending({ WEBHOOK_CONNECTIONS: '1' }, { resolve });
    const held: (() => void)[] = [];
    let open = false;
    receiver.answer(({ headers }, res) => {
      const answer = (): void => void res.writeHead(204).end();
      if (open || !String(headers.host).startsWith('slow')) answer();
      else held.push(answer);
    });
    const tell = (host: string): Promise<unknown> => {
      const body = { message: '', webhook_url: receiver.url('/', host) };
      return running.post('/api/v1/classify', body, { key: running.sandbox });
    };
    const names = Array.from({ length: SLOW }, (_, i) => `${String(i)}.test`);
    await Promise.all(
      names.flatMap((name) => Array.from({ length: EACH }, () => tell(`slow${name}`))),
    );
    // Each host has one message in flight, and more in its queue.
    await until(() => held.length === SLOW);
    await Promise.all(names.map((name) => tell(`quick${name}`)));
    await receiver.whenReceived(2 * SLOW);
    assert.equal(held.length, SLOW);
    open = true;
    for (const answer of held) answer();
    await receiver.whenReceived(SLOW + EACH * SLOW);
    const left = () => running.gateway.logs.sandbox.attachedRows('webhook/', { limit: 1 });
    await until(async () => (await left()).length === 0);
    assert.equal(receiver.received.length, SLOW + EACH * SLOW);
    await running.close();
    await receiver.close();
  });
});
