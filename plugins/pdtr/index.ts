// The payment-decision twin receipt: a payment, bound to the act it paid for and to the decision behind it.
// gateway/API.md §7.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import { earlierTwinType, notSuppliedType, pdtrErrors, twinType } from './entries.ts';
import { settlementRoutes } from './routes.ts';
import { twinRoute } from './twin.ts';

export { pdtrErrors } from './entries.ts';

export { actionRef, actionRefs, defaultActionRef, profileOf, PROFILES } from './action-ref.ts';
export type { ActionTuple, Profile } from './action-ref.ts';
export { listedCode, spelled } from './payment.ts';
export { sessionDecisionRow } from './decision.ts';
export type { SessionDecision } from './decision.ts';

/** The plugin `pdtr`. */
export default definePlugin({
  contract: 2,
  name: 'pdtr',
  title: 'Payment-decision twin receipts',
  errors: pdtrErrors,
  types: [notSuppliedType, twinType, earlierTwinType],
  setup: (host) => ({
    routes: [
      ...layerRoutes({ host, file: 'pdtr.json', base: '/api/v1/pdtr', tag: 'pdtr' }),
      ...settlementRoutes(host),
      twinRoute(host),
    ],
  }),
});
