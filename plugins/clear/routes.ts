// What a tenant used, cleared and may spend, and what all tenants did: rows of months, read by name from all logs of a
// kind, for the layer's own routes and for other plugins. gateway/API.md §10.1, §10.2.
//
// Without a key the tenant is `public` (gateway/API.md §3.3).

import { Type } from 'typebox';
import { route } from '../contract/index.ts';
import type { Caller, Kind, PluginHost, Route } from '../contract/index.ts';
import {
  ExposureAnswer,
  exposureOf,
  HistoryAnswer,
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

const Month = Type.Optional(
  Type.String({ pattern: MONTH, description: 'YYYY-MM in UTC; the present month unless given.' }),
);
const whose = ({ tenant_ref, sandbox }: Caller) => ({ tenant_ref, sandbox });

/** The routes of the layer, but for its catalog. */
export function clearRoutes(host: PluginHost, api: ClearApi): readonly Route[] {
  const present = (): string => monthOf(host.now());
  return [
    usageRoute(api, present),
    historyRoute(api, present),
    route({
      method: 'GET',
      path: '/api/v1/clear/exposure',
      tag: 'clear',
      summary: "A tenant's cleared exposure of a month, by tier",
      description:
        'Only USD and USDC count. An act is taken at the tier in which the cumulative of the month falls ' +
        'with it, flat on that act, rounded down to a micro-USD.',
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
      description: 'Of the live log, or of the sandbox when a sandbox key asks.',
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
      'Sums of the log itself: each governed act states its toll and is added in its own batch, and a ' +
      'reindex comes to the same. As CSV with format=csv.',
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

function historyRoute(api: ClearApi, present: () => string): Route {
  return route({
    method: 'GET',
    path: '/api/v1/clear/usage/history',
    tag: 'clear',
    summary: "A tenant's months, newest first",
    access: 'open',
    query: Type.Object({
      months: Type.Optional(
        Type.String({
          pattern: '^([1-9]|[1-5][0-9]|60)$',
          description: '1 to 60; 12 unless given.',
        }),
      ),
    }),
    responses: { 200: { description: 'The months.', schema: HistoryAnswer } },
    handle(ctx) {
      const { caller, query } = ctx.state;
      const months = monthsBack(present(), Number(query.months ?? 12)).map((month) => ({
        month,
        ...spentOf(api.usage(caller.kind, caller.tenant_ref, month)),
      }));
      ctx.body = { schema: 'svc-clear-history-v1', ...whose(caller), months };
    },
  });
}
