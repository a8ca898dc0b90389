// Servers of the bench as processes of their own: the service and the bare one.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NODE_ARGS, programOf } from './program.ts';

/** A running child that answers HTTP. */
export interface ChildProgram {
  readonly url: string;
  /** The lines it has said so far. */
  readonly said: readonly string[];
  /** Runs from dist and not through the transpiler. */
  readonly built: boolean;
  /** Resident memory now and at its highest, in MB; NaN off Linux. */
  memory(): { rss: number; peak: number };
  stop(): Promise<void>;
}

/** What is still running when the bench ends for whatever reason must not outlive it. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The service on a data folder, with settings beside those of every measurement. */
export async function startService(
  data: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ChildProgram> {
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  return start('tools/actlog', ['serve'], / serves /, url, {
    HOST: '127.0.0.1',
    PORT: String(port),
    BASE_URL: url,
    DATA_DIR: data,
    CHECKPOINT_DIR: join(data, 'checkpoints'),
    LOG_ORIGIN: '',
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
    ...settings,
  });
}

/** Starts and stops the service on a folder where it never ran; answers with the live key that it made. */
export async function firstStart(data: string): Promise<string> {
  const service = await startService(data);
  await service.stop();
  const [, key] = /live key: (\S+)/.exec(service.said.join('\n')) ?? [];
  if (key === undefined) throw new Error('the first start printed no live key');
  return key;
}

/** Runs a command of `actlog` to its end; rejects when it exits with anything but 0. */
export async function runCommand(...args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [...programOf('tools/actlog').args, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`actlog ${args[0] ?? ''} exited with ${String(code)}`);
}

/** Koa alone. */
export async function startBareKoa(): Promise<ChildProgram> {
  const child = await start('tools/bench/bare-koa', [], /^serves /, '', {});
  return { ...child, url: child.said.at(-1)?.replace('serves ', '') ?? '' };
}

async function start(
  module: string,
  args: readonly string[],
  ready: RegExp,
  url: string,
  env: Readonly<Record<string, string>>,
): Promise<ChildProgram> {
  const program = programOf(module);
  const child = spawn(process.execPath, [...NODE_ARGS, ...program.args, ...args], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  await new Promise<void>((resolve, reject) => {
    child.once('close', (code) =>
      reject(new Error(`${module} ended with ${String(code)}: ${said.join('\n')}`)),
    );
    createInterface({ input: child.stdout }).on('line', (line) => {
      said.push(line);
      if (ready.test(line)) resolve();
    });
  });
  return {
    url,
    said,
    built: program.built,
    memory: () => memoryOf(child),
    stop: async () => {
      if (child.exitCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** A free port of this machine. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** proc(5), VmRSS and VmHWM. */
function memoryOf({ pid }: ChildProcess): { rss: number; peak: number } {
  const megabytes = (name: string, status: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024;
  try {
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    return { rss: megabytes('VmRSS', status), peak: megabytes('VmHWM', status) };
  } catch {
    return { rss: Number.NaN, peak: Number.NaN };
  }
}
