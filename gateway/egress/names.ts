// Resolves host names from URLs of callers.

import { lookup, Resolver } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';

/** Returns every address of a host name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;

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
