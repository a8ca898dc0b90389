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
  /** Seconds of processor time so far, of all its threads; NaN off Linux. */
  processor_s(): number;
  stop(): Promise<void>;
  /** Ends it without notice. */
  kill(): Promise<void>;
}

/** Lines of another program's log that are kept, and how long it may take to start. */
const LINES = 100;
const START_MS = 30_000;

/** What is still running when the bench ends for whatever reason must not outlive it. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A program of somebody else, which answers HTTP at the URL. Resolves when it does. */
export async function startProgram(
  command: string,
  args: readonly string[],
  url: string,
): Promise<ChildProgram> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    if (said.length > LINES) said.shift();
  });
  const until = performance.now() + START_MS;
  while (!(await answers(url))) {
    if (child.exitCode !== null || performance.now() > until) {
      child.kill('SIGKILL');
      throw new Error(`${command} does not answer ${url}: ${said.join('\n')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return handleOf(child, url, said, true);
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    async (response) => {
      await response.arrayBuffer();
      return true;
    },
    () => false,
  );

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
    ...folderOf(data),
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
    ...settings,
  });
}

/** The settings of a data folder, whatever the origin of its logs is. */
const folderOf = (data: string): Readonly<Record<string, string>> => ({
  DATA_DIR: data,
  CHECKPOINT_DIR: join(data, 'checkpoints'),
  LOG_ORIGIN: '',
});

/** Starts and stops the service on a folder where it never ran; answers with the live key that it made. */
export async function firstStart(data: string): Promise<string> {
  const service = await startService(data);
  await service.stop();
  const [, key] = /live key: (\S+)/.exec(service.said.join('\n')) ?? [];
  if (key === undefined) throw new Error('the first start printed no live key');
  return key;
}

/** Makes the first keys in a folder whose log was written without the service; answers with the live key. */
export async function firstKeys(data: string): Promise<string> {
  const issued = await runCommand(['keys', 'first', '--new-keys', '--json'], folderOf(data));
  const keys = JSON.parse(issued) as readonly { readonly kind: string; readonly key: string }[];
  const live = keys.find(({ kind }) => kind === 'live');
  if (live === undefined) throw new Error('keys first printed no live key');
  return live.key;
}

/** Runs a command of `actlog` to its end, and answers with its output; rejects when it exits with anything but 0. */
export async function runCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = spawn(process.execPath, [...programOf('tools/actlog').args, ...args], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`actlog ${args[0] ?? ''} exited with ${String(code)}`);
  return output;
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
  return handleOf(child, url, said, program.built);
}

const handleOf = (
  child: ChildProcess,
  url: string,
  said: readonly string[],
  built: boolean,
): ChildProgram => ({
  url,
  said,
  built,
  memory: () => memoryOf(child),
  processor_s: () => processorOf(child),
  stop: () => endOf(child, 'SIGTERM'),
  kill: () => endOf(child, 'SIGKILL'),
});

async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
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

/** proc(5), utime and stime of /proc/<pid>/stat, in ticks of 10 ms. */
function processorOf({ pid }: ChildProcess): number {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}
