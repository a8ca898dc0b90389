// Runs the linked simulation in a process of its own.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Order, PlanAnswer, SeedsAnswer } from './child.ts';
import { link } from './link.ts';
import type { Replacement } from './link.ts';
import type { AnyPlan, WorldChoice } from './worlds.ts';

/** A process that runs seeds and plans, one after the other. */
export class Simulator {
  readonly #folder: string;
  readonly #child: ReturnType<typeof spawn>;
  readonly #answers: AsyncIterator<string>;
  #errors = '';

  private constructor(folder: string, file: string) {
    this.#folder = folder;
    this.#child = spawn(process.execPath, ['--enable-source-maps', file], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    const { stdout } = this.#child;
    if (stdout === null) throw new Error('the process has no output');
    this.#answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  /** Links and starts it, with faults planted in the product if there are replacements. */
  static async start(replacements: readonly Replacement[] = []): Promise<Simulator> {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-simulation-'));
    const file = join(folder, 'simulation.mjs');
    await link(file, replacements);
    return new Simulator(folder, file);
  }

  seeds(
    world: WorldChoice,
    from: number,
    count: number,
    until_broken = false,
  ): Promise<SeedsAnswer> {
    return this.#ask({ world, from, count, until_broken }) as Promise<SeedsAnswer>;
  }

  /** Runs a plan, traced; with `shrink` the smallest one that breaks the same promise. */
  plan(plan: AnyPlan, options: { readonly shrink?: boolean } = {}): Promise<PlanAnswer> {
    return this.#ask({ plan, shrink: options.shrink === true }) as Promise<PlanAnswer>;
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    this.#child.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #ask(order: Order): Promise<unknown> {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error(`the simulation ended: ${this.#errors}`);
    return JSON.parse(value);
  }
}
