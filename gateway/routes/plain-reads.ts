// Answers the most frequent reads of a log before Koa: full tiles, full bundles and inclusion proofs.
//
// A plain read is a GET without a key, a condition or a preference, and it is answered here only with 200. Everything
// else goes to Koa as if it had not been looked at: other paths and methods, an entry that no checkpoint covers, a caller
// over its limit, a damaged entry. Both ways give the same headers and bytes; a test compares them. `npm run bench --
// --only http` measures what this file gives.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { parseTilePath, TILE_WIDTH } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import { FORWARDED } from '../cluster/forward.ts';
import type { Gateway } from '../gateway.ts';
import { addressOf } from '../http/authenticate.ts';
import { gzip, isCompressed, zippedTag } from '../http/compress.ts';
import { JSON_TYPE } from '../http/json-answer.ts';
import { CORS_HEADERS, recordAnswer, securityHeaderList } from '../http/middleware.ts';
import type { RateLimits } from '../http/rate-limit.ts';
import { headerCount } from '../http/request.ts';
import { base62 } from '../tenants/base62.ts';
import { PUBLIC } from '../tenants/tenants.ts';
import { logAt, PLACES, TILE_TYPE, tileBytes, tileLabels, TILES } from './log.ts';
import { INCLUSION, inclusionText } from './proofs.ts';

type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** Bytes of tiles and bundles that are kept ready. */
const MAX_KEPT = 32 * 1024 * 1024;

/** Headers with which a middleware answers in another way. */
const NOT_PLAIN = ['authorization', 'x-api-key', 'if-none-match', 'prefer', FORWARDED];

const TILE = /^\/log\/([a-z]+)(?:\/([0-9]+))?\/(tile\/[0-9a-z/]+)$/;
const PROOF = /^\/log\/([a-z]+)(?:\/([0-9]+))?\/proof\/inclusion\?index=(0|[1-9][0-9]{0,14})$/;

const ANYBODY = { tenant: PUBLIC, key_id: null };

/** Text is ASCII, which Node joins with the headers to one write. */
type Body = Buffer | string;

/** A body with the headers that describe it, by name and value. */
interface Form {
  readonly headers: readonly string[];
  readonly body: Body;
}

/** The answer to a path. */
interface Ready {
  /** The path of the declaration. */
  readonly route: string;
  readonly plain: Form;
  /** Makes the form for clients that take gzip, once; null if there is none. */
  readonly zipped: (() => Promise<Form>) | null;
}

/** The handler of all requests. `others` answers what is no plain read. */
export function plainReads(gateway: Gateway, limits: RateLimits, others: Handler): Handler {
  const secure = gateway.base_url.startsWith('https:');
  const fixed = [...securityHeaderList(secure), ...CORS_HEADERS].flat();
  const kept = new LRUCache<string, Ready>({
    maxSize: MAX_KEPT,
    // A compressed form is about as long as the plain one at most.
    sizeCalculation: ({ plain, zipped }) => plain.body.length * (zipped === null ? 1 : 2),
  });

  async function find(url: string): Promise<Ready | null> {
    try {
      const proof = PROOF.exec(url);
      if (proof !== null) return proofAt(gateway, proof);
      const tile = await tileAt(gateway, TILE.exec(url));
      if (tile !== null) kept.set(url, tile);
      return tile;
    } catch {
      // Koa meets the same error, answers it and logs it.
      return null;
    }
  }

  return async (req, res) => {
    const started_ms = performance.now();
    const { url = '' } = req;
    const encoding = url.startsWith('/log/') ? encodingOf(req) : null;
    if (encoding === null) return others(req, res);
    const known = kept.get(url);
    if (known === undefined && !PROOF.test(url) && !TILE.test(url)) return others(req, res);
    const counted = await limits.logRead(addressOf(req, gateway.config.TRUST_PROXY));
    if (counted === null) return others(req, res);
    const ready = known ?? (await find(url));
    if (ready === null) {
      await counted.giveBack();
      return others(req, res);
    }
    const { route, plain, zipped } = ready;
    const { headers, body } = encoding === 'gzip' && zipped !== null ? await zipped() : plain;
    const request_id = `req_${base62(24)}`;
    res.writeHead(200, ['X-Request-Id', request_id, ...fixed, ...counted.headers, ...headers]);
    res.end(body, 'latin1');
    recordAnswer(
      gateway,
      {
        method: 'GET',
        route,
        status: 200,
        request_id,
        started_ms,
        headers: req.headers,
        answered: null,
        span: null,
      },
      ANYBODY,
    );
  };
}

