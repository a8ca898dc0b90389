// Seals exchanges with a model, and streams them. gateway/API.md §10.8.
//
// A stream sends the chunks as they arrive, but for the last one with `choices`: it is held back until the exchange
// is sealed, and brings the proof. The trailer X-Proof repeats it (RFC 9110 §6.5). The status line has been sent by
// then, so an error is sent as an event. HTML Living Standard, server-sent events.

import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ApiError, canonical, isApiError, isJsonObject } from '../../contract/index.ts';
import type {
  AnsweredEntry,
  Caller,
  Draft,
  Json,
  JsonObject,
  PluginHost,
  RouteContext,
} from '../../contract/index.ts';
import { DOES_NOT_ASSERT, rootOf, SEAL, sealed, sessionWith } from './entries.ts';
import type { Outcome } from './entries.ts';
import { choicesOf, isFinal } from './upstream.ts';
import type { Exchange, Streaming } from './upstream.ts';

/** The model that seals what the caller brings. */
export const SEAL_MODEL = 'svc-seal-1';

/** The last message as a completion. 400 where it is no assistant's text. */
export function suppliedCompletion(messages: readonly JsonObject[], now_ms: number): JsonObject {
  const last = messages.at(-1);
  const content = last?.['content'];
  if (last?.['role'] !== 'assistant' || typeof content !== 'string') {
    const message = `${SEAL_MODEL} seals a completion: the last message must be the assistant's text`;
    throw new ApiError('parameter_invalid', message, { param: 'messages' });
  }
  return {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created: Math.floor(now_ms / 1000),
    model: SEAL_MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
    // Nothing was generated here, so nothing was counted.
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  };
}

/** The chunks of a completion that is there whole; with `usage` one more, as `stream_options.include_usage` asks. */
export function chunksOf(completion: JsonObject, usage: boolean): JsonObject[] {
  const { id = '', created = 0, model = '', choices } = completion;
  const [choice] = choices as unknown as readonly [{ message: { content: string } }];
  const common = { id, object: 'chat.completion.chunk', created, model };
  const chunk = (delta: JsonObject, finish_reason: Json): JsonObject => ({
    ...common,
    choices: [{ index: 0, delta, finish_reason, logprobs: null }],
    ...(usage ? { usage: null } : {}),
  });
  const { content } = choice.message;
  const chunks = [chunk({ role: 'assistant', content }, null), chunk({}, 'stop')];
  return usage
    ? [...chunks, { ...common, choices: [], usage: completion['usage'] ?? null }]
    : chunks;
}

/** A chunk that adds nothing to its choice: it brings the proof of a stream in which no chunk was the last of one. */
function emptyChunk(chunks: readonly Json[]): JsonObject {
  const { id = 'chatcmpl', created = 0, model = '' } = chunks.findLast(isJsonObject) ?? {};
  const choices = [{ index: 0, delta: {}, finish_reason: null, logprobs: null }];
  return { id, object: 'chat.completion.chunk', created, model, choices };
}

/** What is sealed of a request. */
interface Sealing {
  readonly caller: Caller;
  readonly session_id: string | undefined;
  readonly model: string;
  readonly source: 'upstream' | 'caller';
  readonly streamed: boolean;
  readonly request: JsonObject;
  readonly exchange: Exchange;
}

const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$/u;

/** A seal, ready to be appended. */
export function sealDraft(host: PluginHost, sealing: Sealing): Draft {
  const { caller, session_id, model, source, streamed, request, exchange } = sealing;
  const { outcome, status } = exchange;
  const response = holdable(exchange.response);
  const [request_salt, response_salt] = [salt(), salt()];
  const request_hash = sealed(request_salt, request);
  const response_hash = sealed(response_salt, response);
  const session_ref = session_id === undefined ? undefined : caller.sessionRef(session_id);
  const named = IDENTIFIER.test(model);
  return {
    type: SEAL,
    members({ rows }): JsonObject {
      const tree = sessionWith(rows, session_ref, { request_hash, response_hash, outcome });
      return {
        ...(session_ref === undefined ? {} : { session_ref }),
        ...{ source, model: named ? model : 'other', streamed, outcome },
        ...(status === undefined ? {} : { upstream_status: status }),
        ...{ request_hash, response_hash, session_size: tree.size, session_root: rootOf(tree) },
        does_not_assert: Object.keys(DOES_NOT_ASSERT),
      };
    },
    private: { exchange: { request, request_salt, response, response_salt } },
    toll: host.toll('inference_seal'),
  };
}

const salt = (): string => randomBytes(16).toString('hex');

