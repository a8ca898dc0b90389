// The actuation foundry: readings of the world become an aggregate, an aggregate fires an obligation, and each
// step leaves a receipt. interface.md, Foundry; behaviour.md §10.5 to §10.9.

import { definePlugin } from '../contract.ts';
import { aggregateType, resolutionType } from './oracle/entries.ts';
import { oracleRoutes } from './oracle/routes.ts';

/** The plugin `foundry`. */
export default definePlugin({
  contract: 1,
  name: 'foundry',
  title: 'Actuation foundry',
  types: [aggregateType, resolutionType],
  routes: (host) => [...oracleRoutes(host)],
});
