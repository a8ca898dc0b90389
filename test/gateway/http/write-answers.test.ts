// Sends every request with a body that is answered in JSON once: the answer matches the OpenAPI document and has no other
// member. get-answers.test.ts does the same for GET; the contract suite sends the examples of the plugins.
// gateway/API.md §13.

import assert from 'node:assert/strict';
import type { JsonObject, Route } from '../../../plugins/contract/index.ts';
import { receiptHeader } from '../../../plugins/require-receipt/header.ts';
import { FOUNDRY_BODIES } from '../../plugins/foundry/bodies.ts';
import { GATE, PAY, POLICY } from '../../plugins/gate/asking.ts';
import type { Body } from '../../support/body.ts';
import { answerCheck } from '../../../tools/plugin-test/answer-check.ts';
import { startReceiver } from '../egress/receiver.ts';
import { runSending, until } from '../webhooks/receiving.ts';
import type { Ask, Running } from '../running.ts';

/** POLICY with the act that requires a receipt allowed. */
const RULES = {
  ...POLICY,
  rules: [...POLICY.rules, { id: 'own', effect: 'allow', action_types: ['require_receipt.act'] }],
};

/** The request for a route whose example alone is not enough. */
interface Asked extends Ask {
  readonly path?: string;
  readonly status?: number;
}

const HELD = { ...PAY, amount_atomic: 500 };
const WINDOW = { from_ms: 1, to_ms: 2 };
const VISITOR = { action_type: 'payment.release', agent_id: 'agent:a' };
const given = (body: object) => (): Promise<Asked> => Promise.resolve({ body });

