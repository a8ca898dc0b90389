// A partner's tracked links, and how often each was followed.

import type { Kind, PluginHost } from '../contract/index.ts';

interface Target {
  readonly target: string;
  readonly path: string;
}

/** A tracked link as answers show it. */
export interface TrackedLink extends Target {
  readonly url: string;
  readonly visits: number;
}

/** The links of one gateway. */
export interface Links {
  /** The path that a target leads to; undefined for a target that the catalog does not know. */
  pathOf(target: string): string | undefined;
  of(kind: Kind, slug: string): readonly TrackedLink[];
  statusUrl(kind: Kind, slug: string): string;
  /** Counts a visit; resolves when it is on disk. */
  count(kind: Kind, slug: string, target: string): Promise<void>;
  /** Visits of each target, of all partners of a log. */
  visits(kind: Kind): Readonly<Record<string, number>>;
}

/** The links that catalogs/relay.json declares. */
export function linksOf(host: PluginHost): Links {
  const { track_targets } = host.catalog('relay.json') as unknown as {
    readonly track_targets: readonly Target[];
  };
  const paths = new Map(track_targets.map(({ target, path }) => [target, path]));
  const { counters } = host;
  const visit = (kind: Kind, slug: string, target: string): string =>
    `${kind}/partner/${slug}/${target}`;
  const total = (kind: Kind, target: string): string => `${kind}/total/${target}`;
  const address = (kind: Kind, slug: string, last: string): string =>
    host.url(`/go/${slug}/${last}${kind === 'sandbox' ? '?log=sandbox' : ''}`);
  return {
    pathOf: (target) => paths.get(target),
    of: (kind, slug) =>
      track_targets.map(({ target, path }) => ({
        target,
        path,
        url: address(kind, slug, target),
        visits: counters.get(visit(kind, slug, target)),
      })),
    statusUrl: (kind, slug) => address(kind, slug, 'status'),
    async count(kind, slug, target) {
      await Promise.all([
        counters.add(visit(kind, slug, target)),
        counters.add(total(kind, target)),
      ]);
    },
    visits: (kind) =>
      Object.fromEntries(
        track_targets.map(({ target }) => [target, counters.get(total(kind, target))]),
      ),
  };
}