/** The encoding of the answer to a plain read; null for another request, and where weights of encodings decide. */
function encodingOf(req: IncomingMessage): 'gzip' | 'identity' | null {
  const { headers, method } = req;
  if (method !== 'GET' || headers.host === undefined || headerCount(req, 'host') > 1) return null;
  for (const name of NOT_PLAIN) if (headers[name] !== undefined) return null;
  const accepted = headers['accept-encoding'];
  if (accepted === undefined) return 'identity';
  const names = accepted.toLowerCase().split(/ *, */);
  if (!names.every((name) => /^(?:gzip|br|deflate|zstd)$/.test(name))) return null;
  return names.includes('gzip') ? 'gzip' : 'identity';
}

/** A log, and the prefix of the declared paths that name it. Throws if there is none. */
function placeOf(gateway: Gateway, kind: string, n?: string): { log: Log; prefix: string } {
  const [numbered, newest] = PLACES;
  if (n === undefined) return { log: logAt(gateway, { kind }), prefix: newest.prefix };
  return { log: logAt(gateway, { kind, n }), prefix: numbered.prefix };
}

/** A full tile or bundle; null if there is none. */
async function tileAt(gateway: Gateway, match: RegExpExecArray | null): Promise<Ready | null> {
  const [, kind = '', n, path = ''] = match ?? [];
  const name = parseTilePath(path);
  if (name?.width !== TILE_WIDTH) return null;
  const { log, prefix } = placeOf(gateway, kind, n);
  const body = await tileBytes(log, name);
  if (body === null) return null;
  const { cache, etag } = tileLabels(name);
  const form = (tag: string, bytes: Body): Form =>
    formOf(TILE_TYPE, bytes, ['Cache-Control', cache, 'ETag', tag]);
  const route = prefix + TILES;
  return name.level === 'entries'
    ? compressible(route, body, (bytes) => form(bytes === body ? etag : zippedTag(etag), bytes))
    : { route, plain: form(etag, body), zipped: null };
}

/** A proof from the newest checkpoint; null for an entry that it does not cover, because Koa waits for the next one. */
function proofAt(gateway: Gateway, match: RegExpExecArray): Ready | null {
  const [, kind = '', n, text = ''] = match;
  const { log, prefix } = placeOf(gateway, kind, n);
  const { size } = log.published();
  const index = Number(text);
  if (index >= size) return null;
  const json = inclusionText(log, index, size);
  const body = Buffer.byteLength(json) === json.length ? json : Buffer.from(json);
  return compressible(prefix + INCLUSION, body, (bytes) => formOf(JSON_TYPE, bytes));
}

function formOf(type: string, body: Body, labels: readonly string[] = []): Form {
  const described = ['Content-Type', type, 'Content-Length', String(body.length)];
  return { headers: [...labels, ...described], body };
}

/** An answer that is compressed for clients that take gzip. `form` describes a body. */
function compressible(route: string, body: Body, form: (body: Body) => Form): Ready {
  const vary = ['Vary', 'Accept-Encoding'];
  const plain = form(body);
  let making: Promise<Form> | undefined;
  const make = async (): Promise<Form> => {
    const zipped = form(await gzip(body));
    return { ...zipped, headers: [...zipped.headers, ...vary, 'Content-Encoding', 'gzip'] };
  };
  return {
    route,
    plain: { body, headers: [...plain.headers, ...vary] },
    zipped: isCompressed(body.length) ? () => (making ??= make()) : null,
  };
}
