// The status summary, for /status.json and for the page. gateway/API.md §13.

import type { Gateway } from '../gateway.ts';
import { componentsOf } from './health.ts';

/** The form of a Statuspage summary. */
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
