// Pipeline runs: every step has a receipt, and the run stops at the first failing step. gateway/API.md §10.7.

import assert from 'node:assert/strict';
import type { Answer } from '../../gateway/running.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';
import { typesFrom } from '../../support/types-from.ts';
import { readingsOf } from './readings.ts';

const STEPS = [
  ...['physics', 'print', 'oracle', 'obligation', 'settlement'],
  ...['conformity', 'custody', 'clearing', 'stack'],
];

describe('the pipeline', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  const run = (body: object = {}): Promise<Answer> =>
    served.gateway.post(
      '/api/v1/foundry/pipeline/run',
      {
        message: 'The report is sealed',
        readings: readingsOf('1'),
        template_id: 'incident_sealed',
        ...body,
      },
      { key: served.gateway.sandbox },
    );
  const steps = ({ json }: Answer) =>
    json.steps as { status: string; note?: string; entry_id?: string }[];
  const statuses = (answer: Answer): string =>
    steps(answer)
      .map(({ status }) => status[0])
      .join('');

  it('runs from the act to the settlement, with a receipt for each step', async () => {
    const answer = await run({
      enabled_exposure_usd: 2_000_000,
      category_id: 'insurance',
      custody: { event_type: 'tokenize', asset_id: 'note', quantity: '10' },
    });
    const { status, json } = answer;
    assert.equal(status, 200, answer.text);
    assert.deepEqual([json.ok, json.state], [true, 'completed']);
    assert.deepEqual(
      json.steps.map(({ step }: { step: string }) => step),
      STEPS,
    );
    assert.equal(statuses(answer), 'osooooooo');
    const types = json.receipts.map(({ type }: { type: string }) => type);
    assert.deepEqual(types, [
      'classify.result.v1',
      'foundry.aggregate.v2',
      'foundry.trigger.v2',
      'foundry.settlement.v3',
      'foundry.conformity.v2',
      'foundry.custody.v1',
    ]);
    const settlement = json.receipts[3];
    assert.deepEqual([settlement.state, settlement.fee_micro_usd], ['FIRED', 3_000_000_000]);
    const ids = json.receipts.map(({ entry_id }: { entry_id: string }) => entry_id);
    const named = steps(answer).flatMap(({ entry_id }) => entry_id ?? []);
    assert.deepEqual(named, [...ids, json.run_entry_id]);
    assert.equal(json.receipt.toll, 'foundry_pipeline');
    assert.ok(!JSON.stringify({ ...json.receipts[0], disclosures: {} }).includes('report'));
    const again = await served.gateway.post(
      '/api/v1/foundry/trigger/fire',
      { trigger_id: settlement.trigger_id, reading: { metric: 'incident', value: 1 } },
      { key: served.gateway.sandbox },
    );
    assert.equal(
      again.json.settlement.settlement_entry_id,
      settlement.entry_id,
      'has fired already',
    );
  });

  it('skips steps that the request does not name, and a settlement that is not due', async () => {
    const answer = await run({ readings: readingsOf('0.5') });
    assert.equal(statuses(answer), 'osoosssoo');
    assert.equal(steps(answer)[4]?.note, 'condition_not_met');
    assert.equal(answer.json.receipts.at(-1).type, 'foundry.evaluation.v1');
  });

  it('stops if the sources do not agree; earlier steps stay logged', async () => {
    const answer = await run({ readings: readingsOf('1', '2', '3'), category_id: 'justice' });
    assert.deepEqual([answer.json.ok, answer.json.state], [false, 'stopped']);
    assert.equal(statuses(answer), 'osfssssss');
    assert.deepEqual(steps(answer)[2]?.note, 'disputed');
    assert.equal(answer.json.receipts.length, 2);
    const few = await run({ readings: readingsOf('1').slice(1) });
    assert.deepEqual([statuses(few), steps(few)[2]?.note], ['osfssssss', 'insufficient']);
    // Each run has its own feed, so the earlier dispute does not affect it.
    assert.equal(statuses(await run()), 'osooossoo');
  });

  it('stops at a failed custody check, and recognises an unchanged pack', async () => {
    const custody = { event_type: 'burn', asset_id: 'nothing', quantity: '1' };
    const answer = await run({ custody, category_id: 'employment' });
    assert.equal(statuses(answer), 'osoooofss');
    assert.equal(steps(answer)[6]?.note, 'parity_broken');
    const pack = steps(answer)[5]?.entry_id;
    const again = await run({ category_id: 'employment' });
    assert.deepEqual([steps(again)[5]?.note, steps(again)[5]?.entry_id], ['unchanged_pack', pack]);
  });

  it('stops at physics with BLOCK if the message is a crisis or a violation', async () => {
    const size = served.log().size();
    for (const [message, note] of [
      ['I want to kill myself tonight', 'message_crisis'],
      ['Reject all applicants over 50, they are too old', 'message_violation'],
    ] as const) {
      const answer = await run({ message, enabled_exposure_usd: 1000 });
      assert.deepEqual([answer.json.state, answer.json.outcome], ['stopped', 'BLOCK'], message);
      assert.equal(statuses(answer), 'fssssssss');
      assert.equal(steps(answer)[0]?.note, note);
      assert.equal(answer.json.receipts.length, 1);
    }
    assert.ok(!typesFrom(served.log(), size).includes('foundry.settlement.v3'));
  });

  it('classifies for an entity, which a tenant with several must name', async () => {
    const { key } = await served.gateway.gateway.tenants.issue({
      ...{ tenant: 'several', kind: 'sandbox' },
    });
    const post = (body: object): Promise<Answer> =>
      served.gateway.post(
        '/api/v1/foundry/pipeline/run',
        {
          message: 'Reject all applicants over 50, they are too old',
          readings: readingsOf('1'),
          template_id: 'incident_sealed',
          ...body,
        },
        { key },
      );
    const publish = (entity: string): Promise<Answer> =>
      served.gateway.post('/api/v1/astl/publish', { entity, surfaces: ['a'] }, { key });
    assert.equal((await publish('one-of-two')).status, 200);
    const only = (await post({})).json.receipts[0];
    assert.equal(only.entity, 'one-of-two');
    assert.equal((await publish('two-of-two')).status, 200);
    assert.deepEqual(problem(await post({})), [400, 'parameter_missing', 'entity']);
    assert.equal((await post({ entity: 'two-of-two' })).json.receipts[0].entity, 'two-of-two');
    assert.equal((await post({ entity: null })).json.receipts[0].entity, undefined);
  });

  it('reports that the slot is open, and links the metered entries', async () => {
    const answer = await run();
    assert.equal(answer.json.outcome, 'PASS');
    const [clearing, stack] = answer.json.steps.slice(-2);
    assert.equal(clearing.note, 'open');
    const ids = answer.json.receipts.map(({ entry_id }: { entry_id: string }) => entry_id);
    assert.deepEqual(stack.metered_entry_ids, ids);
  });

  it('appends nothing for a request with any error', async () => {
    const size = served.log().size();
    const of = async (body: object) => problem(await run(body)).slice(0, 2);
    const invalid = [400, 'parameter_invalid'];
    assert.deepEqual(await of({ template_id: 'x' }), invalid);
    assert.deepEqual(await of({ enabled_exposure_usd: 1e9 }), invalid);
    assert.deepEqual(await of({ category_id: 'x' }), invalid);
    assert.deepEqual(await of({ readings: [] }), invalid);
    assert.deepEqual(
      await of({ custody: { event_type: 'burn', asset_id: 'a', quantity: '-1' } }),
      invalid,
    );
    assert.deepEqual(typesFrom(served.log(), size), []);
  });
});
