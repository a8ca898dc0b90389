// The table of all metrics, for tools/OPERATING.md. A test compares it with what /metrics shows.

import { observeDisk } from './disk.ts';
import {
  observeCluster,
  observeLogs,
  observeScrub,
  observeUploads,
  observeWebhooks,
  observeWitnesses,
  openMetrics,
} from './metrics.ts';

/** Metrics of the process that prom-client adds; their names and meanings are those of its documentation. */
const OF_THE_PROCESS = /^actlog_(?:process|nodejs)_/;

/** Every metric as a row of a Markdown table. */
export function metricTable(): string {
  const metrics = openMetrics();
  observeLogs(metrics, [], Date.now);
  observeWitnesses(metrics, [], { health: () => null });
  observeScrub(metrics, { states: () => [] });
  observeUploads(metrics, { states: () => [], now: Date.now });
  observeCluster(metrics, { role: 'leader', lag_ms: () => 0 });
  observeDisk(metrics, '.', () => []);
  observeWebhooks(metrics, () => Promise.resolve([]));
  const rows = metrics.registry
    .getMetricsAsArray()
    .filter(({ name }) => !OF_THE_PROCESS.test(name))
    .map((metric) => {
      const { name, help } = metric;
      const { labelNames = [] } = metric as { labelNames?: readonly string[] };
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${metric.constructor.name.toLowerCase()} | ${labels} | ${help} |`;
    })
    .sort();
  return ['| metric | type | labels | |', '|---|---|---|---|', ...rows].join('\n');
}
