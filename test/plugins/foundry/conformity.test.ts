// Conformity packs. gateway/API.md §2.2, §10.9.

import assert from 'node:assert/strict';
import { documentHash } from '../../../plugins/foundry/conformity.ts';
import { ok } from '../../gateway/running.ts';
import type { Answer } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
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

  it('assigns each category as in Annex III', async () => {
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

  it('commits to the pack, and shows no claim as met without evidence', async () => {
    const system = { name: 'Screening assistant', version: '4.1' };
    const { json } = await generate({ category_id: 'justice', system });
    assert.equal(json.pack_sha256, documentHash(json.pack));
    assert.equal(json.receipt.pack_sha256, json.pack_sha256);
    assert.deepEqual(json.pack.system, system);
    assert.ok(!JSON.stringify({ ...json.receipt, disclosures: {} }).includes('Screening'));
    assert.equal(json.receipt.toll, 'conformity_pack');
    assert.ok(!JSON.stringify(json.pack).includes('"met"'));
  });

  it('evaluates the session that it names, and appends one entry until the session changes', async () => {
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
    const { status, events, first_index, last_index } = one.json.pack.article_12.evidence;
    assert.deepEqual([status, events], ['met', 2]);
    assert.ok(first_index < last_index);
    assert.equal(two.text, one.text, 'nothing has changed');
    const { json: other } = await generate(ask, served.other);
    assert.equal(other.pack.article_12.evidence.events, 0, 'sessions belong to their tenants');
  });

  const sealed = async (body: object): Promise<string> =>
    ok(
      await served.gateway.post('/compliance/eu-ai-act/article-12/seal', body, {
        key: served.gateway.sandbox,
      }),
    ).entry_id as string;
  const control = ({ json }: Answer, starts: string): Body =>
    json.pack.risk_controls.find((one: Body) => one.control.startsWith(starts));

  it('uses the Article 12 statuses of the report, and names the entries behind a control', async () => {
    const session_id = 'controls';
    const ask = { category_id: 'employment', session_id };
    const review = await sealed({ session_id, event_type: 'human_verification' });
    const before = await generate(ask);
    const reviewed = control(before, 'human review');
    assert.deepEqual([reviewed.status, reviewed.count, reviewed.entry_ids], ['met', 1, [review]]);
    for (const name of ['adverse-impact', 'restraint receipts', 'notice to']) {
      const { status, count, entry_ids } = control(before, name);
      assert.deepEqual([status, count, entry_ids], ['not_evidenced', 0, []], name);
    }
    const tested = await sealed({ session_id, event_type: 'bias_tested' });
    const after = await generate(ask);
    assert.deepEqual(control(after, 'adverse-impact').entry_ids, [tested]);
    const path = `/compliance/eu-ai-act/article-12?session_id=${session_id}`;
    const report = ok(await served.gateway.get(path, { key: served.gateway.sandbox }));
    assert.deepEqual(
      after.json.pack.article_12.items.map(({ id, status, count }: Body) => [id, status, count]),
      report.checklist.map(({ id, status, evidence }: Body) => [id, status, evidence.count]),
    );
    assert.equal(after.json.pack.article_12.evidence.entries_root, report.entries_root);
  });

  it('counts a spoliation seal over the session, and never a control that no entry can evidence', async () => {
    const session_id = 'matter';
    await sealed({ session_id, event_type: 'monitoring' });
    const ask = { category_id: 'justice', session_id };
    assert.equal(control(await generate(ask), 'spoliation hold').status, 'not_evidenced');
    const seal = { trigger_event: 'a claim', session_ids: [session_id] };
    const key = served.gateway.sandbox;
    const { seal_id } = ok(await served.gateway.post('/api/v1/spoliation-seal', seal, { key }));
    const held = control(await generate(ask), 'spoliation hold');
    assert.deepEqual([held.status, held.entry_ids], ['met', [seal_id]]);
    const emotion = control(await generate({ ...ask, category_id: 'education' }), 'no emotion');
    assert.equal(emotion.status, 'not_evidenced');
  });

  it('names five entries of a control, and counts all', async () => {
    const session_id = 'many';
    for (let i = 0; i < 7; i += 1) await sealed({ session_id, event_type: 'human_override' });
    const { count, entry_ids } = control(
      await generate({ category_id: 'employment', session_id }),
      'human review',
    );
    assert.deepEqual([count, entry_ids.length], [7, 5]);
  });

  it('answers with the same pack again by its id, to its tenant', async () => {
    const system = { name: 'Screening assistant', version: '4.1' };
    const made = await generate({ category_id: 'employment', session_id: 'controls', system });
    await sealed({ session_id: 'controls', event_type: 'human_override' });
    const path = `/api/v1/conformity/packs/${String(made.json.pack_entry_id)}`;
    const get = (key: string): Promise<Answer> => served.gateway.get(path, { key });
    const again = ok(await get(served.gateway.sandbox));
    assert.deepEqual([again.pack, again.pack_sha256], [made.json.pack, made.json.pack_sha256]);
    assert.equal(again.receipt.entry_hash, made.json.receipt.entry_hash);
    assert.deepEqual(problem(await get(served.other)), [404, 'resource_missing', 'pack_entry_id']);
    const { entry_id } = ok(
      await served.gateway.post(
        '/compliance/eu-ai-act/article-12/seal',
        {},
        { key: served.gateway.sandbox },
      ),
    );
    const none = await served.gateway.get(`/api/v1/conformity/packs/${String(entry_id)}`, {
      key: served.gateway.sandbox,
    });
    assert.equal(none.status, 404);
    const erase = `/api/v1/disclosures/${String(made.json.pack_entry_id)}`;
    ok(await served.gateway.ask('DELETE', erase, { key: served.gateway.sandbox }));
    assert.equal((await get(served.gateway.sandbox)).json.error.code, 'pack_changed');
  });
});
