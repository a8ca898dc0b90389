// The hosts that a log's messages go to, served in turn, so that a slow host delays only its own messages
// (gateway/API.md §11).
//
// Memory holds at most 1024 hosts, and at most two pages of jobs for each. All other jobs stay in the database and are
// read when there is room. `Hosts` chooses the host that is next; `HostQueue` holds the loaded jobs of one host.

import type { Log } from '../../log/index.ts';
import { hostOfReady, nameOf, READY, readyJob, readyPrefix } from './job.ts';
import type { Job } from './job.ts';

/** Maximum number of hosts in memory. */
const MAX_HOSTS = 1024;

/** Jobs that are read from disk at a time. A host has at most twice as many in memory. */
export const PAGE = 64;

/** The limit, and the callbacks of the queue that sends the messages. */
export interface HostsOptions {
  /** Maximum number of messages in flight to one host. */
  readonly for_each_host: number;
  /** Whether a job that was read from disk is in flight, or held until its entry is acknowledged. */
  readonly isTaken: (job: Job) => boolean;
  /** Jobs may have become ready. */
  readonly onReady: () => void;
  readonly onTrouble: (error: unknown) => void;
}

/** The hosts of one log's messages. */
export class Hosts {
  readonly #log: Log;
  readonly #options: HostsOptions;
  readonly #hosts = new Map<string, HostQueue>();
  /** Hosts with loaded jobs and room for another message in flight, in turn. */
  readonly #ready = new Set<HostQueue>();
  /** Hosts whose next page must be read. */
  readonly #toRead = new Set<HostQueue>();
  /** Jobs that finished while a page was being read, so that their rows in that page are out of date. */
  readonly #finished = new Set<string>();
  /** The last host that the scan for hosts has passed; null when every host on disk is in memory. */
  #scanned: string | null = '';
  #scanAgain = false;
  #reading: Promise<void> | null = null;
  #running = false;

  constructor(log: Log, options: HostsOptions) {
    this.#log = log;
    this.#options = options;
  }

  /** Reads all rows again, as after a start. */
  wake(): void {
    this.#running = true;
    this.#scanAgain = true;
    this.#scanned ??= '';
    for (const host of this.#hosts.values()) {
      host.reread();
      this.update(host);
    }
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#reading;
  }

  /** Takes a job whose ready row is on disk. */
  put(job: Job): void {
    const host = this.#hosts.get(job.host) ?? this.#add(job.host, this.#scanned === null);
    host?.put(job);
    if (host !== null) this.update(host);
  }

  /** Notes that the result of a job is on disk. */
  finished(name: string): void {
    if (this.#reading !== null) this.#finished.add(name);
  }

  /** The host whose turn it is. The caller passes it to `update` afterwards, which puts it at the end of the line. */
  next(): HostQueue | undefined {
    const [host] = this.#ready;
    if (host !== undefined) this.#ready.delete(host);
    return host;
  }

  /** Files a host by its state after a change. A host that becomes ready joins the end of the line. */
  update(host: HostQueue): void {
    if (host.mustRead) this.#toRead.add(host);
    if (host.size > 0 && host.inFlight < this.#options.for_each_host) this.#ready.add(host);
    else this.#ready.delete(host);
    if (host.done) this.#hosts.delete(host.host);
  }

  /** Starts to read the next pages of hosts that have no loaded jobs, and to scan for hosts that are not in memory. */
  readAhead(): void {
    if (this.#running && this.#hasWork) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = null;
        this.#finished.clear();
        if (this.#hasWork) this.#options.onReady();
      });
    }
  }

  get #hasWork(): boolean {
    return this.#toRead.size > 0 || (this.#scanned !== null && this.#hosts.size < MAX_HOSTS);
  }

