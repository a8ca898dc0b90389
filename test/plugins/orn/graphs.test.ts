// Registered graphs: POST /api/v1/orn/register, and allocations that name one. gateway/API.md §10.4.

import assert from 'node:assert/strict';
import { codeOf } from '../../gateway/http/envelope.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

const nodes = ['zebra search', 'zebra prices', 'zebra planner'].map((id) => ({ id }));
const edges = [
  { from: 'zebra search', to: 'zebra planner', weight: 0.5 },
  { from: 'zebra prices', to: 'zebra planner', weight: '0.25' },
];
const SHARP = { orchestration_id: 'trip-7', amount_usd: 90 };
const BACKPROP = { sink: 'zebra planner', liability_usd: 90 };

describe('graphs of orchestrations', () => {
  let running: Running;
  let graph_id: string;
  before(async () => {
    running = await run();
    graph_id = ok(await post('register', { nodes, edges })).graph_id as string;
  });
  after(() => running.close());

  const post = (route: string, body: object, more: object = {}): Promise<Answer> =>
    running.post(`/api/v1/orn/${route}`, body, { key: running.live, ...more });

  const allocations = (): number => {
    const log = running.gateway.logs.live;
    const entries = Array.from({ length: log.size() }, (_, index) => log.entry(index) ?? '');
    return entries.filter((entry) => entry.includes('"type":"orn.')).length;
  };

  it('are registered by an entry that has their size and no names', async () => {
    const answer = ok(await post('register', { nodes, edges }));
    const { receipt } = answer;
    assert.deepEqual([answer.nodes, answer.edges, answer.acyclic], [3, 2, true]);
    assert.equal(receipt.type, 'orn.graph.v1');
    assert.equal(receipt.entry_id, answer.graph_id);
    assert.deepEqual(receipt.disclosures.graph.value, { nodes, edges });
    assert.doesNotMatch(running.gateway.logs.live.entry(receipt.index) ?? '', /zebra/);
  });

  it('give the same allocations by id as in the request itself', async () => {
    const sent = ok(
      await post('sharp', { ...SHARP, agents: nodes, value_function: { type: 'edges', edges } }),
    );
    const named = ok(await post('sharp', { ...SHARP, graph_id }));
    assert.deepEqual(named.slices, sent.slices);
    assert.equal(named.slices[0].id, 'zebra search');
    assert.deepEqual([named.receipt.type, named.receipt.graph_id], ['orn.sharp.v2', graph_id]);
    assert.equal(sent.receipt.graph_id, undefined);
    const { inputs } = named.receipt.disclosures;
    assert.deepEqual(inputs.value, sent.receipt.disclosures.inputs.value);

    const carried = ok(await post('backprop', { ...BACKPROP, graph_id }));
    assert.deepEqual(
      carried.nodes,
      ok(await post('backprop', { ...BACKPROP, nodes, edges })).nodes,
    );
    assert.deepEqual(
      [carried.receipt.type, carried.receipt.graph_id],
      ['orn.backprop.v2', graph_id],
    );
    assert.deepEqual(
      carried.nodes.map(({ id, retained_usd }: Record<string, string>) => [id, retained_usd]),
      [
        ['zebra search', '60'],
        ['zebra prices', '30'],
        ['zebra planner', '0'],
      ],
    );
    assert.doesNotMatch(running.gateway.logs.live.entry(carried.receipt.index) ?? '', /zebra/);
  });

  it('can be combined with another value function', async () => {
    const weights = Object.fromEntries(nodes.map(({ id }, at) => [id, at]));
    const value_function = { type: 'additive', weights };
    const { slices } = ok(await post('sharp', { ...SHARP, graph_id, value_function }));
    assert.deepEqual(
      slices.map(({ amount_usd }: { amount_usd: string }) => amount_usd),
      ['0', '30', '60'],
    );
  });

  it('give a replayed answer with their names for an Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'sharp-by-name' };
    const first = await post('sharp', { ...SHARP, graph_id }, { headers });
    const again = await post('sharp', { ...SHARP, graph_id }, { headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
  });

  it('are subject to the same limits by id as in the request itself', async () => {
    const many = Array.from({ length: 64 }, (_, at) => ({ id: `n${String(at)}` }));
    const dense = many.flatMap(({ id: from }) =>
      many.filter(({ id }) => id !== from).map(({ id: to }) => ({ from, to, weight: 1 })),
    );
    const { graph_id: large, acyclic } = ok(await post('register', { nodes: many, edges: dense }));
    assert.equal(acyclic, false);
    const hard = await post('sharp', { ...SHARP, graph_id: large, epsilon: 0.001 });
    assert.deepEqual([hard.status, hard.json.error?.param], [400, 'epsilon']);
    const cycle = await post('backprop', { ...BACKPROP, graph_id: large, sink: 'n1' });
    assert.equal(codeOf(cycle, 400), 'graph_cycle');
  });

  it('are answered with 404 if they do not exist, and with 403 if another tenant registered them', async () => {
    const asked: readonly (readonly [string, object])[] = [
      ['sharp', SHARP],
      ['backprop', BACKPROP],
    ];
    const { key } = await running.gateway.tenants.issue({ tenant: 'rival', kind: 'live' });
    const { receipt } = ok(await post('sharp', { ...SHARP, graph_id }));
    const before = allocations();
    for (const [route, body] of asked) {
      const refusal = async (id: string, more: object = {}): Promise<unknown[]> => {
        const { status, json } = await post(route, { ...body, graph_id: id }, more);
        return [status, json.error.code, json.error.param];
      };
      const unknown = [404, 'resource_missing', 'graph_id'];
      assert.deepEqual(await refusal('01900000-0000-7000-8000-000000000000'), unknown);
      assert.deepEqual(await refusal('zebra'), unknown);
      assert.deepEqual(
        await refusal(receipt.entry_id as string),
        unknown,
        'the entry is not a graph',
      );
      assert.deepEqual(await refusal(receipt.entry_hash as string), unknown);
      assert.deepEqual(
        await refusal(graph_id, { key: running.sandbox }),
        unknown,
        'a graph of the other log',
      );
      assert.deepEqual(await refusal(graph_id, { key }), [403, 'tenant_forbidden', 'graph_id']);
    }
    assert.equal(allocations(), before, 'nothing is logged');
  });

  it('are given by id or in the request: one of the two is required, both are refused', async () => {
    const refusal = async (route: string, body: object): Promise<unknown[]> => {
      const answer = await post(route, body);
      return [codeOf(answer, 400), answer.json.error.param];
    };
    const both = { ...SHARP, graph_id, agents: nodes };
    assert.deepEqual(await refusal('sharp', both), ['parameter_invalid', 'agents']);
    assert.deepEqual(await refusal('sharp', SHARP), ['parameter_missing', 'agents']);
    const sent = { ...BACKPROP, graph_id };
    assert.deepEqual(await refusal('backprop', { ...sent, nodes }), ['parameter_invalid', 'nodes']);
    assert.deepEqual(await refusal('backprop', { ...sent, edges }), ['parameter_invalid', 'edges']);
    assert.deepEqual(await refusal('backprop', BACKPROP), ['parameter_missing', 'nodes']);
    assert.deepEqual(await refusal('backprop', { ...BACKPROP, nodes }), [
      ...['parameter_missing', 'edges'],
    ]);
  });

  it('require a key, unique names, and edges between these names', async () => {
    const { status } = await post('register', { nodes, edges }, { key: undefined });
    assert.equal(status, 401);
    const refusal = async (body: object): Promise<unknown> => {
      const answer = await post('register', body);
      assert.equal(codeOf(answer, 400), 'parameter_invalid', answer.text);
      return answer.json.error.param;
    };
    assert.equal(await refusal({ nodes: [...nodes, nodes[0]], edges }), 'nodes.3.id');
    const lost = [{ from: 'zebra search', to: 'nowhere', weight: 1 }];
    assert.equal(await refusal({ nodes, edges: lost }), 'edges.0.to');
    const [edge] = edges;
    assert.equal(await refusal({ nodes, edges: [{ ...edge, weight: '1e3' }] }), 'edges.0.weight');
  });

  it('are no longer found after the erasure of their texts, and answers then number the nodes', async () => {
    const lost = ok(await post('register', { nodes, edges })).graph_id as string;
    const headers = { 'Idempotency-Key': 'sharp-then-erased' };
    const body = { ...SHARP, graph_id: lost };
    const { sharp_entry_id } = ok(await post('sharp', body, { headers }));
    for (const entry_id of [lost, sharp_entry_id as string]) {
      const path = `/api/v1/disclosures/${entry_id}`;
      ok(await running.ask('DELETE', path, { key: running.live }));
    }
    const again = ok(await post('sharp', body, { headers }));
    assert.deepEqual(
      again.slices.map(({ id }: { id: string }) => id),
      ['0', '1', '2'],
    );
    const gone = await post('sharp', { ...body, orchestration_id: 'later' });
    assert.deepEqual([gone.status, gone.json.error.param], [404, 'graph_id']);
  });
});
