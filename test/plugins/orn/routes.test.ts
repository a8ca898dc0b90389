// POST /api/v1/orn/sharp, /backprop and /declare: answers, what enters the log, and refusals. gateway/API.md §10.4,
// §14.

import assert from 'node:assert/strict';
import { codeOf } from '../../gateway/http/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

const agents = (...ids: string[]) => ids.map((id) => ({ id }));
const named = (count: number) => Array.from({ length: count }, (_, at) => `zebra ${String(at)}`);
const each = (ids: readonly string[], weight: (at: number) => number) =>
  Object.fromEntries(ids.map((id, at) => [id, weight(at)]));

const SHARP = {
  orchestration_id: 'zebra run',
  agents: agents('a', 'b', 'c'),
  value_function: { type: 'additive', weights: { a: 1, b: 1, c: 1 } },
  amount_usd: 1,
};
const BACKPROP = {
  nodes: agents('zebra in', 'zebra out'),
  edges: [{ from: 'zebra in', to: 'zebra out', weight: 0.5 }],
  sink: 'zebra out',
  liability_usd: 10,
};
const AVERAGE = {
  peril: 'zebra fire',
  intentional: true,
  reasonable: true,
  parties: [
    { id: 'zebra ship', saved_value_usd: 900, sacrificed_usd: 0 },
    { id: 'zebra cargo', saved_value_usd: '0', sacrificed_usd: '100.00' },
  ],
};

