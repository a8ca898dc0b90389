// The tree heads that a monitor has checked every rule up to, and the callers that wait for one. Only what is listed here
// is cosigned under a name in /map. log/FORMAT.md §5.

import { LRUCache } from 'lru-cache';
import { equal } from '../../log/index.ts';
import type { Checkpoint } from '../../log/operate.ts';

/** The newest heads of a log that are remembered; a log asks for its newest one. */
const HEADS = 4096;
/** Requests that wait at the same time. */
const MOST_WAITING = 32;
const RING_MS = 100;

/** What is known of a head: checked with this root, with another one, or not reached in time. */
export type Standing = 'verified' | 'another_root' | 'not_reached';

/** What the followers have checked. */
export class Verified {
  readonly #logs = new Map<string, LRUCache<number, Uint8Array>>();
  readonly #waiting = new Set<() => void>();
  readonly #ring: () => void;

  /** `ring` is called while somebody waits: the logs are worth a look. */
  constructor(ring: () => void = () => undefined) {
    this.#ring = ring;
  }

  /** Heads whose entries, signatures and map heads are all checked. */
  add(heads: readonly Checkpoint[]): void {
    for (const { origin, size, root } of heads) {
      let log = this.#logs.get(origin);
      if (log === undefined) this.#logs.set(origin, (log = new LRUCache({ max: HEADS })));
      log.set(size, root);
    }
    for (const wake of this.#waiting) wake();
  }

  /** The state of a head once the monitor has reached it, or after `wait_ms`. */
  async standing(head: Checkpoint, wait_ms: number): Promise<Standing> {
    const known = this.#known(head);
    if (known !== 'not_reached' || this.#waiting.size >= MOST_WAITING) return known;
    return new Promise((resolve) => {
      const answer = (standing: Standing): void => {
        clearTimeout(late);
        clearInterval(bell);
        this.#waiting.delete(wake);
        resolve(standing);
      };
      const wake = (): void => {
        const now = this.#known(head);
        if (now !== 'not_reached') answer(now);
      };
      this.#waiting.add(wake);
      const late = setTimeout(answer, wait_ms, 'not_reached');
      const bell = setInterval(this.#ring, RING_MS);
      this.#ring();
    });
  }

  #known({ origin, size, root }: Checkpoint): Standing {
    const checked = this.#logs.get(origin)?.get(size);
    if (checked === undefined) return 'not_reached';
    return equal(checked, root) ? 'verified' : 'another_root';
  }
}
