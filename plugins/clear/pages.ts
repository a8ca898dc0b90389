// The pages of the layer: the dashboard of a tenant, and the page that partners embed. The HTML has no data of a
// tenant; the scripts request it with the tenant's key. gateway/API.md §10.1, §6.4.

import { pageRoute } from '../contract/index.ts';
import type { Json, PluginHost, Route, RouteContext } from '../contract/index.ts';
import { TIERS } from './usage.ts';

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
  return pageRoute(
    {
      path: '/clear/dashboard',
      summary: 'Dashboard of a tenant: usage, tolls, exposure and clearing',
    },
    () =>
      host.page('dashboard', {
        title: 'Dashboard',
        here: '/clear/dashboard',
        scripts: ['dashboard-page.js'],
        styles: ['uplot.css'],
        tiers: TIERS.map(({ id, milli_bps, upper_micro_usd: upper }) => ({
          id,
          bps: milli_bps / 1000,
          upper_usd: upper === null ? null : Number(upper / 1_000_000n),
        })),
      }),
  );
}

function embedRoute(host: PluginHost, vertical: Vertical): Route {
  const { id, embed_path, endpoint, capital_commitment } = vertical;
  const helplines: Json = host.catalog('helplines.json');
  return pageRoute(
    {
      path: embed_path,
      tag: 'Embeds',
      summary: `Embed: ${capital_commitment.join(', ')}`,
      description:
        'A page for an iframe on any site. It never handles a key: the server of the site calls the service with its ' +
        'key, and the site posts the receipt to the frame, which verifies and shows it. The page itself only calls the ' +
        'sandbox.',
    },
    (ctx) => {
      framed(ctx);
      return host.page('embed', {
        title: `Embed: ${capital_commitment.join(', ')}`,
        id,
        endpoint,
        commitments: capital_commitment,
        url: host.url(embed_path),
        origin: new URL(host.url('/')).origin,
        helplines,
      });
    },
  );
}

/** Allows any site to frame this page. All other pages forbid framing. */
function framed(ctx: RouteContext): void {
  const policy = ctx.response.get('Content-Security-Policy');
  ctx.set('Content-Security-Policy', policy.replace(/frame-ancestors [^;]*/, 'frame-ancestors *'));
  ctx.remove('X-Frame-Options');
}
