// The partner relay: a slug, tracked links under it, and counts of the visits. interface.md, partner relay.

import { definePlugin } from '../contract.ts';
import { layerRoutes } from '../layer-routes.ts';
import { enrollRoute } from './enroll.ts';
import { partnerType } from './entries.ts';
import { linksOf } from './links.ts';
import { relayRoutes } from './routes.ts';

/** The plugin `relay`. */
export default definePlugin({
  contract: 1,
  name: 'relay',
  title: 'Partner relay',
  types: [partnerType],
  routes(host) {
    const links = linksOf(host);
    return [
      ...layerRoutes({ host, file: 'relay.json', base: '/api/v1/relay', tag: 'relay' }),
      enrollRoute(host, links),
      ...relayRoutes(host, links),
    ];
  },
});