describe('every request with a body that is answered in JSON', function () {
  this.timeout(120_000);
  let running: Running;
  let key: string;
  const post = async (path: string, body: object, asked: Ask = { key }): Promise<Body> => {
    const answer = await running.post(path, body, asked);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    return answer.json;
  };

  /** Requests by method and path. */
  const ASKED: Readonly<Record<string, () => Promise<Asked>>> = {
    'POST /standards/absence-ledger/verify': async () => {
      const surface = { entity: 'write-answers', surface: 'a', ...WINDOW };
      const { witness } = await post('/api/v1/absence/witness', surface);
      return { body: { document: witness, question: witness.question } };
    },
    'POST /tcb/counterfactual-replay': async () => {
      const { decision_entry_id } = await post(GATE, PAY);
      return { body: { entry_id: decision_entry_id, changes: { amount_atomic: 5000 } } };
    },
    'POST /api/v1/spoliation-seal/release': async () => {
      const { seal_id } = await post('/api/v1/spoliation-seal', { trigger_event: 'a claim' });
      return { body: { seal_id, reason: 'the matter was settled' } };
    },
    'POST /signal/trigger/deliveries/{id}/replay': async () => {
      const receiver = await startReceiver();
      receiver.answer((_, res) => res.writeHead(410).end());
      const subscription = { url: receiver.url(), types: ['trigger.armed'] };
      await post('/signal/trigger/subscriptions', subscription);
      await post('/signal/trigger/publish', { template_id: 'ai_model_change' });
      const id = await until(async () => {
        const list = await running.get('/signal/trigger/deliveries', { key });
        return list.json.data[0]?.id as string | undefined;
      });
      await receiver.close();
      return { path: `/signal/trigger/deliveries/${id}/replay`, body: {} };
    },
    'POST /carrier/v1/findings/{entry_id}/resolve': async () => {
      const message = 'We do not hire people over 50.';
      const { entry_id } = await post('/api/v1/classify', { message });
      return {
        path: `/carrier/v1/findings/${String(entry_id)}/resolve`,
        body: { outcome: 'dismissed', reason: 'the sentence was a quotation' },
      };
    },
    'POST /carrier/v1/insured/{slug}/renew': async () => {
      const { slug } = await post('/carrier/v1/enroll', { company: 'Renewed' });
      return { path: `/carrier/v1/insured/${String(slug)}/renew`, body: {} };
    },
    'POST /carrier/v1/insured/{slug}/end': async () => {
      const { slug } = await post('/carrier/v1/enroll', { company: 'Ended' });
      return { path: `/carrier/v1/insured/${String(slug)}/end`, body: { reason: 'cancelled' } };
    },
    'POST /carrier/v1/mandates/accept': async () => {
      const { mandate_id, acceptance_code } = await post('/carrier/v1/enroll', { company: 'Acme' });
      return { body: { mandate_id, acceptance_code } };
    },
    [`POST ${GATE}/policy`]: given(RULES),
    [`POST ${GATE}/holds/{hold_id}`]: async () => {
      const { hold_id } = await post(GATE, HELD);
      return {
        path: `${GATE}/holds/${String(hold_id)}`,
        body: { action: 'release', reason: 'seen' },
      };
    },
    [`POST ${GATE}/permits/use`]: async () => {
      const { preimage, decision_entry_id, permit } = await post(GATE, PAY);
      const { use_secret } = permit;
      return { body: { ...preimage, receipt: decision_entry_id, use_secret } };
    },
    [`POST ${GATE}/permits/result`]: async () => {
      const { preimage, decision_entry_id, permit } = await post(GATE, PAY);
      const named = { receipt: decision_entry_id, use_secret: permit.use_secret };
      await post(`${GATE}/permits/use`, { ...preimage, ...named });
      return { body: { ...named, status: 'completed' } };
    },
    'POST /api/v1/require-receipt/act': async () => {
      const body = { reference: 'order-4711' };
      const path = '/api/v1/require-receipt/act';
      const challenged = await running.post(path, body, { key });
      assert.equal(challenged.status, 428, challenged.text);
      check(routeOf('POST', path), challenged.status, challenged.json);
      const request = { ...challenged.json.required.gate_request, agent_id: 'agent:shop' };
      const permit = await post(GATE, request, {
        key,
        headers: { Prefer: 'wait=10' },
      });
      assert.equal(permit.outcome, 'PERMIT');
      return { body, headers: { 'X-Receipt': receiptHeader(permit as JsonObject) } };
    },
    'DELETE /signal/trigger/subscriptions/{id}': async () => {
      const { subscription } = await post('/signal/trigger/subscriptions', {
        url: 'https://hooks.example/a',
        types: ['trigger.fired'],
      });
      return { path: `/signal/trigger/subscriptions/${String(subscription.id)}` };
    },
    'DELETE /api/v1/disclosures/{entry_id}': async () => {
      const { entry_id } = await post('/api/v1/classify', { message: 'Hello' });
      return { path: `/api/v1/disclosures/${String(entry_id)}` };
    },
    'POST /demo/calls/classify': given({ message: 'Good morning' }),
    'POST /demo/calls/gate': given(VISITOR),
    'POST /demo/calls/bind-gate': given(VISITOR),
    'POST /demo/calls/policy': given({}),
    'POST /demo/calls/holds/{hold_id}': async () => {
      await post('/demo/calls/policy', {}, {});
      const act = { ...VISITOR, amount_atomic: 1_000_000_000, currency: 'USDC' };
      const { hold_id } = await post('/demo/calls/gate', act, {});
      return {
        path: `/demo/calls/holds/${String(hold_id)}`,
        body: { action: 'refuse', reason: 'a' },
      };
    },
    'POST /demo/calls/restraint': given({ action_not_taken: 'a', decision_reason: 'a limit' }),
    'POST /demo/calls/payment': given({ payment_hash: 'a'.repeat(64) }),
    'POST /demo/calls/publish': given({ entity: 'demo:visitor01', surfaces: ['policy_bind'] }),
    'POST /demo/calls/witness': given({
      entity: 'demo:visitor01',
      surface: 'policy_bind',
      ...WINDOW,
    }),
    'POST /demo/calls/seal': given({ event_type: 'bind_decision' }),
    'POST /demo/calls/partner': given({ partner: 'Demo Partner' }),
    ...Object.fromEntries(
      Object.entries(FOUNDRY_BODIES).map(([path, bodyOf]) => [
        `POST ${path}`,
        async () => ({ body: await bodyOf(running) }),
      ]),
    ),
  };

  before(async () => {
    running = await runSending();
    key = running.sandbox;
    await post(`${GATE}/policy`, RULES);
  });
  after(() => running.close());

  const routeOf = (method: string, path: string): Route => {
    const found = running.gateway
      .routes()
      .find((one) => one.method === method && one.path === path);
    assert.ok(found, path);
    return found;
  };

  function check({ method, path, responses }: Route, status: number, json: unknown): void {
    const schema = responses[status]?.schema;
    assert.ok(schema, `${method} ${path} answers ${String(status)}: ${JSON.stringify(json)}`);
    assert.doesNotThrow(
      () => answerCheck(schema)(json),
      `${method} ${path}: ${JSON.stringify(json).slice(0, 300)}`,
    );
  }

  it('answers with a body that matches its schema', async () => {
    const routes = running.gateway
      .routes()
      .filter(({ method, responses }) => method !== 'GET' && responses[200]?.schema !== undefined);
    assert.ok(routes.length > 45);
    for (const route of routes) {
      const { method } = route;
      const asked = await ASKED[`${method} ${route.path}`]?.();
      const { path = route.path, ...rest } = asked ?? { body: route.example };
      const as = route.path.startsWith('/demo/') ? {} : { key };
      const answer = await running.ask(method, path, { ...as, ...rest });
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      check(route, answer.status, answer.json);
    }
  });
});
