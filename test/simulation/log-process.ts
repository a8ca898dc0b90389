// The process of a log on the simulated machine: how it starts, publishes, ends and starts again, and what it may refuse.

import { isLogError, openLog, openSuccessor, openThreads } from '../../log/index.ts';
import type { Log, OpenLogOptions } from '../../log/index.ts';
import { FileRegister, readRemembered } from '../../log/store/register.ts';
import { Ledger } from './ledger.ts';
import { Machine } from './machine.ts';
import type { Plan } from './plan.ts';
import { DATA, describe, PATIENCE_MS, TYPES } from './subject.ts';
import type { Once } from './subject.ts';
import { Witnesses } from './witnesses.ts';
import { Broken, Process } from './world/world.ts';
import type { World } from './world/world.ts';

export class LogProcess extends Machine {
  protected readonly plan: Plan;
  protected readonly witnesses: Witnesses;
  protected register = new FileRegister('/register');
  protected readonly ledgers: Ledger[] = [];
  protected log: Log | null = null;
  protected number = 1;
  protected succeeding = false;
  protected n = 0;
  /** Numbers of entries by the append that sent them. */
  protected readonly sent = new Map<number, 'maybe' | 'acknowledged'>();
  protected once: Once[] = [];
  protected damaged = false;
  /** Whether the log refused to start after a disk had lied or a row was damaged: then there is no more to check. */
  protected detected = false;

  constructor(plan: Plan, world: World) {
    super(world, 'log');
    this.plan = plan;
    this.witnesses = new Witnesses(plan.witnesses, plan.quorum);
  }

  get entries(): number {
    return this.ledgers.reduce((sum, { texts }) => sum + texts.length, 0);
  }

  protected get ledger(): Ledger {
    const at = this.number - 1;
    const known = this.ledgers[at];
    if (known !== undefined) return known;
    const origin = `log.example/log/live/${String(this.number)}`;
    const ledger = new Ledger(origin, this.ledgers[at - 1] ?? null);
    this.ledgers[at] = ledger;
    return ledger;
  }

  // Starting and ending.

  protected options(): Omit<OpenLogOptions, 'origin_base'> {
    const { interval_ms, idle_ms, witnesses } = this.plan;
    const world = this.world;
    return {
      data: DATA,
      kind: 'live',
      number: this.number,
      register: this.register,
      threads: openThreads({ inline: true }),
      checkpoint_interval_ms: interval_ms,
      idle_ms,
      time: { wall: () => world.wall_ms, monotonic: () => world.monotonic_ms },
      types: TYPES,
      ...(witnesses === 0 ? {} : { cosign: (offer) => this.cosign(offer) }),
    };
  }

  protected readonly cosign: Witnesses['cosign'] = (offer) => {
    this.ledger.take(offer.note, offer.vkey);
    return this.witnesses.cosign(offer);
  };

  protected override get running(): boolean {
    return this.log !== null;
  }

  protected override start(): void {
    if (this.starting || this.detected) return;
    this.starting = true;
    this.world.trace(() => `start of log ${String(this.number)}`);
    const process = this.process;
    const opened = this.world.as(process, () => this.open());
    opened.then(
      (log) => {
        this.starting = false;
        this.log = log;
        this.world.trace(
          () =>
            `started with ${String(log.size())} entries, ${String(log.published().size)} published`,
        );
        this.guard(() => {
          this.started(log);
        });
      },
      (error: unknown) => {
        this.starting = false;
        this.guard(() => {
          this.refusedStart(error);
        });
      },
    );
  }

  protected async open(): Promise<Log> {
    if (this.succeeding) {
      const cosign = this.plan.witnesses === 0 ? {} : { cosign: () => this.cosign };
      const { cosign: _own, ...options } = this.options();
      this.world.trace(() => `succession of log ${String(this.number)}`);
      await openSuccessor({
        ...options,
        number: this.number,
        register: this.register,
        ...cosign,
      });
      const closed = await openLog({ ...options, has_successor: true, origin_base: 'log.example' });
      this.guard(() => {
        this.ledger.checkAll(closed, false);
        this.published(closed);
        if (!closed.health().closed) throw new Broken('not closed', closed.origin);
      });
      // A damaged row kept the ledger from the last checkpoint, without which it cannot judge the successor.
      const last = this.ledger.published.at(-1)?.size;
      if (this.damaged && last !== closed.published().size) this.detected = true;
      await closed.close();
      this.number += 1;
      this.succeeding = false;
    }
    const log = await openLog({ ...this.options(), origin_base: 'log.example' });
    try {
      await log.declare(TYPES);
    } catch (error) {
      await log.close();
      throw error;
    }
    return log;
  }

