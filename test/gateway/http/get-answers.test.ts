// Calls every GET that answers JSON after a small scenario: the answer is 200 and matches the OpenAPI document. The
// contract suite does the same for requests with a body. gateway/API.md §13.

import assert from 'node:assert/strict';
import { commandVerbs } from '../../../gateway/host/commands.ts';
import type { Route } from '../../../plugins/contract/index.ts';
import type { Body } from '../../support/body.ts';
import { answerCheck } from '../../../tools/plugin-test/answer-check.ts';
import { ok, run } from '../running.ts';
import type { Running } from '../running.ts';

const WEEK_MS = 7 * 86_400_000;
const SESSION = 'get-answers';

describe('every GET that answers JSON', function () {
  this.timeout(120_000);
  let running: Running;
  /** Path parameters and queries, by route; `*` is for all. */
  let params: Readonly<Record<string, Readonly<Record<string, string>>>>;
  let queries: Readonly<Record<string, Readonly<Record<string, string>>>>;

  before(async () => {
    running = await run();
    const key = running.live;
    const post = async (path: string, body: object, keyed: object = { key }): Promise<Body> => {
      const headers = { Prefer: 'wait=10' };
      return ok(await running.post(path, body, { ...keyed, headers }));
    };
    const published = await post('/api/v1/astl/publish', { entity: 'acme', preset: 'insurance' });
    const classified = await post('/api/v1/classify', { message: 'Hello', session_id: SESSION });
    const twin = await post('/tcb/bind-payment', { payment_hash: 'ab'.repeat(32) });
    await post('/api/v1/execute-gate/policy', { rules: [{ id: 'all', effect: 'hold' }] });
    const held = await post('/api/v1/execute-gate', { action_type: 'a', agent_id: 'b' });
    const mandate = await post('/carrier/v1/enroll', { company: 'Acme' });
    const partner = await post('/api/v1/relay/enroll', { partner: 'Acme Brokers' });
    const subscription = await post('/signal/trigger/subscriptions', {
      url: 'https://hooks.example/a',
      types: ['trigger.fired'],
    });
    const { pack_entry_id } = (await post('/api/v1/conformity/generate', {
      category_id: 'employment',
      session_id: SESSION,
      system: { name: 'Screening assistant', version: '4.1' },
    })) as { pack_entry_id: string };
    await post('/demo/calls/classify', { message: 'Hello', session_id: SESSION }, {});
    running.clock.pass(WEEK_MS);
    const closed = (await commandVerbs(running.gateway)['clearing close']?.({})) as Body;
    const week = closed.closed.live.at(-1) as string;
    const { tenant_id } = (await running.get('/api/v1/me', { key })).json as { tenant_id: string };
    const { entry_id } = classified as { entry_id: string };
    const silence = (await post('/silence-receipt', { session_id: SESSION, context: 'x' }))
      .receipt as { entry_id: string; subject_key: readonly string[] };
    const { subject_key } = silence;
    const proof = {
      index: '1',
      from: '2',
      key: JSON.stringify(subject_key),
    };
    const month = new Date(running.clock.wall()).toISOString().slice(0, 7);
    params = {
      '*': {
        kind: 'live',
        n: '1',
        session_id: SESSION,
        tenant_id,
        entry_id,
        week,
        month,
        entity: 'acme',
        pack_entry_id,
      },
      '/tcb/twin/{entry_id}': { entry_id: twin.entry_id as string },
      '/silence-receipt/{entry_id}': { entry_id: silence.entry_id },
      '/api/v1/execute-gate/holds/{hold_id}': { hold_id: held.hold_id as string },
      '/carrier/v1/insured/{slug}/compliance': { slug: mandate.slug as string },
      '/go/{partner}/status': { partner: partner.slug as string },
      '/signal/trigger/subscriptions/{id}': { id: subscription.id as string },
    };
    const proofs = ['/log/{kind}', '/log/{kind}/{n}'].flatMap((log) => [
      [`${log}/proof/inclusion`, { index: proof.index }],
      [`${log}/proof/consistency`, { from: proof.from }],
      [`${log}/proof/lookup`, { key: proof.key }],
    ]);
    queries = {
      ...(Object.fromEntries(proofs) as Record<string, Record<string, string>>),
      '/receipt/lookup': { entry_id },
      '/verify': { entry_id },
      '/api/v1/astl/lookup': { entity: 'acme' },
      '/api/v1/absence/document': {
        ...{ entity: 'acme', surface: 'policy_bind' },
        ...{ from_ms: '1', to_ms: '1790000000000' },
      },
      '/api/v1/astl/verify': {
        surface_manifest_hash: published.surface_manifest_hash as string,
      },
      '/standards/issuer-pays-scoreboard.json': { entry_id },
    };
  });
  after(() => running.close());

  const addressOf = ({ path }: Route): string => {
    const given = { ...params['*'], ...params[path] };
    const filled = path.replace(/\{(\w+)\*?\}/g, (_, name: string) => given[name] ?? 'none');
    return `${filled}?${new URLSearchParams(queries[path]).toString()}`;
  };

  it('answers 200 with a body that matches its schema', async () => {
    const asked = running.gateway
      .routes()
      .filter(({ method, responses }) => method === 'GET' && responses[200]?.schema !== undefined);
    assert.ok(asked.length > 60);
    const failures: string[] = [];
    for (const route of asked) {
      const key = route.path.startsWith('/demo/') ? {} : { key: running.live };
      const headers = { Accept: 'application/json' };
      const answer = await running.get(addressOf(route), { ...key, headers });
      const what = `${route.path}: ${String(answer.status)} ${answer.text.slice(0, 300)}`;
      assert.equal(answer.status, 200, what);
      assert.match(answer.headers.get('content-type') ?? '', /^application\/[a-z+-]*json/, what);
      const schema = route.responses[200]?.schema;
      assert.ok(schema !== undefined);
      try {
        answerCheck(schema)(answer.json);
      } catch (error) {
        failures.push(`${route.path}: ${String(error)}`);
      }
    }
    assert.deepEqual(failures, []);
  });
});
