// The server as a separate process, which a test can kill.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ACTLOG } from '../support/actlog.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The address and settings of the server. */
export interface ServerPlace {
  readonly data: string;
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with the process before it prints anything. */
  readonly onSpawn?: (child: ChildProcess) => void;
}

/** A started server process. */
export class ChildServer {
  readonly url: string;
  /** The keys that the first start printed, by kind; empty later. */
  readonly keys: ReadonlyMap<string, string>;
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  private constructor(
    url: string,
    keys: ReadonlyMap<string, string>,
    child: ChildProcess,
    exit: Promise<unknown>,
  ) {
    this.url = url;
    this.keys = keys;
    this.#child = child;
    this.#exit = exit;
  }

  /** Starts the server and waits until it listens; rejects with its output if it exits. */
  static async start(place: ServerPlace): Promise<ChildServer> {
    const { data, port, env = {} } = place;
    const url = `http://127.0.0.1:${String(port)}`;
    const child = spawn(process.execPath, [...ACTLOG, 'serve'], {
      cwd: root,
      env: {
        PATH: process.env['PATH'],
        HOST: '127.0.0.1',
        PORT: String(port),
        BASE_URL: url,
        LOG_ORIGIN: 'crash.example',
        DATA_DIR: data,
        CHECKPOINT_DIR: join(data, 'checkpoints'),
        RATE_LIMITS: 'off',
        LOG_LEVEL: 'error',
        CHECKPOINT_INTERVAL_MS: '50',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    place.onSpawn?.(child);
    const exit = once(child, 'exit');
    const said: string[] = [];
    const keys = new Map<string, string>();
    const serves = new Promise<void>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        said.push(line);
        const [, kind, key] = /^(sandbox|live) key: (\S+)$/.exec(line) ?? [];
        if (kind !== undefined && key !== undefined) keys.set(kind, key);
        if (line.startsWith('actlog serves ')) resolve();
      });
    });
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
    const ended = exit.then(() => {
      throw new Error(`the server ended:\n${said.join('\n')}`);
    });
    ended.catch(() => undefined);
    await Promise.race([serves, ended]);
    return new ChildServer(url, keys, child, exit);
  }

  get process(): ChildProcess {
    return this.#child;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  /** Stops the server in an orderly way, and returns its exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    await this.#exit;
    return this.#child.exitCode;
  }

  /** Resolves when the process has ended for any reason. */
  async ended(): Promise<void> {
    await this.#exit;
  }
}