  /** A start may be refused while a disk does not work, and must be once acknowledged entries are lost. */
  protected refusedStart(error: unknown): void {
    const code = isLogError(error) ? error.code : null;
    this.world.trace(() => `start refused: ${code ?? String(error)}`);
    if (
      code === 'store_corrupt' ||
      code === 'log_rolled_back' ||
      code === 'key_invalid' ||
      code === 'key_lost'
    ) {
      if (this.damaged || this.plan.lying !== null) {
        this.detected = true;
        return;
      }
    }
    const system = (error as { code?: string }).code ?? '';
    const disk = code === 'log_unavailable' || system === 'ENOSPC' || system === 'EIO';
    if (disk && this.excused) return;
    if (code === 'clock_untrusted' && this.clockMoved) return;
    if (code === 'log_unavailable' && this.succeeding && this.plan.witnesses > 0) return;
    throw new Broken('start refused', describe(error));
  }

  protected started(log: Log): void {
    if (this.detected) return;
    const ledger = this.ledger;
    if (this.plan.lying !== null) this.afterLie(log);
    ledger.checkAll(log, this.damaged);
    this.tolerant(() => ledger.checkKeys(log));
    this.published(log);
    const process = this.process;
    log.onPublished(() => {
      if (process.alive) this.guard(() => this.published(log));
    });
  }

  /** What a lying disk lost may be lost, but not behind the checkpoint register and not what was published. */
  protected afterLie(log: Log): void {
    const size = log.size();
    const kept = this.kept;
    if (size < kept)
      throw new Broken('loss not detected', `${String(size)} of ${String(kept)} entries started`);
    // The register has the note of every published size, unless its own disk lied.
    if (this.plan.lying === 'database' && size < this.ledger.texts.length) {
      throw new Broken('loss not detected', `${String(size)} entries started, more were published`);
    }
    this.ledger.forget(size);
    for (const [n, state] of this.sent) if (state === 'acknowledged') this.sent.set(n, 'maybe');
    for (const one of this.once) one.state = 'waiting';
  }

  /** The size up to which the register has recorded entries, as of the last crash. */
  protected kept = 0;

  protected published(log: Log): void {
    // Without the quorum of its witnesses a new log has published nothing yet.
    if (log.published().size === 0) return;
    this.tolerant(() => {
      if (this.plan.lying !== null && log.published().size < this.ledger.texts.length) return;
      this.ledger.publish(log, (heads) => this.world.random('check').int(Math.max(1, heads)));
    });
  }

  /** A finding in a callback of the product ends the run at the next turn. */
  protected guard(check: () => void): void {
    try {
      this.tolerant(check);
    } catch (error) {
      this.world.broken ??=
        error instanceof Broken ? error : new Broken('check failed', describe(error));
    }
  }

  /** Whether the log recovers from a failed write or a damaged row: its database is closed, and every read says so. */
  protected recovers(log: Log): boolean {
    return !log.health().writable && (this.excused || this.damaged);
  }

  /** Reads that meet a damaged row must say so, and may not answer. */
  protected tolerant(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!this.damaged || !isLogError(error) || error.code !== 'store_corrupt') throw error;
    }
  }

  protected override async again(): Promise<void> {
    this.process = new Process('log');
    this.register = new FileRegister('/register');
    this.log = null;
    this.starting = false;
    this.stopping = false;
    this.excused =
      this.files.faults.full || this.files.faults.failing || this.databases.faults.failing !== null;
    for (const one of this.once) if (one.state === 'sent') one.state = 'waiting';
    if (this.plan.lying !== null) await this.readKept();
    this.start();
  }

  protected async readKept(): Promise<void> {
    const reading = this.world.as(new Process('check'), () =>
      readRemembered(this.register, `live-${String(this.number)}`),
    );
    let done = false;
    reading.then(
      (value) => {
        this.kept = value?.acknowledged.size ?? 0;
        done = true;
      },
      () => {
        done = true;
      },
    );
    await this.world.until(() => done, PATIENCE_MS);
  }
}
