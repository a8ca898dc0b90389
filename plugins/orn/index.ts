// The orchestration layer: who of a swarm of agents contributed what, who carries a liability, who bears a sacrifice.
// gateway/API.md §10.4.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { backpropRoute } from './backprop-route.ts';
import { declareRoute } from './general-average.ts';
import { averageType, backpropType, ornErrors, sharpType } from './entries.ts';
import { sharpRoute } from './sharp.ts';

/** The plugin `orn`. */
export default definePlugin({
  contract: 2,
  name: 'orn',
  title: 'Orchestration risk network',
  errors: ornErrors,
  types: [sharpType, backpropType, averageType],
  setup: (host) => ({
    routes: [
      ...layerRoutes({ host, file: 'orn.json', base: '/api/v1/orn', tag: 'orn' }),
      sharpRoute(host),
      backpropRoute(host),
      declareRoute(host),
    ],
  }),
});
