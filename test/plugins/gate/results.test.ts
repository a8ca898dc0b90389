// The result of a permitted act, which is stated once after its use, and acts that were done without a decision.
// gateway/API.md §8.1.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { problem } from '../astl/surfaces.ts';
import type { Answer } from '../../gateway/running.ts';
import { GATE, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

const RESULT = `${GATE}/permits/result`;
const result_sha256 = hash('sha256', 'what the act returned', 'hex');

describe('a result', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const post = (path: string, body: object): Promise<Answer> =>
    served.post(path, body, served.agent);

  async function permitted() {
    const { preimage, decision_entry_id: receipt, permit } = await served.permit();
    const { use_secret } = permit;
    return { preimage, named: { receipt, use_secret } };
  }

  it('of an act is stated once after its permit was used, on the chain of the permit', async () => {
    const { preimage, named } = await permitted();
    const result = { ...named, status: 'completed', result_sha256 };
    assert.deepEqual(problem(await post(RESULT, result)), [409, 'permit_not_used', 'receipt']);
    const used = (await post(`${GATE}/permits/use`, { ...preimage, ...named })).json;
    const { status, json, text } = await post(RESULT, result);
    assert.equal(status, 200, text);
    const { permit_id, permit_use_id, receipt } = json;
    assert.deepEqual([permit_id, permit_use_id], [named.receipt, used.permit_use_id]);
    assert.equal(receipt.result_sha256, undefined, 'the log has only a commitment to the digest');
    assert.equal(receipt.disclosures.result_sha256.value, result_sha256);
    assert.equal(receipt.toll, undefined, 'the toll was paid with the act');
    const again = await post(RESULT, { ...result, status: 'failed' });
    assert.deepEqual(problem(again), [409, 'result_exists', 'receipt']);
    const log = served.log();
    const { map_head_ms } = await log.whenPublished(log.size());
    const key = ['gate.result', String(permit_id)] as const;
    const chain = await log.chain({ key: [...key], from_ms: 0, to_ms: map_head_ms });
    assert.deepEqual(
      chain.map(({ index }) => index),
      [receipt.index],
    );
  });

  it('is accepted from exactly one of many concurrent requests', async () => {
    const { preimage, named } = await permitted();
    await post(`${GATE}/permits/use`, { ...preimage, ...named });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(RESULT, { ...named, status: 'unknown' })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      200,
      ...Array.from({ length: 7 }, () => 409),
    ]);
  });

  it('is accepted only from a caller that knows the use secret', async () => {
    const { preimage, named } = await permitted();
    await post(`${GATE}/permits/use`, { ...preimage, ...named });
    const { receipt } = named;
    for (const use_secret of [undefined, { ...named.use_secret, value: 'a guess' }]) {
      const refused = await post(RESULT, { receipt, use_secret, status: 'completed' });
      assert.deepEqual(problem(refused), [403, 'permit_secret_invalid', 'use_secret']);
    }
    const unknown = { receipt: '01900000-0000-7000-8000-000000000000', status: 'completed' };
    assert.deepEqual(problem(await post(RESULT, unknown)), [400, 'parameter_invalid', 'receipt']);
  });

  it('of an act without a decision is an attempt on its surface, with a toll', async () => {
    await post('/api/v1/astl/publish', { entity: 'mcp:files', surfaces: ['read_file'] });
    const act = {
      ...{ action_type: 'mcp.read_file', agent_id: 'agent:files', timestamp_ms: 1_790_000_000_000 },
      ...{ reason: 'gate_unreachable', entity: 'mcp:files', surface: 'read_file' },
    };
    const { status, json, text } = await post(`${GATE}/unasked`, act);
    assert.equal(status, 200, text);
    const { receipt } = json;
    assert.deepEqual(
      [receipt.surface, receipt.surface_declared, receipt.timestamp_ms],
      ['read_file', true, act.timestamp_ms],
    );
    assert.notEqual(receipt.toll, undefined);
    const log = served.log();
    const { map_head_ms } = await log.whenPublished(log.size());
    const key = ['surface', 'mcp:files', 'read_file'];
    const chain = await log.chain({ key, from_ms: 0, to_ms: map_head_ms });
    assert.deepEqual(
      chain.map(({ index }) => index),
      [receipt.index],
    );
    const { reason: _, ...unreasoned } = act;
    assert.equal((await post(`${GATE}/unasked`, unreasoned)).status, 400);
  });
});
