// The Prometheus metrics: requests by route, the logs, the process. Only the operator may read them (gateway/API.md
// §13).

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Log } from '../log/index.ts';
import type { Scrub, Scrubbed } from './scrub.ts';
import type { QueueDepth } from './webhooks/depth.ts';
import type { Uploads, UploadState } from './tiles/uploads.ts';
import type { WitnessNetwork } from './witnesses/witness-network.ts';
import type { WitnessHealth } from './witnesses/witnesses.ts';
import type { WitnessState } from './witnesses/witness-client.ts';

/** Buckets of what waits for a disk, in seconds. */
const WRITES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** The registry and what requests write to it. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts one answered request; `route` is a declared path, never one that a client made up. */
  request(route: string, method: string, status: number, seconds: number): void;
  /** Measures one group of a request from its append until it is durable. */
  append(kind: string, seconds: number): void;
  /** Measures one synced batch of a log's database. */
  commit(kind: string, seconds: number): void;
  /** Measures one fsync of the probe file in the data folder. */
  fsync(seconds: number): void;
  /** Counts one run of a job of a plugin. */
  job(name: string, succeeded: boolean): void;
  /** Counts one block of the event loop by what ran. */
  blocked(plugin: string, part: string): void;
  /** Counts one attempt to deliver a webhook by how it ended. */
  webhook(type: string, end: string): void;
}

/** A registry of its own, so that several gateways live in one process. */
export function openMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'actlog_' });
  const requests = new Histogram({
    name: 'actlog_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
    registers: [registry],
  });
  const webhooks = new Counter({
    name: 'actlog_webhook_attempts_total',
    help: 'Attempts to deliver a webhook: delivered, failed, dead (given up) or dropped.',
    labelNames: ['event', 'end'],
    registers: [registry],
  });
  const appends = new Histogram({
    name: 'actlog_append_duration_seconds',
    help: 'Time from the append of a request until its entries are durable.',
    labelNames: ['kind'],
    buckets: WRITES,
    registers: [registry],
  });
  const commits = new Histogram({
    name: 'actlog_commit_duration_seconds',
    help: 'Time of one synced batch of the database of a log, which holds one or more rounds; in a cluster, of one commit in PostgreSQL.',
    labelNames: ['kind'],
    buckets: WRITES,
    registers: [registry],
  });
  const fsyncs = new Histogram({
    name: 'actlog_fsync_duration_seconds',
    help: 'Time of an fsync of a 4 KiB file in the data folder, measured every 15 s.',
    buckets: WRITES,
    registers: [registry],
  });
  const jobs = new Counter({
    name: 'actlog_job_runs_total',
    help: 'Runs of the jobs of plugins, by job and by how they ended: ok or failed.',
    labelNames: ['job', 'end'],
    registers: [registry],
  });
  const blocks = new Counter({
    name: 'actlog_event_loop_blocked_total',
    help: 'Times that a part blocked the event loop for a second or longer; `several` where one of several parts did, `none` where no part ran.',
    labelNames: ['plugin', 'part'],
    registers: [registry],
  });
  // Finding the labels of a histogram costs more than counting; what is found once is kept.
  const series = new Map<string, Histogram.Internal<'route' | 'method' | 'status'>>();
  return {
    registry,
    append: (kind, seconds) => appends.observe({ kind }, seconds),
    commit: (kind, seconds) => commits.observe({ kind }, seconds),
    fsync: (seconds) => fsyncs.observe(seconds),
    job: (job, succeeded) => jobs.inc({ job, end: succeeded ? 'ok' : 'failed' }),
    blocked: (plugin, part) => blocks.inc({ plugin, part }),
    webhook: (event, end) => webhooks.inc({ event, end }),
    request(route, method, status, seconds) {
      const name = `${route} ${method} ${String(status)}`;
      let known = series.get(name);
      if (known === undefined) {
        known = requests.labels(route, method, String(status));
        series.set(name, known);
      }
      known.observe(seconds);
    },
  };
}

/** Adds the state of the logs, which is read at each scrape. */
export function observeLogs(metrics: Metrics, logs: readonly Log[], now: () => number): void {
  const gauge = (name: string, help: string, read: (log: Log) => number): void => {
    new Gauge({
      name: `actlog_log_${name}`,
      help,
      labelNames: ['kind'],
      registers: [metrics.registry],
      collect() {
        for (const log of logs) this.set({ kind: log.kind }, read(log));
      },
    });
  };
  gauge('entries', 'Durable entries.', (log) => log.size());
  gauge('published_entries', 'Entries under the newest checkpoint.', (log) => log.published().size);
  gauge(
    'waiting_entries',
    'Acknowledged entries under no checkpoint.',
    (log) => log.health().waiting,
  );
  gauge('checkpoint_age_seconds', 'Age of the newest checkpoint.', (log) => {
    return Math.max(0, now() - log.published().published_at_ms) / 1000;
  });
  gauge('keys', 'Keys in the head map.', (log) => log.health().keys_in_map);
  gauge(
    'clock_offset_ms',
    'How far the wall clock left the monotonic one.',
    (log) => log.health().clock_offset_ms,
  );
  gauge('writable', 'Whether the log takes entries.', (log) => (log.health().writable ? 1 : 0));
}

