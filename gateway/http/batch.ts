// Answers batches (batch-route.ts). gateway/API.md §4.5.
//
// Each line passes the same middlewares as a request of its own, from the rate limit to the handler, so it is validated,
// counted, metered and answered by itself. The lines of a batch run side by side, so that they share rounds of the log.

import { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Json } from '../../plugins/contract/index.ts';
import { AppendingRequest } from './append.ts';
import { MAX_LINES, NDJSON } from './batch-route.ts';
import { acceptBody, readJson } from './body.ts';
import type { CompiledRoute } from './dispatch.ts';
import type { Line, Next, RequestContext } from './request.ts';

/** Lines of a batch that run at a time: one round of the log has at most as many entries. */
const LINES_IN_FLIGHT = 128;

/** Runs a middleware and those after it. */
type Run = (ctx: RequestContext, next: Next) => Promise<unknown>;

/**
 * Answers batches. `line` is the list of middlewares that a line passes; the first of them answers errors.
 */
export function batches(line: readonly Run[]): Run {
  const run = (ctx: RequestContext, at = 0): Promise<unknown> =>
    line[at]?.(ctx, () => run(ctx, at + 1)) ?? Promise.resolve();
  return async (ctx, next) => {
    const { matched, body } = ctx.state;
    const route = matched?.lines ?? null;
    if (route === null) {
      await next();
      return;
    }
    if (ctx.req.headers['idempotency-key'] !== undefined) {
      throw new ApiError(
        'invalid_idempotency_key',
        'a batch has no Idempotency-Key: each line may have its own as idempotency_key',
      );
    }
    const lines = linesOf(body as Uint8Array);
    ctx.set('Content-Type', NDJSON);
    ctx.set('Cache-Control', 'no-store');
    ctx.body = Readable.from(
      answers(ctx, lines, (one) => answerLine(ctx, route, one, run)),
      {
        objectMode: false,
      },
    );
  };
}

/** The lines of a body that are not empty. */
function linesOf(body: Uint8Array): readonly Line[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const lines: Line[] = [];
  let number = 0;
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(0x0a, at);
    const end = found < 0 ? bytes.length : found;
    const until = bytes[end - 1] === 0x0d ? end - 1 : end;
    number += 1;
    if (until > at) {
      if (lines.length === MAX_LINES) {
        throw new ApiError('payload_too_large', `the body has over ${String(MAX_LINES)} lines`);
      }
      lines.push({
        ...{ number, bytes: bytes.subarray(at, until), first: lines.length === 0 },
        idempotency_key: undefined,
      });
    }
    at = end + 1;
  }
  if (lines.length === 0) throw new ApiError('body_required', 'the body has no line');
  return lines;
}

/**
 * The answers of the lines in their order. While the client does not read, no further line is started; the lines in
 * flight still finish.
 */
async function* answers(
  ctx: RequestContext,
  lines: readonly Line[],
  answer: (line: Line) => Promise<Buffer>,
): AsyncGenerator<Buffer> {
  let held = 0;
  ctx.state.holds(() => held);
  const started: Promise<Buffer>[] = [];
  let next = 0;
  const start = (): void => {
    const line = lines[next];
    if (line === undefined) return;
    next += 1;
    started.push(
      answer(line).then((text) => {
        held += text.length;
        return text;
      }),
    );
  };
  while (started.length < LINES_IN_FLIGHT && next < lines.length) start();
  for (let first = started.shift(); first !== undefined; first = started.shift()) {
    const text = await first;
    start();
    held -= text.length;
    yield text;
  }
}

async function answerLine(
  batch: RequestContext,
  route: CompiledRoute,
  line: Line,
  run: (ctx: RequestContext) => Promise<unknown>,
): Promise<Buffer> {
  // An answer of its own, which is never sent: the middlewares set its status, headers and body.
  const ctx = batch.app.createContext(batch.req, new ServerResponse(batch.req)) as RequestContext;
  const { caller, may_append, params, query, gateway } = batch.state;
  ctx.state = Object.assign(new AppendingRequest(gateway, ctx), {
    ...{ matched: route, caller, may_append, params, query, line },
  });
  await run(ctx);
  const { body, status } = ctx;
  const text =
    typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body);
  return Buffer.from(`{"line":${String(line.number)},"status":${String(status)},"body":${text}}\n`);
}

/** Sets `state.body` to the request in a line. */
export async function lineBody(ctx: RequestContext, next: Next): Promise<void> {
  const { line, gateway } = ctx.state;
  if (line === null) throw new Error('a line of a batch is read');
  const { MAX_BODY_BYTES } = gateway.config;
  if (line.bytes.length > MAX_BODY_BYTES) {
    const message = `the line is over ${String(MAX_BODY_BYTES)} bytes`;
    throw new ApiError('payload_too_large', message);
  }
  ctx.state.body_bytes = line.bytes.length;
  const value = readJson(ctx, line.bytes, 'line');
  line.idempotency_key = takeKey(value);
  acceptBody(ctx, value);
  await next();
}

/** Takes `idempotency_key` out of a request. */
function takeKey(value: Json): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const members = value as Record<string, Json>;
  const key = members['idempotency_key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string') {
    const message = 'idempotency_key must be a string';
    throw new ApiError('invalid_idempotency_key', message, { param: 'idempotency_key' });
  }
  delete members['idempotency_key'];
  return key;
}
