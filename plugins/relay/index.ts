// The partner relay: partners enroll under a slug and get tracked links, whose visits are counted. gateway/API.md §17.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { carried, carry, partnerType } from './entries.ts';
import { enrollRoute } from './enroll.ts';
import { linksOf, shownPartner } from './links.ts';
import { relayRoutes } from './routes.ts';

/** The plugin `relay`. */
export default definePlugin({
  contract: 2,
  name: 'relay',
  title: 'Partner relay',
  types: [partnerType, carried],
  carry,
  setup(host) {
    const links = linksOf(host);
    return {
      routes: [
        ...layerRoutes({ host, file: 'relay.json', base: '/api/v1/relay', tag: 'relay' }),
        enrollRoute(host, links),
        ...relayRoutes(host, links),
      ],
      partner: (slug) => shownPartner(host, links, slug),
    };
  },
});
