// Sends calls that a program makes at the same time as batches (gateway/API.md §4.5): one request, one authentication, one
// connection. Each line has the Idempotency-Key that its call would have had alone. A call whose line has no final answer,
// for whatever reason, is sent alone with the same key, so that a batch changes what calls cost and not what they do.

import { isJsonObject } from '../../../log/verify.ts';
import type { Json, JsonObject } from '../../../log/verify.ts';
import { ApiError } from './errors.ts';
import { fetchHere, mayRepeat, objectIn, parsed, send } from './requests.ts';
import type { Sending, Sent } from './requests.ts';

/** The operations that answer batches. */
export const BATCHED: readonly string[] = [
  '/api/v1/anchors',
  '/api/v1/astl/heartbeat',
  '/api/v1/bind-payment',
  '/api/v1/classify',
  '/api/v1/execute-gate',
  '/api/v1/restraint',
];

/** Most lines of a batch, and most characters of its body, well below the default of MAX_BATCH_BYTES. */
const MAX_LINES = 1000;
const MAX_CHARACTERS = 2 * 1024 * 1024;

/** A call that waits for its answer. */
interface Call {
  readonly sent: Sent & { readonly idempotencyKey: string };
  readonly text: string;
  readonly resolve: (answer: JsonObject | Promise<JsonObject>) => void;
  readonly reject: (error: ApiError) => void;
}

/** The calls of one client. */
export class Batches {
  readonly #sending: Sending;
  /** Calls that were made since the program last waited, by path. */
  readonly #made = new Map<string, Call[]>();
  /** Paths for which the service answers no batches: it is older than this client. */
  readonly #alone = new Set<string>();

  constructor(sending: Sending) {
    this.#sending = sending;
  }

  /**
   * Sends a request, in a batch if others of its operation are made at the same time.
   *
   * @throws as `send`
   */
  answer(sent: Sent): Promise<JsonObject> {
    const { method, path, query, signal } = sent;
    const isLine = signal === undefined && query === undefined && isJsonObject(sent.body as Json);
    const hasBatch = method === 'POST' && BATCHED.includes(path) && !this.#alone.has(path);
    if (!isLine || !hasBatch) return this.#one(sent);
    const idempotencyKey = sent.idempotencyKey ?? crypto.randomUUID();
    const text = JSON.stringify({ ...(sent.body as object), idempotency_key: idempotencyKey });
    return new Promise((resolve, reject) => {
      const call = { sent: { ...sent, idempotencyKey }, text, resolve, reject };
      const made = this.#made.get(path);
      if (made !== undefined) {
        made.push(call);
        return;
      }
      this.#made.set(path, [call]);
      // After this, every function that the same event has woken has made its calls.
      queueMicrotask(() => this.#send(path));
    });
  }

  async #one(sent: Sent): Promise<JsonObject> {
    return objectIn(await send(this.#sending, sent));
  }

  #send(path: string): void {
    const calls = this.#made.get(path) ?? [];
    this.#made.delete(path);
    for (const batch of batchesOf(calls)) void this.#sendBatch(path, batch);
  }

  async #sendBatch(path: string, calls: readonly Call[]): Promise<void> {
    const open = new Map(calls.map((call, i) => [i + 1, call]));
    try {
      if (calls.length > 1) {
        for await (const line of this.#lines(path, calls)) {
          const number = Number(line.line);
          const call = open.get(number);
          if (call !== undefined && settle(call, line)) open.delete(number);
        }
      }
    } catch (error) {
      if (ApiError.is(error)) {
        for (const { reject } of open.values()) reject(error);
        return;
      }
      // The connection broke or the time passed: the calls without an answer are sent alone, which tells why.
    }
    for (const { sent, resolve } of open.values()) resolve(this.#one(sent));
  }

  /**
   * The lines of the answer, as they arrive; none if the service does not take the batch.
   *
   * @throws ApiError if it refuses the key, so that it would refuse each call
   */
  async *#lines(path: string, calls: readonly Call[]): AsyncGenerator<JsonObject> {
    const { base, key, fetch: request, timeoutMs, waitS } = this.#sending;
    const headers = new Headers({ 'content-type': 'application/x-ndjson' });
    if (key !== undefined) headers.set('x-api-key', key);
    if (waitS > 0) headers.set('prefer', `wait=${String(waitS)}`);
    const response = await fetchHere(request, new URL(`${base}${path}/batch`), {
      ...{ method: 'POST', headers, signal: AbortSignal.timeout(timeoutMs) },
      body: calls.map(({ text }) => `${text}\n`).join(''),
    });
    const { status } = response;
    if (!response.ok || response.body === null) {
      if (status === 401 || status === 403) throw refusalOf(status, parsed(await response.text()));
      if (status === 404 || status === 405) this.#alone.add(path);
      await response.body?.cancel();
      return;
    }
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const line = parsed(part);
        if (line !== null) yield line;
      }
    }
  }
}

/** Ends a call with the answer of its line; false if the call is to be repeated, or the line is no answer. */
function settle({ resolve, reject }: Call, { status, body = null }: JsonObject): boolean {
  if (typeof status !== 'number' || !isJsonObject(body)) return false;
  if (status < 400) {
    resolve(body);
    return true;
  }
  const refusal = refusalOf(status, body);
  if (mayRepeat(refusal)) return false;
  reject(refusal);
  return true;
}

function refusalOf(status: number, envelope: JsonObject | null): ApiError {
  const error = envelope?.error ?? null;
  return new ApiError(status, isJsonObject(error) ? error : {}, null);
}

/** The calls in batches that the service accepts. */
function batchesOf(calls: readonly Call[]): Call[][] {
  const batches: Call[][] = [];
  let characters = Infinity;
  for (const call of calls) {
    const last = batches.at(-1);
    characters += call.text.length;
    if (last === undefined || last.length === MAX_LINES || characters > MAX_CHARACTERS) {
      batches.push([call]);
      characters = call.text.length;
    } else last.push(call);
  }
  return batches;
}
