// The guard in the shapes of Koa, Express and fetch. The types are structural: no framework is imported, and any
// that looks the same will do. Portable. gateway/API.md §8.2.

import { portable, toHex } from '../../log/verify.ts';
import type { Json } from '../../log/verify.ts';
import type { GuardAnswer } from './answers.ts';
import { PROOF_HEADER } from './challenge.ts';
import type { Admission, GuardedRequest } from './guard.ts';
import type { Permit } from './permit.ts';

/** What of a request's body the permit binds; the whole body unless given. */
export type Fields<R> = (request: R) => Json | undefined;

/** The part of a Koa context that is used; the permit is at `ctx.state.permit`. */
export interface KoaLike {
  readonly method: string;
  readonly originalUrl: string;
  readonly state: Record<string, unknown>;
  status: number;
  type: string;
  body: unknown;
  get(name: string): string;
  set(headers: Record<string, string>): void;
}

/** The part of an Express request that is used. */
export interface ExpressRequestLike {
  readonly method: string;
  readonly originalUrl: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
}

/** The part of an Express response that is used; the permit is at `res.locals.permit`. */
export interface ExpressResponseLike {
  /** As Express has it: handlers behind this one take the type of their `res.locals` from here. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see above
  readonly locals: Record<string, any>;
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
}

/** A protected action in each shape. */
export interface Protected {
  /** Koa middleware; comes after the body parser. */
  koa(fields?: Fields<unknown>): (ctx: KoaLike, next: () => Promise<unknown>) => Promise<void>;
  /** Express middleware; comes after the body parser. */
  express(
    fields?: Fields<ExpressRequestLike>,
  ): (
    req: ExpressRequestLike,
    res: ExpressResponseLike,
    next: (error?: unknown) => void,
  ) => Promise<void>;
  /** Wraps a handler of fetch's shape; `fields` gets a copy of the request. */
  fetch<A extends unknown[]>(
    handler: (request: Request, permit: Permit, ...rest: A) => Response | Promise<Response>,
    fields?: (request: Request) => Promise<Json | undefined>,
  ): (request: Request, ...rest: A) => Promise<Response>;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** The shapes of one admission. */
export function adaptersOf(admit: (request: GuardedRequest) => Promise<Admission>): Protected {
  return {
    koa: (fields) => async (ctx, next) => {
      const { body } = (ctx as unknown as { request: { body?: unknown } }).request;
      const header = (name: string): string => ctx.get(name);
      const admission = await admit({
        method: ctx.method,
        target: ctx.originalUrl,
        receipt: header(PROOF_HEADER),
        fields: fields === undefined ? wholeBody(body, header) : fields(ctx),
      });
      if ('permit' in admission) {
        ctx.state['permit'] = admission.permit;
        await next();
        return;
      }
      const { status, headers, body: told } = admission.answer;
      ctx.status = status;
      ctx.set({ ...headers });
      ctx.type = JSON_TYPE;
      ctx.body = JSON.stringify(told);
    },
    express: (fields) => async (req, res, next) => {
      let admission: Admission;
      try {
        const header = (name: string): string => String(req.headers[name.toLowerCase()] ?? '');
        admission = await admit({
          method: req.method,
          target: req.originalUrl,
          receipt: header(PROOF_HEADER),
          fields: fields === undefined ? wholeBody(req.body, header) : fields(req),
        });
      } catch (error) {
        next(error);
        return;
      }
      if ('permit' in admission) {
        res.locals['permit'] = admission.permit;
        next();
        return;
      }
      const { status, headers, body } = admission.answer;
      res.statusCode = status;
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      res.setHeader('Content-Type', JSON_TYPE);
      res.end(JSON.stringify(body));
    },
    fetch:
      (handler, fields = bodyDigest) =>
      async (request, ...rest) => {
        const { pathname, search } = new URL(request.url);
        const admission = await admit({
          method: request.method,
          target: pathname + search,
          receipt: request.headers.get(PROOF_HEADER) ?? undefined,
          fields: await fields(request.clone()),
        });
        return 'permit' in admission
          ? handler(request, admission.permit, ...rest)
          : responseOf(admission.answer);
      },
  };
}

/** Without a parsed body a permit cannot be bound to it, and would permit every other act of its path. */
function wholeBody(body: unknown, header: (name: string) => string): Json | undefined {
  const length = header('Content-Length');
  const there = header('Transfer-Encoding') !== '' || (length !== '' && length !== '0');
  if (body !== undefined) {
    const fields = JSON.parse(JSON.stringify(body)) as Json;
    // Some parsers leave an empty object where a type is not theirs, and a form prints as one.
    const empty = JSON.stringify(fields) === '{}' && !/\bjson\b/i.test(header('Content-Type'));
    if (!(there && empty)) return fields;
  } else if (!there) return undefined;
  throw new Error(
    'the body is not parsed: mount a body parser before, or say what to bind (fields)',
  );
}

/** The bytes of the body; a fetch handler parses them itself. */
async function bodyDigest(request: Request): Promise<Json | undefined> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length === 0) return undefined;
  return { body_sha256: toHex(portable.sha256(bytes)) };
}

function responseOf({ status, headers, body }: GuardAnswer): Response {
  const init = { status, headers: { 'Content-Type': JSON_TYPE, ...headers } };
  return new Response(JSON.stringify(body), init);
}
