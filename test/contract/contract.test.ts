// Every built-in plugin, and one as a third party would write it, passes the contract suite.

import assert from 'node:assert/strict';
import { carriedName, carriedType } from '../../plugins/contract/index.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { notes } from '../gateway/notes.ts';
import { FOUNDRY_BODIES } from '../plugins/foundry/bodies.ts';
import { GATE_BODIES } from '../plugins/gate/asking.ts';
import { pluginContract } from '../../tools/plugin-test/index.ts';
import type { ContractOptions } from '../../tools/plugin-test/index.ts';
import type { Body, Running } from '../../tools/plugin-test/running.ts';

/** Path parameters of the carrier, with ids that the bodies below create. */
const carrierParams: Record<string, string> = {};

async function enrolled(running: Running, company: string): Promise<Body> {
  const { json } = await running.post('/carrier/v1/enroll', { company }, { key: running.sandbox });
  carrierParams['slug'] = json.slug;
  return json;
}

/** What the suite needs in addition to the declaration of a plugin, by its name. */
const OPTIONS: Readonly<Record<string, ContractOptions>> = {
  absence: { unwritten: ['absence.earlier_witness.v1'] },
  gate: {
    bodies: {
      ...GATE_BODIES,
      '/api/v1/execute-gate/holds/{hold_id}': () => Promise.resolve(null),
    },
  },
  'require-receipt': {
    bodies: { '/api/v1/require-receipt/act': () => Promise.resolve(null) },
  },
  foundry: { bodies: FOUNDRY_BODIES },
  // The invoice of the current month; test/plugins/clearing/invoice.test.ts has one of a past month.
  clearing: {
    params: { month: new Date().toISOString().slice(0, 7) },
    unwritten: ['clearing.invoice.v1'],
  },
  compliance: {
    params: { entity: 'contract' },
    bodies: {
      '/compliance/eu-ai-act/article-12/systems/{entity}': async (running) => {
        const body = { entity: 'contract', surfaces: ['screen'] };
        await running.post('/api/v1/astl/publish', body, { key: running.sandbox });
        return null;
      },
    },
  },
  carrier: {
    params: carrierParams,
    bodies: {
      '/carrier/v1/findings/{entry_id}/resolve': async (running) => {
        const body = { message: 'We do not hire people over 50.' };
        const { json } = await running.post('/api/v1/classify', body, { key: running.sandbox });
        carrierParams['entry_id'] = json.entry_id;
        return { outcome: 'dismissed', reason: 'the sentence was a quotation' };
      },
      '/carrier/v1/insured/{slug}/renew': async (running) => {
        await enrolled(running, 'Renewed');
        return {};
      },
      '/carrier/v1/insured/{slug}/end': async (running) => {
        await enrolled(running, 'Ended');
        return { reason: 'the policy was cancelled' };
      },
      '/carrier/v1/mandates/accept': async (running) => {
        const { mandate_id, acceptance_code } = await enrolled(running, 'Accepted');
        return { mandate_id, acceptance_code };
      },
    },
  },
  restraint: {
    bodies: {
      '/api/v1/spoliation-seal/release': async (running) => {
        const body = { trigger_event: 'a claim' };
        const { json } = await running.post('/api/v1/spoliation-seal', body, {
          key: running.sandbox,
        });
        return { seal_id: json.seal_id, reason: 'the matter was settled' };
      },
      '/tcb/counterfactual-replay': async (running) => {
        const body = { action_not_taken: 'a refund', decision_reason: 'a limit' };
        const { json } = await running.post('/api/v1/restraint', body, { key: running.sandbox });
        const { entry_id } = json.restraint as { entry_id: string };
        return { entry_id, changes: { capability_proof: { balance_usd: 500 } } };
      },
    },
  },
};

for (const plugin of PLUGINS) pluginContract(plugin, OPTIONS[plugin.name]);
pluginContract(notes(), { params: { topic: 'contract' } });

describe('the type by which a plugin carries state to a successor', () => {
  const types = [
    carriedType('notes', {}),
    carriedType('notes', {}, 10),
    carriedType('notes', {}, 2),
  ];

  it('is the newest version of its `carried` type', () => {
    assert.equal(carriedName('notes', types), 'notes.carried.v10');
    assert.equal(carriedName('notes', types.slice(0, 1)), 'notes.carried.v1');
    assert.equal(carriedName('note', types), undefined);
  });
});
