// The gateway's own pages. They work without JavaScript where possible, and load nothing from other hosts.

import { Type } from 'typebox';
import type { Log } from '../../log/index.ts';
import { HTML, pageRoute, route } from '../../plugins/contract/index.ts';
import type { Route, RouteResponse } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { docsRoutes } from './docs.ts';
import { guideRoutes } from './guides.ts';
import { statusOf } from './health.ts';
import { logPageRoute } from './log-page.ts';
import { sendBytes } from './send.ts';

/** `/`, `/status`, `/log`, `/docs` and `/guides`. */
export function pageRoutes(gateway: Gateway): readonly Route[] {
  return [
    logPageRoute(gateway),
    ...docsRoutes(gateway),
    ...guideRoutes(gateway),
    pageRoute({ path: '/', summary: 'What this service is, and links to its pages' }, () =>
      gateway.page('home', {
        title: 'Proof for delegated decisions',
        here: '/',
        logs: [gateway.logs.live, gateway.logs.sandbox].map((log) => logFacts(gateway, log)),
        groups: pageGroups(gateway.routes()),
      }),
    ),
    pageRoute({ path: '/status', summary: 'The state of the service as a page' }, (ctx) => {
      const { page, status, components } = statusOf(gateway);
      ctx.set('Cache-Control', 'no-store');
      return gateway.page('status', {
        title: 'Status',
        description: 'Whether the logs take entries and publish checkpoints, part by part.',
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

/** The pages that have no parameter, by their tags; those of tags with one page are in the first group. */
function pageGroups(routes: readonly Route[]) {
  const pages = routes.filter(
    ({ method, path, responses }) =>
      method === 'GET' && path !== '/' && !path.includes('{') && isHtml(responses[200]),
  );
  const groups = [...new Set(pages.map(({ tag }) => tag))].map((title) => ({
    title,
    pages: pages.filter(({ tag }) => tag === title),
  }));
  const rest = groups.filter((group) => group.pages.length === 1).flatMap((group) => group.pages);
  return groups
    .filter((group) => group.pages.length > 1)
    .map(({ title, pages: own }, i) => ({ title, pages: i === 0 ? [...own, ...rest] : own }));
}

const isHtml = (answer: RouteResponse | undefined): boolean =>
  answer?.type === HTML || answer?.page === HTML;

function logFacts({ base_url }: Gateway, log: Log): object {
  const { size, note, published_at_ms } = log.published();
  return {
    name: log.kind === 'live' ? 'The log' : 'The sandbox log',
    origin: log.origin,
    path: log.kind === 'live' ? '/log' : '/log?log=sandbox',
    size,
    // Base64, as in the signed note.
    root: note.split('\n', 3)[2],
    published_at: new Date(published_at_ms).toISOString(),
    checkpoint_url: `${base_url}/log/${log.kind}/${String(log.number)}/checkpoint`,
  };
}

/** Summaries of the files that people download. All other files belong to pages. */
const SUMMARIES: Readonly<Record<string, string>> = {
  'verify.js': 'The offline verifier as one JavaScript module',
  'kit.js': 'The reader of offline kits and witness policies as one JavaScript module',
};

const VERSION = Type.Object({ v: Type.Optional(Type.String({ pattern: '^[0-9a-f]{16}$' })) });

/** Files that browsers look for at the root, and their names under /static/. */
const AT_ROOT: readonly (readonly [path: string, name: string, summary: string])[] = [
  ['/sw.js', 'sw-page.js', 'The service worker that keeps /verify for use without a connection'],
  ['/favicon.ico', 'favicon.ico', 'The icon of the pages'],
];

/** The files of `AT_ROOT` that this build has. */
export function rootFileRoutes({ statics }: Gateway): readonly Route[] {
  return AT_ROOT.flatMap(([path, name, summary]) => {
    const file = statics.get(name);
    if (file === undefined) return [];
    const { bytes, type, sha256 } = file;
    return route({
      ...{ method: 'GET', path, tag: 'Pages', summary, access: 'read' },
      responses: {
        200: { description: 'The file.', type },
        304: { description: 'As before.' },
      },
      handle(ctx) {
        ctx.set('Cache-Control', 'no-cache');
        sendBytes(ctx, bytes, type, `"${sha256}"`);
      },
    });
  });
}

/** One route for each file under /static/, so that the OpenAPI document lists them. */
export function staticRoutes({ statics }: Gateway): readonly Route[] {
  return [...statics].map(([name, { bytes, type, sha256 }]) =>
    route({
      method: 'GET',
      path: `/static/${name}`,
      tag: 'Pages',
      summary: SUMMARIES[name] ?? `A file of the pages: ${name}`,
      access: 'read',
      query: VERSION,
      responses: {
        200: { description: 'The file.', type },
        304: { description: 'As before.' },
      },
      handle(ctx) {
        // Pages name a file with its hash, so the bytes at that URL never change.
        const pinned = ctx.querystring === `v=${sha256.slice(0, 16)}`;
        ctx.set('Cache-Control', pinned ? 'public, max-age=31536000, immutable' : 'no-cache');
        sendBytes(ctx, bytes, type, `"${sha256}"`);
      },
    }),
  );
}
