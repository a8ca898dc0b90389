// The command line as processes: a server on a data folder of its own, and commands run in a folder without one.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { suiteCluster } from '../cluster/suite-cluster.ts';
import { ACTLOG } from '../support/actlog.ts';

/** A server process that answers. */
export interface ServerProcess {
  readonly url: string;
  /** The live key of the first start. */
  readonly key: string;
  /** Stops it with SIGTERM and waits for its end; answers with the exit code. */
  stop(): Promise<number | null>;
  /** Kills it where it stands. */
  kill(): Promise<void>;
  /** SIGSTOP, and SIGCONT. */
  pause(): void;
  resume(): void;
}

/** What a command came to. */
export interface Ran {
  readonly code: number;
  readonly output: string;
}

/**
 * Starts `actlog serve` on a data folder, with settings beside the usual ones, and waits until it listens. With
 * CLUSTER_SUITES, these are two processes: the one on this folder leads, and `url` is that of one that follows.
 */
export async function startProcess(
  data: string,
  settings: Readonly<Record<string, string>> = {},
  program: readonly string[] = ACTLOG,
): Promise<ServerProcess> {
  const cluster = await suiteCluster(data);
  if (cluster === null) return startOne(data, settings, program);
  const start = async (folder: string): Promise<ServerProcess> =>
    startOne(folder, { ...settings, ...(await cluster.settings()) }, program);
  const leader = await start(data);
  const follower = await start(cluster.copy);
  const both = [follower, leader];
  return {
    url: follower.url,
    key: leader.key,
    async stop() {
      await follower.stop();
      return leader.stop();
    },
    pause: () => both.forEach((node) => node.pause()),
    resume: () => both.forEach((node) => node.resume()),
    async kill() {
      await Promise.all(both.map((node) => node.kill()));
    },
  };
}

async function startOne(
  data: string,
  settings: Readonly<Record<string, string>>,
  program: readonly string[],
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...program, 'serve', '--data', data], {
    env: { ...process.env, PORT: '0', HOST: '127.0.0.1', LOG_ORIGIN: 'log.example', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let key = '';
  for await (const line of createInterface(child.stdout)) {
    key = /^live key: (\S+)$/.exec(line)?.[1] ?? key;
    const port = /^actlog serves .* port (\d+)$/.exec(line)?.[1];
    if (port === undefined) continue;
    child.stdout.resume();
    return {
      url: `http://127.0.0.1:${port}`,
      key,
      async stop() {
        if (child.exitCode !== null) return child.exitCode;
        const ended = once(child, 'exit') as Promise<[number | null]>;
        child.kill('SIGTERM');
        return (await ended)[0];
      },
      pause: () => child.kill('SIGSTOP'),
      resume: () => child.kill('SIGCONT'),
      async kill() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      },
    };
  }
  throw new Error('the server ended before it listened');
}

/** Runs `actlog` in a folder. */
export const actlog = (folder: string, ...args: readonly string[]): Promise<Ran> =>
  runWith({}, folder, args);

/** Runs `actlog fsck` on the data folder of a server that was stopped. */
export async function fsck(data: string): Promise<Ran> {
  const cluster = await suiteCluster(data);
  return runWith((await cluster?.settings()) ?? {}, data, ['fsck', '--data', data]);
}

function runWith(
  settings: Readonly<Record<string, string>>,
  cwd: string,
  args: readonly string[],
): Promise<Ran> {
  const env = { ...process.env, ...settings };
  return new Promise((resolve) => {
    execFile(process.execPath, [...ACTLOG, ...args], { cwd, env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code);
      resolve({ code, output: stdout + stderr });
    });
  });
}
