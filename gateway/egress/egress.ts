// The guard for all outgoing requests (gateway/API.md §11). Requests to URLs of callers use https and go to public
// addresses only, on a thread of their own (posting.ts). URLs that the operator configured may lead anywhere.

import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { Agent, fetch as undiciFetch } from 'undici';
import { WorkerPool } from '../../log/index.ts';
import type { Egress } from '../../plugins/contract/index.ts';
import { mayConnect, parseNetwork, withoutBrackets } from './address.ts';
import type { Network } from './address.ts';
import { CONNECT_TIMEOUT_MS, refusedBecause, threadJobs } from './posting.ts';
import type { Posted, Posting, PostingOptions } from './posting.ts';

/** The settings for URLs that callers name. */
export interface EgressOptions extends PostingOptions {
  readonly allow_http: boolean;
  /** Whether a thread sends the requests. It starts with the first. There is none with `resolve`, which it could not call. */
  readonly thread: boolean;
}

/** The guard, with the method that only the gateway uses. */
export interface OpenEgress extends Egress {
  /** Posts to a URL that a caller named. At most 64 KiB of the answer are read, and discarded. */
  post(posting: Posting): Promise<Posted>;
  close(): Promise<void>;
}

/** Addresses whose check is remembered, because the requests of a tenant usually name the same one. */
const MAX_ADDRESSES = 1000;
/** Below this port, only the ports of HTTP are allowed. */
const FIRST_FREE_PORT = 1024;

/** Opens the guard. `close` aborts requests in flight. */
export function openEgress({ allow_http, thread, ...options }: EgressOptions): OpenEgress {
  const rules = { allow_http, networks: options.networks.map(parseNetwork) };
  const checked = new LRUCache<string, { readonly refused: string | null }>({
    max: MAX_ADDRESSES,
    memoMethod: (url) => ({ refused: refusal(url, rules) }),
  });
  const configured = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } });
  const pool = new WorkerPool(threadJobs, {
    name: 'webhook',
    threads: thread && options.resolve === undefined ? 1 : 0,
    prepare: (tell) => {
      tell('open', options);
    },
  });
  let used = false;
  return {
    refusal: (url) => checked.memo(url).refused,
    async post(posting) {
      const { refused } = checked.memo(posting.url);
      if (refused !== null) return { failed: refusedBecause(refused) };
      used = true;
      return pool
        .run('post', posting)
        .catch((error: unknown) => ({ failed: `failed: ${(error as Error).message}` }));
    },
    configured: ((input: string, init: object = {}) =>
      undiciFetch(input, {
        ...init,
        redirect: 'error',
        dispatcher: configured,
        // The types of undici and of the global fetch differ, but describe the same function.
      })) as unknown as typeof fetch,
    async close() {
      // A thread is not started only to close it; a second close finds the pool closed.
      if (used) await pool.run('close', undefined).catch(() => undefined);
      await Promise.all([pool.close(), configured.destroy()]);
    },
  };
}

interface Rules {
  readonly allow_http: boolean;
  readonly networks: readonly Network[];
}

function refusal(text: string, { allow_http, networks }: Rules): string | null {
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
