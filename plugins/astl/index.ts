// The attempt surface transparency log: manifests, heartbeats, and the feed of manifests. Its entry types are built
// into the log. gateway/API.md §9.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { lookupRoutes } from './lookup.ts';
import { publishRoutes } from './publish.ts';
import { verifyRoutes } from './verify.ts';

/** The plugin `astl`. */
export default definePlugin({
  contract: 2,
  name: 'astl',
  title: 'Attempt surface transparency log',
  types: [],
  setup: (host) => ({
    routes: [
      ...layerRoutes({ host, file: 'astl.json', base: '/api/v1/astl', tag: 'astl' }),
      ...publishRoutes(host),
      ...lookupRoutes(host),
      ...verifyRoutes(host),
    ],
  }),
});
