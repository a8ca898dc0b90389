// Limits by key and by address, their headers, and the switch. gateway/API.md §4.2.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { parseAddress } from '../../../gateway/http/authenticate.ts';
import { networkOf } from '../../../gateway/http/rate-limit.ts';
import Type from 'typebox';
import { definePlugin, route } from '../../../plugins/contract/index.ts';
import { Hold, notes } from '../notes.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { until } from '../webhooks/receiving.ts';
import { codeOf } from './envelope.ts';

describe('the address that is counted', () => {
  for (const [ip, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['no address', 'unknown'],
    ['another', 'unknown'],
  ] as const) {
    it(`of ${ip} is ${network}`, () => assert.equal(networkOf(ip), network));
  }
});

describe('an element of X-Forwarded-For', () => {
  for (const [text, address] of [
    ['7.7.7.7', '7.7.7.7'],
    ['7.7.7.7:1234', '7.7.7.7'],
    ['[7.7.7.7]:80', '7.7.7.7'],
    ['2001:DB8:0::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['fe80::1%eth7', 'fe80::1'],
    ['::ffff:7.7.7.7', '7.7.7.7'],
    ['unknown', null],
    ['unknown1', null],
    ['_hidden', null],
    ['7', null],
    ['0x7.7.7.7', null],
    ['7.7.7.7:', null],
    ['7.7.7.7:port', null],
    ['[2001:db8::1', null],
    ['', null],
  ] as const) {
    it(`${JSON.stringify(text)} is ${String(address)}`, () =>
      assert.equal(parseAddress(text), address));
  }
});

describe('rate limits', () => {
  let running: Running;
  before(async () => {
    running = await run(
      {
        RATE_LIMITS: 'on',
        TRUST_PROXY: '1',
        RATE_ANONYMOUS_WRITES: '2',
        RATE_PUBLIC_READS: '3',
        RATE_SANDBOX: '2',
        RATE_LIVE: '4',
        RATE_LOG_READS: '5',
      },
      { plugins: [notes()] },
    );
  });
  after(() => running.close());

  const from = (ip: string) => ({ 'X-Forwarded-For': ip });
  const statuses = async (times: number, ask: () => Promise<{ status: number }>) => {
    const seen: number[] = [];
    for (let i = 0; i < times; i += 1) seen.push((await ask()).status);
    return seen;
  };

  it('counts reads by address, and reports the limit in headers', async () => {
    const first = await running.get('/notes/total', { headers: from('192.0.2.1') });
    assert.equal(first.headers.get('ratelimit-policy'), '"public-reads";q=3;w=60');
    assert.match(first.headers.get('ratelimit') ?? '', /^"public-reads";r=2;t=\d+$/);
    const rest = () => running.get('/notes/total', { headers: from('192.0.2.1') });
    assert.deepEqual(await statuses(3, rest), [200, 200, 429]);
    const refused = await rest();
    assert.equal(codeOf(refused, 429), 'rate_limited');
    assert.equal(refused.json.error.type, 'rate_limit_error');
    assert.match(refused.headers.get('retry-after') ?? '', /^([1-9]|[1-5]\d|60)$/);
    assert.match(refused.headers.get('ratelimit') ?? '', /;r=0;/);
    assert.equal((await running.get('/notes/total', { headers: from('192.0.2.2') })).status, 200);
  });

  it('counts an IPv6 network as one, and writes apart from reads', async () => {
    let host = 0;
    const write = () =>
      running.post(
        '/notes/a',
        { text: 'x' },
        { headers: from(`2001:db8::${String((host += 1))}`) },
      );
    assert.deepEqual(await statuses(3, write), [200, 200, 429]);
    assert.equal((await running.get('/notes/total', { headers: from('2001:db8::9') })).status, 200);
    assert.equal(
      (await running.post('/notes/a', { text: 'x' }, { headers: from('2001:db8:0:1::1') })).status,
      200,
    );
  });

  it('counts keys by themselves, whatever their address', async () => {
    const sandbox = () =>
      running.get('/notes/total', { key: running.sandbox, headers: from('198.51.100.1') });
    assert.deepEqual(await statuses(3, sandbox), [200, 200, 429]);
    const live = () =>
      running.get('/notes/total', { key: running.live, headers: from('198.51.100.1') });
    assert.deepEqual(await statuses(5, live), [200, 200, 200, 200, 429]);
  });

  it('counts reads of the log separately', async () => {
    const read = () => running.get('/log/live/checkpoint', { headers: from('203.0.113.1') });
    assert.deepEqual(await statuses(6, read), [200, 200, 200, 200, 200, 429]);
    assert.equal((await running.get('/notes/total', { headers: from('203.0.113.1') })).status, 200);
  });

  it('counts an expensive request as several', async () => {
    const path = `/log/live/proof/lookup?key=${encodeURIComponent('["session","x"]')}`;
    const first = await running.get(path, { headers: from('203.0.113.2') });
    assert.match(first.headers.get('ratelimit') ?? '', /^"log-reads";r=0;/);
    assert.equal((await running.get(path, { headers: from('203.0.113.2') })).status, 429);
  });

  it('trusts only the configured number of proxies', async () => {
    const spoofed = () =>
      running.get('/notes/total', {
        headers: from(`10.0.0.${String(Math.random())}, 203.0.113.9`),
      });
    assert.deepEqual(await statuses(4, spoofed), [200, 200, 200, 429]);
  });

  it('are those of the peer if the header is not an address', async () => {
    let spelling = 0;
    const forms = [
      () => `unknown${String((spelling += 1))}`,
      () => `_${String((spelling += 1))}, unknown${String((spelling += 1))}`,
    ];
    const unknown = async () => {
      const form = forms[spelling % forms.length]!;
      return running.post('/notes/a', { text: 'x' }, { headers: from(form()) });
    };
    const seen = await statuses(45, unknown);
    assert.deepEqual(
      seen.filter((status) => status === 200),
      [200, 200],
    );
  });

  it('are those of the address if a proxy adds the port', async () => {
    let port = 1024;
    for (const address of ['198.51.100.7', '[2001:db8:7::1]']) {
      const write = () =>
        running.post(
          '/notes/a',
          { text: 'x' },
          { headers: from(`${address}:${String((port += 1))}`) },
        );
      assert.deepEqual(await statuses(3, write), [200, 200, 429]);
    }
  });

  it('are off for load tests, without headers', async () => {
    const off = await run({ RATE_PUBLIC_READS: '1' }, { plugins: [notes()] });
    const answers = await statuses(3, () => off.get('/notes/total'));
    assert.deepEqual(answers, [200, 200, 200]);
    assert.equal((await off.get('/notes/total')).headers.get('ratelimit'), null);
    await off.close();
  });
});

describe('requests with unbounded work', () => {
  let running: Running;
  let holds: Hold[];
  /** Answers once the hold with the number in the request is released. */
  const plugin = definePlugin({
    contract: 1,
    name: 'long',
    title: 'Long answers',
    types: [],
    routes: () => [
      route({
        method: 'GET',
        path: '/long/{number}',
        tag: 'long',
        summary: 'A long answer',
        access: 'read',
        whole: true,
        params: Type.Object({ number: Type.String({ pattern: '^[0-9]$' }) }),
        responses: { 200: { description: 'Done.', schema: Type.Object({}) } },
        async handle(ctx) {
          const hold = holds[Number(ctx.state.params.number)];
          hold?.enter();
          await hold?.wait;
          ctx.body = {};
        },
      }),
    ],
  });
  before(async () => {
    running = await run(
      { RATE_LIMITS: 'on', TRUST_PROXY: '1', MAX_SESSION_READS: '2' },
      { plugins: [plugin] },
    );
  });
  beforeEach(() => (holds = [new Hold(), new Hold()]));
  after(() => running.close());

  const ask = (number: number, ip: string, signal?: AbortSignal) =>
    fetch(`${running.url}/long/${String(number)}`, {
      headers: { 'X-Forwarded-For': ip },
      ...(signal === undefined ? {} : { signal }),
    });

  it('are limited to a few at a time for each caller', async () => {
    const held = holds.map((_, number) => ask(number, '192.0.2.1'));
    await Promise.all(holds.map(({ entered }) => entered));
    const third = await ask(2, '192.0.2.1');
    assert.equal(third.status, 429);
    assert.equal(third.headers.get('retry-after'), '1');
    const { error } = (await third.json()) as { error: { code: string } };
    assert.equal(error.code, 'rate_limited');
    assert.equal((await ask(2, '192.0.2.2')).status, 200);
    for (const { release } of holds) release();
    for (const answer of await Promise.all(held)) assert.equal(answer.status, 200);
    await until(async () => ((await ask(2, '192.0.2.1')).status === 200 ? true : null));
  });

  it('count while they run, also after the client has disconnected', async () => {
    const leaving = new AbortController();
    const held = holds.map((_, number) => ask(number, '192.0.2.3', leaving.signal));
    await Promise.all(holds.map(({ entered }) => entered));
    leaving.abort();
    for (const answer of await Promise.allSettled(held)) assert.equal(answer.status, 'rejected');
    assert.equal((await ask(2, '192.0.2.3')).status, 429);
    for (const { release } of holds) release();
    await until(async () => ((await ask(2, '192.0.2.3')).status === 200 ? true : null));
  });

  it('end with the connection, also for a pipelined request that waits for its turn', async () => {
    const { hostname, port } = new URL(running.url);
    const socket = connect(Number(port), hostname);
    for (const [number] of holds.entries()) {
      socket.write(
        `GET /long/${String(number)} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.4\r\n\r\n`,
      );
    }
    await Promise.all(holds.map(({ entered }) => entered));
    socket.destroy();
    for (const { release } of holds) release();
    // Both places are free: two requests are admitted before one of them is answered.
    await until(async () => {
      holds = [new Hold(), new Hold()];
      const held = holds.map((_, number) => ask(number, '192.0.2.4'));
      const both = Promise.all(holds.map(({ entered }) => entered));
      const first = await Promise.race([both.then(() => 'both'), ...held]);
      for (const { release } of holds) release();
      await Promise.all(held);
      return first === 'both' ? true : null;
    });
  });
});
