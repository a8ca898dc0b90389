// The public routes of the relay: redirects of tracked links, the status of a partner, and totals.
// gateway/API.md §10.1.

import { Type } from 'typebox';
import {
  ApiError,
  Count,
  kindOf,
  listRoute,
  LogName,
  Millis,
  route,
  SLUG,
} from '../contract/index.ts';
import type { Kind, PluginHost, Route } from '../contract/index.ts';
import { TrackedLinkSchema } from './enroll.ts';
import { PARTNERS, Slug, TOTAL } from './entries.ts';
import type { PartnerRow } from './entries.ts';
import type { Links } from './links.ts';

const Status = Type.Object(
  {
    schema: Type.Literal('svc-partner-relay-v1'),
    partner: Slug,
    enrolled_at_ms: Millis,
    entry_id: Type.String({ format: 'uuid' }),
    permalink: Type.String({ format: 'uri' }),
    visits: Count,
    links: Type.Array(TrackedLinkSchema),
  },
  { $id: 'RelayStatus' },
);

const PartnerShown = Type.Object({
  partner: Slug,
  enrolled_at_ms: Millis,
  visits: Count,
  status_url: Type.String({ format: 'uri' }),
});

const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);

/** The GET routes of the relay. */
export function relayRoutes(host: PluginHost, links: Links): readonly Route[] {
  return [networkRoute(host, links), statusRoute(host, links), redirectRoute(host, links)];
}

/** The newest enrollment of a slug. */
function partnerOf(host: PluginHost, kind: Kind, slug: string): PartnerRow {
  for (const log of host.logs(kind).toReversed()) {
    const row = log.row(PARTNERS + slug) as unknown as PartnerRow | undefined;
    if (row !== undefined) return row;
  }
  throw new ApiError('resource_missing', 'there is no partner with this slug', {
    param: 'partner',
  });
}

function statusRoute(host: PluginHost, links: Links): Route {
  return route({
    method: 'GET',
    path: '/go/{partner}/status',
    tag: 'relay',
    summary: "A partner's links and their numbers of visits",
    access: 'read',
    params: Type.Object({ partner: Slug }),
    query: Type.Object({ log: LogName }),
    responses: { 200: { description: 'The status.', schema: Status } },
    errors: ['resource_missing'],
    handle(ctx) {
      const { params, query, caller } = ctx.state;
      const kind = kindOf(query.log, caller);
      const { slug, enrolled_at_ms, entry_id } = partnerOf(host, kind, params.partner);
      const tracked = links.of(kind, slug);
      const suffix = kind === 'sandbox' ? '?log=sandbox' : '';
      ctx.set('Cache-Control', 'no-store');
      ctx.body = {
        schema: 'svc-partner-relay-v1',
        partner: slug,
        enrolled_at_ms,
        entry_id,
        permalink: host.url(`/r/${entry_id}${suffix}`),
        visits: sum(tracked.map(({ visits }) => visits)),
        links: tracked,
      };
    },
  });
}

function redirectRoute(host: PluginHost, links: Links): Route {
  return route({
    method: 'GET',
    path: '/go/{partner}/{target}',
    tag: 'relay',
    summary: 'Follow a tracked link',
    description:
      'Counts the visit without storing anything about the visitor, and redirects to the target. The footer of that ' +
      'page names the partner.',
    access: 'read',
    params: Type.Object({
      partner: Slug,
      target: Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 64 }),
    }),
    query: Type.Object({ log: LogName }),
    responses: { 302: { description: 'To the path of the target.' } },
    errors: ['resource_missing'],
    async handle(ctx) {
      const { params, query, caller } = ctx.state;
      const { partner, target } = params;
      const path = links.pathOf(target);
      if (path === undefined) {
        throw new ApiError('resource_missing', 'there is no link with this target', {
          param: 'target',
        });
      }
      const kind = kindOf(query.log, caller);
      partnerOf(host, kind, partner);
      // A prefetch by the browser is not a visit.
      if (ctx.method === 'GET') await links.count(kind, partner, target);
      ctx.set('Cache-Control', 'no-store');
      ctx.redirect(`${path}${path.includes('?') ? '&' : '?'}partner=${partner}`);
    },
  });
}

function networkRoute(host: PluginHost, links: Links): Route {
  const query = { log: LogName };
  return listRoute<PartnerRow, typeof query>(host, {
    path: '/api/v1/relay/network',
    tag: 'relay',
    summary: 'Partners of the relay, and visits of all their links',
    access: 'read',
    query,
    ...{ $id: 'RelayNetwork', row: PartnerShown, rows: 'By slug.', former: { data: 'page' } },
    members: {
      schema: Type.Literal('svc-partner-relay-v1'),
      partners: Count,
      visits: Count,
      visits_by_target: Type.Record(Type.String(), Count),
    },
    places: SLUG,
    async find({ query: { log }, caller }, { after, limit }) {
      const start = after === undefined ? {} : { after: PARTNERS + after };
      const rows = await host.log(kindOf(log, caller)).rows(PARTNERS, { ...start, limit });
      return rows.map(([, row]) => row as unknown as PartnerRow); // the layer's own projection wrote it
    },
    placeOf: ({ slug }) => slug,
    shown({ slug, enrolled_at_ms }, { query: { log }, caller }) {
      const kind = kindOf(log, caller);
      const visits = sum(links.of(kind, slug).map((link) => link.visits));
      return { partner: slug, enrolled_at_ms, visits, status_url: links.statusUrl(kind, slug) };
    },
    beside({ query: { log }, caller }) {
      const kind = kindOf(log, caller);
      const total = host.log(kind).row(TOTAL) as { readonly partners: number } | undefined;
      const visits_by_target = links.visits(kind);
      return {
        schema: 'svc-partner-relay-v1',
        partners: total?.partners ?? 0,
        visits: sum(Object.values(visits_by_target)),
        visits_by_target,
      };
    },
  });
}
