// The one guard for everything that leaves the server. What a caller named goes out over https, to public
// addresses only, each connection to an address that was judged for it, so that a name which changes its mind
// gains nothing (DNS rebinding). What the operator configured may be anywhere. gateway/API.md §11.

import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import type { Egress } from '../../plugins/contract/index.ts';
import { mayConnect } from './address.ts';
import type { Network } from './address.ts';
import { openNames } from './names.ts';
import type { Resolve } from './names.ts';
import { posted } from './posted.ts';
import type { Posted } from './posted.ts';

export type { Resolve } from './names.ts';

/** What the configuration says of addresses that come with requests. */
export interface EgressOptions {
  readonly allow_http: boolean;
  /** Networks that are not public and may be asked all the same. */
  readonly networks: readonly Network[];
  /** For one whole exchange. */
  readonly timeout_ms: number;
  /** Connections to one host and port at a time. */
  readonly connections: number;
  /** DNS unless given. */
  readonly resolve?: Resolve;
}

/** The guard, with the way out that only the gateway uses. */
export interface OpenEgress extends Egress {
  /** Posts to an address that came with a request. Its answer is read up to 64 KiB and thrown away. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Posted>;
  close(): Promise<void>;
}

/** A request that the guard does not let out; the message is for whom the address belongs to. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
}

const MAX_ANSWER_BYTES = 65_536;
const CONNECT_TIMEOUT_MS = 10_000;
/** Services on these ports speak something else than HTTP. */
const FIRST_FREE_PORT = 1024;

/** Opens the guard; `close` ends what is under way. */
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
  const configured = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } });
  return {
    refusal: (url) => refusal(url, options),
    async post(url, headers, body) {
      const refused = refusal(url, options);
      if (refused !== null) throw new EgressRefused(refused);
      return posted(guarded, url, { headers, body, timeout_ms: options.timeout_ms });
    },
    configured: ((input: string, init: object = {}) =>
      undiciFetch(input, {
        ...init,
        redirect: 'error',
        dispatcher: configured,
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
  const host = bare(url.hostname);
  if (isIP(host) !== 0 && !mayConnect(host, networks)) return 'names an address that is not public';
  return null;
}

const bare = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** Connects to what it has judged: a literal at once, a name by the answers that it hands to the socket. */
function guardedConnector(
  { networks, timeout_ms }: EgressOptions,
  resolve: Resolve,
): buildConnector.connector {
  const judgedLookup: LookupFunction = (hostname, { all }, callback) => {
    resolve(hostname).then(
      (answers) => {
        const [first] = answers;
        // One private answer among public ones is a trick, or a mistake that would come and go.
        if (first === undefined || answers.some(({ address }) => !mayConnect(address, networks))) {
          callback(new EgressRefused('resolves to an address that is not public'), '');
        } else if (all === true) callback(null, [...answers]);
        else callback(null, first.address, first.family);
      },
      (cause: unknown) => callback(unresolved(cause), ''),
    );
  };
  const connect = buildConnector({
    timeout: Math.min(CONNECT_TIMEOUT_MS, timeout_ms),
    lookup: judgedLookup,
    autoSelectFamily: true,
  });
  return (asked, callback) => {
    const host = bare(asked.hostname);
    // The lookup is never asked about a literal.
    if (isIP(host) !== 0 && !mayConnect(host, networks)) {
      callback(new EgressRefused('names an address that is not public'), null);
    } else connect(asked, callback);
  };
}

const unresolved = (cause: unknown): Error =>
  cause instanceof Error ? cause : new Error('the name does not resolve', { cause });
