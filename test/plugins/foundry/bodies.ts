// Bodies of the foundry's routes that name an entry which another request made, for the contract suite.

import type { Running } from '../../gateway/running.ts';
import { readingsOf } from './readings.ts';

const publish = async ({ post, sandbox }: Running): Promise<string> => {
  const body = { template_id: 'incident_sealed', enabled_exposure_usd: '1000' };
  const { json } = await post('/signal/trigger/publish', body, { key: sandbox });
  return json.trigger_id as string;
};

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
  async '/api/v1/foundry/trigger/fire'(running) {
    const trigger_id = await publish(running);
    const fire = '/api/v1/foundry/trigger/fire';
    const below = { trigger_id, reading: { metric: 'incident', value: 0 } };
    await running.post(fire, below, { key: running.sandbox });
    return { trigger_id, reading: { metric: 'incident', value: 1 } };
  },
};
