// A real S3 server for tests that supports conditional writes: versitygw on a temporary folder and a free port. The
// program is built once with Go (`.ci/run`) and kept in the cache of the user. Without it the suites are skipped with
// the reason; with CI set and Go installed they fail instead.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { setEnvironment } from './environment.ts';

/** `.ci/run` builds this file; the version is in its name. */
const PROGRAM = join(homedir(), '.cache/actlog/versitygw-v1.8.0');

const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'actlog-test',
  AWS_SECRET_ACCESS_KEY: 'actlog-test-secret',
};

/** A running server with one bucket. */
export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  /** The folder with the objects of the bucket as files. */
  readonly folder: string;
  /** Kills the server; the objects remain. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/**
 * A suite that needs the server; its body receives it when it runs. AWS_* variables hold its credentials meanwhile.
 */
export function s3Suite(title: string, body: (server: () => S3Server) => void): void {
  const without = existsSync(PROGRAM) ? null : 'versitygw is not built, see .ci/run';
  describe(`${title}${without === null ? '' : ` (skipped: ${without})`}`, function () {
    this.timeout(60_000);
    let server: (S3Server & { remove(): Promise<void> }) | null = null;
    let restore = (): void => undefined;

    before(async function () {
      if (without !== null) {
        const { CI, ACTLOG_S3 } = process.env;
        assert.ok(
          CI === undefined || ACTLOG_S3 === 'skipped',
          'CI runs these tests with versitygw',
        );
        this.skip();
      }
      restore = setEnvironment(CREDENTIALS);
      server = await startServer();
    });
    after(async () => {
      await server?.remove();
      restore();
    });

    body(() => {
      assert.ok(server !== null);
      return server;
    });
  });
}

async function startServer(): Promise<S3Server & { remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), 'actlog-s3-'));
  const bucket = 'tiles';
  const objects = join(root, 'objects');
  const folder = join(objects, bucket);
  // ETags are stored in separate files, because not every file system has extended attributes.
  const etags = join(root, 'etags');
  await mkdir(folder, { recursive: true });
  await mkdir(etags);
  const port = await freePort();
  let child: ChildProcess | null = null;
  const stop = async (): Promise<void> => {
    if (child === null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    child = null;
  };
  const start = async (): Promise<void> => {
    const address = `127.0.0.1:${String(port)}`;
    const args = [
      '--port',
      address,
      '--quiet',
      '--keep-alive',
      'posix',
      '--sidecar',
      etags,
      objects,
    ];
    child = spawn(PROGRAM, args, {
      stdio: 'ignore',
      env: {
        ROOT_ACCESS_KEY: CREDENTIALS.AWS_ACCESS_KEY_ID,
        ROOT_SECRET_KEY: CREDENTIALS.AWS_SECRET_ACCESS_KEY,
      },
    });
    while (!(await accepts(port))) await sleep(20);
  };
  await start();
  return {
    endpoint: `http://127.0.0.1:${String(port)}`,
    bucket,
    folder,
    stop,
    start,
    async remove() {
      await stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
