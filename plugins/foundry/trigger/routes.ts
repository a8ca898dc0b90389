// The routes of obligations. gateway/API.md §10.6.

import { monthOf, monthRow, tierOf, usageOf } from '../../clear/index.ts';
import type { PluginHost, Route } from '../../contract.ts';
import { decimalText, exact } from '../../decimal.ts';
import type { ClearRate } from './fee.ts';
import { triggerFeedRoute } from './feed.ts';
import { fireRoute } from './fire.ts';
import { publishRoute } from './publish.ts';

/** Publish, fire, feed. */
export function triggerRoutes(host: PluginHost): readonly Route[] {
  return [publishRoute(host), fireRoute(host, clearRate), triggerFeedRoute(host)];
}

/** The rate of the tier that the tenant's month falls in with this exposure, at the settlement's own place. */
export const clearRate: ClearRate = (rows, tenant_ref, at_ms, exposure) => {
  const month = usageOf(rows.get(monthRow(monthOf(at_ms), tenant_ref)));
  const { milli_bps } = tierOf(BigInt(month.cleared_micro_usd) + exposure);
  return decimalText((exact('1') * BigInt(milli_bps)) / 1000n);
};
