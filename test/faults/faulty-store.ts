// A real database whose batches fail when a test says so: before anything is on disk, or after all is.

import { LogError } from '../../log/errors.ts';
import type { Store, Write } from '../../log/store/store.ts';
import { openWithWrite } from '../log/store/with-write.ts';

/** How a batch fails: nothing of it written, or all of it and the answer lost. */
export type Failing = 'before' | 'after';

/** Decides for each batch, in the order in which they are written. */
export type Rule = (writes: readonly Write[]) => Failing | null;

/** Opens stores that fail by a rule which the test may change at any time. */
export class FaultyStore {
  rule: Rule = () => null;
  /** Batches that were asked for. */
  batches = 0;

  readonly open = (folder: string): Promise<Store> =>
    openWithWrite(folder, async (writes, write) => {
      this.batches += 1;
      const failing = this.rule(writes);
      if (failing === 'before') throw broken();
      await write(writes);
      if (failing === 'after') throw broken();
    });

  /** The next batch that has a row under this letter fails, once. */
  failNext(letter: number, failing: Failing): void {
    this.rule = (writes) => {
      if (!writes.some(({ key }) => key[0] === letter)) return null;
      this.rule = () => null;
      return failing;
    };
  }
}

const broken = (): LogError => new LogError('log_unavailable', 'input/output error');
