// What the foundry says of itself and of a tenant: its catalog with the newest settlements, and the installed
// base. gateway/API.md §10.7.

import { Type } from 'typebox';
import { answeredEntry, ApiError, kindOf, layerRoutes, route } from '../contract/index.ts';
import type { Caller, JsonObject, PluginHost, Route } from '../contract/index.ts';
import { COUNTED, countsName } from './entries.ts';
import { KEPT_SETTLEMENTS, NEWEST_SETTLEMENTS } from './trigger/entries.ts';
import { settlementShown, SettlementShown } from './trigger/fire.ts';

const Recent = Type.Object({
  trigger_id: Type.String(),
  template_id: Type.String(),
  ...SettlementShown.properties,
});

/** GET /api/v1/foundry/catalog.json, with settlements of the log that the caller's key is of. */
export function catalogRoutes(host: PluginHost): readonly Route[] {
  return layerRoutes({
    host,
    file: 'foundry.json',
    base: '/api/v1/foundry',
    path: '/api/v1/foundry/catalog.json',
    tag: 'foundry',
    currentMembers: { recent_settlements: Type.Array(Recent) },
    current: ({ state }) => ({ recent_settlements: newestSettlements(host, state.caller) }),
  });
}

function newestSettlements(host: PluginHost, caller: Caller): JsonObject[] {
  const logs = host.logs(kindOf(undefined, caller)).toReversed();
  const newest = logs.flatMap((log) => {
    const indexes = (log.row(NEWEST_SETTLEMENTS) ?? []) as readonly number[];
    return indexes.map((index) => ({ log, index }));
  });
  return newest.slice(0, KEPT_SETTLEMENTS).map(({ log, index }) => {
    const entry = answeredEntry(log, index);
    const { trigger_id = '', template_id = '' } = entry.statement;
    return { trigger_id, template_id, ...settlementShown(entry) };
  });
}

const InstalledBase = Type.Object(
  {
    ok: Type.Literal(true),
    tenant_id: Type.String(),
    sandbox: Type.Boolean(),
    counts: Type.Object(
      Object.fromEntries(COUNTED.map((name) => [name, Type.Integer({ minimum: 0 })])),
    ),
  },
  { $id: 'InstalledBase' },
);

/** GET /api/v1/foundry/installed-base/{tenant_id}. */
export function installedBaseRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/api/v1/foundry/installed-base/{tenant_id}',
    tag: 'foundry',
    summary: 'What a tenant has in the foundry',
    description: 'The own tenant only. Counts over every log of the kind, from the entries.',
    access: 'key',
    params: Type.Object({ tenant_id: Type.String({ maxLength: 256 }) }),
    responses: { 200: { description: 'Counts.', schema: InstalledBase } },
    errors: ['tenant_forbidden'],
    handle(ctx) {
      const { params, caller } = ctx.state;
      const { tenant, tenant_ref, kind, sandbox } = caller;
      if (params.tenant_id !== tenant && params.tenant_id !== tenant_ref) {
        throw new ApiError('tenant_forbidden', 'the installed base of another tenant is its own', {
          param: 'tenant_id',
        });
      }
      const sums = Object.fromEntries(COUNTED.map((name) => [name, 0]));
      for (const log of host.logs(kind)) {
        const counts = (log.row(countsName(tenant_ref)) ?? {}) as Readonly<Record<string, number>>;
        for (const name of COUNTED) sums[name] = (sums[name] ?? 0) + (counts[name] ?? 0);
      }
      ctx.set('Cache-Control', 'no-store');
      ctx.body = { ok: true, tenant_id: tenant, sandbox, counts: sums };
    },
  });
}
