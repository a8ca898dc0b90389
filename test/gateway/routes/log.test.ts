// Tests of gateway/routes/log.ts.

import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { native, parseCheckpoint } from '../../../log/index.ts';
import type { Log } from '../../../log/index.ts';
import { verifyCheckpoint } from '../../../log/verify.ts';
import { settled } from '../../support/settled.ts';
import { problem, serve } from './served.ts';
import type { Served } from './served.ts';

const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  hash('sha256', Buffer.concat(parts), 'buffer');

/** The definition of RFC 9162 §2.1.1, without code of the log. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves;
  if (first === undefined) return sha256();
  if (leaves.length === 1) return first;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

/** Entries of a bundle. */
function entriesOf(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bundle.length;) {
    const end = at + 2 + bundle.readUInt16BE(at);
    entries.push(bundle.subarray(at + 2, end));
    at = end;
  }
  return entries;
}

async function grow(log: Log, count: number): Promise<void> {
  const tenants = Array.from({ length: count }, () => randomBytes(16).toString('base64url'));
  await Promise.all(tenants.map((tenant_ref) => log.registerTenant(tenant_ref, '0'.repeat(64))));
  await settled(log);
}

describe('gateway/routes/log', () => {
  let served: Served;

  before(async () => {
    served = await serve();
    await grow(served.gateway.logs.live, 300);
  });

  after(() => served.close());

  it('serves the newest checkpoint with no-cache', async () => {
    const answer = await served.get('/log/live/1/checkpoint');
    assert.equal(answer.headers.get('cache-control'), 'no-cache');
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    const { origin, vkey } = served.gateway.logs.live;
    const note = answer.bytes.toString();
    const { size } = verifyCheckpoint(note, { origin, vkey, keys: [] }, { suite: native });
    assert.equal(size, served.gateway.logs.live.published().size);
  });

  it('lets a client that knows only tlog-tiles read the whole log', async () => {
    const note = (await served.get('/log/live/checkpoint')).bytes.toString();
    const { size, root } = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
    const leaves: Buffer[] = [];
    for (let n = 0; n * 256 < size; n++) {
      const width = Math.min(256, size - n * 256);
      const name = `00${String(n)}${width === 256 ? '' : `.p/${String(width)}`}`;
      const tile = await served.get(`/log/live/tile/0/${name}`);
      assert.equal(tile.bytes.length, 32 * width);
      const bundle = await served.get(`/log/live/tile/entries/${name}`);
      const hashes = entriesOf(bundle.bytes).map((entry) => sha256(Buffer.of(0), entry));
      assert.deepEqual(Buffer.concat(hashes), tile.bytes);
      leaves.push(...hashes);
    }
    assert.equal(leaves.length, size);
    assert.deepEqual(rootOf(leaves), Buffer.from(root));
    const above = await served.get(`/log/live/tile/1/000.p/${String(Math.floor(size / 256))}`);
    assert.deepEqual(above.bytes.subarray(0, 32), rootOf(leaves.slice(0, 256)));
  });

  it('allows caches to keep a full tile forever and a partial one for a short time', async () => {
    const full = await served.get('/log/live/1/tile/0/000');
    assert.equal(full.bytes.length, 8192);
    assert.equal(full.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    const partial = await served.get('/log/live/1/tile/0/001.p/3');
    assert.equal(partial.headers.get('cache-control'), 'public, max-age=60');
  });

  it('does not serve a full tile before it is full', async () => {
    for (const path of [
      'tile/0/001',
      'tile/entries/001',
      'tile/1/000',
      'tile/5/000',
      'tile/0/002',
    ]) {
      const answer = await served.get(`/log/live/1/${path}`);
      assert.deepEqual(problem(answer), { status: 404, code: 'resource_missing' }, path);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    }
  });

  it('serves every width that a published checkpoint implies, and no wider one', async () => {
    const { size } = served.gateway.logs.live.published();
    const width = size - 256;
    const widest = await served.get(`/log/live/1/tile/0/001.p/${String(width)}`);
    assert.equal(widest.status, 200);
    for (let narrower = 1; narrower < width; narrower++) {
      const { bytes } = await served.get(`/log/live/1/tile/0/001.p/${String(narrower)}`);
      assert.deepEqual(bytes, widest.bytes.subarray(0, narrower * 32));
    }
    const wider = await served.get('/log/live/1/tile/0/001.p/255');
    assert.equal(wider.status, 404);
  });

  it('accepts only one spelling of a tile path', async () => {
    const others = [
      '0/0',
      '0/0000',
      '00/000',
      '0/x000/000',
      '0/000.p/0',
      '0/000.p/01',
      '0/000.p/256',
    ];
    for (const path of [...others, '64/000', '-1/000', 'entries/000/', '0/000.p/5/', 'data/000']) {
      const answer = await served.get(`/log/live/1/tile/${path}`);
      assert.equal(answer.status, 404, path);
    }
  });

  it('answers 404 for other kinds and numbers', async () => {
    for (const place of ['live/2', 'live/01', 'live/0', 'test', 'sandbox/9', 'constructor']) {
      const answer = await served.get(`/log/${place}/checkpoint`);
      assert.deepEqual(problem(answer), { status: 404, code: 'resource_missing' }, place);
    }
  });

  it('separates the two kinds', async () => {
    const live = (await served.get('/log/live/checkpoint')).bytes.toString();
    const sandbox = (await served.get('/log/sandbox/checkpoint')).bytes.toString();
    assert.match(live, /^test\.example\/log\/live\/1\n/);
    assert.match(sandbox, /^test\.example\/log\/sandbox\/1\n/);
  });

  it('answers 304 to a client that has the bytes', async () => {
    for (const path of ['checkpoint', 'tile/0/000', 'tile/entries/000.p/2']) {
      const first = await served.get(`/log/live/1/${path}`);
      const etag = first.headers.get('etag') ?? '';
      const again = await served.get(`/log/live/1/${path}`, undefined, { 'If-None-Match': etag });
      assert.equal(again.status, 304, path);
      assert.equal(again.bytes.length, 0);
      const other = await served.get(`/log/live/1/${path}`, undefined, { 'If-None-Match': '"x"' });
      assert.deepEqual(other.bytes, first.bytes);
    }
  });

  it('answers HEAD with the length and no bytes', async () => {
    const response = await fetch(`${served.url}/log/live/tile/0/000`, { method: 'HEAD' });
    assert.equal(response.headers.get('content-length'), '8192');
    assert.equal((await response.arrayBuffer()).byteLength, 0);
  });
});
