// The declaration of a batch: a route that declares `batch` also answers `POST <path>/batch`, whose body has one request
// in each line and whose answer has one line for each request, in their order. gateway/API.md §4.5.

import type { Route } from '../../plugins/contract/index.ts';
import { ownerOf, own } from '../host/plugin-error.ts';

/** Media type of the body and of the answer. */
export const NDJSON = 'application/x-ndjson';

/** Most lines of a batch. */
export const MAX_LINES = 1000;

/** A batch of requests to another route. */
export interface BatchRoute extends Route {
  readonly lineOf: Route;
}

/** The route of batches, for a route that declares `batch`. */
export function batchRoute(route: Route, max_bytes: number): BatchRoute {
  const { tag, access, roles, asksLive, budget, params, query, example } = route;
  const made: BatchRoute = {
    method: 'POST',
    path: `${route.path}/batch`,
    tag,
    summary: `${route.summary}, many in one request`,
    description:
      `Each line is a body of \`POST ${route.path}\` and may have an \`idempotency_key\`. Each line of the answer is ` +
      '`{line, status, body}`, in the order of the lines (API.md, 4.5).',
    access,
    ...(roles === undefined ? {} : { roles }),
    ...(asksLive === undefined ? {} : { asksLive }),
    ...(budget === undefined ? {} : { budget }),
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query }),
    bytes: NDJSON,
    max_bytes,
    responses: { 200: { description: 'The answers, a line for each request.', type: NDJSON } },
    errors: [],
    ...(example === undefined
      ? {}
      : { example: Buffer.from(`${JSON.stringify(example)}\n`).toString('base64') }),
    handle() {
      throw new Error('the batch middleware answers a batch');
    },
    lineOf: route,
  };
  own(ownerOf(route), made);
  return made;
}
