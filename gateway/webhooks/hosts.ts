// The hosts that messages wait for, in their turn: one that answers slowly fills its own places and nobody else's.
// Memory holds a bounded number of them, with a page of messages each; the others are found on disk when there is a
// place. gateway/API.md §11.

import type { Log } from '../../log/index.ts';
import { HostQueue, PAGE } from './host-queue.ts';
import { hostOfReady, READY, readyJob, readyPrefix } from './job.ts';
import type { Job } from './job.ts';

/** Hosts in memory. */
const MAX_HOSTS = 1024;

/** What the hosts are told by the queue that hands their messages out. */
export interface HostsOptions {
  /** Messages under way to one host. */
  readonly for_each_host: number;
  /** Whether a job that is read is under way, or not to be touched yet. */
  readonly isTaken: (job: Job) => boolean;
  /** Something may be ready that was not. */
  readonly onReady: () => void;
  readonly onTrouble: (error: unknown) => void;
}

/** The hosts of one log's messages. */
export class Hosts {
  readonly #log: Log;
  readonly #options: HostsOptions;
  readonly #hosts = new Map<string, HostQueue>();
  /** Those with jobs at hand and room, in their turn; and those that have to be read. */
  readonly #able = new Set<HostQueue>();
  readonly #thirsty = new Set<HostQueue>();
  /** Jobs that ended while a page was read: what was read of them is old. */
  readonly #ended = new Set<string>();
  /** The host up to which the disk was searched for others; null when all of them are in memory. */
  #walked: string | null = '';
  #walkAgain = false;
  #reading: Promise<void> | null = null;
  #running = false;

  constructor(log: Log, options: HostsOptions) {
    this.#log = log;
    this.#options = options;
  }

  /** Looks at everything on disk, as after a start. */
  wake(): void {
    this.#running = true;
    this.#walkAgain = true;
    this.#walked ??= '';
    for (const host of this.#hosts.values()) {
      host.doubt();
      this.note(host);
    }
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#reading;
  }

  /** A job stands on disk and is ready. */
  put(job: Job): void {
    const host = this.#hosts.get(job.host) ?? this.#add(job.host, this.#walked === null);
    host?.put(job);
    if (host !== null) this.note(host);
  }

  /** What stands on disk of a host is not known any more. */
  doubt(name: string): void {
    const host = this.#hosts.get(name);
    host?.doubt();
    if (host !== undefined) this.note(host);
  }

  /** The end of a job is on disk. */
  landed(name: string): void {
    if (this.#reading !== null) this.#ended.add(name);
  }

  /** The host whose turn it is; the next call names another one, as long as there is one. */
  next(): HostQueue | undefined {
    const [host] = this.#able;
    if (host !== undefined) this.#able.delete(host);
    return host;
  }

  /** Where a host stands after something of it has changed; at the end of the line if it was not in it. */
  note(host: HostQueue): void {
    if (host.thirsty) this.#thirsty.add(host);
    if (host.size > 0 && host.flying < this.#options.for_each_host) this.#able.add(host);
    else this.#able.delete(host);
    if (host.done) this.#hosts.delete(host.host);
  }

  /** Reads the next pages of hosts that have nothing at hand, and looks for hosts that are not in memory. */
  readAhead(): void {
    if (this.#running && this.#wanted) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null;
        this.#ended.clear();
        if (this.#wanted) this.#options.onReady();
      });
    }
  }

  get #wanted(): boolean {
    return this.#thirsty.size > 0 || (this.#walked !== null && this.#hosts.size < MAX_HOSTS);
  }

  async #read(): Promise<void> {
    try {
      while (this.#running && this.#wanted) {
        const [host] = this.#thirsty;
        if (host === undefined) await this.#walk();
        else {
          this.#thirsty.delete(host);
          if (host.thirsty) await this.#readPage(host);
        }
        this.#options.onReady();
      }
    } catch (error) {
      this.#options.onTrouble(error);
    }
  }

  async #readPage(host: HostQueue): Promise<void> {
    this.#ended.clear();
    const after = host.beginPage();
    let rows: readonly (readonly [string, Uint8Array])[] = [];
    try {
      const range = { limit: PAGE, ...(after === '' ? {} : { after }) };
      rows = await this.#log.attachedRows(readyPrefix(host.host), range);
    } catch (error) {
      host.doubt();
      throw error;
    } finally {
      const free = rows.filter(([name]) => !this.#ended.has(name)).map(readyJob);
      const jobs = free.filter((job) => !this.#options.isTaken(job));
      host.endPage(jobs, rows.at(-1)?.[0] ?? '', rows.length === PAGE);
    }
    this.note(host);
  }

  /** The next host of the disk that is not in memory. */
  async #walk(): Promise<void> {
    const from = this.#walked ?? '';
    if (from === '') this.#walkAgain = false;
    const range = { limit: 1, ...(from === '' ? {} : { after: `${readyPrefix(from)}~` }) };
    const [row] = await this.#log.attachedRows(READY, range);
    if (row === undefined) {
      this.#walked = this.#walkAgain ? '' : null;
      return;
    }
    const name = hostOfReady(row[0]);
    const host = this.#hosts.get(name) ?? this.#add(name, false);
    if (host === null) return;
    this.#walked = name;
    this.note(host);
  }

  #add(name: string, whole: boolean): HostQueue | null {
    if (this.#hosts.size >= MAX_HOSTS) {
      this.#walkAgain = true;
      this.#walked ??= '';
      return null;
    }
    const host = new HostQueue(name, whole);
    this.#hosts.set(name, host);
    return host;
  }
}
