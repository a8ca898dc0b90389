// A service whose checkpoint register is in PostgreSQL: it starts again after a kill, recovers after an outage of the
// database, and only one of two processes on the same logs writes.

import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startProcess } from '../e2e/process.ts';
import type { ServerProcess } from '../e2e/process.ts';
import { actlog } from '../support/actlog.ts';
import { postgresSuite } from '../support/postgres.ts';

postgresSuite('a service with its register in PostgreSQL', (postgres) => {
  let folder: string;
  let env: Record<string, string>;
  const servers: ServerProcess[] = [];

  const serve = async (data: string): Promise<ServerProcess> => {
    const server = await startProcess(join(folder, data), env);
    servers.push(server);
    return server;
  };
  const write = async ({ url }: ServerProcess, key: string): Promise<number> => {
    const { status } = await fetch(`${url}/api/v1/classify`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ message: 'The parcel has arrived.' }),
    });
    return status;
  };
  /** Writes until the answer has this status. */
  const writesBecome = async (
    status: number,
    server: ServerProcess,
    key: string,
  ): Promise<void> => {
    while ((await write(server, key)) !== status) await setTimeout(50);
  };

  const copied = (): Promise<void> =>
    cp(join(folder, 'data'), join(folder, 'copy'), {
      recursive: true,
      filter: (path) => !path.endsWith('.sock'),
    });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-database-'));
    env = {
      DATABASE_URL: await postgres().database(),
      CHECKPOINT_INTERVAL_MS: '100',
      LOG_LEVEL: 'silent',
    };
  });
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.kill()));
    await rm(folder, { recursive: true, force: true });
  });

  it('starts again after a kill once the lease has expired', async () => {
    const first = await serve('data');
    assert.equal(await write(first, first.key), 200);
    await first.kill();
    const again = await serve('data');
    assert.equal(await write(again, first.key), 200);
    assert.equal(await again.stop(), 0);
  });

  it('refuses a second data folder, new or copied, and continues to serve', async () => {
    const first = await serve('data');
    await copied();
    for (const [data, reason] of [
      ['new', /belongs to another data folder/],
      ['copy', /lease .* is held by|is a copy or was restored/],
    ] as const) {
      const { code, stderr } = await actlog(['serve', '--data', join(folder, data)], {
        env: { ...env, PORT: '0' },
      });
      assert.equal(code, 1);
      assert.match(stderr, reason);
    }
    assert.equal(await write(first, first.key), 200);
  });

  it('acknowledges nothing after a pause in which another process took the lease', async () => {
    const paused = await serve('data');
    const { key } = paused;
    assert.equal(await write(paused, key), 200);
    await setTimeout(300);
    paused.pause();
    await copied();
    const adopting = await actlog(['adopt', '--accept-risk', '--data', join(folder, 'copy')], {
      env,
    });
    assert.equal(adopting.code, 0, adopting.stderr);
    const next = await serve('copy');
    await writesBecome(200, next, key);
    paused.resume();
    await writesBecome(503, paused, key);
    assert.equal(await write(next, key), 200);
    await next.stop();
    const checked = await actlog(['fsck', '--data', join(folder, 'copy')], { env });
    assert.equal(checked.code, 0, checked.stdout);
  });

  it('refuses appends while the database is down, and accepts them afterwards', async () => {
    const server = await serve('data');
    assert.equal(await write(server, server.key), 200);
    await postgres().kill();
    await writesBecome(503, server, server.key);
    await postgres().start();
    await writesBecome(200, server, server.key);
    assert.equal(await server.stop(), 0);
  });
});
