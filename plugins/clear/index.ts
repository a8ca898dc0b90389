// Clear: meters the tolls of governed acts and the basis points of the amounts that they cleared, by tenant and month.
// gateway/API.md §10.2.

import { definePlugin, layerRoutes } from '../contract/index.ts';
import type { ConsolePanel } from '../contract/index.ts';
import { clearApi, clearRoutes } from './routes.ts';
import type { ClearApi } from './routes.ts';
import { carried, carry } from './carry.ts';
import { ceilingCommand, ceilingType } from './entries.ts';
import { clearPages } from './pages.ts';

export type { ClearApi } from './routes.ts';
export { feeCounted, monthRow, usd } from './entries.ts';
export { MONTH, monthOf, monthWindow, tierOf } from './usage.ts';
export { actOf, add, usageOf } from './usage.ts';
export type { Act, Digits, Usage } from './usage.ts';

/** What a tenant owes by month; /clear/dashboard has the details. */
const BILLING: ConsolePanel = {
  id: 'billing',
  title: 'Billing',
  list: '/api/v1/clear/usage/history',
  empty: 'Nothing was metered yet.',
  heading: 'month',
  facts: [
    { name: 'Governed acts', member: 'acts' },
    { name: 'Tolls, USD', member: 'tolls_usd' },
    { name: 'Fees, USD', member: 'fees_usd' },
    { name: 'Due, USD', member: 'total_usd' },
  ],
};

/** The plugin `clear`. */
export default definePlugin<ClearApi>({
  contract: 2,
  name: 'clear',
  title: 'Clear',
  types: [ceilingType, carried],
  carry,
  setup(host) {
    const api = clearApi(host);
    return {
      api,
      routes: [
        ...layerRoutes({ host, file: 'clear.json', base: '/api/v1/clear', tag: 'clear' }),
        ...clearRoutes(host, api),
      ],
      pages: clearPages(host),
      pageFolder: new URL('./pages/', import.meta.url),
      menu: [{ path: '/clear/dashboard', name: 'Dashboard' }],
      console: [BILLING],
      commands: [ceilingCommand],
    };
  },
});
