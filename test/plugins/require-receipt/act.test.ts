// RR-1 in a running gateway: the act of the gateway under permits of the gate, its conformance by the runner, and an
// external service that accepts the same permits with the JWKS alone.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { logReplayStore, parseChallenge } from '../../../plugins/require-receipt/middleware.ts';
import { CHECKS } from '../../../plugins/require-receipt/entries.ts';
import {
  encodePresented,
  readHeader,
  receiptHeader,
} from '../../../plugins/require-receipt/header.ts';
import { faultOf } from '../../../tools/conformance/manifest.ts';
import { gateSource } from '../../../tools/conformance/permits.ts';
import { runConformance } from '../../../tools/conformance/run.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import { typesFrom } from '../../support/types-from.ts';
import { altered } from './permits.ts';
import { expressService } from './services.ts';

const ACT = '/api/v1/require-receipt/act';
const CONFORMANCE = '/api/v1/require-receipt/conformance';
const GATE = '/api/v1/execute-gate';
const BODY = { reference: 'order zebra 4711' };
const POLICY = {
  rules: [{ id: 'acts', effect: 'allow', action_types: ['require_receipt.act', 'payment.refund'] }],
};

describe('require-receipt', () => {
  let running: Running;
  /** Another tenant of the live log. */
  let other: string;
  before(async () => {
    running = await run();
    const { key } = await running.gateway.tenants.issue({
      tenant: 'other',
      kind: 'live',
      role: 'operator',
    });
    other = key;
    for (const by of [running.live, running.sandbox, other]) {
      const put = await running.post(`${GATE}/policy`, POLICY, { key: by });
      assert.equal(put.status, 200, put.text);
    }
  });
  after(() => running.close());

  const act = (
    key: string | undefined,
    receipt?: string,
    headers: Readonly<Record<string, string>> = {},
    body: object = BODY,
  ): Promise<Answer> =>
    running.post(ACT, body, {
      ...(key === undefined ? {} : { key }),
      headers: { ...headers, ...(receipt === undefined ? {} : { 'X-Receipt': receipt }) },
    });

  /** The answer of the gate to the request that the challenge describes. */
  async function permit(key: string, wait = 'wait=30'): Promise<JsonObject> {
    const { json } = await act(key);
    const { json: answer } = await running.post(
      GATE,
      { ...json.required.gate_request, agent_id: 'agent:shop' },
      { key, headers: { Prefer: wait } },
    );
    assert.equal(answer.outcome, 'PERMIT', JSON.stringify(answer));
    return answer as JsonObject;
  }
  const refused = ({ status, json }: Answer): unknown => {
    assert.equal(status, 428, JSON.stringify(json));
    return json.required.refused;
  };

  it('challenges a request without a receipt', async () => {
    for (const key of [undefined, running.live, running.sandbox]) {
      const { status, headers, json } = await act(key);
      assert.equal(status, 428);
      assert.equal(headers.get('cache-control'), 'no-store');
      const { required, error } = json;
      const parameters = parseChallenge(headers.get('receipt-required') ?? '');
      assert.deepEqual(parameters, {
        action: 'require_receipt.act',
        action_hash: required.action_hash,
        manifest: '/.well-known/agent-actions.json',
        proof: 'X-Receipt',
        profile: 'actlog-permit-v1',
        assurance: 'software',
        max_age: '900',
      });
      assert.equal(error.code, 'receipt_required');
      assert.equal(error.request_id, headers.get('x-request-id'));
      assert.equal(required.gate, 'http://test.example/api/v1/execute-gate');
      assert.equal(required.canonical_action.audience, 'http://test.example');
    }
  });

  it('acts only with the opening of the use secret, which the holder of the permit has', async () => {
    const presented = readHeader(receiptHeader(await permit(running.live)));
    assert.ok(presented?.use_secret !== undefined);
    const { use_secret, ...public_ } = presented;
    const wrong = { ...use_secret, value: 'a guess' };
    for (const shown of [public_, { ...public_, use_secret: wrong }]) {
      const answer = await act(running.live, encodePresented(shown));
      assert.deepEqual(
        [answer.status, answer.json.error?.code, answer.json.error?.type],
        [403, 'permit_secret_invalid', 'authentication_error'],
      );
    }
    assert.equal((await act(running.live, encodePresented(presented))).status, 200);
  });

  it('acts once for a permit, and appends the act and the permit use in one group', async () => {
    const answer = await permit(running.live);
    const receipt = receiptHeader(answer);
    const { status, json } = await act(running.live, receipt);
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json.act.permit_id, answer['decision_entry_id']);
    assert.equal(json.act.permit_use_id, json.permit_use_receipt.entry_id);
    assert.equal(json.receipt.type, 'require-receipt.act.v1');
    assert.equal(json.receipt.action_ref, answer['action_ref']);
    assert.equal(json.receipt.index - json.permit_use_receipt.index, 1);
    assert.equal(json.permit_use_receipt.consumer, 'require-receipt');
    assert.equal(json.receipt.disclosures.reference.value, BODY.reference);
    const again = await act(running.live, receipt);
    assert.deepEqual([again.status, again.json.error.code], [409, 'permit_used']);
  });

  it('replays the answer for its Idempotency-Key, and does not act a second time', async () => {
    const receipt = receiptHeader(await permit(running.live));
    const headers = { 'Idempotency-Key': 'act-of-today' };
    const first = await act(running.live, receipt, headers);
    const size = running.gateway.logs.live.size();
    const again = await act(running.live, receipt, headers);
    assert.equal(first.status, 200);
    assert.equal(again.text, first.text);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(typesFrom(running.gateway.logs.live, size), []);
  });

  it('acts for exactly one of many concurrent requests with the same permit', async () => {
    const receipt = receiptHeader(await permit(running.live));
    const told = await Promise.all(Array.from({ length: 20 }, () => act(running.live, receipt)));
    const statuses = told.map(({ status }) => status).sort((a, b) => a - b);
    assert.deepEqual(statuses, [200, ...Array<number>(19).fill(409)]);
  });

  it('keeps the subject of the act out of the log', async () => {
    await act(running.live, receiptHeader(await permit(running.live)));
    const log = running.gateway.logs.live;
    for (let i = 0; i < log.size(); i++) assert.ok(!(log.entry(i) ?? '').includes('zebra'));
  });

  it('refuses a permit for another body, tenant or log, and a permit without a proof', async () => {
    const live = await permit(running.live);
    const receipt = receiptHeader(live);
    const elsewhere = await act(running.live, receipt, {}, { reference: 'order 4712' });
    assert.equal(refused(elsewhere), 'action_mismatch');
    assert.equal(refused(await act(other, receipt)), 'tenant_not_accepted');
    assert.equal(refused(await act(undefined, receipt)), 'tenant_not_accepted');
    assert.equal(refused(await act(running.sandbox, receipt)), 'log_unknown');
    const sandbox = receiptHeader(await permit(running.sandbox));
    assert.equal(refused(await act(running.live, sandbox)), 'sandbox_receipt');
    assert.equal((await act(running.sandbox, sandbox)).status, 200, 'accepted in its own log');
    const unproven = receiptHeader(await permit(running.live, 'respond-async'));
    assert.equal(refused(await act(running.live, unproven)), 'proof_missing');
    assert.equal(
      (await act(running.live, receipt)).status,
      200,
      'the refusals did not use the permit',
    );
  });

  it('refuses forgeries and documents that are not receipts', async () => {
    const presented = readHeader(receiptHeader(await permit(running.live)));
    assert.ok(presented);
    const signature = Buffer.alloc(64, 7).toString('base64');
    const forged = encodePresented(altered(presented, { signature }));
    assert.equal(refused(await act(running.live, forged)), 'signature_invalid');
    for (const bad of ['x', '%', 'e30', 'W10', 'A'.repeat(12_000)]) {
      const { status, json } = await act(running.live, bad);
      assert.equal(status, 428, bad.slice(0, 20));
      assert.equal(json.error.param, 'X-Receipt');
    }
    const held = await running.post(
      GATE,
      { action_type: 'wire.send', agent_id: 'agent:shop', scope: 'x' },
      { key: running.live, headers: { Prefer: 'wait=30' } },
    );
    assert.equal(held.json.outcome, 'SILENCE');
    assert.equal(refused(await act(running.live, receiptHeader(held.json))), 'not_a_permit');
  });

  it('publishes a valid manifest, the standard, a catalog and an illustrative total', async () => {
    const manifest = await running.get('/.well-known/agent-actions.json');
    assert.equal(faultOf(manifest.json), null);
    assert.equal(manifest.json.actions[0].match.path, ACT);
    const standard = await running.get('/standards/receipt-required');
    assert.equal(standard.headers.get('content-type'), 'text/markdown; charset=utf-8');
    for (const check of CHECKS) assert.ok(standard.text.includes(check));
    const { json } = await running.get('/api/v1/require-receipt/catalog');
    assert.deepEqual(
      [json.schema, json.layer.order, json.status_code, json.header, json.conformance_badge],
      ['svc-require-receipt-v1', 9, 428, 'Receipt-Required', 'RR-1 conformant'],
    );
    const scale = await running.get('/api/v1/require-receipt/scale?services=1&days=10');
    assert.deepEqual(
      scale.json.results.map(({ value }: { value: number }) => value),
      [5000, 100],
    );
  });

  it('passes its own conformance runner, and shows the badge only after that', async () => {
    const badge = '/api/v1/require-receipt/badge.svg';
    const before = await running.get(CONFORMANCE);
    assert.deepEqual([before.json.conformant, before.json.badge], [false, null]);
    assert.equal((await running.get(badge)).status, 404);

    const checked = await runConformance({
      url: new URL(running.url),
      permits: gateSource(running.url, running.live, 'agent:conformance'),
      headers: { 'X-API-Key': running.live },
    });
    assert.equal(checked.conformant, true, JSON.stringify(checked.checks));

    const publish = (outcomes: object, key?: string): Promise<Answer> =>
      running.post(CONFORMANCE, { checks: outcomes }, key === undefined ? {} : { key });
    const passed = Object.fromEntries(checked.checks.map(({ name, outcome }) => [name, outcome]));
    assert.equal((await publish(passed)).status, 401);
    assert.equal(
      (await publish(passed, other)).status,
      403,
      'an operator of a tenant must not publish',
    );
    const failed = await publish({ ...passed, replay_refused: 'failed' }, running.live);
    assert.equal(failed.json.conformant, false);
    assert.equal((await running.get(badge)).status, 404);
    const logged = await publish(passed, running.live);
    assert.equal(logged.json.conformant, true);

    const shown = await running.get(CONFORMANCE);
    assert.equal(shown.json.badge, 'RR-1 conformant');
    assert.equal(shown.json.badge_url, `http://test.example${badge}`);
    assert.equal(shown.json.receipt.entry_id, logged.json.receipt.entry_id);
    const svg = await running.get(badge);
    assert.equal(svg.headers.get('content-type'), 'image/svg+xml');
    const date = new Date(shown.json.checked_at_ms).toISOString().slice(0, 10);
    assert.ok(svg.text.includes(date));
    assert.equal((await running.get(`${badge}?log=sandbox`)).status, 404);
  });

  it('lets an external service verify a permit with the JWKS and use it up at the gate', async () => {
    const { json: me } = await running.get(`${GATE}/policy`, { key: running.live });
    const service = await expressService({
      log: running.gateway.logs.live.vkey,
      jwks: `${running.url}/crypto/jwks.json`,
      tenants: [me.receipt.tenant_ref],
      audience: 'https://shop.example',
      gate: `${running.url}${GATE}`,
      service: { name: 'Refunds' },
      replay: logReplayStore({ service: running.url, key: other }),
      now: () => running.clock.wall(),
    });
    const checked = await runConformance({
      url: new URL(service.url),
      permits: gateSource(running.url, running.live, 'agent:shop'),
    });
    assert.equal(checked.conformant, true, JSON.stringify(checked.checks));
    assert.equal(service.done(), 1);
    const foreign = await runConformance({
      url: new URL(service.url),
      permits: gateSource(running.url, other, 'agent:shop'),
    });
    assert.equal(
      foreign.checks[2]?.outcome,
      'failed',
      'permits of an untrusted tenant are refused',
    );
    await service.close();
  });

  it('refuses a permit of a revoked key, and a permit that has expired', async () => {
    const log = running.gateway.logs.live;
    const old = receiptHeader(await permit(running.live));
    const { kid } = readHeader(old)?.receipt ?? {};
    await log.operator.revokeKey(kid as string);
    assert.equal(refused(await act(running.live, old)), 'key_not_in_force');
    const late = receiptHeader(await permit(running.live));
    running.clock.pass(900_001);
    assert.equal(refused(await act(running.live, late)), 'receipt_expired');
    running.clock.pass(31 * 86_400_000);
    const { json } = await running.get(CONFORMANCE);
    assert.deepEqual([json.conformant, json.badge], [false, null], 'the run is of another month');
  });
});
