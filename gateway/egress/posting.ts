// Requests to URLs of callers (gateway/API.md §11), for a thread of their own: handshakes and slow receivers take no time
// from the event loop that answers requests. Each connection uses an address that was checked for it, which prevents DNS
// rebinding.

import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import { mayConnect, parseNetwork, withoutBrackets } from './address.ts';
import { openNames } from './names.ts';
import type { Resolve } from './names.ts';

/** How requests are sent. Without `resolve` it can be passed to a thread. */
export interface PostingOptions {
  /** Private networks that are allowed nevertheless, in CIDR notation. */
  readonly networks: readonly string[];
  /** Milliseconds for one whole exchange: the lookup, the connection and the answer. */
  readonly timeout_ms: number;
  /** Connections to one host and port at a time. */
  readonly connections: number;
  /** Resolves host names. Default: DNS. */
  readonly resolve?: Resolve;
}

/** A request. */
export interface Posting {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The parts of an answer that are used. */
export interface Answered {
  readonly status: number;
  /** The header Retry-After, as it came. */
  readonly retry_after: string | undefined;
}

/** How a request ended. The reason of a failure names neither the URL nor the addresses that its host resolves to. */
export type Posted = Answered | { readonly failed: string };

const MAX_ANSWER_BYTES = 65_536;
export const CONNECT_TIMEOUT_MS = 10_000;

/** A connection that the guard refuses. */
class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
}

/** The reason of a request that the guard refuses. */
export const refusedBecause = (what: string): string => `refused: the address ${what}`;

/** The jobs of the thread. `open` comes before every `post`; `close` aborts the requests in flight. */
export const threadJobs = {
  url: import.meta.url,
  make: () => {
    let guard: ReturnType<typeof openGuard> | null = null;
    return {
      open: {
        run: (options: PostingOptions): void => {
          guard ??= openGuard(options);
        },
      },
      post: {
        run: async (posting: Posting): Promise<Posted> => {
          if (guard === null) throw new Error('the guard is not open');
          try {
            return await guard.post(posting);
          } catch (error) {
            return { failed: reasonOf(error) };
          }
        },
      },
      close: {
        run: async (): Promise<void> => {
          await guard?.close();
        },
      },
    };
  },
};

function openGuard(options: PostingOptions) {
  const { timeout_ms, connections } = options;
  const names = openNames({ local: options.networks.length > 0 });
  const agent = new Agent({
    connect: guardedConnector(options, options.resolve ?? names.resolve),
    connections,
    headersTimeout: timeout_ms,
    bodyTimeout: timeout_ms,
    maxResponseSize: MAX_ANSWER_BYTES,
    keepAliveTimeout: 4000,
  });
  return {
    post: (posting: Posting) => post(agent, posting, timeout_ms),
    close: async () => {
      names.close();
      await agent.destroy();
    },
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof EgressRefused) return refusedBecause(error.message);
  if (!(error instanceof Error)) return 'failed';
  if (error.name === 'TimeoutError') return 'did not answer in time';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `failed: ${code}` : 'failed';
}

/**
 * Connects to checked addresses only: to a literal address directly, to a name through the checked DNS answers that are
 * passed to the socket.
 */
function guardedConnector(
  { networks: texts, timeout_ms }: PostingOptions,
  resolve: Resolve,
): buildConnector.connector {
  const networks = texts.map(parseNetwork);
  const checkedLookup: LookupFunction = (hostname, { all }, callback) => {
    resolve(hostname).then(
      (answers) => {
        const [first] = answers;
        // A private address among public ones is an attack or a mistake, so the whole name is refused.
        if (first === undefined || answers.some(({ address }) => !mayConnect(address, networks))) {
          callback(new EgressRefused('resolves to an address that is not public'), '');
        } else if (all === true) callback(null, [...answers]);
        else callback(null, first.address, first.family);
      },
      (cause: unknown) => {
        const error =
          cause instanceof Error ? cause : new Error('the name does not resolve', { cause });
        callback(error, '');
      },
    );
  };
  const connect = buildConnector({
    timeout: Math.min(CONNECT_TIMEOUT_MS, timeout_ms),
    lookup: checkedLookup,
    autoSelectFamily: true,
  });
  return (target, callback) => {
    const host = withoutBrackets(target.hostname);
    // A literal address is connected without a lookup.
    if (isIP(host) !== 0 && !mayConnect(host, networks)) {
      callback(new EgressRefused('names an address that is not public'), null);
    } else connect(target, callback);
  };
}

/**
 * Sends a POST and discards the body of the answer. It uses `dispatch` of undici, because the streams and abort signals
 * of `fetch` cost more than the request (`npm run bench`, webhooks).
 *
 * Resolves at the end of the answer. Rejects with a TimeoutError, with an `EgressRefused` or with the error of the connection.
 */
function post(
  dispatcher: Dispatcher,
  { url, headers, body }: Posting,
  timeout_ms: number,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const { origin, pathname, search } = new URL(url);
    let answer: Answered | null = null;
    let controller: Dispatcher.DispatchController | null = null;
    let late: Error | null = null;
    const timer = setTimeout(() => {
      late = new DOMException('the receiver did not answer in time', 'TimeoutError');
      controller?.abort(late);
      reject(late);
    }, timeout_ms);
    dispatcher.dispatch(
      { origin, path: pathname + search, method: 'POST', headers, body },
      {
        onRequestStart(started) {
          controller = started;
          if (late !== null) started.abort(late);
        },
        onResponseStart(_, status, { 'retry-after': retry }) {
          answer = { status, retry_after: typeof retry === 'string' ? retry : undefined };
        },
        onResponseData() {
          // Discarded.
        },
        onResponseEnd() {
          clearTimeout(timer);
          if (answer !== null) resolve(answer);
        },
        onResponseError(_, error) {
          clearTimeout(timer);
          // The status is known already: a body over the limit closes the connection, but is not an error.
          const { code } = error as { code?: string };
          if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' && answer !== null) resolve(answer);
          else reject(error);
        },
      },
    );
  });
}
