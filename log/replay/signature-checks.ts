// The signatures of a replay, checked in batches beside it: the replay goes on while threads check what
// it has handed out. Nothing that was replayed holds before `settle` has come back.

import type { VerifyPool } from '../crypto/verify-pool.ts';
import { Replay } from './replay.ts';
import type { SignatureJob } from './replay.ts';

/** Signatures in one message to a thread. */
const BATCH = 256;

/** Collects the deferred signatures of one replay. */
export class SignatureChecks {
  readonly #pool: VerifyPool;
  readonly #flying = new Set<Promise<void>>();
  #jobs: SignatureJob[] = [];
  #bad: SignatureJob | null = null;
  #failure: unknown = null;

  constructor(pool: VerifyPool) {
    this.#pool = pool;
  }

  /** Takes what the replay has deferred; waits while enough is under way, so that memory stays bounded. */
  async take(replay: Replay): Promise<void> {
    for (const job of replay.takeJobs()) this.#jobs.push(job);
    while (this.#jobs.length >= BATCH) this.#send(this.#jobs.splice(0, BATCH));
    while (this.#flying.size > 2 * this.#pool.width) await Promise.race(this.#flying);
    this.#raise();
  }

  /**
   * Waits until every signature taken so far is checked.
   *
   * @throws Violation of the earliest entry whose signature does not hold
   */
  async settle(): Promise<void> {
    if (this.#jobs.length > 0) this.#send(this.#jobs.splice(0));
    await Promise.all(this.#flying);
    this.#raise();
  }

  #send(jobs: readonly SignatureJob[]): void {
    const flight = this.#pool
      .verifyAll(jobs)
      .then((holds) => {
        const job = jobs[holds.indexOf(0)];
        if (job !== undefined && job.index < (this.#bad?.index ?? Infinity)) this.#bad = job;
      })
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#flying.delete(flight));
    this.#flying.add(flight);
  }

  #raise(): void {
    if (this.#failure !== null) throw this.#failure as Error;
    if (this.#bad !== null) throw Replay.badSignature(this.#bad);
  }
}
