// The routes of obligations. interface.md, Foundry; behaviour.md §10.6.

import type { JsonObject, PluginHost, Route } from '../../contract.ts';
import { decimalText, exactOf } from '../decimal.ts';
import type { ClearRate } from './fee.ts';
import { feedRoute } from './feed.ts';
import { fireRoute } from './fire.ts';
import { publishRoute } from './publish.ts';

/** Publish, fire, feed. */
export function triggerRoutes(host: PluginHost): readonly Route[] {
  return [publishRoute(host), fireRoute(host, clearRate(host)), feedRoute(host)];
}

/** The rate of the clear tiers for an exposure. */
export function clearRate(host: PluginHost): ClearRate {
  const { bps_tiers } = host.catalog('clear.json') as JsonObject as unknown as {
    readonly bps_tiers: readonly { bps: number; upper_bound_usd_per_month: number | null }[];
  };
  return (_rows, _tenant_ref, _at_ms, exposure) => {
    const tier = bps_tiers.find(
      ({ upper_bound_usd_per_month: upper }) =>
        upper === null || exposure <= BigInt(upper) * 1_000_000n,
    );
    if (tier === undefined) throw new Error('the highest tier has no bound');
    return decimalText(exactOf(tier.bps, 'bps'));
  };
}
