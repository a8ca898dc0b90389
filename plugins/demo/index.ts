// The demonstrations: pages that tell what the layers do on real calls to the sandbox log, and the calls that visitors may
// make without a key.

import { definePlugin } from '../contract/index.ts';
import type { JsonObject } from '../contract/index.ts';
import { demoCalls } from './calls.ts';
import { demoPages } from './routes.ts';

/** The plugin `demo`. It appends nothing of its own. */
export default definePlugin({
  contract: 2,
  name: 'demo',
  title: 'Demonstrations',
  requires: ['classify', 'gate', 'restraint', 'pdtr', 'astl', 'absence', 'compliance', 'relay'],
  types: [],
  setup(host) {
    const { policy } = host.catalog('demo.json') as { readonly policy: JsonObject };
    return {
      pages: demoPages(host),
      pageFolder: new URL('./pages/', import.meta.url),
      menu: [{ path: '/demo/hero', name: 'Demo', lead: 'See it work' }],
      visitorRoutes: demoCalls(policy),
    };
  },
});
