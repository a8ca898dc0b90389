// The gateway's own pages. They work without JavaScript as far as they can; nothing on them comes from elsewhere.

import { pageRoute } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import { toHex } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import type { Gateway } from '../gateway.ts';
import { docsRoutes } from './docs.ts';
import { guideRoutes } from './guides.ts';
import { logPageRoute } from './log-page.ts';
import { statusOf } from './status.ts';

/** `/`, `/status`, `/log`, `/docs` and `/guides`. */
export function pageRoutes(gateway: Gateway): readonly Route[] {
  return [
    logPageRoute(gateway),
    ...docsRoutes(gateway),
    ...guideRoutes(gateway),
    pageRoute({ path: '/', summary: 'What this is, and where to go on' }, () =>
      gateway.page('home', {
        title: 'Proof for delegated decisions',
        here: '/',
        base_url: gateway.base_url,
        logs: [gateway.logs.live, gateway.logs.sandbox].map((log) => logFacts(gateway, log)),
      }),
    ),
    pageRoute({ path: '/status', summary: 'The state of the service, for people' }, (ctx) => {
      const { page, status, components } = statusOf(gateway);
      ctx.set('Cache-Control', 'no-store');
      return gateway.page('status', {
        title: 'Status',
        here: '/status',
        scripts: ['status-page.js'],
        ok: status.indicator === 'none',
        status: status.description,
        updated_at: page.updated_at,
        components,
      });
    }),
  ];
}

function logFacts({ base_url }: Gateway, log: Log): object {
  const { size, root, published_at_ms } = log.published();
  return {
    name: log.kind === 'live' ? 'The log' : 'The sandbox log',
    origin: log.origin,
    size,
    root: toHex(root),
    published_at: new Date(published_at_ms).toISOString(),
    checkpoint_url: `${base_url}/log/${log.kind}/${String(log.number)}/checkpoint`,
  };
}
