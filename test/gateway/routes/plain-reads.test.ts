// Plain reads of a log, which are answered before Koa, against the same reads through Koa.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { settled } from '../../support/settled.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

interface Seen {
  readonly status: number | undefined;
  /** Names and values in their order. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** A preference that nothing knows changes nothing, and lets Koa answer. */
const THROUGH_KOA = { Prefer: 'unknown' };

describe('gateway/routes/plain-reads', () => {
  let running: Running;

  before(async () => {
    running = await run({ RATE_LIMITS: 'on', RATE_LOG_READS: '250', TRUST_PROXY: '1' });
    const log = running.gateway.logs.live;
    const tenants = Array.from({ length: 300 }, () => randomBytes(16).toString('base64url'));
    await Promise.all(tenants.map((tenant) => log.registerTenant(tenant, '0'.repeat(64))));
    await settled(log);
    // A node that follows has the entries when this is answered.
    await running.get('/livez');
  });
  after(() => running.close());

  async function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(running.url + path, { headers }, resolve)
        .on('error', reject)
        .end();
    });
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return {
      status: answer.statusCode,
      headers: answer.rawHeaders,
      body: Buffer.concat(chunks),
    };
  }

  const header = ({ headers }: Seen, name: string): string | undefined =>
    headers.find((_, i) => i % 2 === 1 && headers[i - 1]?.toLowerCase() === name);

  /** What the request itself decides: the same headers with these values left out. */
  const comparable = ({ status, headers, body }: Seen) => ({
    ...{ status, body },
    headers: headers.map((value, i) =>
      /^(?:x-request-id|ratelimit|date)$/i.test(headers[i - 1] ?? '') && i % 2 === 1 ? '' : value,
    ),
  });

  const PATHS = [
    '/log/live/1/tile/0/000',
    '/log/live/tile/0/000',
    '/log/live/1/tile/entries/000',
    '/log/live/1/proof/inclusion?index=7',
    '/log/live/proof/inclusion?index=299',
  ];
  const ENCODINGS = [undefined, 'gzip', 'gzip, deflate, br', 'br, gzip, deflate', 'br', 'identity'];

  for (const path of PATHS) {
    it(`answers ${path} with the headers and bytes of Koa`, async () => {
      for (const encoding of [...ENCODINGS, 'gzip;q=0, *', '*', 'gzip;q=0.5']) {
        const asked = encoding === undefined ? {} : { 'Accept-Encoding': encoding };
        const first = await get(path, asked);
        const again = await get(path, asked);
        const koa = await get(path, { ...asked, ...THROUGH_KOA });
        assert.equal(first.status, 200);
        assert.deepEqual(comparable(first), comparable(koa), encoding);
        assert.deepEqual(comparable(again), comparable(koa), encoding);
        assert.match(header(first, 'x-request-id') ?? '', /^req_[0-9A-Za-z]{24}$/);
        assert.notEqual(header(first, 'x-request-id'), header(again, 'x-request-id'));
      }
    });
  }

  it('compresses bundles and proofs, and no hash tile', async () => {
    for (const path of PATHS) {
      const zipped = await get(path, { 'Accept-Encoding': 'gzip' });
      const plain = await get(path);
      const is = path.includes('/tile/0/') ? undefined : 'gzip';
      assert.equal(header(zipped, 'content-encoding'), is, path);
      const body = is === undefined ? zipped.body : gunzipSync(zipped.body);
      assert.deepEqual(body, plain.body);
    }
  });

  it('leaves conditions, keys, hosts, wrong paths and other methods to Koa', async () => {
    const [tile = ''] = PATHS;
    const etag = header(await get(tile), 'etag') ?? '';
    const statuses = [
      await get(tile, { 'If-None-Match': etag }),
      await get(tile, { 'X-API-Key': 'ak_live_unknown' }),
      await get(tile, { Authorization: 'Bearer unknown' }),
      await get('/log/live/1/tile/0/001'),
      await get('/log/live/2/tile/0/000'),
      await get('/log/none/tile/0/000'),
      await get('/log/live/1/tile/0/00'),
      await get('/log/live/1/proof/inclusion?index=9000000'),
      await get('/log/live/1/proof/inclusion?index=07'),
    ].map(({ status }) => status);
    assert.deepEqual(statuses, [304, 401, 401, 404, 404, 404, 404, 404, 400]);
  });

  it('counts each read once by the client address, whichever process answers', async () => {
    const left = async (path: string, ip: string, headers = {}): Promise<number> => {
      const limited = header(await get(path, { 'X-Forwarded-For': ip, ...headers }), 'ratelimit');
      return Number(/;r=(\d+);/.exec(limited ?? '')?.[1]);
    };
    const [tile = ''] = PATHS;
    assert.equal(await left(tile, '192.0.2.1'), 249);
    assert.equal(await left(tile, '192.0.2.1', THROUGH_KOA), 248);
    assert.equal(await left('/log/live/1/tile/0/001', '192.0.2.1'), 247);
    assert.equal(await left('/log/live/1/proof/inclusion?index=1', '192.0.2.1'), 246);
    assert.equal(await left(tile, '192.0.2.2'), 249);
  });

  it('refuses reads beyond the limit with 429', async () => {
    const from = { 'X-Forwarded-For': '192.0.2.3' };
    const [tile = ''] = PATHS;
    const answers = await Promise.all(Array.from({ length: 250 }, () => get(tile, from)));
    assert.ok(answers.every(({ status }) => status === 200));
    const refused = await get(tile, from);
    assert.equal(refused.status, 429);
    assert.match(header(refused, 'retry-after') ?? '', /^\d+$/);
  });

  it('measures reads under their declared path', async () => {
    const counted = async (): Promise<number> => {
      const { text } = await running.get('/metrics', { key: running.live });
      const line =
        /^actlog_http_request_duration_seconds_count\{route="\/log\/\{kind\}\/\{n\}\/tile\/\{tile\*\}",method="GET",status="200"\} (\d+)$/m;
      return Number(line.exec(text)?.[1] ?? 0);
    };
    const before = await counted();
    await get('/log/live/1/tile/0/000');
    await get('/log/live/1/tile/0/000', THROUGH_KOA);
    assert.equal((await counted()) - before, 2);
  });
});
