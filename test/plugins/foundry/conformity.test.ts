// Conformity packs. gateway/API.md §2.2, §10.9.

import assert from 'node:assert/strict';
import { documentHash } from '../../../plugins/foundry/conformity.ts';
import type { Answer } from '../../gateway/running.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';

/** gateway/API.md §10.9. */
const POINTS = [
  ['employment', '4'],
  ['insurance', '5(c)'],
  ['education', '3'],
  ['justice', '8'],
  ['critical_infrastructure', '2'],
  ['companion', null],
] as const;

describe('conformity packs', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  const generate = (body: object, key?: string): Promise<Answer> =>
    served.gateway.post('/api/v1/conformity/generate', body, {
      key: key ?? served.gateway.sandbox,
    });

  it('puts each category where Annex III has it', async () => {
    for (const [category_id, point] of POINTS) {
      const { status, json } = await generate({ category_id });
      assert.equal(status, 200);
      assert.deepEqual(
        [json.pack.annex_iii.point, json.pack.annex_iii.listed],
        [point, point !== null],
      );
      assert.ok(json.pack.label.length > 0 && json.pack.risk_controls.length > 0);
    }
    const { json } = await generate({ category_id: 'companion' });
    assert.match(json.pack.article_12.text, /Not in Annex III.*Art\. 50/);
    const unknown = await generate({ category_id: 'sports' });
    assert.deepEqual(problem(unknown), [400, 'parameter_invalid', 'category_id']);
  });

  it('commits to the pack, and shows no claim as met that nothing evidences', async () => {
    const system = { name: 'Screening assistant', version: '4.1' };
    const { json } = await generate({ category_id: 'justice', system });
    assert.equal(json.pack_sha256, documentHash(json.pack));
    assert.equal(json.receipt.pack_sha256, json.pack_sha256);
    assert.deepEqual(json.pack.system, system);
    assert.ok(!JSON.stringify({ ...json.receipt, disclosures: {} }).includes('Screening'));
    assert.equal(json.receipt.toll, 'conformity_pack');
    assert.ok(!JSON.stringify(json.pack).includes('"met"'));
  });

  it('rests on the session that it names, and is committed to once while that stands still', async () => {
    const ask = { category_id: 'employment', session_id: 'interview' };
    const empty = await generate(ask);
    assert.equal(empty.json.pack.article_12.evidence.status, 'not_evidenced');
    for (const message of ['Hello', 'Good bye']) {
      await served.gateway.post(
        '/api/v1/classify',
        { message, session_id: 'interview' },
        { key: served.gateway.sandbox },
      );
    }
    const [one, two] = [await generate(ask), await generate(ask)];
    const { status, events } = one.json.pack.article_12.evidence;
    assert.deepEqual([status, events], ['met', 2]);
    assert.equal(two.text, one.text, 'nothing has changed');
    const { json: other } = await generate(ask, served.other);
    assert.equal(other.pack.article_12.evidence.events, 0, 'sessions are of their tenants');
  });
});
