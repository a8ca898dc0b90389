// What the meter's rows say, over all logs of a kind: for the layer's own routes and for other plugins.

import type { Kind, PluginHost } from '../contract.ts';
import {
  carriedRow,
  ceilingOf,
  ceilingRow,
  monthRow,
  networkRow,
  own,
  tenantsRow,
} from './meter.ts';
import type { Ceiling } from './meter.ts';
import { NO_USAGE, plus, usageOf } from './usage.ts';
import type { Usage } from './usage.ts';

/** What other plugins get from clear. */
export interface ClearApi {
  /** A tenant's month (`YYYY-MM`). */
  readonly usage: (kind: Kind, tenant_ref: string, month: string) => Usage;
  /** A month of all tenants. */
  readonly network: (
    kind: Kind,
    month: string,
  ) => { readonly usage: Usage; readonly tenants: number };
  /** The ceiling in force; null without one. */
  readonly ceiling: (kind: Kind, tenant_ref: string) => Ceiling | null;
}

/** Reads the rows of a host. */
export function clearApi(host: PluginHost): ClearApi {
  const sum = (kind: Kind, row: string): Usage =>
    host.logs(kind).reduce((total, log) => plus(total, usageOf(log.row(own(row)))), NO_USAGE);
  return {
    usage(kind, tenant_ref, month) {
      let usage = NO_USAGE;
      for (const log of host.logs(kind).toReversed()) {
        usage = plus(usage, usageOf(log.row(own(monthRow(month, tenant_ref)))));
        // What was carried into this log is in its row: the logs before it would count twice.
        if (log.row(own(carriedRow(month, tenant_ref))) !== undefined) break;
      }
      return usage;
    },
    network: (kind, month) => ({
      usage: sum(kind, networkRow(month)),
      tenants: host
        .logs(kind)
        .reduce((total, log) => total + Number(log.row(own(tenantsRow(month))) ?? 0), 0),
    }),
    ceiling: (kind, tenant_ref) => ceilingOf(host.log(kind).row(own(ceilingRow(tenant_ref)))),
  };
}
