// A partner's tracked links, their visit counters, and the partner in the footer of pages.

import { LOG_KINDS, SLUG } from '../contract/index.ts';
import type { Kind, PluginHost } from '../contract/index.ts';
import { PARTNERS } from './entries.ts';

interface Target {
  readonly target: string;
  readonly path: string;
}

/** A tracked link in answers. */
export interface TrackedLink extends Target {
  readonly url: string;
  readonly visits: number;
}

/** The tracked links of a gateway. */
export interface Links {
  /** The path of a target; undefined for an unknown target. */
  pathOf(target: string): string | undefined;
  of(kind: Kind, slug: string): readonly TrackedLink[];
  statusUrl(kind: Kind, slug: string): string;
  /** Counts a visit. Resolves when the count is on disk. */
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

/** A partner in a footer, shown by its slug because its name is a commitment. */
export interface ShownPartner {
  readonly name: string;
  readonly slug: string;
  readonly status_url: string;
}

const SLUG_PATTERN = new RegExp(SLUG);
const LONGEST = 64;

/** The partner with this slug, from the live log or else from the sandbox; null if there is none. */
export function shownPartner(host: PluginHost, links: Links, slug: string): ShownPartner | null {
  if (slug.length > LONGEST || !SLUG_PATTERN.test(slug)) return null;
  for (const kind of LOG_KINDS) {
    if (host.logs(kind).some((log) => log.row(PARTNERS + slug) !== undefined)) {
      return { name: slug, slug, status_url: links.statusUrl(kind, slug) };
    }
  }
  return null;
}
