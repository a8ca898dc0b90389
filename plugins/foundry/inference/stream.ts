// A stream on its way to the client: chunks as they come, then the seal, then the proof of it and [DONE]. The answer
// has begun by then, so what fails is said in an event. HTML Living Standard, server-sent events.

import { once } from 'node:events';
import { ApiError } from '../../contract.ts';
import type { Json, JsonObject, RouteContext } from '../../contract.ts';
import { proofChunk } from './completion.ts';
import { failureOf } from './seal.ts';
import type { Exchange, Streaming } from './upstream.ts';

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
  const write = async (data: string): Promise<void> => {
    if (gone || res.destroyed || res.write(`data: ${data}\n\n`)) return;
    const waiting = new AbortController();
    const { signal } = waiting;
    await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })]);
    waiting.abort();
  };
  try {
    const exchange = await streaming.chunks(write);
    const shown = await sealedBy(seal, exchange);
    const chunks = exchange.response as readonly Json[];
    const { outcome, status } = exchange;
    if (outcome === 'completed') {
      await write(JSON.stringify(proofChunk(chunks, shown)));
      await write('[DONE]');
    } else {
      await write(eventOf(failureOf(outcome, status, undefined, shown)));
    }
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