/** Adds the results of the scrub, by database. */
export function observeScrub(metrics: Metrics, scrub: Pick<Scrub, 'states'>): void {
  const gauge = (name: string, help: string, read: (state: Scrubbed) => number): void => {
    new Gauge({
      name: `actlog_scrub_${name}`,
      help,
      labelNames: ['database'],
      registers: [metrics.registry],
      collect() {
        for (const state of scrub.states()) this.set({ database: state.name }, read(state));
      },
    });
  };
  gauge('checked_bytes', 'Bytes of tables compared in the newest run.', ({ bytes }) => bytes);
  gauge('table_bytes', 'Bytes of tables that the newest run compares.', ({ of }) => of);
  gauge('finished_seconds', 'When a run ended last, seconds since 1970; 0 for never.', (state) => {
    return (state.finished_at_ms ?? 0) / 1000;
  });
  gauge('damaged_tables', 'Tables that do not hold.', ({ faults }) => faults.length);
}

/** Adds the webhook queues. `read` counts their rows at each scrape. */
export function observeWebhooks(
  metrics: Metrics,
  read: () => Promise<readonly QueueDepth[]>,
): void {
  // The gauges of one scrape share one reading.
  let reading: Promise<readonly QueueDepth[]> | null = null;
  const depths = (): Promise<readonly QueueDepth[]> => {
    reading ??= read().finally(() => (reading = null));
    return reading;
  };
  const gauge = (name: string, help: string, of: (depth: QueueDepth) => number): void => {
    new Gauge({
      name: `actlog_webhook_${name}`,
      help,
      labelNames: ['kind'],
      registers: [metrics.registry],
      async collect() {
        for (const depth of await depths()) this.set({ kind: depth.kind }, of(depth));
      },
    });
  };
  gauge('waiting_messages', 'Messages to deliver, counted up to 10,000.', (depth) => depth.waiting);
  gauge('oldest_seconds', 'Age of the oldest message that waits.', (depth) => {
    return depth.oldest_seconds;
  });
  gauge('dead_messages', 'Messages that were given up, counted up to 10,000.', ({ dead }) => dead);
}

/** How far a node of a cluster is behind, and whether it leads. */
export function observeCluster(
  { registry }: Metrics,
  cluster: { readonly role: 'leader' | 'follower'; lag_ms(): number },
): void {
  new Gauge({
    name: 'actlog_replication_lag_seconds',
    help: 'How long this node of a cluster has lacked writes of the leader; 0 on the leader.',
    registers: [registry],
    collect() {
      this.set(cluster.lag_ms() / 1000);
    },
  });
  new Gauge({
    name: 'actlog_cluster_leader',
    help: 'Whether this node of a cluster leads.',
    registers: [registry],
    collect() {
      this.set(cluster.role === 'leader' ? 1 : 0);
    },
  });
}

/** Adds the uploads to the object store. */
export function observeUploads(metrics: Metrics, uploads: Pick<Uploads, 'states' | 'now'>): void {
  const gauge = (name: string, help: string, read: (state: UploadState) => number): void => {
    new Gauge({
      name: `actlog_tiles_${name}`,
      help,
      labelNames: ['kind', 'number'],
      registers: [metrics.registry],
      collect() {
        for (const state of uploads.states()) {
          const { kind, number } = state.log;
          this.set({ kind, number: String(number) }, read(state));
        }
      },
    });
  };
  gauge(
    'published_entries',
    'Entries under the newest checkpoint in the object store.',
    (state) => {
      return state.size;
    },
  );
  gauge('lag_entries', 'Published entries that the object store lacks.', ({ log, size }) => {
    return Math.max(0, log.published().size - size);
  });
  gauge('lag_seconds', 'How long the object store has lacked the newest checkpoint.', (state) => {
    const { behind_since_ms } = state;
    return behind_since_ms === null ? 0 : Math.max(0, uploads.now() - behind_since_ms) / 1000;
  });
  gauge('failures', 'Uploads that failed since the start; each was tried again.', (state) => {
    return state.failures;
  });
  gauge(
    'stopped',
    'Whether uploads stopped because the object store has another history.',
    (state) => {
      return state.stopped ? 1 : 0;
    },
  );
}

/** Adds the witnesses of the logs that have some. */
export function observeWitnesses(
  metrics: Metrics,
  logs: readonly Log[],
  network: Pick<WitnessNetwork, 'health'>,
): void {
  const registers = [metrics.registry];
  const health = (log: Log) => network.health(log);
  const all = (name: string, help: string, holds: (state: WitnessHealth) => boolean): void => {
    new Gauge({
      name: `actlog_witness_${name}`,
      help,
      labelNames: ['kind'],
      registers,
      collect() {
        for (const log of logs) {
          const found = health(log);
          if (found !== null) this.set({ kind: log.kind }, holds(found) ? 1 : 0);
        }
      },
    });
  };
  all('quorum', '0 when the newest checkpoint offered found no quorum of witnesses.', (found) => {
    return found.quorum !== 'missing';
  });
  all('fail_open', 'Whether checkpoints are published without the quorum.', (found) => {
    return found.fail_open;
  });
  const each = (name: string, help: string, read: (state: WitnessState) => number): void => {
    new Gauge({
      name: `actlog_witness_${name}`,
      help,
      labelNames: ['kind', 'witness'],
      registers,
      collect() {
        for (const log of logs) {
          for (const state of health(log)?.witnesses ?? []) {
            this.set({ kind: log.kind, witness: state.name }, read(state));
          }
        }
      },
    });
  };
  each('cosigned_entries', 'Size that the witness cosigned last, since the start.', (state) => {
    return state.cosigned_size;
  });
  each('cosigned_seconds', 'When it cosigned last, seconds since 1970; 0 for never.', (state) => {
    return (state.cosigned_at_ms ?? 0) / 1000;
  });
  each('up', 'Whether it cosigned when it was asked last.', (state) => {
    return state.problem === null ? 1 : 0;
  });
}
