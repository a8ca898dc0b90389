// Counts that are not entries, such as visits of a partner's links. A count is on disk when its `add` resolves. Counts
// that come during a write share the next one. After a failed write they stay in memory, and the next count or the stop
// writes them.

import type { Counters as CountersDoor } from '../../plugins/contract/index.ts';
import { LogError } from '../../log/index.ts';
import type { GatewayStore } from './store.ts';

/** Counters over the gateway's database. */
export class Counters implements CountersDoor {
  readonly #store: Pick<GatewayStore, 'counts' | 'putCounts' | 'follows'>;
  readonly #refused: (error: unknown) => void;
  /** Counts that this process has added to. The store has the others, which another node may change. */
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Set<string>();
  /** Additions made, and how many of them are on disk. */
  #added = 0;
  #written = 0;
  #writing: Promise<void> | null = null;

  /** `refused` is called with the error of each failed write. */
  constructor(
    store: Pick<GatewayStore, 'counts' | 'putCounts' | 'follows'>,
    refused: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#refused = refused;
  }

  get(name: string): number {
    return this.#counts.get(name) ?? this.#store.counts.get(name) ?? 0;
  }

  async add(name: string): Promise<void> {
    // The gateway then forwards the request to the leader, which counts it.
    if (this.#store.follows)
      throw new LogError('not_leader', 'this node follows, and counts nothing');
    this.#counts.set(name, this.get(name) + 1);
    this.#waiting.add(name);
    this.#added += 1;
    const needed = this.#added;
    try {
      // A write that is in progress may not include this count; then the next write does.
      while (this.#written < needed) await (this.#writing ??= this.#write());
    } catch (error) {
      this.#refused(error);
    }
  }

  /** Tries once more to write counts whose write failed. */
  async close(): Promise<void> {
    try {
      while (this.#written < this.#added) await (this.#writing ??= this.#write());
    } catch (error) {
      this.#refused(error);
    }
  }

  async #write(): Promise<void> {
    const names = [...this.#waiting];
    const added = this.#added;
    this.#waiting.clear();
    try {
      await this.#store.putCounts(names.map((name) => [name, this.get(name)]));
      this.#written = added;
    } catch (error) {
      for (const name of names) this.#waiting.add(name);
      throw error;
    } finally {
      this.#writing = null;
    }
  }
}
