// The messages of one host: a few at hand, the others on disk, where they are read page by page behind the last one
// that was seen. Memory holds the hosts that have something to do, and of each no more than a page or two.

import { nameOf } from './job.ts';
import type { Job } from './job.ts';

/** Jobs that are read from disk at a time, and twice as many are at hand at most. */
export const PAGE = 64;

/** What of a host is at hand. */
export class HostQueue {
  readonly host: string;
  /** Messages under way. */
  flying = 0;
  readonly #jobs = new Map<string, Job>();
  /** The disk was read up to this key; all that stands behind it will be read. */
  #last = '';
  /** Nothing stands on disk that is not at hand, under way or seen. */
  #whole: boolean;
  /** Something stands before `last` that was not taken: the disk is read from its beginning once more. */
  #missed = false;
  /** What came while the disk was read: what was read may be older. */
  #arrived: Job[] | null = null;

  /** @param whole whether nothing of it stands on disk yet */
  constructor(host: string, whole: boolean) {
    this.host = host;
    this.#whole = whole;
  }

  /** Jobs at hand. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Whether the next jobs have to be read from disk. */
  get thirsty(): boolean {
    return this.#jobs.size === 0 && !this.#whole && this.#arrived === null;
  }

  /** Nothing is left of it anywhere. */
  get done(): boolean {
    return this.#jobs.size === 0 && this.#whole && this.flying === 0 && this.#arrived === null;
  }

  /** Takes the first job at hand. */
  take(): Job | undefined {
    for (const [name, job] of this.#jobs) {
      this.#jobs.delete(name);
      return job;
    }
    return undefined;
  }

  /** A job stands on disk from now on and is ready. */
  put(job: Job): void {
    if (this.#arrived !== null) {
      this.#arrived.push(job);
      return;
    }
    const name = nameOf(job);
    if (!this.#whole && name > this.#last) return;
    if (this.#jobs.size < 2 * PAGE) this.#jobs.set(name, job);
    else this.doubt();
  }

  /** What stands on disk is not known any more. */
  doubt(): void {
    this.#missed = true;
    this.#whole = false;
  }

  /** Before a page is read; answers with the key behind which it begins. */
  beginPage(): string {
    this.#arrived = [];
    if (this.#missed) {
      this.#missed = false;
      this.#last = '';
    }
    return this.#last;
  }

  /**
   * After a page was read.
   *
   * @param last the key of its last row; empty when it has none
   * @param full whether there may be more behind it
   */
  endPage(jobs: readonly Job[], last: string, full: boolean): void {
    for (const job of jobs) this.#jobs.set(nameOf(job), job);
    if (last !== '') this.#last = last;
    const arrived = this.#arrived ?? [];
    this.#arrived = null;
    // What came meanwhile stands behind the page, or is at hand now.
    const behind = arrived.some((job) => nameOf(job) > this.#last);
    this.#whole = !full && !behind && !this.#missed;
    for (const job of arrived) this.put(job);
  }
}
