// Compliance: events of AI systems under Article 12 of the EU AI Act, sealed reports about a session or a system, and
// the NAIC exhibit pack. gateway/API.md §12.1, §12.2.
//
// session.ts reads a chain and counts its evidence; checklist.ts and documents.ts build and seal the documents;
// event.ts, clock.ts and routes.ts have the routes; verify.ts checks a sealed document offline.

import { definePlugin } from '../contract/index.ts';
import { assess } from './assess.ts';
import type { ComplianceApi } from './assess.ts';
import { clockRoute } from './clock.ts';
import { earlierEventType, eventType, packType, reportType, systemReportType } from './entries.ts';
import { eventRoute } from './event.ts';
import { documentRoutes } from './routes.ts';
import { sealedVerifier } from './verify.ts';

export { holdOf } from './assess.ts';
export type { Assessment, ComplianceApi } from './assess.ts';
export { STATUSES } from './catalogs.ts';
export type { Status } from './catalogs.ts';
export type { Item } from './checklist.ts';
export type { Evidence } from './session.ts';

/** The plugin `compliance`. */
export default definePlugin<ComplianceApi>({
  contract: 2,
  name: 'compliance',
  title: 'Compliance',
  requires: ['restraint'],
  verifiers: [sealedVerifier],
  types: [eventType, earlierEventType, reportType, systemReportType, packType],
  setup: (host) => ({
    api: { assess },
    routes: [eventRoute(host), ...documentRoutes(host), clockRoute(host)],
  }),
});
