// Bodies of the foundry's routes that name an entry which another request made, for the contract suite.

import type { Running } from '../../gateway/running.ts';
import { readingsOf } from './readings.ts';

const publish = async ({ post, sandbox }: Running): Promise<string> => {
  const body = { template_id: 'incident_sealed', enabled_exposure_usd: '1000' };
  const { json } = await post('/signal/trigger/publish', body, { key: sandbox });
  return json.trigger_id as string;
};

const holding = async (running: Running): Promise<string> => {
  const { post, sandbox } = running;
  const body = { template_id: 'bind_gate_hold' };
  const { json } = await post('/signal/trigger/publish', body, { key: sandbox });
  const { trigger_id } = json;
  const reading = { metric: 'bind_hold', value: 1 };
  await post('/api/v1/foundry/trigger/fire', { trigger_id, reading }, { key: sandbox });
  await post('/signal/trigger/publish', { template_id: 'ai_model_change' }, { key: sandbox }).then(
    ({ json: model }) =>
      post(
        '/api/v1/foundry/trigger/fire',
        {
          trigger_id: model.trigger_id,
          reading: { metric: 'model_change', value: 1 },
          action: 'notify_underwriter',
        },
        { key: sandbox },
      ),
  );
  return trigger_id as string;
};

/** The body by path. */
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
  async '/api/v1/foundry/trigger/release'(running) {
    return { trigger_id: await holding(running), reason: 'reviewed' };
  },
};
