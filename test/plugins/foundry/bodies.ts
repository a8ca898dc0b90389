// Bodies of the foundry's routes that name an entry which another request made, for the contract suite.

import type { Running } from '../../gateway/running.ts';
import { readingsOf } from './readings.ts';

/** By path. */
export const FOUNDRY_BODIES: Readonly<Record<string, (running: Running) => Promise<object>>> = {
  async '/api/v1/oracle/resolve'({ post, sandbox }) {
    const body = { feed_id: 'contract', readings: readingsOf('1', '2', '3') };
    const { json } = await post('/api/v1/oracle/aggregate', body, { key: sandbox });
    return {
      aggregate_entry_id: json.aggregate_entry_id as string,
      value: '2',
      resolver: 'The panel of the three sources',
    };
  },
};
