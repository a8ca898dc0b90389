// Nodes of a cluster as processes, each behind two proxies: one to PostgreSQL, and one by which the other nodes reach it.

import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ACTLOG, actlog } from '../support/actlog.ts';
import type { Ran } from '../support/actlog.ts';
import { freePort } from '../support/free-port.ts';
import { startProxy } from './proxy.ts';
import type { Proxy } from './proxy.ts';

const run = promisify(execFile);

/** What /readyz of a node says. */
export interface Ready {
  readonly ready: boolean;
  readonly role: 'leader' | 'follower';
  readonly leader: string | null;
  readonly applied: Readonly<Record<string, number>>;
  readonly lag_ms: number;
}

/** One node: a data folder, two ports, and a process or none. */
export class ClusterNode {
  readonly name: string;
  readonly data: string;
  readonly url: string;
  readonly toDatabase: Proxy;
  /** The other nodes reach this node through it. */
  readonly toNode: Proxy;
  /** The keys of a first start. */
  keys: { live: string; sandbox: string } | null = null;
  /** Verifier keys of the logs, as the start has shown them. */
  vkeys: readonly string[] = [];
  readonly #env: Record<string, string>;
  #child: ChildProcess | null = null;
  #paused = false;
  #full = false;

  private constructor(
    name: string,
    data: string,
    port: number,
    proxies: readonly [Proxy, Proxy],
    env: Record<string, string>,
  ) {
    this.name = name;
    this.data = data;
    this.url = `http://127.0.0.1:${String(port)}`;
    [this.toDatabase, this.toNode] = proxies;
    this.#env = env;
  }

  static async make(
    folder: string,
    name: string,
    database: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<ClusterNode> {
    const port = await freePort();
    const address = new URL(database);
    const toDatabase = await startProxy(Number(address.port));
    const toNode = await startProxy(port);
    address.port = String(toDatabase.port);
    const passphrase = join(folder, 'passphrase');
    await mkdir(folder, { recursive: true });
    await writeFile(passphrase, 'the same on all nodes\n');
    return new ClusterNode(name, join(folder, name), port, [toDatabase, toNode], {
      PORT: String(port),
      HOST: '127.0.0.1',
      BASE_URL: 'http://log.example',
      CLUSTER: 'on',
      DATABASE_URL: address.href,
      ADVERTISE: `http://127.0.0.1:${String(toNode.port)}`,
      KEY_PASSPHRASE_FILE: passphrase,
      CHECKPOINT_INTERVAL_MS: '200',
      LOG_LEVEL: 'warn',
      RATE_LIMITS: 'off',
      SHUTDOWN_TIMEOUT_MS: '2000',
      ...settings,
    });
  }

  get running(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts the process; resolves when it serves. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [...ACTLOG, 'serve', '--data', this.data], {
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#paused = this.#full = false;
    const log = `${this.data}.log`;
    child.stderr.on('data', (bytes: Buffer) => appendFileSync(log, bytes));
    const keys: Record<string, string> = {};
    for await (const line of createInterface(child.stdout)) {
      appendFileSync(log, `${line}\n`);
      const [, kind = '', key = ''] = /^(live|sandbox) key: (\S+)$/.exec(line) ?? [];
      if (kind !== '') keys[kind] = key;
      const [, vkey = ''] = /^log (\S+) \S+$/.exec(line) ?? [];
      if (vkey !== '') this.vkeys = [...new Set([...this.vkeys, vkey])];
      if (!line.startsWith('actlog serves ')) continue;
      const { live, sandbox } = keys;
      if (live !== undefined && sandbox !== undefined) this.keys = { live, sandbox };
      child.stdout.on('data', (bytes: Buffer) => appendFileSync(log, bytes));
      child.stdout.resume();
      return;
    }
    throw new Error(`node ${this.name} ended before it served: see ${log}`);
  }

  /** Starts it, and does not wait. A node without a database or a leader serves later. */
  begin(): Promise<void> {
    const started = this.start();
    started.catch(() => undefined);
    return started;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || !this.running) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<number | null> {
    const child = this.#child;
    if (child === null || !this.running) return child?.exitCode ?? null;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill('SIGTERM');
    return (await ended)[0];
  }

  pause(): void {
    this.#paused = true;
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#paused = false;
    this.#child?.kill('SIGCONT');
  }

  /** Lets no file grow, as on a full disk, or lets them grow again. Node ignores SIGXFSZ, so a write fails. */
  async fillDisk(full: boolean): Promise<void> {
    if (this.#full === full) return;
    this.#full = full;
    if (!this.running) return;
    const limit = full ? '1:unlimited' : 'unlimited:unlimited';
    await run('prlimit', ['--pid', String(this.pid), `--fsize=${limit}`]);
  }

  async wipe(): Promise<void> {
    await rm(this.data, { recursive: true, force: true });
  }

  /** What /readyz says; null while the node does not answer as a node. */
  async ready(): Promise<Ready | null> {
    try {
      const answer = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(2000) });
      if (!answer.ok) return null;
      return (await answer.json()) as Ready;
    } catch {
      return null;
    }
  }

  /** Waits until /readyz satisfies a condition. */
  async until(condition: (ready: Ready) => boolean, ms = 30_000): Promise<Ready> {
    const deadline = Date.now() + ms;
    for (;;) {
      const ready = await this.ready();
      if (ready !== null && condition(ready)) return ready;
      if (Date.now() > deadline) {
        throw new Error(`node ${this.name} did not become so: ${JSON.stringify(ready)}`);
      }
      await sleep(25);
    }
  }

  /** Runs `actlog cluster …` on this node. */
  cluster(verb: string): Promise<Ran> {
    return actlog(['cluster', verb, '--json', '--data', this.data], { env: this.#env });
  }

  async close(): Promise<void> {
    if (this.#paused) this.resume();
    await this.kill();
    await Promise.all([this.toDatabase.close(), this.toNode.close()]);
  }
}
