// A real database whose batches fail when a test says so: before anything is on disk, or after all is.

import { openStore } from '../../log/store/store.ts';
import type { Store, Write } from '../../log/store/store.ts';
import { LogError } from '../../log/errors.ts';

/** How a batch fails: nothing of it written, or all of it and the answer lost. */
export type Failing = 'before' | 'after';

/** Decides for each batch, in the order in which they are written. */
export type Rule = (writes: readonly Write[]) => Failing | null;

/** Opens stores that fail by a rule which the test may change at any time. */
export class FaultyStore {
  rule: Rule = () => null;
  /** Batches that were asked for. */
  batches = 0;

  readonly open = async (folder: string): Promise<Store> => {
    const store = await openStore(folder);
    const write = async (writes: readonly Write[]): Promise<void> => {
      this.batches += 1;
      const failing = this.rule(writes);
      if (failing === 'before') throw broken();
      await store.write(writes);
      if (failing === 'after') throw broken();
    };
    return {
      get: (key) => store.get(key),
      write,
      scan: (range) => store.scan(range),
      scanKeys: (range) => store.scanKeys(range),
      compact: (range) => store.compact(range),
      copy: () => store.copy(),
      close: () => store.close(),
    };
  };

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
