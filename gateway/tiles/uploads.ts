// Publishes the logs to the bucket of TILES_URL while the service runs, so that readers need only the bucket. Appends
// never wait for it. A failure is retried; a fork stops the log's uploads until the next start. gateway/API.md §13.

import type { Logger } from 'pino';
import { isTilesRefused, logMirror, TilePublisher } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import type { Component } from '../../plugins/contract/index.ts';
import type { Config } from '../config.ts';
import { paused } from '../host/every.ts';
import { Bucket } from './bucket.ts';
import type { BucketPlace } from './bucket.ts';

/** The state of one log's uploads. */
export interface UploadState {
  readonly log: Log;
  /** The size of the newest checkpoint in the bucket that this process wrote or found there; 0 before the first. */
  readonly size: number;
  /** Since when the bucket lacks the newest checkpoint; null if it has it. */
  readonly behind_since_ms: number | null;
  readonly failures: number;
  /** Why the newest step failed; null after one that succeeded. */
  readonly reason: string | null;
  /** Whether a fork was found: nothing more is published. */
  readonly stopped: boolean;
}

/** What the uploads need of the gateway. */
export interface UploadOptions {
  readonly place: BucketPlace;
  readonly interval_ms: number;
  readonly logs: () => readonly Log[];
  /** The offline verification kit, with a tag that changes with it. */
  readonly kit: () => Promise<{ readonly bytes: Uint8Array; readonly etag: string }>;
  readonly now: () => number;
  readonly logger: Logger;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
/** How often superseded partial tiles are looked for, and the kit is compared. */
const CARE_MS = 60_000;
const KIT = 'export/offline-verify-kit.json';

/** The uploads that the configuration asks for; null for none. */
export function uploadsOf(
  config: Pick<Config, 'TILES_URL' | 'TILES_ENDPOINT' | 'TILES_INTERVAL_MS'>,
  rest: Omit<UploadOptions, 'place' | 'interval_ms'>,
): Uploads | null {
  const { TILES_URL: url, TILES_ENDPOINT: endpoint, TILES_INTERVAL_MS: interval_ms } = config;
  return url === '' ? null : new Uploads({ ...rest, place: { url, endpoint }, interval_ms });
}

/** Publishes every log of a gateway to one bucket. */
export class Uploads {
  readonly #options: UploadOptions;
  readonly #states = new Map<Log, UploadState>();
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #probed = false;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** The state of each log that is uploaded. */
  states(): readonly UploadState[] {
    return [...this.#states.values()];
  }

  now(): number {
    return this.#options.now();
  }

  /** The uploads of the newest log of each kind, as /health shows them. */
  components(logs: Readonly<Record<string, Log>>): readonly Component[] {
    return Object.entries(logs).flatMap(([kind, log]) => {
      const state = this.#states.get(log);
      if (state === undefined) return [];
      const { stopped, reason } = state;
      // The reason may name hosts, so it is only in the operator's log.
      const fault = stopped
        ? 'nothing more is published to the object store: it has another history of the log'
        : 'the newest checkpoint is not in the object store';
      return {
        id: `${kind}_tiles`,
        name: `${kind === 'live' ? 'Live' : 'Sandbox'} tiles`,
        fault: reason === null ? null : fault,
        vital: false,
      };
    });
  }

  /** Starts the uploads. Nothing that fails here or later stops the gateway. */
  async start(): Promise<void> {
    const { logger, place, logs } = this.#options;
    const { signal } = this.#stop;
    const bucket = await Bucket.open(place, signal);
    for (const log of logs()) this.#states.set(log, fresh(log));
    const loops = [...logs().map((log) => this.#follow(bucket, log)), this.#kits(bucket)];
    this.#running = Promise.all(loops).finally(() => bucket.close());
    logger.info({ tiles: bucket.name }, 'the logs are published to an object store');
  }

  /** Ends requests in flight. What they did not store is stored after the next start. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #follow(bucket: Bucket, log: Log): Promise<void> {
    const { interval_ms, now } = this.#options;
    const { signal } = this.#stop;
    const store = bucket.store(`log/${log.kind}/${String(log.number)}`);
    const source = logMirror(log);
    const publisher = new TilePublisher({ source, store, vkey: log.vkey, reread: false, now });
    let searched = false;
    let cared_at_ms = -Infinity;
    for (let failed = 0; !this.#stopped();) {
      let wait_ms = interval_ms;
      try {
        const { size } = log.published();
        if (size > 0 && log.published().note !== publisher.note) {
          this.#change(log, { behind_since_ms: this.#state(log).behind_since_ms ?? now() });
          await this.#conditions(bucket);
          const done = await publisher.step();
          this.#change(log, { size: done.size, behind_since_ms: null });
        }
        if (size > 0 && performance.now() - cared_at_ms >= CARE_MS) {
          if (!searched) await publisher.findPartials();
          searched = true;
          await publisher.removeSuperseded();
          cared_at_ms = performance.now();
        }
        if (failed > 0) this.#recovered(log);
        failed = 0;
      } catch (error) {
        if (this.#stopped()) return;
        wait_ms =
          Math.min(FIRST_WAIT_MS * 2 ** failed, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);
        failed += 1;
        if (this.#failed(log, error, wait_ms)) return;
      }
      await paused(wait_ms, signal);
    }
  }

  /** Probes the bucket once, and says what it does not honour. */
  async #conditions(bucket: Bucket): Promise<void> {
    const { create, replace } = await bucket.conditions();
    if (this.#probed) return;
    this.#probed = true;
    if (create && replace) return;
    this.#options.logger.warn(
      { tiles: bucket.name, if_none_match: create, if_match: replace },
      'the object store ignores conditional writes: objects are read before they are written, and only the ' +
        'checkpoint register keeps a second process from publishing',
    );
  }

  /** Keeps the kit of the bucket as the service serves it: a monitor of the bucket takes the keys from it. */
  async #kits(bucket: Bucket): Promise<void> {
    const { kit, logger } = this.#options;
    const { signal } = this.#stop;
    let stored = '';
    for (let failed = 0; !this.#stopped();) {
      let wait_ms = CARE_MS;
      try {
        const { bytes, etag } = await kit();
        if (etag !== stored) await bucket.write(KIT, bytes, 'application/json', 'no-cache');
        stored = etag;
        failed = 0;
        // A kit whose entry no checkpoint covers yet is replaced soon.
        if (etag.endsWith('.0"')) wait_ms = this.#options.interval_ms;
      } catch (err) {
        if (this.#stopped()) return;
        wait_ms = Math.min(FIRST_WAIT_MS * 2 ** failed, LONGEST_WAIT_MS);
        if (failed === 0) logger.warn({ err, tiles: bucket.name }, 'the kit is not uploaded');
        failed += 1;
      }
      await paused(wait_ms, signal);
    }
  }

  /** Returns whether the uploads of the log have ended. */
  #failed(log: Log, err: unknown, wait_ms: number): boolean {
    const { logger } = this.#options;
    const reason = reasonOf(err);
    const stopped = isTilesRefused(err) && err.code !== 'behind';
    this.#change(log, { failures: this.#state(log).failures + 1, reason, stopped });
    const { origin } = log;
    if (stopped) logger.error({ origin, err }, 'publishing to the object store has stopped');
    else {
      const again_ms = Math.round(wait_ms);
      logger.warn({ origin, reason, again_ms }, 'tiles are not uploaded, and tried again');
    }
    return stopped;
  }

  #recovered(log: Log): void {
    this.#change(log, { reason: null });
    const { origin } = log;
    this.#options.logger.info({ origin }, 'tiles are uploaded again');
  }

  #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  #state(log: Log): UploadState {
    return this.#states.get(log) ?? fresh(log);
  }

  #change(log: Log, change: Partial<UploadState>): void {
    this.#states.set(log, { ...this.#state(log), ...change });
  }
}

const fresh = (log: Log): UploadState => ({
  log,
  size: 0,
  behind_since_ms: null,
  failures: 0,
  reason: null,
  stopped: false,
});

/** Errors of the SDK may have an empty message; their name and status say what happened. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { name, message } = error;
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  const shown = message === '' || message === 'UnknownError' ? name : message;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (status !== undefined) return `${shown} (HTTP ${String(status)})`;
  return shown.includes(code) || code === '' ? shown : `${code}: ${shown}`;
}