  async #read(): Promise<void> {
    try {
      while (this.#running && this.#hasWork) {
        const [host] = this.#toRead;
        if (host === undefined) await this.#scan();
        else {
          this.#toRead.delete(host);
          if (host.mustRead) await this.#readPage(host);
        }
        this.#options.onReady();
      }
    } catch (error) {
      this.#options.onTrouble(error);
    }
  }

  async #readPage(host: HostQueue): Promise<void> {
    this.#finished.clear();
    const after = host.beginPage();
    let rows: readonly (readonly [string, Uint8Array])[] = [];
    try {
      const range = { limit: PAGE, ...(after === '' ? {} : { after }) };
      rows = await this.#log.attachedRows(readyPrefix(host.host), range);
    } catch (error) {
      host.reread();
      throw error;
    } finally {
      const current = rows.filter(([name]) => !this.#finished.has(name)).map(readyJob);
      const jobs = current.filter((job) => !this.#options.isTaken(job));
      host.endPage(jobs, rows.at(-1)?.[0] ?? '', rows.length === PAGE);
    }
    this.update(host);
  }

  /** Loads the next host on disk. */
  async #scan(): Promise<void> {
    const from = this.#scanned ?? '';
    if (from === '') this.#scanAgain = false;
    const range = { limit: 1, ...(from === '' ? {} : { after: `${readyPrefix(from)}~` }) };
    const [row] = await this.#log.attachedRows(READY, range);
    if (row === undefined) {
      this.#scanned = this.#scanAgain ? '' : null;
      return;
    }
    const name = hostOfReady(row[0]);
    const host = this.#hosts.get(name) ?? this.#add(name, false);
    if (host === null) return;
    this.#scanned = name;
    this.update(host);
  }

  #add(name: string, complete: boolean): HostQueue | null {
    if (this.#hosts.size >= MAX_HOSTS) {
      this.#scanAgain = true;
      this.#scanned ??= '';
      return null;
    }
    const host = new HostQueue(name, complete);
    this.#hosts.set(name, host);
    return host;
  }
}

/** The jobs of one host: some loaded, the others on disk and read page by page. */
export class HostQueue {
  readonly host: string;
  /** Number of messages in flight. */
  inFlight = 0;
  readonly #jobs = new Map<string, Job>();
  /** Rows up to this key were read. All rows behind it will be read. */
  #last = '';
  /** Every row on disk is loaded, in flight or handled. */
  #complete: boolean;
  /** A row up to `#last` may not have been loaded, so the next page begins at the first row again. */
  #fromStart = false;
  /** Jobs that came while a page was being read; null when none is. The page may be older than they are. */
  #arrived: Job[] | null = null;

  /** @param complete whether the host has no rows on disk yet */
  constructor(host: string, complete: boolean) {
    this.host = host;
    this.#complete = complete;
  }

  /** Number of loaded jobs. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Whether no job is loaded and the next page must be read. */
  get mustRead(): boolean {
    return this.#jobs.size === 0 && !this.#complete && this.#arrived === null;
  }

  /** Whether no job is left in memory, in flight or on disk. */
  get done(): boolean {
    return this.#jobs.size === 0 && this.#complete && this.inFlight === 0 && this.#arrived === null;
  }

  /** Removes and returns the first loaded job. */
  take(): Job | undefined {
    for (const [name, job] of this.#jobs) {
      this.#jobs.delete(name);
      return job;
    }
    return undefined;
  }

  /** Takes a job whose ready row is on disk. If there is no room for it, it is read from disk later. */
  put(job: Job): void {
    if (this.#arrived !== null) {
      this.#arrived.push(job);
      return;
    }
    const name = nameOf(job);
    if (!this.#complete && name > this.#last) return;
    if (this.#jobs.size < 2 * PAGE) this.#jobs.set(name, job);
    else this.reread();
  }

  /** Makes the next page begin at the first row on disk. */
  reread(): void {
    this.#fromStart = true;
    this.#complete = false;
  }

  /** Must be called before a page is read. Returns the key after which the page begins; empty for the first row. */
  beginPage(): string {
    this.#arrived = [];
    if (this.#fromStart) {
      this.#fromStart = false;
      this.#last = '';
    }
    return this.#last;
  }

  /**
   * Takes a page that was read.
   *
   * @param last the key of the last row of the page; empty if it has none
   * @param full whether there may be rows behind the page
   */
  endPage(jobs: readonly Job[], last: string, full: boolean): void {
    for (const job of jobs) this.#jobs.set(nameOf(job), job);
    if (last !== '') this.#last = last;
    const arrived = this.#arrived ?? [];
    this.#arrived = null;
    const behind = arrived.some((job) => nameOf(job) > this.#last);
    this.#complete = !full && !behind && !this.#fromStart;
    for (const job of arrived) this.put(job);
  }
}
