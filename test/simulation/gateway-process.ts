// The process of a gateway on the simulated machine: how it starts, ends and starts again, and what it may refuse. The
// sources of the gateway and its plugins run as they are, from the request handler that a server would call down to the
// files and databases.

import { pino } from 'pino';
import { readConfig } from '../../gateway/config.ts';
import { openGateway } from '../../gateway/open.ts';
import type { OpenedGateway } from '../../gateway/open.ts';
import { activate } from '../../gateway/server.ts';
import type { Active } from '../../gateway/server.ts';
import { isLogError } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import type { GatewayPlan } from './gateway-plan.ts';
import { Ledger } from './ledger.ts';
import { Machine } from './machine.ts';
import { DATA, describe, PATIENCE_MS } from './subject.ts';
import { useFiles } from './world/files.ts';
import { useDatabases } from './world/level.ts';
import { Receivers, useReceivers } from './world/undici.ts';
import { Broken, Process } from './world/world.ts';
import type { World } from './world/world.ts';

/** A gateway that answers requests. */
export interface Serving extends Active, OpenedGateway {}

export class GatewayProcess extends Machine {
  protected readonly plan: GatewayPlan;
  protected readonly receivers = new Receivers();
  /** What the live log has said. */
  protected readonly ledger = new Ledger('gateway.example/log/live/1', null);
  protected serving: Serving | null = null;

  constructor(plan: GatewayPlan, world: World) {
    super(world, 'gateway');
    this.plan = plan;
  }

  get entries(): number {
    return this.serving?.gateway.logs.live.size() ?? 0;
  }

  protected use(): void {
    useFiles(this.files);
    useDatabases(this.databases);
    useReceivers(this.receivers);
    this.files.removed = (folder) => {
      this.databases.remove(folder);
    };
  }

  protected get live(): Log | null {
    return this.serving?.gateway.logs.live ?? null;
  }

  protected override get running(): boolean {
    return this.serving !== null;
  }

  protected override start(): void {
    if (this.starting) return;
    this.starting = true;
    this.world.trace(() => 'start of the gateway');
    const process = this.process;
    this.world
      .as(process, () => this.#open())
      .then(
        (serving) => {
          this.starting = false;
          this.serving = serving;
          this.world.trace(() => `started with ${String(this.entries)} entries`);
          this.guard(() => {
            this.started(serving);
          });
        },
        (error: unknown) => {
          this.starting = false;
          if (process.alive)
            this.guard(() => {
              this.#refusedStart(error);
            });
        },
      );
  }

  async #open(): Promise<Serving> {
    const world = this.world;
    const sources = readConfig({
      BASE_URL: 'http://gateway.example',
      CHECKPOINT_DIR: '/register',
      CHECKPOINT_INTERVAL_MS: String(this.plan.interval_ms),
      DATA_DIR: DATA,
      LOG_ORIGIN: 'gateway.example',
      RATE_LIMITS: 'off',
      SCRUB: 'off',
      THREADS: 'off',
    });
    const write = (line: string): void => {
      world.trace(() => `says ${line.trim()}`);
    };
    const logger = pino(
      { level: world.lines === null ? 'silent' : 'warn', base: null, timestamp: false },
      { write },
    );
    const opened = await openGateway(sources, {
      logger,
      time: { wall: () => world.wall_ms, monotonic: () => world.monotonic_ms },
    });
    const active = await activate(opened, logger);
    const close = async (): Promise<void> => {
      await active.close();
      await opened.close();
    };
    return { ...opened, ...active, close };
  }

  /** A start may be refused only while a disk does not work. */
  #refusedStart(error: unknown): void {
    this.world.trace(() => `start refused: ${isLogError(error) ? error.code : String(error)}`);
    if (this.#isDisk(error) && this.excused) return;
    if (isLogError(error) && error.code === 'clock_untrusted' && this.clockMoved) return;
    throw new Broken('start refused', describe(error));
  }

  #isDisk(error: unknown): boolean {
    const system = (error as { code?: string }).code ?? '';
    return ['log_unavailable', 'ENOSPC', 'EIO'].includes(system);
  }

  /** What must hold of every process before its first request. */
  protected started(serving: Serving): void {
    this.ledger.checkAll(serving.gateway.logs.live, false);
  }

  /** A finding in a callback of the product ends the run at the next turn. */
  protected guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      // A log that is closing, or opens its database again after a failed write, is read later.
      if ((this.excused || this.stopping) && isLogError(error) && error.code === 'log_unavailable')
        return;
      this.world.broken ??=
        error instanceof Broken ? error : new Broken('check failed', describe(error));
    }
  }

  protected async stop({ close }: Serving): Promise<void> {
    const process = this.process;
    const done = { closed: false };
    this.stopping = true;
    this.world.as(process, close).then(
      () => {
        done.closed = true;
      },
      (error: unknown) => {
        this.world.trace(() => `close: ${String(error)}`);
        done.closed = true;
        this.guard(() => {
          if (!this.excused) throw new Broken('close refused', describe(error));
        });
      },
    );
    if (!(await this.world.until(() => done.closed, PATIENCE_MS * this.world.slowness))) {
      throw new Broken('close hangs', 'the gateway does not close');
    }
    await this.world.end(process);
    // A close that failed has not let go of the databases; the process ends.
    this.databases.crash(DATA, false, this.world.random('crash'));
  }

  /** A new process, after the last one has ended in whatever way. */
  protected override again(): void {
    this.process = new Process('gateway');
    this.serving = null;
    this.starting = false;
    this.stopping = false;
    const { full, failing } = this.files.faults;
    this.excused = full || failing || this.databases.faults.failing !== null;
    this.start();
  }

  /** Waits until the gateway serves, starting it again as an operator would. Null if a fault keeps it from starting. */
  protected async opened(): Promise<Serving | null> {
    if (this.serving === null) this.start();
    const world = this.world;
    if (await world.until(() => !this.starting, PATIENCE_MS * world.slowness)) return this.serving;
    if (this.clockMoved) {
      world.skew_ms = this.farthest_ms;
      if (await world.until(() => !this.starting, PATIENCE_MS * world.slowness))
        return this.serving;
    }
    throw new Broken('start hangs', 'the gateway neither starts nor refuses');
  }
}
