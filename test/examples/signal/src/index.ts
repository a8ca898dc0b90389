// The built-in layer `signal`, rebuilt on `actlog/plugin` alone. It replaces the built-in one and gives the same
// answers.

import { definePlugin, layerRoutes } from 'actlog/plugin';
import { Type } from 'typebox';
import { discoveryRoute } from './discovery.ts';
import { patternsRoute } from './patterns.ts';
import type { Patterns } from './patterns.ts';

export default definePlugin({
  contract: 2,
  name: 'signal',
  title: 'Signal and discovery',
  requires: ['classify'],
  settings: Type.Object({
    X402_OWNERSHIP_PROOFS: Type.Optional(
      Type.String({
        title: 'comma list',
        pattern: '^0x[0-9a-fA-F]+(,0x[0-9a-fA-F]+)*$',
        description:
          'Signatures of the paying addresses over this origin, with commas between, for /.well-known/x402.',
      }),
    ),
  }),
  types: [],
  setup: (host) => ({
    routes: [
      ...layerRoutes({
        ...{ host, file: 'signal.json', base: '/signal', tag: 'signal' },
        path: '/signal/signal-catalog.json',
      }),
      ...layerRoutes({ host, file: 'credits.json', base: '/api/v1/gam/credits', tag: 'signal' }),
      patternsRoute(host, host.use<Patterns>({ name: 'classify' })),
      discoveryRoute(host),
    ],
  }),
});
