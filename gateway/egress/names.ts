// How names that come with requests are resolved: by asking DNS itself. The system's resolver works on two threads of
// the process, and a name whose server never answers keeps one of them for ten seconds: a few dozen such names would
// hold up whatever else the service wants to reach. gateway/API.md §11.

import { lookup, Resolver } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';

/** Every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** A resolver, and the end of what it is asking. */
export interface Names {
  readonly resolve: Resolve;
  close(): void;
}

/** How names are asked for. */
export interface NamesOptions {
  /** Whether names may be the machine's or its network's own, such as those of its hosts file. */
  readonly local: boolean;
  /** Name servers; the system's unless given. */
  readonly servers?: readonly string[];
}

const TIMEOUT_MS = 2000;
const TRIES = 2;

/** Opens a resolver. */
export function openNames({ local, servers }: NamesOptions): Names {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const asked: Resolve = async (hostname) => {
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
      if (!local) return asked(hostname);
      if (!hostname.includes('.')) return lookup(hostname, { all: true });
      try {
        return await asked(hostname);
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

/** The name is not there, or has no address of the kind; anything else is trouble on the way. */
const isMissing = (reason: unknown): boolean =>
  ['ENOTFOUND', 'ENODATA'].includes((reason as NodeJS.ErrnoException).code ?? '');
