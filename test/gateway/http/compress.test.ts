// Which answers are compressed for which callers, and that both forms decode to the same bytes.

import assert from 'node:assert/strict';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

interface Fetched {
  readonly status: number;
  readonly encoding: string | null;
  readonly etag: string;
  readonly vary: string | null;
  readonly body: Buffer;
}

describe('compressed answers', () => {
  let running: Running;
  let key: string;
  before(async () => {
    running = await run();
    key = running.live;
    for (let i = 0; i < 8; i++) {
      await running.post('/api/v1/classify', { message: `Invoice ${String(i)}` }, { key });
    }
    const { live } = running.gateway.logs;
    await live.whenPublished(live.size());
  });
  after(() => running.close());

  async function fetched(path: string, headers: Record<string, string> = {}): Promise<Fetched> {
    const response = await fetch(running.url + path, { headers });
    return {
      status: response.status,
      encoding: response.headers.get('content-encoding'),
      etag: response.headers.get('etag') ?? '',
      vary: response.headers.get('vary'),
      body: Buffer.from(await response.arrayBuffer()),
    };
  }

  const gzip = { 'accept-encoding': 'gzip' };
  const identity = { 'accept-encoding': 'identity' };

  it('decode to the same bytes as plain ones, and have their own entity tag', async () => {
    const { size } = running.gateway.logs.live.published();
    const bundle = `/log/live/tile/entries/000.p/${String(size)}`;
    for (const path of ['/static/verify.js', '/openapi.json', '/', bundle]) {
      const plain = await fetched(path, identity);
      const zipped = await fetched(path, gzip);
      assert.deepEqual([plain.encoding, zipped.encoding], [null, 'gzip'], path);
      assert.deepEqual([plain.vary, zipped.vary], ['Accept-Encoding', 'Accept-Encoding'], path);
      assert.ok(plain.body.equals(zipped.body), path);
      if (plain.etag !== '') assert.notEqual(plain.etag, zipped.etag, path);
      // The second one is from the cache.
      assert.ok((await fetched(path, gzip)).body.equals(plain.body), path);
    }
  });

  it('are 304 for a client that has them', async () => {
    const { etag } = await fetched('/static/verify.js', gzip);
    assert.match(etag, /-gzip"$/);
    const again = await fetched('/static/verify.js', { ...gzip, 'if-none-match': etag });
    assert.deepEqual([again.status, again.etag], [304, etag]);
  });

  it('are not sent for hash tiles and short answers, or to callers with a key', async () => {
    const { size } = running.gateway.logs.live.published();
    for (const path of [`/log/live/tile/0/000.p/${String(size)}`, '/livez']) {
      assert.equal((await fetched(path, gzip)).encoding, null, path);
    }
    const own = await fetched('/openapi.json', { ...gzip, 'x-api-key': key });
    assert.equal(own.encoding, null);
  });
});
