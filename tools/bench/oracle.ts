// The oracle: five readings as one value, signed and durable.

import { postBench } from './post.ts';

const SOURCES = ['net_a', 'net_b', 'net_c', 'first_party', 'sealed'];
const READINGS = JSON.stringify({
  feed_id: 'bench',
  readings: SOURCES.map((source_id, n) => ({ source_id, value: `100.${String(n)}` })),
});

/** POST /api/v1/oracle/aggregate. */
export const oracle = postBench('oracle', {
  ...{ name: 'oracle.http', what: 'POST oracle/aggregate of five readings' },
  ...{ path: '/api/v1/oracle/aggregate', body: READINGS, at_least: 0.2, aim: 0.35 },
});
