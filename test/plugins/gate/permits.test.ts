// Permits: each can be used once, also by concurrent requests, and no other receipt is accepted as one.
// gateway/API.md §8.1, §8.2.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { ApiError, definePlugin } from '../../../plugins/contract/index.ts';
import type { PluginHost } from '../../../plugins/contract/index.ts';
import gate, { PermitRefused } from '../../../plugins/gate/index.ts';
import type { GateApi } from '../../../plugins/gate/index.ts';
import { problem } from '../astl/surfaces.ts';
import { answerCheck } from '../../../tools/plugin-test/answer-check.ts';
import { skipInCluster } from '../../cluster/suite-cluster.ts';
import { Clock, run } from '../../gateway/running.ts';
import type { Answer, Body } from '../../gateway/running.ts';
import { GATE, PAY, POLICY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

const USE = `${GATE}/permits/use`;

let api: GateApi;
let host: PluginHost;
/** Another plugin, which consumes permits through the API of the gate. */
const consumer = definePlugin({
  contract: 1,
  name: 'consumer',
  title: 'Consumer',
  requires: ['gate'],
  types: [],
  routes(own) {
    host = own;
    api = own.use(gate);
    return [];
  },
});

/** A part of the OpenAPI document, with a reference to a component resolved. */
const resolved = (part: Body, components: Body): Body =>
  part.$ref === undefined ? part : components[String(part.$ref).split('/').at(-1) ?? ''];

describe('a permit', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate({}, [consumer]);
  });
  after(() => served.close());

  const use = (body: object, key = served.other): Promise<Answer> => served.post(USE, body, key);
  const useOf = ({ preimage, receipt }: Answer['json']): object => ({ ...preimage, receipt });

  it('can be used once, by a caller that gives the act, and its chain proves the use', async () => {
    const permitted = await served.permit();
    const { status, json } = await use(useOf(permitted));
    assert.equal(status, 200);
    assert.deepEqual(
      [json.permit_id, json.action_ref, json.consumer],
      [permitted.decision_entry_id, permitted.action_ref, 'gate'],
    );
    assert.equal(json.receipt.toll, undefined);
    assert.deepEqual(problem(await use(useOf(permitted))), [409, 'permit_used', 'receipt']);
    const log = served.log();
    const { map_head_ms } = await log.whenPublished(log.size());
    const key = ['gate.permit', json.permit_id as string];
    const chain = await log.chain({ key, from_ms: 0, to_ms: map_head_ms });
    assert.deepEqual(
      chain.map(({ index }) => index),
      [json.receipt.index],
    );
  });

  it('is identified by its receipt, its entry id or its entry hash', async () => {
    for (const name of ['receipt', 'entry_id', 'entry_hash']) {
      const permitted = await served.permit();
      const receipt = name === 'receipt' ? permitted.receipt : permitted.receipt[name];
      const { use_secret } = permitted.permit;
      assert.equal((await use({ ...permitted.preimage, receipt, use_secret })).status, 200, name);
    }
    const { receipt, preimage, permit } = await served.permit();
    const { disclosures: _, log: __, permalink: ___, ...bare } = receipt;
    const { use_secret } = permit;
    const used = await use({ ...preimage, receipt: bare, use_secret });
    assert.equal(used.status, 200, 'without derived members');
  });

  it('is refused without the use secret, which only its holder has', async () => {
    const { receipt, preimage, permit } = await served.permit();
    const { disclosures: _, ...bare } = receipt;
    const shown = (await served.running.get(`/r/${String(receipt.entry_id)}?log=sandbox`)).json;
    assert.equal(
      shown.disclosures?.use_secret,
      undefined,
      'the public receipt does not show the use secret',
    );
    const { salt, value } = permit.use_secret;
    const wrong = [
      undefined,
      { salt, value: 'a guess' },
      { salt: '0'.repeat(32), value },
      { salt: 'x', value },
    ];
    for (const use_secret of wrong) {
      for (const named of [bare, receipt.entry_id]) {
        const refused = await use({ ...preimage, receipt: named, use_secret });
        assert.deepEqual(problem(refused), [403, 'permit_secret_invalid', 'use_secret']);
      }
    }
    const used = await use({ ...preimage, receipt: bare, use_secret: { salt, value } });
    assert.equal(used.status, 200, 'the refused attempts did not use the permit');
  });

  it('is replaced by a newer one of the same act; the same question returns the same permit', async () => {
    const first = await served.permit();
    const act = { ...PAY, ...first.preimage };
    const again = (await served.ask(act)).json;
    assert.deepEqual(
      [again.permit, again.receipt.entry_id],
      [first.permit, first.receipt.entry_id],
      'the same question returns the same answer',
    );
    const other = (await served.ask({ ...act, amount_atomic: 60 })).json;
    assert.notEqual(other.permit.permit_id, first.permit.permit_id);
    assert.equal(other.action_ref, first.action_ref);
    assert.deepEqual(problem(await use(useOf(first))), [400, 'parameter_invalid', 'receipt']);
    assert.equal((await use(useOf(other))).status, 200);
    const anew = (await served.ask(act)).json;
    assert.equal(anew.outcome, 'PERMIT', 'a used permit is not returned');
    assert.notEqual(anew.permit.permit_id, other.permit.permit_id);
  });

  it('is separate for each of several identical acts without a time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => served.ask(PAY)));
    const refs = new Set(answers.map(({ json }) => json.action_ref));
    assert.equal(refs.size, answers.length);
    for (const { json } of answers) {
      assert.equal(json.outcome, 'PERMIT');
      const { use_secret } = json.permit;
      const used = await use({ ...json.preimage, receipt: json.decision_entry_id, use_secret });
      assert.equal(used.status, 200, used.text);
    }
  });

  it('is used by exactly one of many concurrent requests', async () => {
    const permitted = await served.permit();
    const answers = await Promise.all(Array.from({ length: 20 }, () => use(useOf(permitted))));
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.deepEqual(problem(answer), [409, 'permit_used', 'receipt']);
    }
    const key = { 'Idempotency-Key': 'the-one-use-of-it' };
    const another = useOf(await served.permit());
    const asked = { key: served.other, headers: key };
    const first = await served.running.post(USE, another, asked);
    const again = await served.running.post(USE, another, asked);
    assert.equal(again.text, first.text);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
  });

  it('is refused for another act, another log or after a change', async () => {
    const permitted = await served.permit();
    const { preimage, receipt } = permitted;
    const held = await served.permit({ amount_atomic: 500 });
    const classified = await served.post('/api/v1/classify', { message: 'hello' });
    const live = (await served.ask(PAY, served.running.live)).json;
    const altered = (change: object): object => ({
      ...preimage,
      receipt: { ...receipt, ...change },
    });
    const flipped = `${receipt.signature.startsWith('A') ? 'B' : 'A'}${String(receipt.signature).slice(1)}`;
    const cases: Readonly<Record<string, object>> = {
      'another act': { ...useOf(permitted), agent_id: 'agent:other' },
      'another time': { ...useOf(permitted), timestamp_ms: (preimage.timestamp_ms as number) + 1 },
      'another entry': useOf({ ...held, receipt: classified.json }),
      'a hold': useOf(held),
      'a silence of the live log': useOf(live),
      'a raised amount': altered({ amount_atomic: 5_000_000 }),
      'a later expiry': altered({ permit_expires_at_ms: 9_000_000_000_000 }),
      'a hold made a permit': useOf({ ...held, receipt: { ...held.receipt, outcome: 'PERMIT' } }),
      'another signature': altered({ signature: flipped }),
      'no signature': altered({ signature: undefined }),
      'another log': altered({ origin: 'evil.example/log/sandbox/1' }),
      'an unknown id': { ...preimage, receipt: '01990000-0000-7000-8000-000000000000' },
      'an unknown hash': { ...preimage, receipt: 'a'.repeat(64) },
      'some text': { ...preimage, receipt: 'a permit, please' },
      'an empty object': { ...preimage, receipt: {} },
      'an invalid id': { ...preimage, receipt: { ...receipt, entry_id: 5 } },
    };
    for (const [name, body] of Object.entries(cases)) {
      assert.deepEqual(problem(await use(body)), [400, 'parameter_invalid', 'receipt'], name);
    }
    assert.equal(
      (await use(useOf(permitted))).status,
      200,
      'the refused attempts did not use the permit',
    );
    const sandboxForLive = await served.post(
      USE,
      useOf(await served.permit()),
      served.running.live,
    );
    assert.deepEqual(problem(sandboxForLive), [400, 'parameter_invalid', 'receipt']);
    const { status } = await served.running.post(USE, useOf(permitted));
    assert.equal(status, 401, 'a permit can be used only with a key');
  });

  it('is consumed by another plugin within the append group of that plugin', async function () {
    skipInCluster(this, 'the plugin asks the copy of a node that follows, which is behind the log');
    const permitted = await served.permit();
    const { action_ref } = permitted;
    const { use_secret } = permitted.permit;
    const receipt = permitted.decision_entry_id as string;
    const question = { kind: 'sandbox', receipt, use_secret, action_ref } as const;
    assert.throws(() => api.permit({ ...question, use_secret: undefined }), {
      code: 'permit_secret_invalid',
    });
    assert.equal(api.permit(question).permit_id, permitted.decision_entry_id);
    const taken = api.permitUse(question, 'consumer');
    assert.equal(taken.permit.action_ref, action_ref);
    const log = served.log();
    const { tenant_ref } = permitted.receipt as { tenant_ref: string };
    const append = () => log.append([{ tenant_ref, ...taken.draft }], { check: taken.check });
    const [first, second] = await Promise.allSettled([append(), append()]);
    assert.equal(first.status, 'fulfilled');
    assert.ok(second.status === 'rejected' && second.reason instanceof PermitRefused);
    assert.equal(second.reason.code, 'permit_used');
    assert.throws(() => api.permit(question), { code: 'permit_used', reason: 'used' });
    const another = await served.permit();
    const other = {
      ...question,
      receipt: another.decision_entry_id as string,
      use_secret: another.permit.use_secret,
    };
    assert.throws(() => api.permit(other), { code: 'receipt_required', reason: 'other_action' });
    const any = { ...other, action_ref: null };
    assert.throws(() => api.permit({ ...any, issuers: [] }), { reason: 'other_issuer' });
    assert.ok(api.permit(any).expires_at_ms > host.now());
    assert.ok(new PermitRefused('forged') instanceof ApiError);
  });

  it('is refused once its key is revoked', async () => {
    const permitted = await served.permit();
    const log = served.log();
    const { kid } = permitted.receipt as { kid: string };
    await log.operator.rotateKey();
    assert.equal((await use(useOf(await served.permit()))).status, 200);
    const retired = await served.permit();
    await log.operator.revokeKey(kid);
    assert.deepEqual(problem(await use(useOf(permitted))), [400, 'parameter_invalid', 'receipt']);
    assert.equal((await use(useOf(retired))).status, 200);
  });
});

