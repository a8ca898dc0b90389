// Forwarding from a node that follows, with peers that do not answer as a leader does at once.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import Koa from 'koa';
import type { Middleware } from 'koa';
import { pino } from 'pino';
import type { Applied, ClusterView } from '../../../gateway/cluster/cluster.ts';
import { forward } from '../../../gateway/cluster/forward.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import { openTracing } from '../../../gateway/tracing.ts';
import type { RequestSpan } from '../../../gateway/tracing.ts';

const KEY = Buffer.alloc(32, 7);

/** One span, as OTLP/HTTP has it in JSON. */
interface Exported {
  readonly resourceSpans: readonly [
    {
      readonly scopeSpans: readonly [
        { readonly spans: readonly [Readonly<Record<string, unknown>>] },
      ];
    },
  ];
}

interface Peer {
  readonly url: string;
  close(): Promise<void>;
}

async function listen(server: Server): Promise<Peer> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** A node that has the middleware and, behind it, a handler. */
function node(
  view: Partial<ClusterView>,
  handle: Middleware,
  tracing: Gateway['tracing'] = null,
): Promise<Peer> {
  const cluster: ClusterView = {
    role: 'leader',
    leader: () => null,
    applied: () => ({}),
    lag_ms: () => 0,
    reached: () => Promise.resolve(),
    forward_key: KEY,
    ...view,
  };
  const app = new Koa();
  app.silent = true;
  app.use((ctx, next) => {
    // The middleware reads these members alone.
    const state = { gateway: { config: { TRUST_PROXY: 0 } }, started: performance.now() };
    ctx.state = { ...state, matched: { canonical: '/x' } };
    return next();
  });
  app.use(async (ctx, next) => {
    await next();
    const { span } = ctx.state as { readonly span?: RequestSpan | null };
    span?.end({ status: ctx.status, request_id: 'req_x', answered: null });
  });
  app.use(forward({ cluster, tracing } as Gateway) as Middleware);
  app.use(handle);
  return listen(createServer(app.callback()));
}

const follower = (
  leader: string,
  view: Partial<ClusterView> = {},
  tracing: Gateway['tracing'] = null,
): Promise<Peer> => {
  const handle = (): never => {
    throw new Error('a follower answers no write');
  };
  return node({ role: 'follower', leader: () => leader, ...view }, handle, tracing);
};

describe('forwarding to the leader', () => {
  const peers: Peer[] = [];
  const opened = (peer: Peer): Peer => {
    peers.push(peer);
    return peer;
  };
  afterEach(async () => {
    for (const peer of peers.splice(0)) await peer.close();
  });

  it('sends a large body after a second to a leader that answers no 100 Continue', async () => {
    let waited = false;
    const server = createServer((req, res) => void req.pipe(res));
    server.on('checkContinue', (req, res) => {
      waited = true;
      req.pipe(res);
    });
    const leader = opened(await listen(server));
    const { url } = opened(await follower(leader.url));
    const body = 'x'.repeat(100_000);
    const answer = await fetch(url, { method: 'POST', body });
    assert.equal(await answer.text(), body);
    assert.ok(waited, 'the leader was asked whether it wants the body');
  });

  it('ends a stream when the node has applied what the leader wrote during the stream', async () => {
    let written = 0;
    const lines = async function* (): AsyncGenerator<Buffer> {
      for (; written < 3; written += 1) yield Buffer.from(`${String(written)}\n`);
      await Promise.resolve();
    };
    const applied = (): Applied => ({ 'live-1': written });
    const leader = opened(
      await node({ applied }, (ctx) => {
        ctx.body = ctx.method === 'GET' ? 'alive' : Readable.from(lines(), { objectMode: false });
      }),
    );
    const reached: Applied[] = [];
    let ended = false;
    const { url } = opened(
      await follower(leader.url, {
        async reached(rounds) {
          reached.push(rounds);
          // An end that was sent already would arrive before the answer to this.
          await fetch(leader.url);
          assert.ok(!ended, 'the answer has not ended');
        },
      }),
    );
    const answer = await fetch(url, { method: 'POST', body: '{}' });
    const text = await answer.text().finally(() => (ended = true));
    assert.equal(text, '0\n1\n2\n');
    assert.deepEqual(reached, [{ 'live-1': 3 }]);
  });

  it('waits for what an answer without a stream names, and asks for nothing', async () => {
    let asked = 0;
    const leader = opened(
      await node({ applied: () => ({ 'live-1': 5 }) }, (ctx) => {
        asked += 1;
        ctx.body = 'done';
      }),
    );
    const reached: Applied[] = [];
    const view = { reached: async (rounds: Applied) => void reached.push(rounds) };
    const { url } = opened(await follower(leader.url, view));
    assert.equal(await (await fetch(url, { method: 'POST', body: '{}' })).text(), 'done');
    assert.deepEqual([reached, asked], [[{ 'live-1': 5 }], 1]);
  });

  it('names its own span as the parent of that of the leader', async () => {
    let sent = '';
    const receiver = opened(
      await listen(
        createServer((req, res) => {
          req.on('data', (chunk: Buffer) => (sent += chunk.toString()));
          req.on('end', () => res.setHeader('Content-Type', 'application/json').end('{}'));
        }),
      ),
    );
    const tracing = await openTracing(receiver.url, pino({ level: 'silent' }));
    const leader = opened(
      await node({}, (ctx) => {
        ctx.body = ctx.get('traceparent');
      }),
    );
    const { url } = opened(await follower(leader.url, {}, tracing));
    const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const headers = { traceparent: `00-${trace}-${span}-01` };
    const text = await (await fetch(url, { method: 'POST', body: '{}', headers })).text();
    await tracing.close();
    const [, of, parent, flags] = text.split('-');
    assert.deepEqual([of, flags], [trace, '01']);
    const { traceId, spanId, parentSpanId } = (JSON.parse(sent) as Exported).resourceSpans[0]
      .scopeSpans[0].spans[0];
    assert.deepEqual([traceId, spanId, parentSpanId], [trace, parent, span]);
  });
});
