// The issuer-pays index: what a listing costs, and the scoreboard, whose criteria anyone applies to an entry of
// their choice. gateway/API.md §17.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { scoreboardRoute } from './routes.ts';

/** The plugin `issuer-pays`. */
export default definePlugin({
  contract: 2,
  name: 'issuer-pays',
  title: 'Issuer-pays index',
  types: [],
  setup: (host) => ({
    routes: [
      ...layerRoutes({
        ...{ host, file: 'issuer-pays.json', base: '/api/v1/issuer-pays' },
        tag: 'issuer-pays',
      }),
      scoreboardRoute(host),
    ],
  }),
});
