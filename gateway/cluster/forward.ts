// Forwards requests that write from a node that follows to the leader, over HTTP.
//
// Every method but GET and HEAD is forwarded, and a GET whose handler turns out to write, or to need a checkpoint that
// the leader must publish first. The leader authenticates the caller, applies the rate limits and answers; the node
// passes the answer on, or the end of one that is streamed, when it has applied the rounds that the answer rests on, so
// that a client reads its own writes at the node that it wrote to. A request between nodes has the address of the client
// and a MAC under a key of the cluster (RFC 2104), so that no other client can set that address. It is never forwarded
// twice. If the leader cannot be reached or the lease changes, the answer is 503 with Retry-After: 1; a repeat with the
// same Idempotency-Key learns whether the write was committed.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { Agent, request as requestHttp } from 'node:http';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent as SecureAgent, request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { isLogError } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { clientAddress } from '../http/authenticate.ts';
import { expectsContinue } from '../http/body.ts';
import { isStream } from '../http/json-answer.ts';
import type { Next, RequestContext } from '../http/request.ts';
import type { Applied, ClusterView } from './cluster.ts';

/** Header of a request between nodes: milliseconds, the address of the client, and the MAC. */
export const FORWARDED = 'actlog-forwarded';
/** Header of the leader's answer: the rounds that it rests on. */
const APPLIED = 'actlog-applied';
/** How old a forwarded request may be: the clocks of the nodes may differ. */
const MAX_AGE_MS = 120_000;
/** How long the leader may take: longer than the longest wait for a checkpoint (gateway/API.md §1.4). */
const TIMEOUT_MS = 45_000;

/** RFC 9110 §7.6.1, and what belongs to the connection with the client. */
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['proxy-connection', 'proxy-authorization', 'proxy-authenticate', FORWARDED, APPLIED],
]);

const agents = {
  'http:': new Agent({ keepAlive: true, maxSockets: 1024 }),
  'https:': new SecureAgent({ keepAlive: true, maxSockets: 1024 }),
};

/** The middleware, behind `match`. Does nothing without a cluster. */
export function forward({ cluster, tracing }: Gateway) {
  return async (ctx: RequestContext, next: Next): Promise<unknown> => {
    if (cluster === null) return next();
    const from = forwardedFrom(ctx, cluster);
    if (cluster.role === 'leader') {
      if (from === null) return next();
      ctx.state.client_ip = from;
      try {
        return await next();
      } finally {
        // The answers of a batch are written while they are sent: the node that forwarded it asks at their end.
        if (!isStream(ctx.body)) ctx.set(APPLIED, JSON.stringify(cluster.applied()));
      }
    }
    // The node that forwarded it believed that this one leads.
    if (from !== null) throw noLeader();
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return pass(ctx, cluster, tracing);
    try {
      return await next();
    } catch (error) {
      if (!isLogError(error) || error.code !== 'not_leader') throw error;
      return pass(ctx, cluster, tracing);
    }
  };
}

const noLeader = (cause?: unknown): ApiError =>
  new ApiError(
    'log_unavailable',
    'the cluster has no leader at the moment: repeat the request with its idempotency key',
    { headers: { 'Retry-After': '1' }, ...(cause === undefined ? {} : { cause }) },
  );

async function pass(
  ctx: RequestContext,
  cluster: ClusterView,
  tracing: Gateway['tracing'],
): Promise<void> {
  const leader = cluster.leader();
  if (leader === null) throw noLeader();
  const { method, headers, state } = ctx;
  const [route, started_ms] = [state.matched?.canonical ?? 'none', state.started];
  state.span = tracing?.begin({ method, route, started_ms, headers }) ?? null;
  const answer = await ask(ctx, new URL(leader), cluster, () => cluster.leader() === leader);
  const applied = answer.headers[APPLIED];
  if (typeof applied === 'string') await cluster.reached(JSON.parse(applied) as Applied);
  ctx.status = answer.statusCode ?? 502;
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name)) ctx.set(name, value);
  }
  const { trailer } = answer.headers;
  if (trailer !== undefined) {
    ctx.set('Trailer', trailer);
    // Before the pipe to the client ends.
    answer.once('end', () => ctx.res.addTrailers(answer.trailers));
  }
  // The leader has answered without the rest of the body, which is not a next request.
  if (!ctx.req.complete) ctx.set('Connection', 'close');
  // Without the header, the answer is a stream: the leader writes to its logs while it sends it.
  const streamed = applied === undefined && ctx.status < 400;
  ctx.body = streamed ? Readable.from(untilApplied(answer, ctx, cluster), BYTES) : answer;
}

const BYTES = { objectMode: false };

/** How long the leader may take to say what it has applied. */
const APPLIED_MS = 3000;

/**
 * The answer of the leader, which ends when this node has applied what the leader had applied at the end of its answer. A
 * leader that does not say what it has applied delays the end, and nothing else.
 */
