// The cost of work that depends on the input, and serial execution of the heavy work of one caller. gateway/API.md §4.2.

import assert from 'node:assert/strict';
import Type from 'typebox';
import { isVisitorRoute } from '../../../gateway/host/visitors.ts';
import { readConfig } from '../../../gateway/config.ts';
import { ApiError, definePlugin, route } from '../../../plugins/contract/index.ts';
import type { Route } from '../../../plugins/contract/index.ts';
import { Hold } from '../notes.ts';
import { run } from '../running.ts';
import type { Answer, Running } from '../running.ts';
import { codeOf } from './envelope.ts';

const from = (ip: string) => ({ headers: { 'X-Forwarded-For': ip } });

describe('work that grows with its input', () => {
  let running: Running;
  let hold: Hold;
  let under_way = 0;
  let most = 0;
  const done: string[] = [];
  const plugin = definePlugin({
    contract: 1,
    name: 'work',
    title: 'Work',
    types: [],
    routes: () => [
      route({
        method: 'POST',
        path: '/labour',
        tag: 'work',
        summary: 'Work of a size',
        access: 'read',
        budget: 'read',
        body: Type.Object({ units: Type.Number(), name: Type.Optional(Type.String()) }),
        cost({ body }) {
          if (body.units < 0) throw new ApiError('parameter_invalid', 'no such work');
          return body.units;
        },
        responses: { 200: { description: 'Done.', schema: Type.Object({}) } },
        async handle(ctx) {
          under_way += 1;
          most = Math.max(most, under_way);
          if (ctx.state.body.name === 'held') {
            hold.enter();
            await hold.wait;
          }
          under_way -= 1;
          done.push(ctx.state.body.name ?? '');
          ctx.body = {};
        },
      }),
    ],
  });
  before(async () => {
    const limits = { RATE_LIMITS: 'on', TRUST_PROXY: '1', RATE_PUBLIC_READS: '30' };
    running = await run({ ...limits, RATE_SANDBOX: '1000' }, { plugins: [plugin] });
  });
  beforeEach(() => {
    hold = new Hold();
    most = 0;
    done.length = 0;
  });
  after(() => running.close());

  const work = (units: number, ip: string, name?: string): Promise<Answer> =>
    running.post('/labour', { units, name }, from(ip));
  const left = ({ headers }: Answer): number =>
    Number(/;r=(\d+);/.exec(headers.get('ratelimit') ?? '')?.[1]);

  it('counts by its cost, rounded down, and at least 1', async () => {
    assert.equal(left(await work(0, '192.0.2.1')), 29);
    assert.equal(left(await work(3.8, '192.0.2.1')), 26);
    assert.equal(left(await work(20, '192.0.2.1')), 6);
    const refused = await work(7, '192.0.2.1');
    assert.equal(codeOf(refused, 429), 'rate_limited');
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
  });

  it('counts as one request if it is refused', async () => {
    await work(20, '192.0.2.2');
    assert.equal((await work(20, '192.0.2.2')).status, 429);
    assert.equal(left(await work(1, '192.0.2.2')), 8);
    assert.equal((await work(-1, '192.0.2.2')).status, 400);
    assert.equal(left(await work(1, '192.0.2.2')), 6);
  });

  it('is done once in a window if it costs more than the limit', async () => {
    assert.equal((await work(1000, '192.0.2.3')).status, 200);
    assert.equal((await work(1, '192.0.2.3')).status, 429);
    assert.equal((await work(1000, '192.0.2.4')).status, 200, 'of another IP address');
  });

  it('counts a large body if the route declares no cost', async () => {
    const path = '/standards/absence-ledger/verify';
    const question = { key: ['surface', 'a', 'b'], from_ms: 0, to_ms: 1 };
    const small = await running.post(path, { document: {}, question }, from('192.0.2.5'));
    assert.equal(left(small), 29);
    const document = 'x'.repeat(200_000);
    const large = await running.post(path, { document, question }, from('192.0.2.5'));
    assert.equal(left(large), 25);
  });

  it('runs one at a time for each caller if it is heavy, with a short queue', async () => {
    const key = running.sandbox;
    const heavy = (name: string) => running.post('/labour', { units: 5, name }, { key });
    const first = heavy('held');
    await hold.entered;
    const others = Array.from({ length: 8 }, (_, i) => heavy(`next-${String(i)}`));
    // The other requests wait for the one that is held.
    const refused = await Promise.race(others);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal((await running.post('/labour', { units: 1 }, { key })).status, 200, 'light work');
    assert.equal((await work(5, '192.0.2.6')).status, 200, 'another caller');
    assert.deepEqual(done, ['', '']);
    hold.release();
    assert.equal((await first).status, 200);
    const statuses = (await Promise.all(others)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 7);
    assert.equal(most, 2, 'the held request, and the light one or that of the other caller');
    assert.equal((await heavy('again')).status, 200);
  });

  it('is not done for a client that left before its turn', async () => {
    const key = running.sandbox;
    const first = running.post('/labour', { units: 5, name: 'held' }, { key });
    await hold.entered;
    const leaving = new AbortController();
    const left = fetch(`${running.url}/labour`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ units: 5, name: 'gone' }),
      signal: leaving.signal,
    });
    // A later request has been answered, so this one is in the queue.
    assert.equal((await running.post('/labour', { units: 1 }, { key })).status, 200);
    leaving.abort();
    await assert.rejects(left);
    assert.equal((await running.post('/labour', { units: 1 }, { key })).status, 200);
    hold.release();
    assert.equal((await first).status, 200);
    assert.equal((await running.post('/labour', { units: 5, name: 'last' }, { key })).status, 200);
    assert.ok(!done.includes('gone'));
  });
});

