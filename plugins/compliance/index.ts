// Compliance: events of AI systems under Article 12 of the EU AI Act, the report over a session of them, and the
// NAIC exhibit pack. gateway/API.md §12.1, §12.2.

import { definePlugin } from '../contract/index.ts';
import { assess } from './assess.ts';
import type { ComplianceApi } from './assess.ts';
import { clockRoute } from './clock.ts';
import { eventType, packType, reportType } from './entries.ts';
import { eventRoute } from './event.ts';
import { documentRoutes } from './routes.ts';
import { sealedVerifier } from './verify.ts';

export type { Assessment, ComplianceApi } from './assess.ts';
export type { Item } from './checklist.ts';
export type { Evidence } from './session.ts';

/** The plugin `compliance`. */
export default definePlugin<ComplianceApi>({
  contract: 2,
  name: 'compliance',
  title: 'Compliance',
  requires: ['restraint'],
  verifiers: [sealedVerifier],
  types: [eventType, reportType, packType],
  setup: (host) => ({
    api: { assess },
    routes: [eventRoute(host), ...documentRoutes(host), clockRoute(host)],
  }),
});
