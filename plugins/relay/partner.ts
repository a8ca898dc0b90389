// The partner whose link led to a page, as the page's footer shows it.

import { LOG_KINDS } from '../contract/index.ts';
import type { PluginHost } from '../contract/index.ts';
import { PARTNERS } from './entries.ts';
import type { Links } from './links.ts';

/** A partner in a footer. Its name is a commitment, so its slug is what there is to show. */
export interface ShownPartner {
  readonly name: string;
  readonly slug: string;
  readonly status_url: string;
}

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const LONGEST = 64;

/** The partner of a slug, in the live log before the sandbox; null where nobody has it. */
export function shownPartner(host: PluginHost, links: Links, slug: string): ShownPartner | null {
  if (slug.length > LONGEST || !SLUG.test(slug)) return null;
  for (const kind of LOG_KINDS) {
    if (host.logs(kind).some((log) => log.row(PARTNERS + slug) !== undefined)) {
      return { name: slug, slug, status_url: links.statusUrl(kind, slug) };
    }
  }
  return null;
}
