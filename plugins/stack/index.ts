// The stack: a catalog of the eleven layers in order and of the two flows that connect them.
// gateway/API.md §15.

import { definePlugin, layerRoutes } from '../contract/index.ts';

/** The plugin `stack`. */
export default definePlugin({
  contract: 2,
  name: 'stack',
  title: 'Stack of layers',
  types: [],
  setup: (host) => ({
    routes: layerRoutes({ host, file: 'stack.json', base: '/api/v1/stack', tag: 'stack' }),
  }),
});
