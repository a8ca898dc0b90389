// The foundry from physics to stack, in the order of the interface, over HTTP to a real process that is killed
// between the steps. Each receipt is checked without the server; a receiver hears of the trigger.
// gateway/API.md §10.5 to §11.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trustFromKit, verifyReceipt } from '../../log/verify.ts';
import { startReceiver } from '../gateway/egress/receiver.ts';
import type { Receiver } from '../gateway/egress/receiver.ts';
import { header, openedWithSecret, until } from '../gateway/webhooks/receiving.ts';
import { readingsOf } from '../plugins/foundry/readings.ts';
import { startProcess } from './process.ts';
import type { ServerProcess } from './process.ts';
import type { Body } from '../support/body.ts';

describe('the foundry, end to end, killed between the steps', function () {
  this.timeout(300_000);

  let data: string;
  let server: ServerProcess;
  let key: string;
  let receiver: Receiver;
  let secret: string;
  let aggregate: Body;
  let trigger: Body;
  let tolls = 0;
  /** Receipts by what they are of, as the story meets them. */
  const receipts = new Map<string, Body>();

  const start = (): Promise<ServerProcess> =>
    startProcess(data, { EGRESS_ALLOW_HTTP: 'on', EGRESS_NETWORKS: '127.0.0.2/32' });
  const ask = async (path: string, body?: object): Promise<Body> => {
    const response = await fetch(server.url + path, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  };
  const keep = (name: string, receipt: Body): void => {
    assert.ok(receipt?.entry_id, name);
    receipts.set(name, receipt);
    tolls += Number(receipt.toll_micro_usd ?? 0);
  };

  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'actlog-foundry-'));
    receiver = await startReceiver();
    server = await start();
    ({ key } = server);
    const types = ['trigger.armed', 'trigger.fired'];
    const subscribed = await ask('/signal/trigger/subscriptions', {
      ...{ url: receiver.url(), types, secret: true },
    });
    ({ secret } = subscribed);
  });
  afterEach(async () => {
    await server.kill();
    server = await start();
  });
  after(async () => {
    await server.stop();
    await receiver.close();
    await rm(data, { recursive: true, force: true });
  });

  it('physics: seals a governed act', async () => {
    const message = 'The model version was changed without notice';
    const sealed = await ask('/api/v1/classify', {
      message,
      domain: 'insurance',
      session_id: 'mga',
    });
    keep('act', sealed);
  });

  it('print: chains an inference to its session', async () => {
    const messages = [
      { role: 'user', content: 'May the policy be bound?' },
      { role: 'assistant', content: 'Not before the incident is reviewed.' },
    ];
    const sealed = await ask('/api/v1/inference/chat/completions', {
      ...{ model: 'svc-seal-1', messages, session_id: 'mga' },
    });
    assert.match(sealed.proof.session_root, /^[0-9a-f]{64}$/);
    keep('inference', sealed.receipt);
  });

  it('oracle: comes to a consensus of outside readings', async () => {
    const readings = readingsOf('1.00', '1.01', '1.02');
    aggregate = await ask('/api/v1/oracle/aggregate', { feed_id: 'incidents', readings });
    assert.equal(aggregate.receipt.state, 'CONSENSUS');
    keep('aggregate', aggregate.receipt);
  });

  it('obligation: arms a trigger', async () => {
    trigger = await ask('/signal/trigger/publish', {
      template_id: 'incident_sealed',
      condition: { metric: 'incidents', comparator: 'gte', threshold: '1' },
      ...{ enabled_exposure_usd: '1000000', feed_id: 'incidents' },
    });
    assert.equal(trigger.state, 'ARMED');
    keep('trigger', trigger.receipt);
  });

  it('settlement: fires it once, by the aggregate of the step before', async () => {
    const fire = {
      ...{ trigger_id: trigger.trigger_id, aggregate_entry_id: aggregate.receipt.entry_id },
    };
    const fired = await ask('/api/v1/foundry/trigger/fire', fire);
    assert.deepEqual([fired.fired, fired.state], [true, 'FIRED']);
    keep('settlement', fired.receipt);
    const again = await ask('/api/v1/foundry/trigger/fire', fire);
    assert.equal(again.receipt.entry_id, fired.receipt.entry_id);
  });

  it('conformity: packs what the session evidences', async () => {
    const pack = await ask('/api/v1/conformity/generate', {
      ...{ category_id: 'insurance', session_id: 'mga' },
    });
    keep('pack', pack.receipt);
  });

  it('custody: attests a token with its parity', async () => {
    const attested = await ask('/api/v1/custody/attest', {
      ...{ event_type: 'tokenize', asset_id: 'fund-7', quantity: '1000.50', holder: 'One' },
    });
    assert.equal(attested.parity.holds, true);
    keep('custody', attested.receipt);
  });

  it('clearing and stack: meters every step, and names what is installed', async () => {
    const usage = await ask('/api/v1/clear/usage');
    assert.equal(
      Number(usage.tolls_micro_usd ?? usage.toll_micro_usd),
      tolls,
      JSON.stringify(usage),
    );
    const { layers } = await ask('/api/v1/stack/catalog');
    assert.equal(layers.length, 11);
  });

  it('has lost nothing: every receipt verifies without the server, and is in the log', async () => {
    const kit = await ask('/export/offline-verify-kit.json');
    const trust = trustFromKit(kit, 'log.example/log/live/1');
    for (const [name, receipt] of receipts) {
      const found = await ask(`/receipt/lookup?entry_id=${receipt.entry_id as string}`);
      const tlogProof = found.proof.tlog_proof as string;
      assert.equal(verifyReceipt(receipt, trust, { tlogProof }).valid, true, name);
    }
  });

  it('delivers both events in order, with signatures that the public library accepts', async () => {
    const fired = `msg_${receipts.get('settlement').entry_id as string}`;
    const all = await until(() => {
      const { received } = receiver;
      return received.some((one) => header(one, 'id') === fired) ? received : null;
    });
    const events = all.map((one) => {
      const { type } = openedWithSecret(secret, one) as { type: string };
      return [type, header(one, 'id')];
    });
    // At least once: what was sent when the server died may have come twice.
    const first = [...new Map(events.map(([type, id]) => [id, type])).entries()];
    assert.deepEqual(first, [
      [`msg_${receipts.get('trigger').entry_id as string}`, 'trigger.armed'],
      [fired, 'trigger.fired'],
    ]);
  });
});
