// What the meter's rows say, over all logs of a kind: for the layer's own routes and for other plugins.

import type { Kind, PluginHost } from '../contract.ts';
import { ceilingOf, ceilingRow, monthRow, networkRow, tenantsRow } from './meter.ts';
import type { Ceiling } from './meter.ts';
import { NO_USAGE, plus, usageOf } from './usage.ts';
import type { Usage } from './usage.ts';

/** What other plugins get from clear. */
export interface ClearApi {
  /** A tenant's month (`YYYY-MM`). */
  readonly usage: (kind: Kind, tenant_ref: string, month: string) => Usage;
  /** A month of all tenants; who used two logs of a kind in one month counts in each. */
  readonly network: (
    kind: Kind,
    month: string,
  ) => { readonly usage: Usage; readonly tenants: number };
  /** The ceiling in force; null without one. */
  readonly ceiling: (kind: Kind, tenant_ref: string) => Ceiling | null;
}

/** Keys of rows here begin with the plugin's name; a view wants what is behind it. */
const own = (key: string): string => key.slice('clear/'.length);

/** Reads the rows of a host. */
export function clearApi(host: PluginHost): ClearApi {
  const sum = (kind: Kind, row: string): Usage =>
    host.logs(kind).reduce((total, log) => plus(total, usageOf(log.row(own(row)))), NO_USAGE);
  return {
    usage: (kind, tenant_ref, month) => sum(kind, monthRow(month, tenant_ref)),
    network: (kind, month) => ({
      usage: sum(kind, networkRow(month)),
      tenants: host
        .logs(kind)
        .reduce((total, log) => total + Number(log.row(own(tenantsRow(month))) ?? 0), 0),
    }),
    ceiling: (kind, tenant_ref) => ceilingOf(host.log(kind).row(own(ceilingRow(tenant_ref)))),
  };
}
