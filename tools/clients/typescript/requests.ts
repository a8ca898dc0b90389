// Sends requests: one Idempotency-Key for all tries of a POST, retries as the service asks for them, a timeout for each
// try. Uses nothing but fetch and WebCrypto, so that it runs in browsers, workers, Node.js, Deno and Bun.

import { isJsonObject } from '../../../log/verify.ts';
import type { Json, JsonObject } from '../../../log/verify.ts';
import { ApiError, ConnectionFailed } from './errors.ts';

/** How requests are sent. */
export interface Sending {
  readonly base: string;
  readonly key: string | undefined;
  readonly fetch: typeof fetch;
  /** How often a request is repeated after its first try. */
  readonly retries: number;
  /** Longest wait between two tries, in milliseconds. A longer `Retry-After` is an error. */
  readonly maxWaitMs: number;
  /** Longest time of one try, in milliseconds. */
  readonly timeoutMs: number;
  /** Seconds that a POST waits for the checkpoint that covers its entry. */
  readonly waitS: number;
}

/** Options of every call. */
export interface CallOptions {
  /** A POST has a random key unless one is given. 8 to 255 visible ASCII characters. */
  readonly idempotencyKey?: string;
  /** Ends the call, and any wait between its tries, with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Values of query parameters; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A request of one operation. */
export interface Sent extends CallOptions {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path, with its parameters filled in. */
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: unknown;
}

/** Statuses after which the same request may succeed. */
const RETRIED = [429, 502, 503, 504];
/** Codes after which the same request may succeed, whatever their status is. */
const RETRIED_CODES = ['idempotency_key_in_use', 'window_not_closed'];
/** A POST that creates something and takes no Idempotency-Key: it is not repeated unless it was refused by a limit. */
const WITHOUT_KEY = '/signal/trigger/subscriptions';

/** Whether the same request may succeed after this refusal. */
export const mayRepeat = ({ status, code }: ApiError): boolean =>
  RETRIED.includes(status) || RETRIED_CODES.includes(code);

/**
 * Sends a request until it is answered, and returns the text of the answer.
 *
 * @throws ApiError for a refusal, after the last try where a repetition could help
 * @throws ConnectionFailed if the last try had no answer
 */
export async function send(sending: Sending, sent: Sent): Promise<string> {
  const { method, path, signal } = sent;
  const url = new URL(sending.base + path);
  for (const [name, value] of Object.entries(sent.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const headers = new Headers({ accept: 'application/json, text/plain;q=0.9' });
  if (sending.key !== undefined) headers.set('x-api-key', sending.key);
  const isRepeatable = method !== 'POST' || path !== WITHOUT_KEY;
  const init: RequestInit = { method, headers };
  if (method === 'POST') {
    if (isRepeatable) headers.set('idempotency-key', sent.idempotencyKey ?? crypto.randomUUID());
    if (sending.waitS > 0) headers.set('prefer', `wait=${String(sending.waitS)}`);
    headers.set('content-type', 'application/json');
    init.body = JSON.stringify(sent.body ?? {});
  }
  for (let tried = 0; ; tried += 1) {
    const isLast = tried >= sending.retries;
    const answer = await attempt(sending, url, init, signal);
    if (ConnectionFailed.is(answer)) {
      if (isLast || !isRepeatable) throw answer;
      await pause(backoffMs(tried), signal);
      continue;
    }
    if (answer.status < 400) return answer.text;
    const error = errorOf(answer);
    const waitMs = error.retryAfterMs ?? backoffMs(tried);
    const mayHelp = mayRepeat(error) && (isRepeatable || error.status === 429);
    if (isLast || !mayHelp || waitMs > sending.maxWaitMs) throw error;
    await pause(waitMs, signal);
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/**
 * Sends a request and follows no redirect, which would carry the key to another address. The mode `error` of fetch does
 * the same, but Cloudflare's workers do not have it.
 *
 * @throws TypeError for a redirect, and what `send` throws
 */
export async function fetchHere(
  send: typeof fetch,
  url: URL,
  init: RequestInit,
): Promise<Response> {
  const response = await send(url, { ...init, redirect: 'manual' });
  const { type, status } = response;
  // Browsers hide the status of a redirect.
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    throw new TypeError('the service answered with a redirect, which the client does not follow');
  }
  return response;
}

/** One try. An abort by the caller is thrown; every other failure is returned as ConnectionFailed. */
async function attempt(
  { fetch: send, timeoutMs }: Sending,
  url: URL,
  init: RequestInit,
  signal: AbortSignal | undefined,
): Promise<Answer | ConnectionFailed> {
  signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    const response = await fetchHere(send, url, { ...init, signal: ended });
    const text = await response.text();
    return { status: response.status, retryAfter: response.headers.get('retry-after'), text };
  } catch (cause) {
    signal?.throwIfAborted();
    const why = timeout.aborted ? `no answer in ${String(timeoutMs)} ms` : messageOf(cause);
    return new ConnectionFailed(`${init.method ?? ''} ${url.pathname}: ${why}`, { cause });
  }
}

/** The message of an error and of what caused it: that of fetch alone says only that it failed. */
function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  return cause instanceof Error ? `${thrown.message}: ${cause.message}` : thrown.message;
}

/** 250 ms, doubled with each try up to 8 s, times a random factor between 0.5 and 1. */
const backoffMs = (tried: number): number =>
  Math.min(8000, 250 * 2 ** tried) * (0.5 + Math.random() / 2);

/** Waits, or ends with the reason of the signal. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function errorOf({ status, retryAfter, text }: Answer): ApiError {
  const error = parsed(text)?.error;
  return new ApiError(
    status,
    isJsonObject(error ?? null) ? (error as JsonObject) : {},
    waitOf(retryAfter),
  );
}

/** `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110 §10.2.3); null for anything else. */
function waitOf(retryAfter: string | null): number | null {
  if (retryAfter === null) return null;
  if (/^[0-9]{1,9}$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

/** The JSON object in a text; null for anything else. */
export function parsed(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * The JSON object in the text of an answer.
 *
 * @throws ApiError `unknown` for anything else
 */
export function objectIn(text: string): JsonObject {
  const value = parsed(text);
  if (value === null) throw new ApiError(200, { message: 'the answer is no JSON object' }, null);
  return value;
}
