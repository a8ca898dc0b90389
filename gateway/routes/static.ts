// `/static/{name}`: each file is a route of its own, so that the API's document lists what there is.

import { Type } from 'typebox';
import { route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { sendBytes } from './send.ts';

/** What people download on purpose; the other files belong to pages. */
const SUMMARIES: Readonly<Record<string, string>> = {
  'verify.js': 'The offline verifier as one JavaScript module',
  'kit.js': 'What reads an offline kit and a witness policy, as one JavaScript module',
};

const VERSION = Type.Object({ v: Type.Optional(Type.String({ pattern: '^[0-9a-f]{16}$' })) });

/** The routes of all static files. */
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
        // Pages name a file with its hash: that address never changes its bytes.
        const pinned = ctx.querystring === `v=${sha256.slice(0, 16)}`;
        ctx.set('Cache-Control', pinned ? 'public, max-age=31536000, immutable' : 'no-cache');
        sendBytes(ctx, bytes, type, `"${sha256}"`);
      },
    }),
  );
}
