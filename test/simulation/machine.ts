// A simulated machine with one process: its disk and databases, their faults, and how the process ends. log-process.ts and
// gateway-process.ts say what the process is.

import { DATA } from './subject.ts';
import { Files } from './world/files.ts';
import { Databases } from './world/level.ts';
import { Process } from './world/world.ts';
import type { World } from './world/world.ts';

/** What happens to the machine. */
export type MachineStep =
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'crash'; readonly power: boolean }
  | { readonly do: 'sync fails' }
  | { readonly do: 'disk full' }
  | { readonly do: 'disk slow'; readonly factor: number }
  | { readonly do: 'disk well' }
  | { readonly do: 'clock'; readonly ms: number };

export abstract class Machine {
  protected readonly world: World;
  protected files = new Files();
  protected databases = new Databases();
  protected process: Process;
  protected starting = false;
  protected stopping = false;
  /** Whether a fault of the disk may explain that the process refuses something or does not start. */
  protected excused = false;
  protected clockMoved = false;
  protected farthest_ms = 0;

  constructor(world: World, name: string) {
    this.world = world;
    this.process = new Process(name);
  }

  protected abstract get running(): boolean;
  protected abstract start(): void;
  /** Starts a new process, after the last one has ended in whatever way. */
  protected abstract again(): void | Promise<void>;

  protected async onMachine(step: MachineStep): Promise<void> {
    const { world } = this;
    switch (step.do) {
      case 'pass':
        await world.pass(step.ms);
        return;
      case 'crash':
        await this.#crash(step.power);
        return;
      case 'disk full':
        this.excused = true;
        this.files.faults.full = true;
        return;
      case 'sync fails':
        this.excused = true;
        this.files.faults.failing = true;
        return;
      case 'disk slow':
        world.slowness = step.factor;
        return;
      case 'disk well':
        this.heal();
        return;
      case 'clock':
        this.clockMoved = true;
        world.skew_ms += step.ms;
        this.farthest_ms = Math.max(this.farthest_ms, world.skew_ms);
    }
  }

  protected heal(): void {
    this.files.faults.full = false;
    this.files.faults.failing = false;
    this.databases.faults.failing = null;
    this.world.slowness = 1;
    if (!this.running) this.start();
  }

  async #crash(power: boolean): Promise<void> {
    this.world.trace(() => (power ? 'POWER FAILS' : 'PROCESS KILLED'));
    await this.world.end(this.process);
    const dice = this.world.random('crash');
    this.databases.crash(DATA, power, dice);
    if (power) this.files.powerFailure(dice);
    this.databases.faults.failing = null;
    this.files.faults.failing = false;
    await this.again();
  }
}
