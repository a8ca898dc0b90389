// The partner relay: a slug, tracked links under it, and counts of the visits. gateway/API.md §17.

import { definePlugin } from '../contract.ts';
import { layerRoutes } from '../layer-routes.ts';
import { carried, carry } from './carry.ts';
import { enrollRoute } from './enroll.ts';
import { partnerType } from './entries.ts';
import { linksOf } from './links.ts';
import { shownPartner } from './partner.ts';
import type { ShownPartner } from './partner.ts';
import { relayRoutes } from './routes.ts';

/** What the gateway gets from the relay. */
export interface RelayApi {
  /** The partner whose link led to a page, for its footer; null for a slug that nobody has. */
  readonly partner: (slug: string) => ShownPartner | null;
}

/** The plugin `relay`. */
export default definePlugin<RelayApi>({
  contract: 1,
  name: 'relay',
  title: 'Partner relay',
  types: [partnerType, carried],
  carry,
  routes(host) {
    const links = linksOf(host);
    return [
      ...layerRoutes({ host, file: 'relay.json', base: '/api/v1/relay', tag: 'relay' }),
      enrollRoute(host, links),
      ...relayRoutes(host, links),
    ];
  },
  api: (host) => ({ partner: (slug) => shownPartner(host, slug) }),
});