/** What canonical JSON cannot hold (a lone surrogate, say) is sealed by its text. */
function holdable(response: Json): Json {
  try {
    canonical(response);
    return response;
  } catch {
    return { unheld: Buffer.from(JSON.stringify(response)).toString('base64') };
  }
}

/** What an answer shows of a seal, with the receipt. */
export function proofOf({ statement, entry_id, receipt }: AnsweredEntry): JsonObject {
  const { session_root = '', session_size = 0, outcome = '' } = statement;
  const { request_hash = '', response_hash = '' } = statement;
  const proof = {
    ...{ entry_id, session_root, session_size, outcome, request_hash, response_hash },
    verify_url: receipt.verify_url,
  };
  return { proof, receipt };
}

/** Statuses by which the upstream says that the request is at fault. */
const CALLERS_FAULT: readonly number[] = [400, 404, 413, 415, 422];

const ENDINGS: Readonly<Record<Exclude<Outcome, 'completed'>, string>> = {
  refused: 'the upstream refused the request',
  unreachable: 'the upstream could not be reached',
  timed_out: 'the upstream was silent for too long',
  interrupted: 'the upstream broke off its answer',
  garbled: 'the upstream answered something that is no completion',
  oversized: 'the upstream answered more than is passed on',
  client_gone: 'the client left before the answer was whole',
};

/** The error of an exchange that failed; it carries the seal of the exchange. */
export function failureOf(
  outcome: Exclude<Outcome, 'completed'>,
  status: number | undefined,
  retry_after: string | undefined,
  shown: JsonObject,
): ApiError {
  // The receipt discloses what the upstream said, which an error never shows: its own tenant looks it up.
  const members = { proof: shown['proof'] };
  const ending = ENDINGS[outcome];
  if (outcome !== 'refused' || status === undefined) {
    return new ApiError('upstream_error', ending, { members });
  }
  const message = `${ending} with status ${String(status)}`;
  if (status === 429) {
    const seconds = /^\d{1,6}$/.test(retry_after ?? '') ? String(retry_after) : '1';
    return new ApiError('rate_limited', message, { members, headers: { 'Retry-After': seconds } });
  }
  const code = CALLERS_FAULT.includes(status) ? 'parameter_invalid' : 'upstream_error';
  return new ApiError(code, message, { members });
}

/** The trailer that has the proof of a stream, as JSON. */
export const PROOF_TRAILER = 'X-Proof';

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
  res.setHeader('Trailer', PROOF_TRAILER);
  res.flushHeaders();
  let gone = res.destroyed;
  const onClose = (): void => {
    gone = true;
    left();
  };
  res.once('close', onClose);
  // A write to a connection that is being closed emits `error`; without this listener the process would end.
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
    const { events, proof } = await sealedEnd(streaming, pass, seal);
    kept = events.reduce((sum, data) => sum + data.length, 0);
    for (const data of events) await write(data);
    res.addTrailers({ [PROOF_TRAILER]: JSON.stringify(proof) });
  } catch (error) {
    const known = isApiError(error) ? error : null;
    await write(
      eventOf(known ?? new ApiError('log_unavailable', 'the stream could not be sealed')),
    );
  } finally {
    res.off('close', onClose);
    if (!res.destroyed) res.end();
  }
}

/** How a stream ends. */
interface StreamEnd {
  /** The events that are still to be sent. */
  readonly events: readonly string[];
  readonly proof: Json;
}

/**
 * Passes the chunks on and seals them. The last chunk with choices is held back, and what follows it without choices,
 * such as the usage: a chunk with choices after it lets them go.
 */
async function sealedEnd(
  streaming: Streaming,
  pass: (data: string) => Promise<void>,
  seal: (exchange: Exchange, to: Relay) => Promise<void>,
): Promise<StreamEnd> {
  let held: string[] = [];
  const exchange = await streaming.chunks(async (chunk, data) => {
    if (held.length > 0 && choicesOf(chunk).length === 0) {
      held.push(data);
      return;
    }
    const free = held;
    held = isFinal(chunk) ? [data] : [];
    for (const one of free) await pass(one);
    if (held.length === 0) await pass(data);
  });
  const shown = await sealedBy(seal, exchange);
  const proof = shown['proof'] ?? null;
  const { outcome, status } = exchange;
  if (outcome !== 'completed') {
    return { events: [...held, eventOf(failureOf(outcome, status, undefined, shown))], proof };
  }
  const [last, ...behind] = held;
  const content =
    last === undefined
      ? emptyChunk(exchange.response as readonly Json[])
      : (JSON.parse(last) as JsonObject);
  return { events: [JSON.stringify({ ...content, ...shown }), ...behind, '[DONE]'], proof };
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
