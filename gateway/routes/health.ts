// When the service is degraded, and which part of it: a list of components, each with its fault. /health, /readyz and
// /status.json show the same list. A new reason is a new component, or a new fault of one. gateway/API.md §13.

import type { Log } from '../../log/index.ts';
import type { Gateway } from '../gateway.ts';
import type { Component } from '../../plugins/contract/index.ts';

/** The idle interval of checkpoints: format 1. */
const IDLE_MS = 600_000;
/** The interval with entries waiting; a shorter setting is a wish, not a promise. */
const BUSY_MS = 1000;

/** Every part of the service with its fault, the vital ones first. */
export function componentsOf(gateway: Gateway): readonly Component[] {
  const { live, sandbox } = gateway.logs;
  return [
    ...partsOf(gateway, live, 'Live'),
    ...partsOf(gateway, sandbox, 'Sandbox'),
    {
      id: 'storage',
      name: 'Storage',
      fault: gateway.scrub.fault(),
      vital: false,
    },
    ...gateway.plugged().status(),
    ...failedPlugins([live, sandbox]),
  ];
}

/** Those with a fault. */
export const degradedOf = (gateway: Gateway): readonly Component[] =>
  componentsOf(gateway).filter(({ fault }) => fault !== null);

/** Only of plugins that failed. */
function failedPlugins(logs: readonly Log[]): readonly Component[] {
  const failed = logs.flatMap((log) => log.health().failed_plugins);
  return [...new Set(failed)].sort().map((plugin) => ({
    id: `plugin_${plugin}`,
    name: `Plugin ${plugin}`,
    fault: `the plugin ${plugin} failed on entries within the last hour: they were refused`,
    vital: false,
  }));
}

function partsOf(gateway: Gateway, log: Log, name: string): readonly Component[] {
  const { writable, lost_key, closed, clock_doubt } = log.health();
  const clock = clock_doubt === null ? null : `takes no entries: the clock ${clock_doubt}`;
  const refused =
    lost_key !== null
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
    ...witnessPart(gateway, log, name),
  ];
}

/** Only of a log that has witnesses. */
function witnessPart({ witnesses }: Gateway, log: Log, name: string): readonly Component[] {
  const health = witnesses?.health(log) ?? null;
  if (health === null) return [];
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

/** What /health shows of the witnesses of each log that has some. */
export function witnessesOf({ logs, witnesses }: Gateway): readonly object[] {
  return Object.values(logs).flatMap((log) => {
    const health = witnesses?.health(log) ?? null;
    if (health === null) return [];
    const { quorum, fail_open } = health;
    // Why a witness did not cosign is for the operator's log: reasons may name hosts.
    const states = health.witnesses.map(({ name, cosigned_size, cosigned_at_ms, problem }) => {
      return { name, cosigned_size, cosigned_at_ms, ok: problem === null };
    });
    return [{ log: log.kind, quorum, fail_open, witnesses: states }];
  });
}

/** A checkpoint may be twice as old as the interval that applies. */
function checkpointFault(gateway: Gateway, log: Log): string | null {
  const { waiting, oldest_waiting_ms, published_at_ms, lost_key } = log.health();
  // None will ever come: the log itself says so.
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

/** The state of the service by component, as a status page has it. */
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
      // What is wrong in detail is for the operator's log: the reason may name folders.
      description: fault === null ? null : 'does not work as it should',
    })),
  };
}
