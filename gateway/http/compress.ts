// Compresses what readers fetch with GET: pages, scripts, JSON and entry bundles. RFC 9110 §8.4, §12.5.3.
//
// Only answers to requests without a key are compressed. The length of a compressed answer would otherwise tell a
// caller who chooses one part of it something about the private text in the other part. Streams are sent as they are.

import { promisify } from 'node:util';
import { gzip as zlibGzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { Next, RequestContext } from './request.ts';

/** Compresses a body on a thread. */
export const gzip = promisify<Uint8Array | string, Buffer>(zlibGzip);

/** Shorter answers fit into one packet either way; longer ones would occupy a thread for too long. */
const MIN_BYTES = 1024;
const MAX_BYTES = 4 * 1024 * 1024;
/** Bytes of compressed answers that are kept. */
const MAX_KEPT = 32 * 1024 * 1024;

const COMPRESSIBLE_TYPE =
  /^(text\/|image\/svg|application\/(json|javascript|xml|[a-z0-9.-]+\+(json|xml)))/;
/** Entry bundles, which C2SP tlog-tiles wants compressed. Hash tiles have the same type, and hashes do not compress. */
const ENTRY_BUNDLE = /^\/log\/.+\/tile\/entries\//;

/** Whether a body of so many bytes is compressed. */
export const isCompressed = (bytes: number): boolean => bytes >= MIN_BYTES && bytes <= MAX_BYTES;

/** The entity tag of the compressed form. */
export const zippedTag = (etag: string): string => etag.replace(/"$/, '-gzip"');

/** The middleware. Answers with an entity tag are compressed once; the newest 32 MiB of them (before compression) are kept. */
export function compress(): (ctx: RequestContext, next: Next) => Promise<void> {
  // The work is kept, not its result, so that requests at the same time share it.
  const kept = new LRUCache<string, { readonly zipped: Promise<Buffer>; readonly bytes: number }>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ bytes }) => bytes,
  });

  function zippedOf(ctx: RequestContext, body: Buffer, etag: string): Promise<Buffer> {
    if (etag === '') return gzip(body);
    const key = `${ctx.path} ${etag}`;
    const known = kept.get(key);
    if (known !== undefined) return known.zipped;
    const zipped = gzip(body);
    // Counted by the length before compression: the one after it is not known yet.
    kept.set(key, { zipped, bytes: body.length });
    return zipped;
  }

  return async (ctx, next) => {
    await next();
    if (ctx.method !== 'GET' || ctx.state.caller.key_id !== null) return;
    const etag = ctx.res.hasHeader('ETag') ? ctx.response.get('ETag') : '';
    const tag = zippedTag(etag);
    if (ctx.status === 304) {
      if (ctx.get('If-None-Match').includes(tag)) ctx.set('ETag', tag);
      return;
    }
    const { body } = ctx;
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return;
    const type = ctx.response.get('Content-Type');
    if (!COMPRESSIBLE_TYPE.test(type) && !ENTRY_BUNDLE.test(ctx.path)) return;
    ctx.vary('Accept-Encoding');
    const bytes = Buffer.from(body);
    if (!isCompressed(bytes.length)) return;
    if (ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return;
    ctx.body = await zippedOf(ctx, bytes, etag);
    ctx.set('Content-Type', type);
    ctx.set('Content-Encoding', 'gzip');
    if (etag !== '') ctx.set('ETag', tag);
  };
}
