// Pages as answers, and routes that are one.

import type { ParameterizedContext } from 'koa';
import type { Static, TSchema } from 'typebox';
import { route } from './contract.ts';
import type { Route, RouteContext, RouteDeclaration } from './contract.ts';

/** Content type of every page. */
export const HTML = 'text/html; charset=utf-8';

/** Sends a rendered page; it is asked for again each time unless the route has said otherwise. */
export function sendPage(ctx: ParameterizedContext<object>, html: string): void {
  if (ctx.response.get('Cache-Control') === '') ctx.set('Cache-Control', 'no-cache');
  ctx.set('Content-Type', HTML);
  ctx.body = Buffer.from(html);
}

/** What of a page's route is its own. */
export type PageDeclaration<P extends TSchema, Q extends TSchema> = Pick<
  RouteDeclaration<P, Q>,
  'path' | 'summary' | 'description' | 'params' | 'query' | 'errors'
>;

/** A public route that answers with the page that `html` renders. */
export function pageRoute<P extends TSchema = TSchema, Q extends TSchema = TSchema>(
  page: PageDeclaration<P, Q>,
  html: (ctx: RouteContext<Static<P>, Static<Q>>) => string | Promise<string>,
): Route {
  return route<P, Q>({
    ...{ method: 'GET', tag: 'Pages', access: 'read' },
    ...page,
    responses: { 200: { description: 'The page.', type: HTML } },
    async handle(ctx) {
      sendPage(ctx, await html(ctx));
    },
  });
}
