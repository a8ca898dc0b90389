// The guard for all outgoing requests (gateway/API.md §11). Requests to URLs of callers use https and go to public
// addresses only. Each connection uses the address that was checked for it, which prevents DNS rebinding. URLs that the
// operator configured may lead anywhere.

import { lookup, Resolver } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import type { Dispatcher } from 'undici';
import type { Egress } from '../../plugins/contract/index.ts';
import { mayConnect } from './address.ts';
import type { Network } from './address.ts';

/** Returns every address of a host name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** The settings for URLs that callers name. */
export interface EgressOptions {
  readonly allow_http: boolean;
  /** Private networks that are allowed nevertheless. */
  readonly networks: readonly Network[];
  /** Milliseconds for one whole exchange. */
  readonly timeout_ms: number;
  /** Connections to one host and port at a time. */
  readonly connections: number;
  /** Resolves host names. Default: DNS. */
  readonly resolve?: Resolve;
}

/** The parts of an answer that are used. */
export interface Posted {
  readonly status: number;
  /** The header Retry-After, as it came. */
  readonly retry_after: string | undefined;
}

/** The guard, with the method that only the gateway uses. */
export interface OpenEgress extends Egress {
  /** Posts to a URL that a caller named. At most 64 KiB of the answer are read, and discarded. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Posted>;
  close(): Promise<void>;
}

const BRAND = Symbol.for('actlog.EgressRefused');

/** A request that the guard refuses. The message is shown to the owner of the URL. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  readonly [BRAND] = true;
}

/** Whether a thrown value is an `EgressRefused`. */
export const isEgressRefused = (thrown: unknown): thrown is EgressRefused =>
  thrown instanceof Error && BRAND in thrown;

const MAX_ANSWER_BYTES = 65_536;
/** Addresses whose check is remembered, because the requests of a tenant usually name the same one. */
const MAX_ADDRESSES = 1000;
const CONNECT_TIMEOUT_MS = 10_000;
const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;
/** Below this port, only the ports of HTTP are allowed. */
const FIRST_FREE_PORT = 1024;

/** Opens the guard. `close` aborts requests in flight. */
export function openEgress(options: EgressOptions): OpenEgress {
  const names = openNames({ local: options.networks.length > 0 });
  const guarded = new Agent({
    connect: guardedConnector(options, options.resolve ?? names.resolve),
    connections: options.connections,
    headersTimeout: options.timeout_ms,
    bodyTimeout: options.timeout_ms,
    maxResponseSize: MAX_ANSWER_BYTES,
    keepAliveTimeout: 4000,
  });
  const checked = new LRUCache<string, { readonly refused: string | null }>({
    max: MAX_ADDRESSES,
    memoMethod: (url) => ({ refused: refusal(url, options) }),
  });
  const configured = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } });
  return {
    refusal: (url) => checked.memo(url).refused,
    async post(url, headers, body) {
      const { refused } = checked.memo(url);
      if (refused !== null) throw new EgressRefused(refused);
      return post(guarded, url, { headers, body, timeout_ms: options.timeout_ms });
    },
    configured: ((input: string, init: object = {}) =>
      undiciFetch(input, {
        ...init,
        redirect: 'error',
        dispatcher: configured,
        // The types of undici and of the global fetch differ, but describe the same function.
      })) as unknown as typeof fetch,
    async close() {
      names.close();
      await Promise.all([guarded.destroy(), configured.destroy()]);
    },
  };
}

function refusal(text: string, { allow_http, networks }: EgressOptions): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const https = url?.protocol === 'https:';
  if (url === null || (!https && !(allow_http && url.protocol === 'http:'))) {
    return `must be an ${allow_http ? 'http or https' : 'https'} address`;
  }
  if (url.username !== '' || url.password !== '') return 'must have no credentials';
  const port = url.port === '' ? null : Number(url.port);
  if (port !== null && port < FIRST_FREE_PORT && port !== 443 && !(allow_http && port === 80)) {
    return `names port ${String(port)}, which is not for HTTP`;
  }
  const host = withoutBrackets(url.hostname);
  if (isIP(host) !== 0 && !mayConnect(host, networks)) return 'names an address that is not public';
  return null;
}

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/**
 * Connects to checked addresses only: to a literal address directly, to a name through the checked DNS answers that are
 * passed to the socket.
 */
function guardedConnector(
  { networks, timeout_ms }: EgressOptions,
  resolve: Resolve,
): buildConnector.connector {
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

/** A resolver, and a function that cancels its queries. */
export interface Names {
  readonly resolve: Resolve;
  close(): void;
}

/** How names are resolved. */
export interface NamesOptions {
  /** Whether local names are allowed, such as those of the hosts file. */
  readonly local: boolean;
  /** Name servers. Default: those of the system. */
  readonly servers?: readonly string[];
}

/**
 * Opens a resolver that sends its own DNS queries. The resolver of the system (`dns.lookup`) occupies a libuv thread
 * for each query, so a few dozen names whose servers never answer would delay every other lookup and file access.
 */
export function openNames({ local, servers }: NamesOptions): Names {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const query: Resolve = async (hostname) => {
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    const addresses = [...addressesOf(four, 4), ...addressesOf(six, 6)];
    if (addresses.length > 0) return addresses;
    const failures = [four, six].flatMap((one): unknown[] =>
      one.status === 'rejected' ? [one.reason] : [],
    );
    throw failures.find((reason) => !isMissing(reason)) ?? failures[0];
  };
  return {
    async resolve(hostname) {
      if (!local) return query(hostname);
      if (!hostname.includes('.')) return lookup(hostname, { all: true });
      try {
        return await query(hostname);
      } catch (error) {
        if (isMissing(error)) return lookup(hostname, { all: true });
        throw error;
      }
    },
    close: () => {
      resolver.cancel();
    },
  };
}

const addressesOf = (
  found: PromiseSettledResult<readonly string[]>,
  family: 4 | 6,
): LookupAddress[] =>
  found.status === 'rejected' ? [] : found.value.map((address) => ({ address, family }));

/** These codes mean that the name does not exist or has no address of this kind. Any other code is a failed query. */
const isMissing = (reason: unknown): boolean =>
  ['ENOTFOUND', 'ENODATA'].includes((reason as NodeJS.ErrnoException).code ?? '');

interface Posting {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Milliseconds for the lookup, the connection and the whole answer. */
  readonly timeout_ms: number;
}

/**
 * Sends a POST and discards the body of the answer. It uses `dispatch` of undici, because the streams and abort signals
 * of `fetch` cost more than the request (`npm run bench`, webhooks).
 *
 * Resolves at the end of the answer. Rejects with a TimeoutError or with the error of the connection.
 */
function post(
  dispatcher: Dispatcher,
  url: string,
  { headers, body, timeout_ms }: Posting,
): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const { origin, pathname, search } = new URL(url);
    let answer: Posted | null = null;
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
