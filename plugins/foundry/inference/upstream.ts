// The upstream: an OpenAI-compatible endpoint that the operator configured. It may hang, send garbage or die; each
// of these is an outcome, never an exception. gateway/API.md §10.8; OpenAI API, Chat Completions.

import { Type } from 'typebox';
import { isJsonObject } from '../../contract/index.ts';
import type { Json, JsonObject } from '../../contract/index.ts';
import { eventsOf } from './entries.ts';
import type { Outcome } from './entries.ts';

/** Settings of the plugin; their values are texts, as the environment has them. */
export const InferenceSettings = Type.Object({
  INFERENCE_UPSTREAM_URL: Type.Optional(
    Type.String({
      title: 'http(s) address',
      pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
      description:
        'OpenAI-compatible endpoint that /api/v1/inference/chat/completions passes requests to; its base (…/v1) or …/chat/completions.',
    }),
  ),
  INFERENCE_API_KEY: Type.Optional(
    Type.String({ writeOnly: true, description: 'Bearer token for the upstream; never logged.' }),
  ),
  INFERENCE_TIMEOUT_MS: Type.Optional(
    Type.Integer({
      minimum: 10,
      maximum: 3_600_000,
      default: 60_000,
      description: 'How long the upstream may be silent.',
    }),
  ),
  INFERENCE_ANONYMOUS: Type.Optional(
    Type.Union([Type.Literal('deny'), Type.Literal('allow')], {
      default: 'deny',
      description: 'Whether requests without a key reach the upstream, which the operator pays.',
    }),
  ),
});

/** Largest answer that is passed on and kept behind a commitment. */
const MAX_ANSWER_BYTES = 1_048_576;

/** Where to ask. */
export interface UpstreamOptions {
  readonly url: string;
  readonly api_key?: string;
  readonly timeout_ms: number;
  readonly fetch: typeof fetch;
}

/** An exchange that is over. */
export interface Exchange {
  readonly outcome: Outcome;
  readonly status?: number;
  /** What is sealed: the completion, the chunks, or what came in place of them. */
  readonly response: Json;
  /** Seconds, as the upstream asked. */
  readonly retry_after?: string;
}

/** Takes a chunk of a stream: what it says, and its text as it came. */
export type Pass = (chunk: JsonObject, data: string) => Promise<void>;

/** An answer that streams: `chunks` hands each over as it comes and ends with how it ended. */
export interface Streaming {
  readonly status: number;
  chunks(pass: Pass): Promise<Exchange>;
}

/** The upstream of the settings; null without one. */
export function upstreamOf(
  settings: Readonly<Record<string, unknown>>,
  ask: typeof fetch,
): UpstreamOptions | null {
  const base = settings['INFERENCE_UPSTREAM_URL'] as string | undefined;
  if (base === undefined) return null;
  const whole = /\/chat\/completions\/?$/.test(base);
  const api_key = settings['INFERENCE_API_KEY'] as string | undefined;
  return {
    url: whole ? base : `${base.replace(/\/+$/, '')}/chat/completions`,
    ...(api_key === undefined ? {} : { api_key }),
    timeout_ms: settings['INFERENCE_TIMEOUT_MS'] as number,
    fetch: ask,
  };
}

/** Aborts a request whose upstream is silent for too long, or whose client has left. */
export class Patience {
  readonly #over = new AbortController();
  readonly #ms: number;
  #timer: NodeJS.Timeout;
  #outcome: Outcome | null = null;

