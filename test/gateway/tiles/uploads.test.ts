// A service with TILES_URL: a monitor needs only the bucket, an outage delays the upload, and a fork stops publishing.

import assert from 'node:assert/strict';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { actlog } from '../../support/actlog.ts';
import { s3Suite } from '../../support/s3-server.ts';
import { serveFiles } from '../../support/static-server.ts';

/** Waits for an effect of another process or a timer. */
async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await holds()) return;
    await sleep(50);
  }
  assert.fail(`${what} did not happen`);
}

s3Suite('gateway/tiles: uploads', (server) => {
  let running: Running;
  const lines: string[] = [];
  const env = () => ({
    TILES_URL: `s3://${server().bucket}/public`,
    TILES_ENDPOINT: server().endpoint,
    TILES_INTERVAL_MS: '20',
  });
  const folder = (): string => join(server().folder, 'public/log/live/1');
  const write = async (): Promise<void> => {
    const { status, text } = await running.post(
      '/api/v1/classify',
      { message: 'a' },
      { key: running.live },
    );
    assert.equal(status, 200, text);
    await running.gateway.logs.live.whenPublished(running.gateway.logs.live.size());
  };
  const stored = (): Promise<string> =>
    readFile(join(folder(), 'checkpoint'), 'utf8').catch(() => '');
  const caughtUp = (): Promise<void> =>
    until('the newest checkpoint in the bucket', async () => {
      return (await stored()) === running.gateway.logs.live.published().note;
    });
  const health = async () => (await running.get('/health')).json;
  const metric = async (name: string): Promise<number> => {
    const text = await running.gateway.metrics.registry.getSingleMetricAsString(name);
    return Number(/kind="live",number="1"\} (\S+)/.exec(text)?.[1]);
  };

  before(async () => {
    running = await run(env(), { lines: (line) => lines.push(line) });
  });
  after(() => running.close());

  it('uploads a log that a monitor can follow without the service', async () => {
    for (let i = 0; i < 3; i += 1) await write();
    await caughtUp();
    const kit = join(server().folder, 'public/export/offline-verify-kit.json');
    await until('the kit', async () => (await readFile(kit).catch(() => '')).length > 0);
    await caughtUp();
    const site = await serveFiles(join(server().folder, 'public'));
    const state = join(running.data, 'monitor');
    const watched = await actlog([
      'monitor',
      site.url,
      '--once',
      '--log',
      'live',
      '--state',
      state,
    ]);
    await site.close();
    assert.equal(watched.code, 0, watched.stdout + watched.stderr);
    assert.equal(await metric('actlog_tiles_lag_entries'), 0);
    assert.equal(await metric('actlog_tiles_lag_seconds'), 0);
  });

  it('accepts entries while the store does not answer, reports it, and catches up', async () => {
    await caughtUp();
    await server().stop();
    const before = running.gateway.logs.live.size();
    await write();
    await until('the fault', async () => (await health()).degraded.includes('live_tiles'));
    const { reasons, status } = await health();
    assert.equal(status, 'degraded');
    assert.ok(
      reasons.includes('the newest checkpoint is not in the object store'),
      String(reasons),
    );
    assert.ok(running.gateway.logs.live.size() > before);
    assert.ok((await metric('actlog_tiles_lag_entries')) > 0);
    assert.ok((await metric('actlog_tiles_lag_seconds')) > 0);
    assert.ok((await metric('actlog_tiles_failures')) > 0);
    assert.ok(lines.some((line) => line.includes('tiles are not uploaded, and tried again')));
    assert.ok(
      lines.some((line) => line.includes('ECONNREFUSED')),
      'the log of the service has the reason',
    );
    await server().start();
    await caughtUp();
    await until(
      'the end of the fault',
      async () => !(await health()).degraded.includes('live_tiles'),
    );
  });

  it('continues after a restart', async () => {
    const { data, live } = running;
    await running.close(true);
    running = { ...(await run({ ...env(), DATA_DIR: data })), live };
    await write();
    await caughtUp();
    assert.equal(await metric('actlog_tiles_stopped'), 0);
  });

  it('stops publishing if the bucket has other bytes, and continues to serve', async () => {
    await caughtUp();
    const { data, live } = running;
    await running.close(true);
    // Another process has published under the same prefix, and its checkpoint was deleted.
    const bundles = join(folder(), 'tile/entries/000.p');
    const { size } = running.gateway.logs.live.published();
    await rm(bundles, { recursive: true });
    await rm(join(folder(), 'checkpoint'));
    const partial = join(folder(), 'tile/0/000.p');
    for (const name of await readdir(partial)) await rm(join(partial, name));
    for (let width = size; width < size + 40; width += 1) {
      await writeFile(join(partial, String(width)), Buffer.alloc(32 * width, 1));
    }
    running = {
      ...(await run({ ...env(), DATA_DIR: data }, { lines: (line) => lines.push(line) })),
      live,
    };
    await write();
    await until('the stop', async () => (await metric('actlog_tiles_stopped')) === 1);
    await write();
    assert.equal(await stored(), '', 'a forked prefix gets no checkpoint');
    assert.match(
      String((await health()).reasons),
      /nothing more is published to the object store: it has another history of the log/,
    );
    assert.ok(
      lines.some((line) => line.includes('has other bytes at public/log/live/1/tile/0/000.p/')),
    );
  });
});
