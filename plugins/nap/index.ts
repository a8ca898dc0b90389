// The negative-act premium: acts that ended in BLOCK, HOLD, DENY or SILENCE have a premium toll. gateway/API.md §10.2.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { usageRoute } from './routes.ts';

/** The plugin `nap`. */
export default definePlugin({
  contract: 2,
  name: 'nap',
  title: 'Negative-act premium',
  requires: ['clear'],
  types: [],
  setup: (host) => ({
    routes: [
      ...layerRoutes({ host, file: 'nap.json', base: '/api/v1/nap', tag: 'nap' }),
      usageRoute(host),
    ],
  }),
});