describe('an act that requires a receipt', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const SECRET = { action_type: 'secret.read', agent_id: 'agent:reader', scope: 'vault' };
  /** A permit of the other tenant for the act that the policy of this tenant requires a receipt for. */
  const approved = async (timestamp_ms: number, key = served.other): Promise<Answer['json']> =>
    (await served.ask({ ...SECRET, timestamp_ms }, key)).json;

  it('is answered with 428 without a receipt, and nothing is logged', async () => {
    const size = served.log().size();
    const { status, headers, json } = await served.ask({ ...SECRET, timestamp_ms: 5 });
    assert.deepEqual(
      [status, json.error.type, json.error.code],
      [...[428, 'invalid_request_error', 'receipt_required']],
    );
    const header = headers.get('receipt-required') ?? '';
    assert.match(
      header,
      /^action="secret\.read", action_hash="sha256:[0-9a-f]{64}", manifest="\/\.well-known\/agent-actions\.json", proof="X-Receipt", profile="[^"]+", assurance="[^"]+", max_age="900"$/,
    );
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(json.required.action, 'secret.read');
    assert.equal(header.includes(json.required.action_hash), true);
    const entries = Array.from({ length: served.log().size() - size }, (_, i) =>
      String(served.log().entry(size + i)),
    );
    assert.deepEqual(
      entries.filter((text) => text.includes('"gate.')),
      [],
    );
  });

  it('is permitted with a permit of an issuer that the policy names, which is then used', async () => {
    const rival = await served.running.gateway.tenants.issue({
      ...{ tenant: 'rival', kind: 'sandbox', role: 'operator' },
    });
    const allow = { rules: [{ id: 'all', effect: 'allow' }] };
    await served.post(`${GATE}/policy`, allow, rival.key);
    const own = { ...SECRET, timestamp_ms: 1_000 };
    const permit = await approved(1_000);
    const unnamed = await served.ask({ ...own, receipt: permit.receipt });
    assert.deepEqual(
      [unnamed.status, unnamed.json.required.refused],
      [428, 'other_issuer'],
      'a permit of another tenant is accepted only if the policy names its issuer',
    );
    const issuers = [`tenant:${String(permit.receipt.tenant_ref)}`];
    const receipt_required = [{ action_type: 'secret.read', issuers }];
    await served.post(`${GATE}/policy`, { ...POLICY, receipt_required });
    const { status, json } = await served.ask({ ...own, receipt: permit.receipt });
    assert.equal(status, 200);
    assert.deepEqual(
      [json.outcome, json.receipt.receipt_permit_id, json.permit_use_receipt.permit_id],
      ['PERMIT', permit.decision_entry_id, permit.decision_entry_id],
    );
    const again = await served.ask({ ...own, receipt: permit.receipt });
    assert.deepEqual(problem(again), [409, 'permit_used', 'receipt']);

    const header = Buffer.from(JSON.stringify({ receipt: (await approved(2_000)).receipt }));
    const headers = { 'X-Receipt': header.toString('base64url') };
    const shown = await served.ask({ ...SECRET, timestamp_ms: 2_000 }, served.agent, headers);
    assert.equal(shown.json.outcome, 'PERMIT', 'the header is accepted too');

    const race = await approved(3_000);
    const asks = await Promise.all(
      Array.from({ length: 8 }, () =>
        served.ask({
          ...{ ...SECRET, timestamp_ms: 3_000, receipt: race.decision_entry_id },
          use_secret: race.permit.use_secret,
        }),
      ),
    );
    const statuses = asks.map((answer) => answer.status).sort();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 7 }, () => 409)]);
  });

  it('is answered with the challenge and the receipt header that the OpenAPI document describes', async () => {
    const { paths, components } = (await served.running.get('/openapi.json')).json;
    for (const path of [GATE, `${GATE}/bind`, '/api/v1/require-receipt/act']) {
      const { parameters, responses } = paths[path].post;
      const named = parameters.map((one: JsonObject) => resolved(one, components.parameters));
      assert.ok(
        named.some((one: JsonObject) => one['in'] === 'header' && one['name'] === 'X-Receipt'),
        path,
      );
      const { headers, content } = resolved(responses['428'], components.responses);
      assert.ok('Receipt-Required' in headers, path);
      const { $ref } = content['application/json'].schema;
      const name = String($ref).split('/').at(-1) ?? '';
      assert.ok('required' in components.schemas[name].properties, `${path}: ${name}`);
    }
    const declared = served.running.gateway.routes().find(({ path }) => path === GATE);
    const check = answerCheck(declared?.responses[428]?.schema ?? {});
    for (const receipt of [undefined, 'none']) {
      const { status, json } = await served.ask({ ...SECRET, timestamp_ms: 5, receipt });
      assert.equal(status, 428);
      check(json);
    }
  });

  it('is answered with 428 again for a malformed receipt, in a header or in the body', async () => {
    const act = { ...SECRET, timestamp_ms: 4_000 };
    for (const header of ['%%%', 'e30', 'bnVsbA', 'W10', 'A'.repeat(8000), '{"receipt":1}']) {
      const { status, json } = await served.ask(act, served.agent, { 'X-Receipt': header });
      assert.deepEqual([status, json.required.refused], [428, 'malformed'], header);
    }
    const bound = await served.post(`${GATE}/bind`, { ...act, receipt: 'x' }, served.agent);
    assert.deepEqual([bound.status, bound.json.decision], [428, undefined]);
    const denied = await served.ask({ ...PAY, amount_atomic: 5000, receipt: 'x' });
    assert.equal(
      denied.json.outcome,
      'DENY',
      'a receipt does not lift a prohibition, so the gate does not ask for one',
    );
  });
});

describe('a permit after 900 seconds', () => {
  it('is refused', async () => {
    const clock = new Clock();
    const running = await run({}, { clock });
    try {
      const key = running.sandbox;
      await running.post(`${GATE}/policy`, POLICY, { key });
      const [{ json: first }, { json: second }] = await Promise.all([
        running.post(GATE, PAY, { key }),
        running.post(GATE, PAY, { key }),
      ]);
      const use = ({ preimage, receipt }: { preimage: JsonObject; receipt: JsonObject }) =>
        running.post(USE, { ...preimage, receipt }, { key });
      clock.pass(600_000);
      assert.equal((await use(first)).status, 200);
      clock.pass(301_000);
      const late = await use(second);
      assert.deepEqual(problem(late), [400, 'parameter_invalid', 'receipt']);
      assert.match(late.json.error.message, /too old/);
    } finally {
      await running.close();
    }
  });
});
