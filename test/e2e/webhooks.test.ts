// Webhooks of a real process that is killed in the middle of its queue: each event arrives at least once, those of a
// trigger in the order of their entries; and receivers behind TLS, of an authority that is trusted or is not.
// gateway/API.md §11.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startReceiver } from '../gateway/egress/receiver.ts';
import { header, until } from '../gateway/webhooks/receiving.ts';
import { selfSigned } from '../support/certificate.ts';
import { startProcess } from './process.ts';
import type { ServerProcess } from './process.ts';

const TRIGGERS = 120;
const CLASSIFIED = 60;
/** How many messages have come when a server is killed. */
const KILLED_AT = [70, 180];
const SENDING = { EGRESS_ALLOW_HTTP: 'on', EGRESS_NETWORKS: '127.0.0.2/32', RATE_LIMITS: 'off' };

const asking =
  (server: ServerProcess, key: string) =>
  async (path: string, body: object): Promise<Record<string, string>> => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text) as Record<string, string>;
  };

/** So many at a time, in order. */
async function times(count: number, act: () => Promise<void>): Promise<void> {
  let left = count;
  const one = async (): Promise<void> => {
    for (left -= 1; left >= 0; left -= 1) await act();
  };
  await Promise.all(Array.from({ length: 16 }, one));
}

describe('webhooks of a server that is killed', function () {
  this.timeout(300_000);

  let data: string;

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'actlog-webhooks-'));
  });
  afterEach(() => rm(data, { recursive: true, force: true }));

  it('arrive at least once, each trigger in the order of its entries', async () => {
    const receiver = await startReceiver();
    let server = await startProcess(data, { ...SENDING, WEBHOOKS: 'off' });
    const ask = asking(server, server.key);
    const types = ['trigger.armed', 'trigger.fired'];
    await ask('/signal/trigger/subscriptions', { url: receiver.url('/rail'), types });
    const expected = new Set<string>();
    const note = (entry_id: string | undefined): void => {
      assert.ok(entry_id);
      expected.add(`msg_${entry_id}`);
    };
    await times(TRIGGERS, async () => {
      const { trigger_id } = await ask('/signal/trigger/publish', {
        template_id: 'incident_sealed',
      });
      note(trigger_id);
      const reading = { metric: 'incident', value: 1 };
      const fired = await ask('/api/v1/foundry/trigger/fire', { trigger_id, reading });
      note((fired['receipt'] as unknown as { entry_id: string }).entry_id);
    });
    await times(CLASSIFIED, async () => {
      const { entry_id } = await ask('/api/v1/classify', {
        ...{ message: '', webhook_url: receiver.url('/own') },
      });
      note(entry_id);
    });
    assert.equal(expected.size, 2 * TRIGGERS + CLASSIFIED);
    await server.kill();
    assert.equal(receiver.received.length, 0);

    // From a number on nothing is answered: the server dies with messages that it has sent and knows nothing of.
    let last = 0;
    const answered = new Set<string>();
    const unanswered: string[] = [];
    const armed = new Set<string>();
    const early: string[] = [];
    receiver.answer((received, res) => {
      const id = header(received, 'id');
      const { type, data: event } = JSON.parse(received.body) as {
        type: string;
        data: { receipt: { trigger_id: string } };
      };
      const { trigger_id } = event.receipt;
      if (type === 'trigger.fired' && !armed.has(trigger_id)) early.push(id);
      if (receiver.received.length > last) {
        unanswered.push(id);
        return;
      }
      answered.add(id);
      if (type === 'trigger.armed') armed.add(trigger_id);
      res.writeHead(204).end();
    });
    for (const count of KILLED_AT) {
      last = count;
      server = await startProcess(data, SENDING);
      await receiver.whenReceived(count + 1);
      await server.kill();
    }
    const cut = [...new Set(unanswered)];
    assert.ok(cut.length > 0);
    last = Infinity;
    server = await startProcess(data, SENDING);
    await until(() => [...expected].every((id) => answered.has(id)));
    for (const id of cut) assert.ok(answered.has(id), 'sent again after the kill');
    assert.deepEqual(early, [], 'FIRED came before ARMED');
    assert.equal(answered.size, expected.size);
    assert.equal(await server.stop(), 0);
    await receiver.close();
  });

  it('reach a receiver behind TLS once its authority is trusted, and not before', async () => {
    const certificate = selfSigned('127.0.0.2');
    const receiver = await startReceiver('127.0.0.2', { tls: certificate });
    const ca = join(data, 'ca.pem');
    await writeFile(ca, certificate.cert);
    const body = { message: '', webhook_url: receiver.url() };

    const distrusting = await startProcess(data, { EGRESS_NETWORKS: '127.0.0.2/32' });
    const refusal = once(receiver.server, 'tlsClientError') as Promise<[Error]>;
    const first = await asking(distrusting, distrusting.key)('/api/v1/classify', body);
    const [error] = await refusal;
    assert.match(error.message, /unknown ca|bad certificate|ECONNRESET|hang up/i);
    await distrusting.kill();
    assert.equal(receiver.received.length, 0);

    const trusting = await startProcess(data, {
      ...{ EGRESS_NETWORKS: '127.0.0.2/32', NODE_EXTRA_CA_CERTS: ca },
    });
    const second = await asking(trusting, distrusting.key)('/api/v1/classify', body);
    // What was refused comes again, as any other failure.
    const received = await receiver.whenReceived(2);
    assert.deepEqual(
      new Set(received.map((one) => header(one, 'id'))),
      new Set([first, second].map(({ entry_id }) => `msg_${entry_id ?? ''}`)),
    );
    assert.equal(await trusting.stop(), 0);
    await receiver.close();
  });
});
