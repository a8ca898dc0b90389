// A bucket as a store of published logs, on a server with conditional writes and on one that ignores them.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Bucket } from '../../../gateway/tiles/bucket.ts';
import { TilePublisher } from '../../../log/index.ts';
import type { TileStore } from '../../../log/index.ts';
import { listening } from '../../support/listening.ts';
import { s3Suite } from '../../support/s3-server.ts';
import { serveFiles } from '../../support/static-server.ts';
import { TilesReader } from '../../support/tiles-reader.ts';
import { grown } from '../../support/tree-mirror.ts';
import type { TreeMirror } from '../../support/tree-mirror.ts';

const publish = (source: TreeMirror, store: TileStore) =>
  new TilePublisher({ source, store, vkey: source.tree.vkey, reread: false, now: Date.now }).step();

const open = (url: string, endpoint: string): Promise<Bucket> =>
  Bucket.open({ url, endpoint }, new AbortController().signal);

s3Suite('gateway/tiles: a bucket', (server) => {
  const opened: Bucket[] = [];
  let prefix = 0;
  const bucket = async (): Promise<{ bucket: Bucket; folder: string }> => {
    const name = `p${String((prefix += 1))}`;
    const made = await open(`s3://${server().bucket}/${name}`, server().endpoint);
    opened.push(made);
    return { bucket: made, folder: join(server().folder, name) };
  };
  afterEach(() => {
    for (const one of opened.splice(0)) one.close();
  });

  it('is probed once, and the probe is removed', async () => {
    const { bucket: probed } = await bucket();
    assert.deepEqual(await probed.conditions(), { create: true, replace: true });
    assert.equal(probed.conditions(), probed.conditions());
    const keys: string[] = [];
    for await (const { key } of probed.list('p1/')) keys.push(key);
    assert.deepEqual(keys, []);
  });

  it('has a log that a client of tlog-tiles can read', async () => {
    const { bucket: made, folder } = await bucket();
    const store = made.store('log/live/1');
    await publish(grown([300, 'leaf']), store);
    const mirror = grown([1000, 'leaf']);
    await publish(mirror, store);
    const files = await serveFiles(folder);
    const reader = new TilesReader(`${files.url}/log/live/1`, mirror.tree.vkey);
    const head = await reader.head();
    assert.equal(head.size, 1000);
    assert.equal((await reader.entries(head)).length, 1000);
    await files.close();
  });

  it('lists partial tiles with the time of their full ones, and removes them', async () => {
    const { bucket: made } = await bucket();
    const store = made.store('log/live/1');
    await publish(grown([100, 'leaf']), store);
    await publish(grown([300, 'leaf']), store);
    const listed = async () => {
      const found: [string, boolean][] = [];
      for await (const { path, full_at_ms } of store.partials())
        found.push([path, full_at_ms !== null]);
      return found.sort();
    };
    assert.deepEqual(await listed(), [
      ['tile/0/000.p/100', true],
      ['tile/0/001.p/44', false],
      ['tile/1/000.p/1', false],
      ['tile/entries/000.p/100', true],
      ['tile/entries/001.p/44', false],
    ]);
    await store.remove('tile/0/000.p/100');
    await store.remove('tile/0/000.p/100');
    assert.equal((await listed()).length, 4);
  });

  it('refuses other bytes for a tile, and names it', async () => {
    const { bucket: made, folder } = await bucket();
    const store = made.store('log/live/1');
    await publish(grown([300, 'leaf']), store);
    const tile = join(folder, 'log/live/1/tile/0/001.p/44');
    const bytes = await readFile(tile);
    bytes[0]! ^= 1;
    await writeFile(tile, bytes);
    await assert.rejects(store.put('tile/0/001.p/44', grown([300, 'leaf']).tree.tile(0, 1, 44)), {
      name: 'TilesRefused',
      code: 'fork',
      message: /s3:\/\/tiles\/p\d+ has other bytes at p\d+\/log\/live\/1\/tile\/0\/001\.p\/44/,
    });
  });

  it('does not replace a checkpoint that another process has replaced', async () => {
    const { bucket: made } = await bucket();
    const [one, two] = [made.store('log/live/1'), made.store('log/live/1')];
    await publish(grown([100, 'leaf']), one);
    await two.checkpoint();
    await publish(grown([200, 'leaf']), one);
    await assert.rejects(
      two.putCheckpoint(grown([150, 'leaf']).tree.note()),
      /another process wrote/,
    );
    assert.equal(await one.checkpoint(), grown([200, 'leaf']).tree.note());
  });

  it('reports that a bucket does not exist', async () => {
    const missing = await open('s3://not-there', server().endpoint);
    opened.push(missing);
    await assert.rejects(missing.store('log/live/1').checkpoint(), { name: 'NoSuchBucket' });
    await assert.rejects(missing.conditions(), { name: 'NoSuchBucket' });
  });

  it('detects a fork also if the server ignores conditions', async () => {
    const objects = new Map<string, Buffer>();
    const ignoring = await listening((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://x');
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method === 'PUT') objects.set(pathname, Buffer.concat(chunks));
        if (request.method === 'DELETE') objects.delete(pathname);
        const found = objects.get(pathname);
        const missing = request.method === 'GET' && found === undefined;
        response.writeHead(missing ? 404 : 200, { etag: `"${String(found?.length)}"` });
        response.end(request.method === 'GET' ? found : undefined);
      });
    });
    const blind = await open('s3://any', ignoring.url);
    opened.push(blind);
    assert.deepEqual(await blind.conditions(), { create: false, replace: false });
    const store = blind.store('log/live/1');
    await publish(grown([300, 'leaf']), store);
    await publish(grown([600, 'leaf']), store);
    objects.delete('/any/log/live/1/checkpoint');
    await assert.rejects(publish(grown([600, 'other']), store), { code: 'fork' });
    assert.equal(objects.has('/any/log/live/1/checkpoint'), false);
    await ignoring.close();
  });
});
