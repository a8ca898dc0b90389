// The issuer-pays index: listings of receipt issuers, and a scoreboard with criteria that anyone can apply to an entry.
// gateway/API.md §15.1, §17.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { carried, carry, listingRoutes, listingType } from './listings.ts';
import { scoreboardRoute } from './routes.ts';

/** The plugin `issuer-pays`. */
export default definePlugin({
  contract: 2,
  name: 'issuer-pays',
  title: 'Issuer-pays index',
  types: [listingType, carried],
  carry,
  setup: (host) => ({
    routes: [
      ...layerRoutes({
        ...{ host, file: 'issuer-pays.json', base: '/api/v1/issuer-pays' },
        tag: 'issuer-pays',
      }),
      ...listingRoutes(host),
      scoreboardRoute(host),
    ],
  }),
});
