// What became of messages, on its way to disk: rows in the order given, those of a moment in one batch. The batch is
// not synced, so that no request waits for it: a machine that dies before sends a message again, which receivers
// expect (gateway/API.md §11).

import type { AttachedRow, Log } from '../../log/index.ts';

/** How long ends of attempts gather before they are written. */
const GATHER_MS = 5;
/** How long to leave a disk alone that took no write. */
const TROUBLE_MS = 2000;

interface Unwritten {
  readonly rows: readonly AttachedRow[];
  readonly done: (written: boolean) => void;
}

/** Writes rows of one log. */
export class RowWriter {
  readonly #log: Log;
  readonly #onTrouble: (error: unknown) => void;
  #unwritten: Unwritten[] = [];
  #writing: Promise<void> | null = null;
  #stopping = false;

  constructor(log: Log, onTrouble: (error: unknown) => void) {
    this.#log = log;
    this.#onTrouble = onTrouble;
  }

  /** Calls and rows that wait. */
  get waiting(): number {
    return this.#unwritten.length;
  }

  start(): void {
    this.#stopping = false;
  }

  /** True once the rows are written, in the order of calls; false when the disk took none until the stop. */
  write(rows: readonly AttachedRow[]): Promise<boolean> {
    return new Promise((done) => {
      this.#unwritten.push({ rows, done });
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null;
      });
    });
  }

  /** Writes what waits, once: what the disk does not take is sent again after a restart. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#unwritten.length > 0) {
      if (!this.#stopping) await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const batch = this.#unwritten;
      this.#unwritten = [];
      try {
        const rows = batch.flatMap((one) => one.rows);
        if (rows.length > 0) await this.#log.putAttached(rows, { sync: false });
      } catch (error) {
        this.#onTrouble(error);
        if (this.#stopping) {
          for (const { done } of [...batch, ...this.#unwritten]) done(false);
          this.#unwritten = [];
          return;
        }
        this.#unwritten = [...batch, ...this.#unwritten];
        await new Promise((resolve) => setTimeout(resolve, TROUBLE_MS));
        continue;
      }
      for (const { done } of batch) done(true);
    }
  }
}
