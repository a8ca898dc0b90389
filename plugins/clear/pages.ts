// The pages of the layer: a tenant's dashboard, and what partners embed. interface.md, clear (verticals);
// behaviour.md §10.1, §6.4. Of a tenant nothing stands on them: its key asks for it, in the browser.

import { route } from '../contract.ts';
import type { Json, PluginHost, Route, RouteContext } from '../contract.ts';
import { TIERS } from './tiers.ts';

const HTML = 'text/html; charset=utf-8';

interface Vertical {
  readonly id: string;
  readonly capital_commitment: readonly string[];
  readonly endpoint: string;
  readonly embed_path: string;
}

/** `/clear/dashboard` and `/clear/embed/…`. */
export function clearPages(host: PluginHost): readonly Route[] {
  const { verticals } = host.catalog('clear.json') as unknown as {
    readonly verticals: readonly Vertical[];
  };
  return [dashboardRoute(host), ...verticals.map((vertical) => embedRoute(host, vertical))];
}

function dashboardRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/clear/dashboard',
    tag: 'Pages',
    summary: 'Usage, tolls, exposure and clearing of a tenant, by its key',
    access: 'read',
    responses: { 200: { description: 'The page.', type: HTML } },
    handle(ctx) {
      ctx.type = HTML;
      ctx.set('Cache-Control', 'no-cache');
      ctx.body = host.page('clear/dashboard', {
        title: 'Dashboard',
        here: '/clear/dashboard',
        scripts: ['dashboard-page.js'],
        styles: ['uplot.css'],
        tiers: TIERS.map(({ id, milli_bps, upper_micro_usd: upper }) => ({
          id,
          bps: milli_bps / 1000,
          upper_usd: upper === null ? null : Number(upper / 1_000_000n),
        })),
      });
    },
  });
}

function embedRoute(host: PluginHost, vertical: Vertical): Route {
  const { id, embed_path, endpoint, capital_commitment } = vertical;
  const helplines: Json = host.catalog('helplines.json');
  return route({
    method: 'GET',
    path: embed_path,
    tag: 'Pages',
    summary: `Embed: ${capital_commitment.join(', ')}`,
    description:
      'For an iframe of any site. It never takes a key: the site asks with its own, from its server, and posts ' +
      'the receipt to the frame, which verifies and shows it. By itself it asks the sandbox.',
    access: 'read',
    responses: { 200: { description: 'The page.', type: HTML } },
    handle(ctx) {
      framed(ctx);
      ctx.type = HTML;
      ctx.set('Cache-Control', 'no-cache');
      ctx.body = host.page('clear/embed', {
        title: `Embed: ${capital_commitment.join(', ')}`,
        id,
        endpoint,
        commitments: capital_commitment,
        url: host.url(embed_path),
        origin: new URL(host.url('/')).origin,
        helplines,
      });
    },
  });
}

/** Any site may frame this page, and no other. */
function framed(ctx: RouteContext): void {
  const policy = ctx.response.get('Content-Security-Policy');
  ctx.set('Content-Security-Policy', policy.replace(/frame-ancestors [^;]*/, 'frame-ancestors *'));
  ctx.remove('X-Frame-Options');
}
