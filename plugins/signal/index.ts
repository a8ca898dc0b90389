// Signal: the reference data of the trigger rail, the feed of patterns over all tenants, the credits of governed acts,
// and what agents that pay by x402 discover here. gateway/API.md §16; the triggers themselves are the foundry's.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import classify from '../classify/index.ts';
import { DiscoverySettings, discoveryRoute } from './discovery.ts';
import { patternsRoute } from './patterns.ts';

/** The plugin `signal`. */
export default definePlugin({
  contract: 2,
  name: 'signal',
  title: 'Signal and discovery',
  requires: ['classify'],
  settings: DiscoverySettings,
  types: [],
  setup: (host) => ({
    routes: [
      ...layerRoutes({
        ...{ host, file: 'signal.json', base: '/signal', tag: 'signal' },
        path: '/signal/signal-catalog.json',
      }),
      ...layerRoutes({ host, file: 'credits.json', base: '/api/v1/gam/credits', tag: 'signal' }),
      patternsRoute(host, host.use(classify)),
      discoveryRoute(host),
    ],
  }),
});
