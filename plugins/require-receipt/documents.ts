// What this service publishes about RR-1: its action manifest and the standard's text. gateway/API.md §8.2.

import { Type } from 'typebox';
import { HTML, memberShapes, readCatalogBytes, route, sendPage } from '../contract/index.ts';
import type { PluginHost, Route } from '../contract/index.ts';
import { OWN_ACT } from './act.ts';
import { MANIFEST_PATH, STANDARD_PATH } from './challenge.ts';
import { manifestOf } from './manifest.ts';

const CACHE = 'public, max-age=300';
const MARKDOWN = 'text/markdown; charset=utf-8';

/** The routes of the manifest and the standard. */
export function documentRoutes(host: PluginHost): readonly Route[] {
  const manifest = manifestOf(
    {
      name: 'actlog',
      issuer: host.log('live').origin,
      manifest_url: host.url(MANIFEST_PATH),
      spec: host.url(STANDARD_PATH),
    },
    [OWN_ACT],
  );
  const Manifest = Type.Object(memberShapes([manifest]), {
    $id: 'AgentActions',
    description: 'Its JSON Schema is catalogs/require-receipt/agent-actions.schema.json.',
  });
  const standard = Buffer.from(readCatalogBytes('require-receipt/standard.md'));
  return [
    route({
      method: 'GET',
      path: MANIFEST_PATH,
      tag: 'require-receipt',
      summary: 'Acts of this service that need a receipt',
      access: 'read',
      responses: { 200: { description: 'The action manifest.', schema: Manifest } },
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.body = manifest;
      },
    }),
    route({
      method: 'GET',
      path: STANDARD_PATH,
      tag: 'require-receipt',
      summary: 'The standard: receipt required (RR-1)',
      access: 'read',
      description: 'A page for browsers; Markdown for clients that do not prefer HTML.',
      responses: { 200: { description: 'The text.', type: MARKDOWN, page: HTML } },
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.vary('Accept');
        if (ctx.accepts('text/markdown', 'text/html') === 'text/html') {
          const title = 'Receipt required (RR-1)';
          sendPage(ctx, host.page('standard', { title, text: standard.toString('utf8') }));
          return;
        }
        ctx.type = MARKDOWN;
        ctx.body = standard;
      },
    }),
  ];
}
