// The orchestration layer, for groups of agents: divides an amount by contribution (sharp.ts), propagates a liability
// through a graph of tools (backprop-route.ts), and adjusts a general average (general-average.ts). gateway/API.md
// §10.4.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { backpropRoute } from './backprop-route.ts';
import { declareRoute } from './general-average.ts';
import {
  averageType,
  backpropType,
  earlierTypes,
  graphType,
  ornErrors,
  sharpType,
} from './entries.ts';
import { registerRoute } from './graph.ts';
import { sharpRoute } from './sharp.ts';

/** The plugin `orn`. */
export default definePlugin({
  contract: 2,
  name: 'orn',
  title: 'Orchestration risk network',
  errors: ornErrors,
  types: [graphType, sharpType, backpropType, averageType, ...earlierTypes],
  setup: (host) => ({
    routes: [
      ...layerRoutes({ host, file: 'orn.json', base: '/api/v1/orn', tag: 'orn' }),
      registerRoute(),
      sharpRoute(host),
      backpropRoute(host),
      declareRoute(host),
    ],
  }),
});
