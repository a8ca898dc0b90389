// Compliance: events of AI systems under Article 12 of the EU AI Act, the report over a session of them, and the
// NAIC exhibit pack. gateway/API.md §12.1, §12.2.

import { definePlugin } from '../contract/index.ts';
import { eventType, packType, reportType } from './entries.ts';
import { eventRoute } from './event.ts';
import { documentRoutes } from './routes.ts';

/** The plugin `compliance`. */
export default definePlugin({
  contract: 2,
  name: 'compliance',
  title: 'Compliance',
  requires: ['restraint'],
  types: [eventType, reportType, packType],
  setup: (host) => ({ routes: [eventRoute(host), ...documentRoutes(host)] }),
});
