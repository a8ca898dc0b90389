// The body of a POST: JSON only unless its route takes bytes, strict, bounded before it is read. gateway/API.md §1.3, §4.2, §4.3.

import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { parse as parseContentType } from 'content-type';
import getRawBody from 'raw-body';
import { isLogError, parseJson } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Json, Route } from '../../plugins/contract/index.ts';
import { jsonFault } from './json-fault.ts';
import type { Next, RequestContext } from './request.ts';
import { checkUnknown } from './unknown-members.ts';

/** Sets `state.body`. */
export async function body(ctx: RequestContext, next: Next): Promise<void> {
  const { matched } = ctx.state;
  if (matched !== null && matched.route.method !== 'GET') {
    const { route } = matched;
    const limit = route.max_bytes ?? ctx.state.gateway.config.MAX_BODY_BYTES;
    const bytes = await decoded(ctx, route, await read(ctx, limit), limit);
    ctx.state.body_bytes = bytes.length;
    if (matched.body !== null) {
      acceptBody(ctx, jsonOf(ctx, bytes, route.bodyRequired ?? true));
    } else if (route.bytes !== undefined) {
      checkBytes(ctx.req.headers['content-type'], route.bytes, bytes);
      ctx.state.body = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    }
  }
  await next();
}

/** Checks a JSON body against the route's schema, and sets `state.body`. */
export function acceptBody(ctx: RequestContext, value: Json): void {
  const { matched } = ctx.state;
  checkUnknown(ctx, matched?.unknownBody ?? null, value, 'body');
  matched?.body?.(value);
  ctx.state.body = value;
}

/** Whether the client sends the body only after 100 Continue. RFC 9110 §10.1.1. */
export const expectsContinue = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion === '1.1' && /^100-continue$/i.test(headers.expect ?? '');

async function read(ctx: RequestContext, limit: number): Promise<Buffer> {
  const { req } = ctx;
  const announced = req.headers['content-length'];
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit);
  if (expectsContinue(req)) ctx.res.writeContinue();
  try {
    return await getRawBody(req, { limit, length: announced ?? null });
  } catch (error) {
    const { type } = error as getRawBody.RawBodyError;
    if (type === 'entity.too.large') throw tooLarge(limit);
    const reason =
      type === 'request.size.invalid'
        ? 'has another length than its Content-Length'
        : 'was cut off';
    throw new ApiError('invalid_json', `the body ${reason}`, {
      headers: { Connection: 'close' },
      cause: error,
    });
  }
}

const decompress = promisify(gunzip);

/** The body of a route that takes bytes, without its Content-Encoding. A JSON body must have none (`checkType`). */
async function decoded(
  ctx: RequestContext,
  route: Route,
  bytes: Buffer,
  limit: number,
): Promise<Buffer> {
  const encoding = (ctx.req.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (route.bytes === undefined || encoding === 'identity') return bytes;
  if (route.gzip !== true || !['gzip', 'x-gzip'].includes(encoding)) {
    const taken = route.gzip === true ? 'gzip' : 'no Content-Encoding';
    throw new ApiError('unsupported_media_type', `the body may have ${taken}, not ${encoding}`);
  }
  try {
    return await decompress(bytes, { maxOutputLength: limit });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limit);
    throw new ApiError('parameter_invalid', 'the body is not gzip', { cause });
  }
}

/** The rest of such a body is never read: the connection is closed after the answer. */
function tooLarge(limit: number): ApiError {
  const headers = { Connection: 'close' };
  return new ApiError('payload_too_large', `the body is over ${String(limit)} bytes`, { headers });
}

function jsonOf(ctx: RequestContext, bytes: Buffer, required: boolean): Json {
  if (bytes.length === 0) {
    if (required) throw new ApiError('body_required', 'this request needs a JSON body');
    return {};
  }
  checkType(ctx.req.headers['content-type'], ctx.req.headers['content-encoding']);
  return readJson(ctx, bytes, 'body');
}

/** Strict JSON. `place` names what the bytes are in messages. */
export function readJson(ctx: RequestContext, bytes: Buffer, place: 'body' | 'line'): Json {
  const maxDepth = ctx.state.gateway.config.MAX_JSON_DEPTH;
  try {
    return parseJson(bytes, { fractions: true, maxDepth });
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new ApiError('invalid_json', refusal(bytes, maxDepth, place) ?? error.message, {
      cause: error,
    });
  }
}

/** The first fault of the body and its place, without any of its text. */
function refusal(bytes: Buffer, maxDepth: number, what: string): string | null {
  const fault = jsonFault(bytes, maxDepth);
  if (fault === null) return null;
  const { reason, line, column, offset } = fault;
  const place = `line ${String(line)}, column ${String(column)} (byte offset ${String(offset)})`;
  return `the ${what} is not valid strict JSON: ${reason}, at ${place}`;
}

function checkType(type: string | undefined, encoding: string | undefined): void {
  const plain = encoding === undefined || encoding === 'identity';
  if (plain && (type === 'application/json' || isJson(type))) return;
  throw new ApiError(
    'unsupported_media_type',
    'the body must be application/json in UTF-8, not compressed',
  );
}

function checkBytes(
  type: string | undefined,
  wanted: string | readonly string[],
  bytes: Buffer,
): void {
  const types = [wanted].flat();
  if (!types.includes(mediaType(type) ?? '')) {
    throw new ApiError('unsupported_media_type', `the body must be ${types.join(' or ')}`);
  }
  if (bytes.length === 0) throw new ApiError('body_required', 'this request needs a body');
}

/** The media type of a Content-Type, in lower case and without parameters; null for a header that has none. */
export function mediaType(header: string | undefined): string | null {
  try {
    return header === undefined ? null : parseContentType(header).type;
  } catch {
    return null;
  }
}

function isJson(header: string | undefined): boolean {
  if (header === undefined) return false;
  try {
    const { type, parameters } = parseContentType(header);
    return type === 'application/json' && /^utf-?8$/i.test(parameters['charset'] ?? 'utf-8');
  } catch {
    return false;
  }
}