describe('the orchestration layer', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const post = (route: string, body: object, headers = {}): Promise<Answer> =>
    running.post(`/api/v1/orn/${route}`, body, { key: running.live, headers });
  const sharp = (more: object): Promise<Answer> => post('sharp', { ...SHARP, ...more });
  const declare = (more: object): Promise<Answer> => post('declare', { ...AVERAGE, ...more });
  const backprop = (more: object): Promise<Answer> => post('backprop', { ...BACKPROP, ...more });

  /** Asserts that the request is refused because of this parameter. */
  async function refuses(asked: Promise<Answer>, param: string, code = 'parameter_invalid') {
    const answer = await asked;
    assert.equal(codeOf(answer, 400), code, answer.text);
    assert.equal(answer.json.error.param, param, answer.text);
    return answer;
  }

  it('allocates to the micro-USD and names the method', async () => {
    const { status, json } = await sharp({});
    assert.equal(status, 200);
    assert.equal(json.method, 'exact');
    assert.equal(json.worth, '3');
    assert.deepEqual(json.slices, [
      { id: 'a', shapley_value: '1', amount_usd: '0.333334' },
      { id: 'b', shapley_value: '1', amount_usd: '0.333333' },
      { id: 'c', shapley_value: '1', amount_usd: '0.333333' },
    ]);
    assert.equal(json.sample, undefined);
    assert.equal(json.receipt.type, 'orn.sharp.v2');
    assert.equal(json.receipt.toll, undefined, 'not metered');
  });

  it('keeps every name out of the log, and returns the disclosure of its commitment', async () => {
    const ids = named(3);
    const value_function = { type: 'max', weights: each(ids, (at) => at + 1) };
    const answers = [
      await sharp({ agents: agents(...ids), value_function }),
      await backprop({}),
      await declare({}),
    ];
    for (const { status, text, json } of answers) {
      assert.equal(status, 200, text);
      const entry = running.gateway.logs.live.entry(json.receipt.index) ?? '';
      assert.doesNotMatch(entry, /zebra/);
      assert.match(JSON.stringify(json.receipt.disclosures.inputs.value), /zebra/);
    }
  });

  it('samples above 16 agents within a bound, with a seed of the caller or of the service', async () => {
    const ids = named(40);
    const value_function = { type: 'max', weights: each(ids, (at) => at + 1) };
    const body = { agents: agents(...ids), value_function, amount_usd: 100, epsilon: 0.05 };
    const { json } = await sharp({ ...body, seed: 9 });
    assert.equal(json.method, 'sampled');
    const { seed, seed_source, permutations, bound_usd, epsilon, delta } = json.sample;
    assert.deepEqual([seed, seed_source, epsilon, delta], [9, 'caller', '0.05', '0.01']);
    assert.equal(permutations, Math.ceil(Math.log(80 / 0.01) / (2 * 0.05 ** 2)));
    assert.equal(bound_usd, '5.000001');
    const parts = json.receipt.parts_micro_usd as number[];
    assert.equal(
      parts.reduce((a, b) => a + b, 0),
      100_000_000,
    );
    assert.deepEqual((await sharp({ ...body, seed: 9 })).json.slices, json.slices);
    const own = await sharp(body);
    assert.equal(own.json.sample.seed_source, 'service');
    const again = await sharp({ ...body, seed: own.json.sample.seed });
    assert.deepEqual(
      again.json.slices,
      own.json.slices,
      'the sample can be recomputed from its seed',
    );
  });

  it('computes 16 agents exactly', async () => {
    const ids = named(16);
    const edges = ids.flatMap((from, at) =>
      ids.slice(0, at).map((to) => ({ from, to, weight: 1 })),
    );
    const answer = await sharp({
      ...{ agents: agents(...ids), amount_usd: 16 },
      value_function: { type: 'edges', edges },
    });
    assert.equal(answer.json.method, 'exact', answer.text);
    for (const slice of answer.json.slices) assert.equal(slice.amount_usd, '1');
  });

  it('replays a sampled allocation for its Idempotency-Key', async () => {
    const ids = named(17);
    const body = {
      ...{ ...SHARP, agents: agents(...ids) },
      value_function: { type: 'max', weights: each(ids, (at) => at + 1) },
    };
    const first = await post('sharp', body, { 'Idempotency-Key': 'sharp-again' });
    const second = await post('sharp', body, { 'Idempotency-Key': 'sharp-again' });
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.equal(second.text, first.text);
  });

  it('refuses value functions with missing, unknown or invalid members', async () => {
    const of = (value_function: object): Promise<Answer> => sharp({ value_function });
    const fn = 'value_function';
    const all = { a: 0, b: 0, c: 0, 'a,b': 1, 'a,c': 1, 'b,c': 1, 'a,b,c': 2 };
    await refuses(of({ type: 'additive' }), `${fn}.weights`, 'parameter_missing');
    await refuses(
      of({ type: 'additive', weights: { a: 1, b: 1 } }),
      `${fn}.weights.c`,
      'parameter_missing',
    );
    await refuses(of({ type: 'additive', weights: { ...all } }), `${fn}.weights.a,b`);
    await refuses(of({ type: 'max', weights: { a: -1, b: 1, c: 1 } }), `${fn}.weights.a`);
    await refuses(of({ type: 'max', weights: { a: 1, b: 1, c: 1 }, quota: 1 }), `${fn}.quota`);
    await refuses(
      of({ type: 'threshold', weights: { a: 1, b: 1, c: 1 }, quota: 0 }),
      `${fn}.quota`,
    );
    await refuses(of({ type: 'threshold', weights: { a: 1, b: 1, c: 1 }, quota: 4 }), fn);
    await refuses(of({ type: 'table', values: { ...all, 'b,a': 1 } }), `${fn}.values.b,a`);
    await refuses(of({ type: 'table', values: { ...all, 'a,a': 1 } }), `${fn}.values.a,a`);
    await refuses(of({ type: 'table', values: { ...all, 'a,d': 1 } }), `${fn}.values.a,d`);
    await refuses(of({ type: 'additive', weights: { a: 1e9, b: 9e9, c: 1 } }), `${fn}.weights`);
    await refuses(of({ type: 'additive', weights: { a: 1 / 3, b: 1, c: 1 } }), `${fn}.weights.a`);
    const { 'a,c': _, ...lacking } = all;
    await refuses(of({ type: 'table', values: lacking }), `${fn}.values.a,c`, 'parameter_missing');
    await refuses(
      of({ type: 'edges', edges: [{ from: 'a', to: 'd', weight: 1 }] }),
      `${fn}.edges.0.to`,
    );
    const ids = named(13);
    const values = each(ids, () => 1);
    await refuses(
      sharp({ agents: agents(...ids), value_function: { type: 'table', values } }),
      `${fn}.values`,
    );
    await refuses(sharp({ agents: agents('a', 'b', 'a') }), 'agents.2.id');
    await refuses(sharp({ amount_usd: '0.0000001' }), 'amount_usd');
    const negative = await refuses(sharp({ amount_usd: -1 }), 'amount_usd');
    assert.match(negative.json.error.message, />= 0/);
    await refuses(of({ type: 'additive', weights: { a: 'abc', b: 1, c: 1 } }), `${fn}.weights.a`);
  });

  it('accepts every name without a comma, also names of JavaScript members', async () => {
    const weights = '{"__proto__":1,"constructor":3}';
    const answer = await running.ask('POST', '/api/v1/orn/sharp', {
      key: running.live,
      body:
        '{"orchestration_id":"x","agents":[{"id":"__proto__"},{"id":"constructor"}],' +
        `"value_function":{"type":"additive","weights":${weights}},"amount_usd":4}`,
    });
    assert.deepEqual(
      answer.json.slices.map(({ amount_usd }: { amount_usd: string }) => amount_usd),
      ['1', '3'],
    );
    assert.equal(
      JSON.stringify(answer.json.receipt.disclosures.inputs.value).includes(weights),
      true,
    );
    assert.equal(codeOf(await sharp({ agents: agents('a,b') }), 400), 'parameter_invalid');
  });

  it('refuses an epsilon that needs too many permutations', async () => {
    const ids = named(200);
    const answer = await refuses(
      sharp({
        agents: agents(...ids),
        value_function: { type: 'min', weights: each(ids, (at) => 1 + at * 1000) },
        epsilon: 0.001,
      }),
      'epsilon',
    );
    assert.match(answer.json.error.message, /permutations, the limit of this game is 150000$/);
  });

  it('refuses a game whose parts exceed the range of an entry', async () => {
    const values = { a: 1e9, b: -1e9, 'a,b': '0.000001' };
    await refuses(
      sharp({ agents: agents('a', 'b'), value_function: { type: 'table', values } }),
      'value_function',
    );
  });

  it('carries a liability back in the conserving mode unless the request says plain', async () => {
    const conserving = await backprop({});
    assert.equal(conserving.json.mode, 'conserving');
    assert.deepEqual(conserving.json.nodes, [
      { id: 'zebra in', liability_usd: '10', retained_usd: '10' },
      { id: 'zebra out', liability_usd: '10', retained_usd: '0' },
    ]);
    const plain = await backprop({ mode: 'plain' });
    assert.equal(plain.json.nodes[0].liability_usd, '5');
    assert.equal(plain.json.receipt.type, 'orn.backprop.v2');
  });

  it('refuses a cycle and names it', async () => {
    const edges = [
      { from: 'x', to: 'y', weight: 1 },
      { from: 'y', to: 'z', weight: 0 },
      { from: 'z', to: 'y', weight: 1 },
    ];
    const answer = await refuses(
      backprop({ nodes: agents('x', 'y', 'z'), edges, sink: 'x' }),
      'edges',
      'graph_cycle',
    );
    assert.match(answer.json.error.message, /(y → z → y|z → y → z)$/);
  });

  it('refuses unknown nodes in edges and sinks, weights above 1, and liabilities that exceed the range of an entry', async () => {
    await refuses(backprop({ sink: 'elsewhere' }), 'sink');
    const [edge] = BACKPROP.edges;
    await refuses(backprop({ edges: [{ ...edge, from: 'elsewhere' }] }), 'edges.0.from');
    const heavy = await backprop({ edges: [{ ...edge, weight: 1.5 }] });
    assert.equal(codeOf(heavy, 400), 'parameter_invalid');
    const ids = named(60);
    const layered = ids.slice(1).flatMap((to, at) => {
      const one = { from: ids[at], to, weight: 1 };
      return [one, one];
    });
    await refuses(
      backprop({ nodes: agents(...ids), edges: layered, sink: ids.at(-1), mode: 'plain' }),
      'liability_usd',
    );
  });

  it('declares a general average whose nets sum to zero', async () => {
    const { status, json, text } = await declare({ expenditure_usd: 9 });
    assert.equal(status, 200, text);
    assert.equal(json.rate, '0.109');
    assert.equal(json.outside_usd, '-9');
    const [ship, cargo] = json.parties;
    assert.deepEqual([ship.contribution_usd, ship.net_usd], ['98.1', '98.1']);
    assert.deepEqual([cargo.made_good_usd, cargo.net_usd], ['100', '-89.1']);
    const bore = await declare({ expenditure_usd: 9, expenditure_by: 'zebra ship' });
    assert.equal(bore.json.outside_usd, '0');
    assert.equal(bore.json.parties[0].net_usd, '89.1');
    assert.equal(bore.json.parties[0].made_good_usd, '9');
  });

  it('refuses a declaration whose conditions are not met', async () => {
    const unmet = (more: object, param: string): Promise<Answer> =>
      refuses(declare(more), param, 'general_average_conditions_unmet');
    const [ship, cargo] = AVERAGE.parties;
    await unmet({ peril: ' ' }, 'peril');
    await unmet({ intentional: false }, 'intentional');
    await unmet({ reasonable: false }, 'reasonable');
    await unmet({ parties: [cargo] }, 'parties');
    await unmet({ parties: [ship, { ...cargo, sacrificed_usd: 0 }] }, 'parties');
    const nothing = { saved_value_usd: 0, sacrificed_usd: 0 };
    await unmet(
      {
        parties: [
          { id: 'x', ...nothing },
          { id: 'y', ...nothing },
        ],
        expenditure_usd: 1,
      },
      'parties',
    );
    const all = await unmet({ peril: '', intentional: false, reasonable: false }, 'peril');
    assert.match(all.json.error.message, /no peril .*; .* not intentional; .* not reasonable/);
    await refuses(declare({ parties: [ship, ship] }), 'parties.1.id');
    await refuses(declare({ expenditure_by: 'nobody' }), 'expenditure_by');
  });

  it('answers a request of the largest accepted size', async () => {
    const ids = Array.from({ length: 256 }, (_, at) => `n${String(at)}`);
    const edges = Array.from({ length: 4096 }, (_, at) => {
      const to = 1 + (at % 255);
      return { from: ids[Math.floor(at / 255) % to], to: ids[to], weight: 0.5 };
    });
    const carried = await backprop({ nodes: agents(...ids), edges, sink: 'n255' });
    assert.equal(carried.status, 200, carried.text.slice(0, 300));
    const more = await backprop({ nodes: agents(...ids), edges: [...edges, ...edges], sink: 'n1' });
    assert.ok([400, 413].includes(more.status));
  });
});
