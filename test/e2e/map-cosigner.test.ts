// A server and a monitor as a process: the monitor's cosignature joins each checkpoint once it has replayed it,
// and absence documents show it.

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { native, openCheckpoint } from '../../log/index.ts';
import { run, type Running } from '../gateway/running.ts';
import { start } from '../support/actlog.ts';
import { freePort } from '../support/free-port.ts';

describe('a monitor that cosigns beside a server', () => {
  let folder: string;
  let server: Running | undefined;
  let monitor: ChildProcess | undefined;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-map-'));
  });
  after(async () => {
    if (monitor?.exitCode === null) {
      const exit = once(monitor, 'exit');
      monitor.kill('SIGTERM');
      assert.deepEqual(await exit, [0, null], 'it stops in good order');
    }
    await server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('has its line in the note of a checkpoint that it has replayed', async () => {
    const env = { DATA_DIR: join(folder, 'data'), CHECKPOINT_INTERVAL_MS: '200' };
    const PORT = String(await freePort());
    const first = await run({ ...env, PORT });
    const { live: key } = first;
    monitor = start(
      ['monitor', first.url, '--log', 'live', '--interval', '60s', '--cosign', 'm.example'].concat(
        ...[['--cosign-serve', '127.0.0.1:0', '--state', join(folder, 'state')]],
      ),
    );
    let policy = '';
    let vkey = '';
    // It must know the log before the server is started again with it.
    for await (const line of createInterface(monitor.stdout!)) {
      const [, told, own] = /^cosigner {2}(witness \S+ (\S+) http\S+)$/.exec(line) ?? [];
      policy ||= told === undefined ? '' : told.replace('m.example/map', 'm');
      vkey ||= own ?? '';
      if (/^live\/1 {2}ok/.test(line)) break;
    }
    monitor.stdout!.resume();
    assert.notEqual(policy, '');
    await first.close(true);
    await writeFile(join(folder, 'policy'), `${policy}\nquorum none\n`);
    const WITNESS_POLICY = join(folder, 'policy');
    server = await run({ ...env, PORT, WITNESS_POLICY });
    const { status, text } = await server.post('/api/v1/classify', { message: 'x' }, { key });
    assert.equal(status, 200, text);
    const log = server.gateway.logs.live;
    const { size } = await log.whenPublished(log.size());
    const cosigners = (): string[] =>
      openCheckpoint(native, log.checkpointAt(size) ?? '', { ...logOf(log), cosigners: [vkey] })
        .cosignatures.filter(({ map }) => map)
        .map(({ name }) => name);
    const late = Date.now() + 120_000;
    while (cosigners().length === 0 && Date.now() < late) await sleep(50);
    const { witnesses } = server.gateway.witnesses!.health(log)!;
    assert.deepEqual(cosigners(), ['m.example/map'], witnesses[0]?.problem ?? '');
    assert.equal((await server.get('/log/live/checkpoint')).text, log.published().note);
  }).timeout(240_000);
});

const logOf = ({ origin, vkey }: { readonly origin: string; readonly vkey: string }) => ({
  origin,
  vkey,
});
