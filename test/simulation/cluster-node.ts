// A simulated machine with one node of a cluster: its disk, its clocks, and the process that runs gateway/cluster/node.ts
// and is started again when it ends.

import { startNode } from '../../gateway/cluster/node.ts';
import { readConfig } from '../../gateway/config.ts';
import type { AdminVerbs } from '../../gateway/tenants/admin.ts';
import { isLogError } from '../../log/index.ts';
import type { OpenGateway } from './cluster-gateway.ts';
import { describe } from './subject.ts';
import { Files, useFiles } from './world/files.ts';
import { theNetwork } from './world/http.ts';
import { Databases, useDatabases } from './world/level.ts';
import { theServer } from './world/postgres.ts';
import { Broken, Process } from './world/world.ts';
import type { Machine, World } from './world/world.ts';

/** How long a manager of services waits before it starts a process again. */
const RESTART_MS = 1000;
/** How long a server keeps the connections of a machine that is gone. */
const GONE_MS = 10_000;

type Logger = Parameters<typeof startNode>[1]['logger'];

export class ClusterNode implements Machine {
  readonly name: string;
  readonly address: string;
  readonly data: string;
  files = new Files();
  databases = new Databases();
  skew_ms: number;
  suspended_us = 0;
  /** Null while no process runs. */
  process: Process | null = null;
  /** Null while the node has no role. */
  gateway: OpenGateway | null = null;
  verbs: AdminVerbs = {};
  /** Whether the operator has stopped it. */
  stopped = false;
  /** Why a process of this node refused to start or to serve because of its history; null if none has. */
  forked: string | null = null;
  /** Whether the disk has refused a write since the process began. */
  diskRefused = false;
  readonly #world: World;
  readonly #snapshot_bytes: number;
  readonly #broken: (error: Broken) => void;
  #close: (() => Promise<void>) | null = null;

  constructor(
    nth: number,
    world: World,
    options: {
      readonly skew_ms: number;
      readonly snapshot_bytes: number;
      readonly broken: (error: Broken) => void;
    },
  ) {
    this.name = `node${String(nth)}`;
    this.address = `http://${this.name}.example`;
    this.data = `/${this.name}`;
    this.skew_ms = options.skew_ms;
    this.#world = world;
    this.#snapshot_bytes = options.snapshot_bytes;
    this.#broken = options.broken;
    this.files.removed = (folder) => this.databases.remove(folder);
  }

  enter(): void {
    useFiles(this.files);
    useDatabases(this.databases);
  }

  get leads(): boolean {
    return this.gateway?.leads === true;
  }

  get paused(): boolean {
    return this.process !== null && this.process.deferred !== null;
  }

  /** Starts the process, unless it runs, or was refused and will be started again. */
  start(): void {
    this.stopped = false;
    if (this.process !== null) return;
    const process = new Process(this.name, this);
    this.process = process;
    this.diskRefused = this.files.faults.full;
    const sources = readConfig({
      DATA_DIR: this.data,
      DATABASE_URL: 'postgres://database.example/actlog',
      ADVERTISE: this.address,
      BASE_URL: 'https://log.example',
      THREADS: 'off',
    });
    const config = { ...sources.config, CLUSTER_SNAPSHOT_BYTES: this.#snapshot_bytes };
    this.#world.as(process, () => {
      this.#world.trace(() => 'start');
      startNode({ ...sources, config }, { logger: this.#logger(process) }).then(
        (server) => {
          this.#close = () => server.close();
        },
        (error: unknown) => this.#refused(process, error),
      );
    });
  }

  /** The process ends at once; with `power`, the machine does. */
  async kill(power: boolean): Promise<void> {
    const { process } = this;
    const world = this.#world;
    if (process !== null) {
      await world.end(process);
      process.deferred = null;
      const end = (): void => {
        for (const session of theServer().sessions) {
          if (session.client.process === process) session.close();
        }
      };
      if (power) world.after(GONE_MS * 1000, end, new Process('network'));
      else end();
      theNetwork().ended(process);
    }
    this.#ended();
    const dice = world.random('crash');
    this.enter();
    this.databases.crash(this.data, power, dice);
    if (power) this.files.powerFailure(dice);
  }

  /** Ends the process in good order. */
  async stop(patience_ms: number): Promise<void> {
    const { process } = this;
    const close = this.#close;
    if (process === null || close === null) {
      await this.kill(false);
      return;
    }
    const state = { closed: false };
    this.#world.as(process, () => {
      close().then(
        () => (state.closed = true),
        (error: unknown) => {
          state.closed = true;
          this.#world.trace(() => `close failed: ${String(error)}`);
        },
      );
    });
    if (!(await this.#world.until(() => state.closed || !process.alive, patience_ms))) {
      throw new Broken('close hangs', `${this.name} does not end`);
    }
    await this.kill(false);
  }

  /** Deletes the data folder. */
  wipe(): void {
    this.files = new Files();
    this.databases = new Databases();
    this.files.removed = (folder) => this.databases.remove(folder);
    this.forked = null;
  }

  /** The start failed, or the node found that its history is another one. */
  #refused(process: Process, error: unknown): void {
    if (!process.alive) return;
    this.#world.trace(() => `start refused: ${String(error)}`);
    const code = isLogError(error) ? error.code : ((error as { code?: string }).code ?? '');
    const forked = code === 'store_corrupt' && String(error).includes('forked');
    if (forked) this.forked = String(error);
    const disk = this.diskRefused && (code === 'ENOSPC' || code === 'EIO');
    if (!forked && !disk && code !== 'log_unavailable' && code !== 'log_locked') {
      this.#broken(new Broken('start refused', `${this.name}: ${describe(error)}`));
    }
    this.#world.after(
      RESTART_MS * 1000,
      () => {
        if (this.process === process && !this.stopped)
          void this.kill(false).then(() => this.start());
      },
      new Process('manager'),
    );
  }

  #ended(): void {
    this.process = null;
    this.gateway = null;
    this.verbs = {};
    this.#close = null;
  }

  #logger(process: Process): Logger {
    const line =
      (level: string) =>
      (what: unknown, message?: string): void => {
        const { err } = (typeof what === 'object' && what !== null ? what : {}) as {
          err?: unknown;
        };
        const text = message ?? (typeof what === 'string' ? what : '');
        this.#world.trace(
          () => `${level}: ${text}${err instanceof Error ? ` (${err.message})` : ''}`,
        );
        if (!process.alive) return;
        if (text.includes('has forked')) this.forked = text;
        if (isMistake(err)) {
          this.#broken(new Broken('mistake', describe(err)));
        }
      };
    const logger = { info: line('info'), warn: line('warn'), error: line('error') };
    return logger as unknown as Logger;
  }
}

/** Whether an error is a mistake in the program, which the node survives. */
export function isMistake(error: unknown): boolean {
  return (
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  );
}
