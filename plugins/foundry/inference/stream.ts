// A stream on its way to the client: chunks as they come, then the seal, then the proof of it and [DONE]. The answer
// has begun by then, so what fails is said in an event. HTML Living Standard, server-sent events.

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ApiError } from '../../contract.ts';
import type { Json, JsonObject, RouteContext } from '../../contract.ts';
import { proofChunk } from './completion.ts';
import { failureOf } from './seal.ts';
import type { Exchange, Streaming } from './upstream.ts';

/** What is written to a connection at a time. */
const PIECE_BYTES = 16_384;

/** Thrown by `respond` in place of an answer: the stream has one already. */
class Sealed extends Error {
  readonly shown: JsonObject;

  constructor(shown: JsonObject) {
    super('the stream is sealed');
    this.shown = shown;
  }
}

/** Where the proof of a stream goes. */
export class Relay {
  /** What `respond` throws. */
  sealedAs(shown: JsonObject): Error {
    return new Sealed(shown);
  }
}

/** Passes a stream on and seals it. `left` is called when the client goes first. */
export async function relay(
  ctx: RouteContext,
  streaming: Streaming,
  left: () => void,
  seal: (exchange: Exchange, to: Relay) => Promise<void>,
): Promise<void> {
  const { res } = ctx;
  // Koa must not answer: this does.
  ctx.respond = false;
  res.statusCode = 200;
  res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Accel-Buffering', 'no');
  res.flushHeaders();
  let gone = res.destroyed;
  const onClose = (): void => {
    gone = true;
    left();
  };
  res.once('close', onClose);
  // A write to a connection that is just breaking is an error event, and nobody else listens.
  res.on('error', onClose);
  let kept = 0;
  ctx.state.holds(() => kept);
  const write = async (data: string): Promise<void> => {
    const bytes = Buffer.from(`data: ${data}\n\n`);
    // Piece by piece, so that the connection of a client that does not read holds one of them.
    for (let at = 0; at < bytes.length && !gone && !res.destroyed; at += PIECE_BYTES) {
      if (!res.write(bytes.subarray(at, at + PIECE_BYTES))) await drained(res);
    }
  };
  const pass = (data: string): Promise<void> => {
    kept += data.length;
    return write(data);
  };
  try {
    const last = await sealedEnd(streaming, pass, seal);
    kept = last.reduce((sum, data) => sum + data.length, 0);
    for (const data of last) await write(data);
  } catch (error) {
    const known = error instanceof ApiError ? error : null;
    await write(
      eventOf(known ?? new ApiError('log_unavailable', 'the stream could not be sealed')),
    );
  } finally {
    res.off('close', onClose);
    if (!res.destroyed) res.end();
  }
}

/** Passes the chunks on and seals them; answers with the events that end the stream, and keeps nothing else. */
async function sealedEnd(
  streaming: Streaming,
  pass: (data: string) => Promise<void>,
  seal: (exchange: Exchange, to: Relay) => Promise<void>,
): Promise<readonly string[]> {
  const exchange = await streaming.chunks(pass);
  const shown = await sealedBy(seal, exchange);
  const { outcome, status } = exchange;
  if (outcome !== 'completed') return [eventOf(failureOf(outcome, status, undefined, shown))];
  return [JSON.stringify(proofChunk(exchange.response as readonly Json[], shown)), '[DONE]'];
}

/** Resolves when the client has read what was written, or is gone. */
async function drained(res: ServerResponse): Promise<void> {
  if (res.destroyed) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })]);
  waiting.abort();
}

async function sealedBy(
  seal: (exchange: Exchange, to: Relay) => Promise<void>,
  exchange: Exchange,
): Promise<JsonObject> {
  try {
    await seal(exchange, new Relay());
  } catch (error) {
    if (error instanceof Sealed) return error.shown;
    throw error;
  }
  throw new Error('a stream is sealed by its answer');
}

/** An error as clients of this protocol know it in a stream. */
function eventOf({ code, message, members }: ApiError): string {
  return JSON.stringify({ error: { type: 'api_error', code, message }, ...members });
}