describe('the share of one anonymous address', () => {
  let running: Running;
  before(async () => {
    running = await run({ RATE_LIMITS: 'on', TRUST_PROXY: '1', ANONYMOUS_WRITES: '' });
  });
  after(() => running.close());

  const cost = async (path: string, body: object): Promise<number> => {
    const found = running.gateway.routes().find((one) => one.path === path)?.cost;
    assert.ok(typeof found === 'function', path);
    return Math.max(1, Math.floor(await found({ body, body_bytes: 0 } as never)));
  };

  /** Sends a request repeatedly from one address, and returns the cost of the admitted ones. */
  const admitted = async (path: string, body: object, ip: string): Promise<number> => {
    const each = await cost(path, body);
    let sum = 0;
    for (let i = 0; i < 45; i += 1) {
      const { status, text } = await running.post(path, body, from(ip));
      assert.ok(status === 200 || status === 429, text);
      if (status === 200) sum += Math.min(each, readConfig({}).config.RATE_ANONYMOUS_WRITES);
    }
    return sum;
  };

  const agents = Array.from({ length: 40 }, (_, i) => ({ id: `agent-${String(i)}` }));
  const weights = Object.fromEntries(agents.map(({ id }, i) => [id, 1 + (i % 7)]));
  const sharp = {
    orchestration_id: 'o',
    agents,
    value_function: { type: 'threshold', weights, quota: 80 },
    amount_usd: 100,
  };

  it('is limited for allocations of any size', async () => {
    const path = '/api/v1/orn/sharp';
    for (const [i, epsilon] of [0.3, 0.02, 0.01, 0.005].entries()) {
      const sum = await admitted(path, { ...sharp, epsilon }, `192.0.2.${String(i)}`);
      assert.ok(sum > 0 && sum <= 30, `${String(sum)} at epsilon ${String(epsilon)}`);
    }
    const [coarse, fine] = [0.3, 0.005].map((epsilon) => cost(path, { ...sharp, epsilon }));
    assert.equal(await coarse, 1);
    assert.ok((await fine)! >= 20);
  });

  it('is limited for questions about many surfaces', async () => {
    const surfaces = Array.from({ length: 16 }, (_, i) => `surface_${String(i)}`);
    const body = { entity: 'did:example:x', surfaces, from_ms: 0, to_ms: 1 };
    assert.equal(await admitted('/api/v1/absence/witness', body, '198.51.100.1'), 16);
  });

  it('is counted by the size of sessions and chains', async () => {
    const key = running.live;
    for (let i = 0; i < 20; i += 1) {
      const held = { action_not_taken: 'wire', decision_reason: 'limit', session_id: 'long' };
      assert.equal((await running.post('/api/v1/restraint', held, { key })).status, 200);
    }
    const log = running.gateway.logs.live;
    await log.whenPublished(log.size());
    const path = '/export/scitt/air/session/long.json';
    const before = await running.get(path, { key });
    const after = await running.get(`${path}?proofs=true`, { key });
    const left = ({ headers }: Answer) =>
      Number(/;r=(\d+);/.exec(headers.get('ratelimit') ?? '')?.[1]);
    assert.equal(
      left(before) - left(after),
      2,
      '1 for the request, and 1 for the first 16 records',
    );
  });
});

describe('routes whose work grows with their input', () => {
  let routes: readonly Route[];
  before(async () => {
    const running = await run();
    routes = running.gateway.routes().filter((one) => !isVisitorRoute(one));
    await running.close();
  });

  /** Short lists cost only what their bytes cost, which is counted for every body. */
  const SHORT = [
    'POST /signal/trigger/subscriptions',
    'POST /api/v1/execute-gate/policy',
    'POST /carrier/v1/enroll',
    'POST /api/v1/astl/publish',
    'POST /standards/absence-ledger/verify',
    'POST /api/v1/orn/declare',
    'POST /api/v1/oracle/aggregate',
    'POST /api/v1/inference/chat/completions',
  ];

  it('declare its cost: lists, texts that are classified, sessions that are read', () => {
    for (const one of routes) {
      const name = `${one.method} ${one.path}`;
      const body = JSON.stringify(one.body ?? {});
      const properties = Object.keys(
        (one.body as { properties?: object } | undefined)?.properties ?? {},
      );
      const grows =
        (body.includes('"array"') && !SHORT.includes(name)) ||
        properties.includes('message') ||
        one.whole === true;
      if (grows) assert.equal(typeof one.cost, 'function', name);
    }
  });
});
