// Routes that read the usage, exposure and ceiling of a tenant and the sums of all tenants, and the API by which other
// plugins read them. Months are added over all logs of a kind. gateway/API.md §10.1, §10.2.
//
// Without a key the tenant is `public` (gateway/API.md §3.3).

import { Type } from 'typebox';
import { listRoute, namedStatement, route } from '../contract/index.ts';
import type { Caller, Kind, PluginHost, Route } from '../contract/index.ts';
import {
  ExposureAnswer,
  exposureOf,
  HistoryMonth,
  NetworkAnswer,
  shownFees,
  spentOf,
  tollLines,
  UsageAnswer,
  usageCsv,
} from './answers.ts';
import {
  carriedRow,
  ceilingOf,
  ceilingRow,
  monthRow,
  networkRow,
  own,
  tenantsRow,
} from './entries.ts';
import type { Ceiling } from './entries.ts';
import { MONTH, monthOf, monthsBack, NO_USAGE, plus, usageOf } from './usage.ts';
import type { Usage } from './usage.ts';

/** The API for other plugins. */
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
        // The row of this log includes the carried sums, so the logs before it must not be added.
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

const Month = Type.Optional(
  Type.String({ pattern: MONTH, description: 'YYYY-MM in UTC; the default is the present month.' }),
);
const whose = ({ tenant_ref, sandbox }: Caller) => ({ tenant_ref, sandbox });

/** The routes of the layer, except those of its catalog. */
export function clearRoutes(host: PluginHost, api: ClearApi): readonly Route[] {
  const present = (): string => monthOf(host.now());
  return [
    usageRoute(api, present),
    historyRoute(host, api),
    route({
      method: 'GET',
      path: '/api/v1/clear/exposure',
      tag: 'clear',
      summary: "A tenant's cleared exposure of a month, by tier",
      description:
        'Only USD and USDC count. The basis points of an act are those of the tier that the cumulative exposure of the ' +
        'month, including the act, falls into. They apply to the whole act and are rounded down to a micro-USD.',
      access: 'open',
      query: Type.Object({ month: Month }),
      responses: { 200: { description: 'The exposure.', schema: ExposureAnswer } },
      handle(ctx) {
        const { caller, query } = ctx.state;
        const { month = present() } = query;
        const usage = api.usage(caller.kind, caller.tenant_ref, month);
        const schema = 'svc-clear-exposure-v1';
        ctx.body = { schema, ...whose(caller), month, ...exposureOf(usage) };
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/clear/network',
      tag: 'clear',
      summary: 'Governed acts of all tenants in a month',
      description: 'From the live log, or from the sandbox log for a sandbox key.',
      access: 'read',
      query: Type.Object({ month: Month }),
      responses: { 200: { description: 'The month.', schema: NetworkAnswer } },
      handle(ctx) {
        const { caller, query } = ctx.state;
        const { month = present() } = query;
        const { usage, tenants } = api.network(caller.kind, month);
        ctx.body = {
          schema: 'svc-clear-network-v1',
          sandbox: caller.sandbox,
          month,
          tenants,
          ...spentOf(usage),
          tolls: tollLines(usage),
          fees: shownFees(usage),
          checkpoint_url: host.url('/api/v1/clearing/network/latest.json'),
        };
      },
    }),
  ];
}

function usageRoute(api: ClearApi, present: () => string): Route {
  return route({
    method: 'GET',
    path: '/api/v1/clear/usage',
    tag: 'clear',
    summary: "A tenant's governed acts of a month, by toll",
    description:
      'The sums are computed from the log: each governed act states its toll, and a reindex computes the same sums. With ' +
      'format=csv the answer is CSV.',
    access: 'open',
    query: Type.Object({
      month: Month,
      format: Type.Optional(Type.String({ pattern: '^(json|csv)$' })),
    }),
    responses: {
      200: { description: 'The usage.', schema: UsageAnswer, formats: ['text/csv'] },
    },
    handle(ctx) {
      const { caller, query } = ctx.state;
      const { month = present(), format = 'json' } = query;
      const usage = api.usage(caller.kind, caller.tenant_ref, month);
      if (format === 'csv') {
        ctx.set('Content-Disposition', `attachment; filename="usage-${month}.csv"`);
        ctx.type = 'text/csv; charset=utf-8';
        ctx.body = usageCsv(month, usage);
        return;
      }
      ctx.body = {
        schema: 'svc-clear-usage-v1',
        ...whose(caller),
        month,
        ...spentOf(usage),
        tolls: tollLines(usage),
        fees: shownFees(usage),
        ceiling: api.ceiling(caller.kind, caller.tenant_ref),
      };
    },
  });
}

const historyRoute = (host: PluginHost, api: ClearApi): Route =>
  listRoute(host, {
    path: '/api/v1/clear/usage/history',
    tag: 'clear',
    summary: "A tenant's months, newest first",
    description: 'From the present month back to the one in which the oldest served log began.',
    access: 'open',
    ...{ $id: 'ClearHistory', row: HistoryMonth, former: { data: 'months', limit: 'months' } },
    members: {
      schema: Type.Literal('svc-clear-history-v1'),
      tenant_ref: Type.String(),
      sandbox: Type.Boolean(),
    },
    places: MONTH,
    find({ caller: { kind } }, { after, limit }) {
      const [newest, count] =
        after === undefined ? [monthOf(host.now()), limit] : [after, limit + 1];
      const first = firstMonth(host, kind);
      const months = monthsBack(newest, count).filter((month) => month >= first);
      return after === undefined ? months : months.slice(1);
    },
    placeOf: (month) => month,
    shown: (month, { caller: { kind, tenant_ref } }) => ({
      month,
      ...spentOf(api.usage(kind, tenant_ref, month)),
    }),
    beside: ({ caller }) => ({ schema: 'svc-clear-history-v1', ...whose(caller) }),
  });

/** The month in which the oldest served log began. */
function firstMonth(host: PluginHost, kind: Kind): string {
  const [oldest = host.log(kind)] = host.logs(kind);
  return monthOf(namedStatement(oldest, 0)['issued_at_ms'] as number);
}
