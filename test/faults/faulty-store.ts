// A database whose batches fail on request, before anything is written or after everything is.

import { LogError } from '../../log/errors.ts';
import type { Store, Write } from '../../log/store/store.ts';
import { openWithWrite } from '../log/store/with-write.ts';

/** How a batch fails: nothing is written, or everything is written and then an error is returned. */
export type Failing = 'before' | 'after';

/** Decides for each batch, in the order of the writes. */
export type Rule = (writes: readonly Write[]) => Failing | null;

/** Opens stores that fail by a rule; a test can change the rule at any time. */
export class FaultyStore {
  rule: Rule = () => null;
  /** The number of batches so far. */
  batches = 0;

  readonly open = (folder: string): Promise<Store> =>
    openWithWrite(folder, async (writes, write) => {
      this.batches += 1;
      const failing = this.rule(writes);
      if (failing === 'before') throw broken();
      await write(writes);
      if (failing === 'after') throw broken();
    });

  /** Makes the next batch with a row under this letter fail once. */
  failNext(letter: number, failing: Failing): void {
    this.rule = (writes) => {
      if (!writes.some(({ key }) => key[0] === letter)) return null;
      this.rule = () => null;
      return failing;
    };
  }
}

const broken = (): LogError => new LogError('log_unavailable', 'input/output error');
