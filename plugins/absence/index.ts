// The absence exchange: witnesses that prove the absence of entries, the list of a tenant's witnesses, spoliation
// reports, and the complete list of a session's entries. gateway/API.md §9.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { Wording } from './document.ts';
import { earlierWitnessType, reportType, witnessType } from './entries.ts';
import { ledgerRoutes } from './ledger.ts';
import { askRoutes } from './ask.ts';
import { sessionRoute } from './sessions.ts';
import { spoliationRoute } from './spoliation.ts';
import { witnessRoute } from './witness.ts';

/** The plugin `absence`. */
export default definePlugin({
  contract: 2,
  name: 'absence',
  title: 'Absence exchange',
  types: [witnessType, earlierWitnessType, reportType],
  setup(host) {
    const wording = new Wording();
    return {
      pageFolder: new URL('./pages/', import.meta.url),
      routes: [
        ...layerRoutes({ host, file: 'absence.json', base: '/api/v1/absence', tag: 'absence' }),
        witnessRoute(host, wording),
        ...ledgerRoutes(host, wording),
        spoliationRoute(host),
        sessionRoute(host),
        ...askRoutes(host, wording),
      ],
      menu: [{ path: '/ask', name: 'Ask', lead: 'Did something happen, or not?' }],
    };
  },
});