  constructor(ms: number) {
    this.#ms = ms;
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Why it ended the request; what else ends one is `otherwise`. */
  outcome(otherwise: Outcome): Outcome {
    return this.#outcome ?? otherwise;
  }

  /** Something came. */
  again(): void {
    clearTimeout(this.#timer);
    if (this.#outcome === null) this.#timer = this.#start();
  }

  end(outcome: Outcome): void {
    this.#outcome ??= outcome;
    this.#over.abort();
    clearTimeout(this.#timer);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #start(): NodeJS.Timeout {
    return setTimeout(() => {
      this.end('timed_out');
    }, this.#ms);
  }
}

/** Asks; what streams is answered at its first byte, all else when it is over. */
export async function ask(
  options: UpstreamOptions,
  body: JsonObject,
  patience: Patience,
): Promise<Exchange | Streaming> {
  let answer: Response;
  try {
    answer = await options.fetch(options.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: body['stream'] === true ? 'text/event-stream' : 'application/json',
        ...(options.api_key === undefined ? {} : { authorization: `Bearer ${options.api_key}` }),
      },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: patience.signal,
    });
  } catch {
    patience.stop();
    return { outcome: patience.outcome('unreachable'), response: null };
  }
  const { status } = answer;
  const type = answer.headers.get('content-type') ?? '';
  if (answer.ok && type.startsWith('text/event-stream')) {
    return { status, chunks: (pass) => streamed(answer, patience, pass) };
  }
  const exchange = await whole(answer, patience);
  patience.stop();
  const retry = answer.headers.get('retry-after');
  return retry === null ? exchange : { ...exchange, retry_after: retry };
}

async function whole(answer: Response, patience: Patience): Promise<Exchange> {
  const { status } = answer;
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of bytesOf(answer)) {
      patience.again();
      length += piece.length;
      if (length > MAX_ANSWER_BYTES) {
        patience.end('oversized');
        return { outcome: 'oversized', status, response: null };
      }
      pieces.push(piece);
    }
  } catch {
    return { outcome: patience.outcome('interrupted'), status, response: null };
  }
  const text = Buffer.concat(pieces).toString('utf8');
  const response = parsed(text);
  if (!answer.ok) return { outcome: 'refused', status, response };
  const complete = isJsonObject(response) && Array.isArray(response['choices']);
  return { outcome: complete ? 'completed' : 'garbled', status, response };
}

async function streamed(answer: Response, patience: Patience, pass: Pass): Promise<Exchange> {
  const { status } = answer;
  // As text: parsed, they take several times as much, for as long as the client takes to read.
  const chunks: string[] = [];
  let complete = false;
  let length = 0;
  const ended = (outcome: Outcome): Exchange => ({
    outcome,
    status,
    response: chunks.map((data) => JSON.parse(data) as Json),
  });
  const cut = (outcome: Outcome): Exchange => {
    patience.end(outcome);
    return ended(outcome);
  };
  try {
    for await (const data of eventsOf(bytesOf(answer))) {
      patience.again();
      if (data === '[DONE]') return ended('completed');
      length += data.length;
      if (length > MAX_ANSWER_BYTES) return cut('oversized');
      const chunk = parsed(data);
      if (!isJsonObject(chunk)) return cut('garbled');
      chunks.push(data);
      complete ||= isFinal(chunk);
      await pass(chunk, data);
    }
  } catch {
    return ended(patience.outcome('interrupted'));
  } finally {
    patience.stop();
  }
  // Whoever leaves out [DONE] has still said so in the last chunk.
  return ended(patience.outcome(complete ? 'completed' : 'interrupted'));
}

/** The choices that a chunk has something of; none in a chunk of usage. */
export const choicesOf = ({ choices }: JsonObject): readonly Json[] =>
  Array.isArray(choices) ? (choices as readonly Json[]) : [];

/** Whether a chunk is the last of a choice. */
export const isFinal = (chunk: JsonObject): boolean =>
  choicesOf(chunk).some(
    (choice) => isJsonObject(choice) && typeof choice['finish_reason'] === 'string',
  );

/** A value that is nested deeper is not a completion, and would overflow the stack of code that prints it. */
const MAX_DEPTH = 128;

/** Null if the text is not JSON. */
function parsed(text: string): Json {
  try {
    const value = JSON.parse(text) as Json;
    return isWithin(value, MAX_DEPTH) ? value : null;
  } catch {
    return null;
  }
}

const isWithin = (value: Json, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((member: Json) => isWithin(member, levels - 1)));

async function* bytesOf(answer: Response): AsyncGenerator<Uint8Array> {
  for await (const piece of answer.body ?? []) yield piece;
}