async function* untilApplied(
  answer: IncomingMessage,
  ctx: RequestContext,
  cluster: ClusterView,
): AsyncGenerator<Buffer> {
  yield* answer as AsyncIterable<Buffer>;
  const applied = await appliedByLeader(ctx, cluster).catch(() => null);
  if (applied !== null) await cluster.reached(JSON.parse(applied) as Applied);
}

/** What the leader has applied, as `actlog-applied` of a request to it that does nothing. */
async function appliedByLeader(ctx: RequestContext, cluster: ClusterView): Promise<string | null> {
  const leader = cluster.leader();
  if (leader === null) return null;
  const head = { method: 'GET', url: '/livez' };
  const { headers } = await fetch(leader.replace(/\/$/, '') + head.url, {
    headers: mark(ctx, cluster, head),
    signal: AbortSignal.timeout(APPLIED_MS),
  });
  return headers.get(APPLIED);
}

/** A body of this many bytes is sent without waiting: it fits into the buffers of a connection. */
const SMALL_BODY_BYTES = 16_384;

/** Whether a request has a body that is larger, or of unknown length. */
const isLarge = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  Number(headers['content-length'] ?? 0) > SMALL_BODY_BYTES;

/** How long a large body waits for a leader that does not say whether it wants it, such as one behind an old proxy. */
const CONTINUE_MS = 1000;

/** How often a request that waits for the leader looks whether that node still leads. */
const LOOK_MS = 250;

/**
 * Sends the request to the leader, and resolves with the answer when its headers are there. Headers go ahead of the body,
 * and a large body waits until the leader wants it, at most a second (RFC 9110 §10.1.1): the answer of a leader that
 * refuses a body and closes the connection would be lost while the body is sent. Gives up when that node does not lead
 * any more: it may be cut off and never answer.
 */
function ask(
  ctx: RequestContext,
  leader: URL,
  cluster: ClusterView,
  leads: () => boolean,
): Promise<IncomingMessage> {
  const { req, res } = ctx;
  return new Promise((resolve, reject) => {
    const secure = leader.protocol === 'https:';
    const upstream: ClientRequest = (secure ? requestHttps : requestHttp)(leader, {
      agent: agents[secure ? 'https:' : 'http:'],
      method: req.method ?? 'GET',
      path: leader.pathname.replace(/\/$/, '') + (req.url ?? '/'),
      headers: { ...endToEnd(req.headers), ...ctx.state.span?.headers, ...mark(ctx, cluster, req) },
      timeout: TIMEOUT_MS,
    });
    const looking = setInterval(() => {
      if (!leads()) upstream.destroy(new Error('the lease has changed'));
    }, LOOK_MS);
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const stopTimers = (): void => {
      clearInterval(looking);
      clearTimeout(waiting);
    };
    upstream.on('close', stopTimers);
    upstream.on('response', (answer) => {
      stopTimers();
      resolve(answer);
    });
    upstream.on('error', (error) => reject(noLeader(error)));
    upstream.on('timeout', () => upstream.destroy(new Error('the leader does not answer')));
    res.on('close', () => {
      if (!res.writableFinished) upstream.destroy();
    });
    req.on('error', () => upstream.destroy());
    const asked = expectsContinue(req);
    if (asked || isLarge(req)) {
      upstream.setHeader('Expect', '100-continue');
      let sent = false;
      const send = (): void => {
        if (sent) return;
        sent = true;
        clearTimeout(waiting);
        if (asked) res.writeContinue();
        req.pipe(upstream);
      };
      upstream.on('continue', send);
      waiting = setTimeout(send, CONTINUE_MS);
    } else {
      req.pipe(upstream);
    }
    upstream.flushHeaders();
  });
}

/** Without the headers of the connection; the body keeps its length or is chunked. */
const endToEnd = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));

type Head = Pick<IncomingMessage, 'method' | 'url'>;

function mark(ctx: RequestContext, cluster: ClusterView, head: Head): Record<string, string> {
  const client = clientAddress(ctx);
  const ms = String(Date.now());
  const mac = macOf(cluster, head, ms, client).toString('base64url');
  return { [FORWARDED]: [ms, client, mac].join(' ') };
}

const macOf = (cluster: ClusterView, { method, url }: Head, ms: string, client: string): Buffer =>
  createHmac('sha256', cluster.forward_key).update([method, url, ms, client].join('\n')).digest();

/**
 * The address of the client of a forwarded request; null for a request that no node forwarded.
 *
 * @throws ApiError `parameter_invalid` if the header is not from a node of this cluster
 */
function forwardedFrom(ctx: RequestContext, cluster: ClusterView): string | null {
  const header = ctx.req.headers[FORWARDED];
  if (header === undefined) return null;
  const [ms = '', client = '', mac = ''] = String(header).split(' ');
  const [given, right] = [Buffer.from(mac, 'base64url'), macOf(cluster, ctx.req, ms, client)];
  const fresh = Math.abs(Date.now() - Number(ms)) <= MAX_AGE_MS;
  if (given.length !== right.length || !timingSafeEqual(given, right) || !fresh) {
    throw new ApiError('parameter_invalid', 'this header is for nodes of a cluster', {
      param: 'Actlog-Forwarded',
    });
  }
  return client;
}
