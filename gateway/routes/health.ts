// The components of the service, each with its fault. The service is degraded if one has a fault. /health, /readyz and
// /status.json show the same list. gateway/API.md §13.

import type { Log } from '../../log/index.ts';
import type { Gateway } from '../gateway.ts';
import type { Component } from '../../plugins/contract/index.ts';

/** The interval of checkpoints of an idle log (log/FORMAT.md §5). */
const IDLE_MS = 600_000;
/** The shortest interval of a busy log that is checked. CHECKPOINT_INTERVAL_MS may be shorter. */
const BUSY_MS = 1000;

/** Every component with its fault. */
export function componentsOf(gateway: Gateway): readonly Component[] {
  const { live, sandbox } = gateway.logs;
  return [
    ...clusterComponent(gateway),
    ...logComponents(gateway, live, 'Live'),
    ...logComponents(gateway, sandbox, 'Sandbox'),
    {
      id: 'storage',
      name: 'Storage',
      fault: gateway.scrub.fault(),
      vital: false,
    },
    ...(gateway.uploads?.components(gateway.logs) ?? []),
    ...gateway.plugged().status(),
    ...failedPlugins([live, sandbox]),
  ];
}

/** The components that have a fault. */
export const degradedOf = (gateway: Gateway): readonly Component[] =>
  componentsOf(gateway).filter(({ fault }) => fault !== null);

/** A follower this far behind is degraded. */
const BEHIND_MS = 10_000;

/** The component of the cluster; none for a service of one process. */
function clusterComponent({ cluster }: Gateway): readonly Component[] {
  if (cluster === null) return [];
  const lag = cluster.lag_ms();
  const fault =
    cluster.leader() === null
      ? 'no node leads, so nothing is appended'
      : lag > BEHIND_MS
        ? `this node is ${String(Math.round(lag / 1000))} s behind the database`
        : null;
  return [{ id: 'cluster', name: 'Cluster', fault, vital: false }];
}

/** A component for each plugin that failed within the last hour. */
function failedPlugins(logs: readonly Log[]): readonly Component[] {
  const failed = logs.flatMap((log) => log.health().failed_plugins);
  return [...new Set(failed)].sort().map((plugin) => ({
    id: `plugin_${plugin}`,
    name: `Plugin ${plugin}`,
    fault: `the plugin ${plugin} failed on entries within the last hour; they were refused`,
    vital: false,
  }));
}

function logComponents(gateway: Gateway, log: Log, name: string): readonly Component[] {
  const { writable, lost_key, closed, clock_doubt } = log.health();
  const clock = clock_doubt === null ? null : `takes no entries: the clock ${clock_doubt}`;
  const { cluster } = gateway;
  const led = cluster?.leader() !== null;
  const refused = !led
    ? 'takes no entries: no node of the cluster leads'
    : lost_key !== null
      ? `takes no entries and publishes no checkpoint: its ${lost_key} key is lost`
      : closed
        ? 'takes no entries: it is closed, and no successor is served'
        : writable
          ? clock
          : 'takes no entries: storage is not writable';
  return [
    {
      id: `${log.kind}_log`,
      name: `${name} log`,
      fault: refused,
      vital: log.kind === 'live',
    },
    {
      id: `${log.kind}_checkpoints`,
      name: `${name} checkpoints`,
      fault: checkpointFault(gateway, log),
      vital: false,
    },
    ...witnessComponent(gateway, log, name),
  ];
}

/** The component of a log's witnesses; none for a log without witnesses. */
function witnessComponent(
  { witnesses, cluster }: Gateway,
  log: Log,
  name: string,
): readonly Component[] {
  const health = witnesses?.health(log) ?? null;
  // Only the leader asks witnesses.
  if (health === null || cluster?.role === 'follower') return [];
  const missing = health.fail_open
    ? 'cosignatures are missing, and checkpoints are published without them'
    : 'cosignatures are missing';
  return [
    {
      id: `${log.kind}_witnesses`,
      name: `${name} witnesses`,
      fault: health.quorum === 'missing' ? missing : null,
      vital: false,
    },
  ];
}

/** The witnesses of each log that has some, as /health shows them. */
export function witnessesOf({ logs, witnesses, cluster }: Gateway): readonly object[] {
  if (cluster?.role === 'follower') return [];
  return Object.values(logs).flatMap((log) => {
    const health = witnesses?.health(log) ?? null;
    if (health === null) return [];
    const { quorum, fail_open } = health;
    // The reasons may name hosts, so they are only in the operator's log.
    const states = health.witnesses.map(({ name, cosigned_size, cosigned_at_ms, problem }) => {
      return { name, cosigned_size, cosigned_at_ms, ok: problem === null };
    });
    return [{ log: log.kind, quorum, fail_open, witnesses: states }];
  });
}

/** What /readyz says of the cluster: the role of this node, the leader, and how far this node is. Empty without a cluster. */
export function clusterMembers({ cluster, served }: Gateway): object {
  if (cluster === null) return {};
  const logs = [...served.live, ...served.sandbox];
  return {
    role: cluster.role,
    leader: cluster.leader(),
    applied: Object.fromEntries(
      logs.map((log) => [`${log.kind}-${String(log.number)}`, log.size()]),
    ),
    lag_ms: cluster.lag_ms(),
  };
}

/** The fault of a log whose newest checkpoint is more than two intervals old; else null. */
function checkpointFault(gateway: Gateway, log: Log): string | null {
  const { waiting, oldest_waiting_ms, published_at_ms, lost_key } = log.health();
  // A log with a lost key publishes no checkpoints. The component of the log shows that.
  if (lost_key !== null) return null;
  const busy = Math.max(BUSY_MS, gateway.config.CHECKPOINT_INTERVAL_MS);
  const late =
    waiting > 0
      ? (oldest_waiting_ms ?? 0) > 2 * busy
      : gateway.now() - published_at_ms > 2 * IDLE_MS;
  return late ? 'the newest checkpoint is too old' : null;
}

/** A Statuspage summary, as /status.json and the page /status show it (gateway/API.md §13). */
export interface Status {
  readonly page: {
    readonly id: string;
    readonly name: string;
    readonly url: string;
    readonly updated_at: string;
  };
  readonly status: {
    readonly indicator: 'none' | 'minor' | 'major';
    readonly description: string;
  };
  readonly components: readonly {
    readonly id: string;
    readonly name: string;
    readonly status: 'operational' | 'degraded_performance' | 'major_outage';
    readonly description: string | null;
  }[];
}

/** The state of the service as a Statuspage summary. */
export function statusOf(gateway: Gateway): Status {
  const components = componentsOf(gateway);
  const faulty = components.filter(({ fault }) => fault !== null);
  const major = faulty.some(({ vital }) => vital);
  const indicator = faulty.length === 0 ? 'none' : major ? 'major' : 'minor';
  const description = {
    none: 'All systems operational',
    minor: 'Partially degraded',
    major: 'Major outage',
  };
  return {
    page: {
      id: 'actlog',
      name: 'actlog',
      url: gateway.base_url,
      updated_at: new Date(gateway.now()).toISOString(),
    },
    status: { indicator, description: description[indicator] },
    components: components.map(({ id, name, fault, vital }) => ({
      id,
      name,
      status: fault === null ? 'operational' : vital ? 'major_outage' : 'degraded_performance',
      // The fault itself may name folders, so a public page does not show it.
      description: fault === null ? null : 'does not work as it should',
    })),
  };
}
