// Every request with a JSON body has an example that matches its schema. A new sandbox answers it with 200, or the
// description says what must exist first, and then it is answered too.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { receiptHeader } from '../../../plugins/require-receipt/header.ts';
import type { Route } from '../../../plugins/contract/index.ts';
import { compileSchema } from '../../../gateway/http/validation.ts';
import type { Body } from '../../support/body.ts';
import { FOUNDRY_BODIES } from '../../plugins/foundry/bodies.ts';
import { startReceiver } from '../egress/receiver.ts';
import type { Receiver } from '../egress/receiver.ts';
import { runSending, until } from '../webhooks/receiving.ts';
import type { Ask, Running } from '../running.ts';

/** The beginning of the sentence in a description about what an example needs. */
const NEEDS = 'The example needs ';
const NO_ID = '01900000-0000-7000-8000-000000000000';
const GATE = '/api/v1/execute-gate';
const ACT = { action_type: 'payment.release', agent_id: 'agent:treasury-bot' };
const LARGE = { ...ACT, amount_atomic: 1_000_000_000, currency: 'USDC' };

/** The request with existing names instead of the example. */
interface State extends Ask {
  readonly path?: string;
  readonly members?: object;
}

describe('the example of a request', function () {
  this.timeout(60_000);
  let running: Running;
  let receiver: Receiver;
  let routes: readonly Route[];
  before(async () => {
    running = await runSending();
    receiver = await startReceiver();
    receiver.answer((_, res) => res.writeHead(410).end());
    routes = running.gateway.routes().filter(({ body }) => body !== undefined);
    assert.ok(routes.length > 50);
  });
  after(async () => {
    await running.close();
    await receiver.close();
  });

  const post = async (path: string, body: object, asked?: Ask): Promise<Body> => {
    const key = path.startsWith('/demo/') ? {} : { key: running.sandbox };
    const answer = await running.post(path, body, { ...key, ...asked });
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    return answer.json;
  };
  const exampleOf = (path: string): object =>
    routes.find((one) => one.path === path)?.example as object;

  /** A permit for the example of the gate, for the requests that use it. */
  async function permitted(): Promise<{
    receipt: string;
    timestamp_ms: number;
    use_secret: object;
  }> {
    await post(`${GATE}/policy`, exampleOf(`${GATE}/policy`));
    const { outcome, preimage, decision_entry_id, permit } = await post(GATE, exampleOf(GATE));
    assert.equal(outcome, 'PERMIT');
    const { timestamp_ms } = preimage;
    return { receipt: decision_entry_id, timestamp_ms, use_secret: permit.use_secret };
  }

  /** The objects that the examples need, by path, created after the examples of all routes were sent once. */
  const STATES: Readonly<Record<string, () => Promise<State>>> = {
    '/standards/absence-ledger/verify': async () => {
      const { witness } = await post(
        '/api/v1/absence/witness',
        exampleOf('/api/v1/absence/witness'),
      );
      return { members: { document: witness } };
    },
    '/api/v1/astl/verify': async () => {
      await post('/api/v1/astl/publish', exampleOf('/api/v1/astl/verify'));
      return {};
    },
    '/tcb/counterfactual-replay': async () => {
      const { decision_entry_id } = await post(GATE, ACT);
      return { members: { entry_id: decision_entry_id } };
    },
    '/api/v1/spoliation-seal/release': async () => {
      const { seal_id } = await post(
        '/api/v1/spoliation-seal',
        exampleOf('/api/v1/spoliation-seal'),
      );
      return { members: { seal_id } };
    },
    [`${GATE}/holds/{hold_id}`]: async () => {
      await post(`${GATE}/policy`, exampleOf(`${GATE}/policy`));
      const { hold_id } = await post(GATE, LARGE);
      return { path: `${GATE}/holds/${String(hold_id)}` };
    },
    [`${GATE}/permits/use`]: async () => ({ members: await permitted() }),
    [`${GATE}/permits/result`]: async () => {
      const { timestamp_ms, ...named } = await permitted();
      const use = `${GATE}/permits/use`;
      await post(use, { ...exampleOf(use), ...named, timestamp_ms });
      return { members: named };
    },
    '/api/v1/require-receipt/act': async () => {
      const path = '/api/v1/require-receipt/act';
      const allowed = { id: 'own', effect: 'allow', action_types: ['require_receipt.act'] };
      await post(`${GATE}/policy`, { rules: [allowed] });
      const { json } = await running.post(path, exampleOf(path), { key: running.sandbox });
      const wanted = { ...json.required.gate_request, agent_id: 'agent:shop' };
      const permit = await post(GATE, wanted, { headers: { Prefer: 'wait=10' } });
      return { headers: { 'X-Receipt': receiptHeader(permit as JsonObject) } };
    },
    '/api/v1/oracle/resolve': async () => {
      const { readings, feed_id } = exampleOf('/api/v1/oracle/aggregate') as {
        readonly readings: readonly object[];
        readonly feed_id: string;
      };
      const wide = readings.map((reading, i) => ({ ...reading, value: String(i + 1) }));
      const disputed = await post('/api/v1/oracle/aggregate', { feed_id, readings: wide });
      assert.equal(disputed.state, 'DISPUTED');
      return { members: { aggregate_entry_id: disputed.aggregate_entry_id } };
    },
    '/api/v1/foundry/trigger/fire': async () => {
      const publish = '/signal/trigger/publish';
      const { trigger_id } = await post(publish, exampleOf(publish));
      return { members: { trigger_id } };
    },
    '/api/v1/foundry/trigger/release': async () => {
      const members = await FOUNDRY_BODIES['/api/v1/foundry/trigger/release']?.(running);
      return { members: members! };
    },
    '/signal/trigger/deliveries/{id}/replay': async () => {
      const types = ['trigger.armed'];
      await post('/signal/trigger/subscriptions', { url: receiver.url(), types });
      const publish = '/signal/trigger/publish';
      await post(publish, exampleOf(publish));
      const id = await until(async () => {
        const list = await running.get('/signal/trigger/deliveries', { key: running.sandbox });
        return list.json.data[0]?.id as string | undefined;
      });
      return { path: `/signal/trigger/deliveries/${id}/replay` };
    },
    '/carrier/v1/findings/{entry_id}/resolve': async () => {
      const message = 'We do not hire people over 50.';
      const { entry_id } = await post('/api/v1/classify', { message });
      return { path: `/carrier/v1/findings/${String(entry_id)}/resolve` };
    },
    '/carrier/v1/insured/{slug}/renew': async () => {
      const { slug } = await post('/carrier/v1/enroll', { company: 'Renewed' });
      return { path: `/carrier/v1/insured/${String(slug)}/renew` };
    },
    '/carrier/v1/insured/{slug}/end': async () => {
      const { slug } = await post('/carrier/v1/enroll', { company: 'Ended' });
      return { path: `/carrier/v1/insured/${String(slug)}/end` };
    },
    '/carrier/v1/mandates/accept': async () => {
      const mandate = await post('/carrier/v1/enroll', { company: 'Accepted' });
      const { mandate_id, acceptance_code } = mandate;
      return { members: { mandate_id, acceptance_code } };
    },
    '/demo/calls/holds/{hold_id}': async () => {
      await post('/demo/calls/policy', {});
      const { hold_id } = await post('/demo/calls/gate', LARGE);
      return { path: `/demo/calls/holds/${String(hold_id)}` };
    },
  };

  it('is in the OpenAPI document for every operation that takes JSON', async () => {
    const { paths } = (await running.get('/openapi.json')).json as {
      readonly paths: Record<string, Record<string, { readonly requestBody?: JsonObject }>>;
    };
    const without = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { requestBody }]) => {
        const content = requestBody?.['content'] as Record<string, JsonObject> | undefined;
        const json = content?.['application/json'];
        return json === undefined || 'example' in json ? [] : [`${method} ${path}`];
      }),
    );
    assert.deepEqual(without, []);
  });

  it('matches the schema of its operation', () => {
    for (const { path, body, example } of routes) {
      assert.doesNotThrow(() => compileSchema(body ?? {}, 'body')(example), path);
    }
  });

  it('is answered by a new sandbox, unless its description says what it needs', async () => {
    for (const { path, example, description = '' } of routes) {
      const key = path.startsWith('/demo/') ? {} : { key: running.sandbox };
      const at = path.replace(/\{\w+\}/g, NO_ID);
      const { status, text, json } = await running.post(at, example, key);
      const alone = status === 200 && json.valid !== false;
      assert.equal(alone, !description.includes(NEEDS), `${path}: ${text}`);
      // The example is well formed: it fails only because a name in it is unknown.
      if (status !== 200)
        assert.ok([404, 428].includes(status) || path.includes('/permits/'), text);
    }
  });

  it('is answered as soon as what it needs exists', async () => {
    const needing = routes.filter(({ description = '' }) => description.includes(NEEDS));
    assert.deepEqual(needing.map(({ path }) => path).sort(), Object.keys(STATES).sort());
    for (const { path: declared, example } of needing) {
      const { path = declared, members, headers } = (await STATES[declared]?.()) ?? {};
      const body = { ...(example as object), ...members };
      const answer = await post(path, body, headers === undefined ? {} : { headers });
      if (declared.endsWith('/verify')) assert.equal(answer.valid, true);
      if (declared.endsWith('/fire')) assert.equal(answer.fired, true);
    }
  });
});
