// The ordered rules of the carrier gate, each with its inputs. gateway/API.md §8.3.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { readCatalog } from '../../../plugins/contract/index.ts';
import { REASONS } from '../../../plugins/carrier/entries.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import type { Answer } from '../../gateway/running.ts';
import { Carriers, DAY_MS, decided, HARMLESS, VIOLATION } from './carriers.ts';

describe('plugins/carrier: the rules, in their order', () => {
  let carriers: Carriers;
  before(async () => {
    carriers = await Carriers.start();
  });
  after(() => carriers.close());

  it('are those of the catalog', () => {
    const { rules } = readCatalog('carrier.json') as unknown as {
      readonly rules: readonly { readonly reasons: readonly string[] }[];
    };
    assert.deepEqual(
      rules.flatMap(({ reasons }) => reasons),
      REASONS,
    );
  });

  it('block an insured that is not enrolled, with 200 and a signed receipt', async () => {
    const key = await carriers.newKey();
    await carriers.classify(key, HARMLESS);
    const answer = await carriers.comply(key, 'Nobody%20Known');
    assert.deepEqual(decided(answer), ['BLOCK', ['not_enrolled']]);
    const { json } = answer;
    assert.deepEqual([json.mandate_id, json.audit, json.audit_url], [null, [], null]);
    assert.equal(json.receipt.type, 'carrier.decision.v3');
    assert.doesNotMatch(carriers.entryText(json.receipt.index), /Nobody/);
    assert.deepEqual(decided(await carriers.bind(key, { company: 'Not There' })), [
      'BLOCK',
      ['not_enrolled'],
    ]);
  });

  it('block without evidence, allow with it, and block if it is stale', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Fresh');
    assert.deepEqual(decided(await carriers.comply(key, 'fresh')), ['BLOCK', ['evidence_missing']]);
    const { entry_id } = await carriers.classify(key, HARMLESS);
    const allowed = await carriers.comply(key, 'fresh');
    assert.deepEqual(decided(allowed), ['ALLOW', []]);
    const parts = allowed.json.audit.map((item: JsonObject) => [item['part'], item['entry_id']]);
    assert.deepEqual(parts, [
      ['mandate', allowed.json.mandate_id],
      ['evidence', entry_id],
    ]);
    carriers.running.clock.pass(DAY_MS + 60_000);
    assert.deepEqual(decided(await carriers.comply(key, 'fresh')), ['BLOCK', ['evidence_missing']]);
  });

  it('block for 30 days after a VIOLATION or a CRISIS', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Finding');
    assert.equal((await carriers.classify(key, VIOLATION))['classification'], 'VIOLATION');
    assert.deepEqual(decided(await carriers.comply(key, 'finding')), ['BLOCK', ['open_violation']]);
    await carriers.classify(key, 'I want to kill myself');
    await carriers.classify(key, HARMLESS);
    const both = await carriers.comply(key, 'finding');
    assert.deepEqual(decided(both), ['BLOCK', ['open_crisis', 'open_violation']]);
    assert.deepEqual(
      both.json.rules.map(({ result }: { result: string }) => result),
      ['passed', 'passed', 'failed', 'not_reached', 'not_reached'],
    );
    carriers.running.clock.pass(30 * DAY_MS - 3_600_000);
    assert.equal((await carriers.comply(key, 'finding')).json.reasons[0], 'open_crisis');
    carriers.running.clock.pass(2 * 3_600_000);
    await carriers.classify(key, HARMLESS);
    assert.deepEqual(decided(await carriers.comply(key, 'finding')), ['ALLOW', []]);
  });

  it('count what the gate decided, and never an ERROR', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Gated');
    const gate = (message?: string): Promise<Answer> =>
      carriers.running.post(
        '/api/v1/execute-gate',
        {
          action_type: 'policy.bind',
          agent_id: 'a',
          ...carriers.about(key),
          ...(message === undefined ? {} : { message }),
        },
        { key },
      );
    await gate();
    assert.deepEqual(decided(await carriers.comply(key, 'gated')), ['ALLOW', []]);
    const { entry_id } = await carriers.classify(key, HARMLESS);
    await carriers.classify(key, '');
    const failed = ['BLOCK', ['evidence_missing']];
    assert.deepEqual(decided(await carriers.comply(key, 'gated')), failed);
    assert.deepEqual(
      decided(await carriers.bind(key, { slug: 'gated', receipt_entry_id: entry_id })),
      failed,
      'an older receipt does not replace a judgement that was impossible',
    );
    await gate('I want to kill myself');
    assert.deepEqual(decided(await carriers.comply(key, 'gated')), ['BLOCK', ['open_crisis']]);
  });

  it('compare limit and authority exactly', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Limit');
    await carriers.classify(key, HARMLESS);
    const over = ['BLOCK', ['limit_over_authority']];
    const limited = async (limit_usd: unknown, most: unknown) =>
      decided(
        await carriers.bind(key, { slug: 'limit', limit_usd, authority: { limit_usd: most } }),
      );
    assert.deepEqual(decided(await carriers.bind(key, { slug: 'limit', limit_usd: 1 })), [
      'BLOCK',
      ['authority_missing'],
    ]);
    assert.deepEqual(await limited('1000000.000001', 1_000_000), over);
    assert.deepEqual(await limited(0.3, '0.299999'), over);
    assert.deepEqual(await limited(0.3, '0.300000'), ['ALLOW', []]);
    assert.deepEqual(await limited('999999999999999.999999', '999999999999999.999998'), over);
    for (const limit_usd of ['1e3', '-1', '01', '1.0000001', 1e21, 1e-7, -1, null, {}]) {
      const answer = await carriers.bind(key, { slug: 'limit', limit_usd });
      assert.equal(codeOf(answer, 400), 'parameter_invalid', answer.text);
    }
  });

  it('use the receipt that the request names, if it is of the insured', async () => {
    const [key, other] = [await carriers.newKey(), await carriers.newKey()];
    await carriers.enroll(key, 'Named');
    const mine = await carriers.classify(key, HARMLESS);
    const theirs = await carriers.classify(other, HARMLESS);
    const named = async (receipt_entry_id: unknown) =>
      decided(await carriers.bind(key, { slug: 'named', receipt_entry_id }));
    assert.deepEqual(await named(mine['entry_id']), ['ALLOW', []]);
    assert.deepEqual(await named(`sha256:${mine['entry_hash'] as string}`), ['ALLOW', []]);
    const { json } = await carriers.comply(key, 'named');
    for (const no of [theirs['entry_id'], 'x', '0'.repeat(64), json.entry_id, json.mandate_id]) {
      assert.deepEqual(await named(no), ['BLOCK', ['evidence_missing']], String(no));
    }
  });

  it('never count the finding of one insured against another', async () => {
    const key = await carriers.newKey();
    const { entity } = (await carriers.enroll(key, 'First insured')).json;
    assert.match(entity, /^insured:[0-9a-f]{32}$/);
    const other = (await carriers.enroll(key, 'Second insured')).json.entity as string;
    assert.notEqual(other, entity);
    await carriers.classify(key, VIOLATION, { entity });
    await carriers.classify(key, HARMLESS, { entity: other });
    const first = await carriers.comply(key, 'first-insured');
    assert.deepEqual(decided(first), ['BLOCK', ['open_violation']]);
    const second = await carriers.comply(key, 'second-insured');
    assert.deepEqual(decided(second), ['ALLOW', []]);
    const unnamed = await carriers.classify(key, HARMLESS, { entity: undefined });
    assert.equal('entity' in unnamed, false, 'the entity of an insured is never the default');
    const stranger = await carriers.newKey();
    const foreign = { message: VIOLATION, entity: other };
    const refused = await carriers.running.post('/api/v1/classify', foreign, { key: stranger });
    assert.equal(codeOf(refused, 403), 'tenant_forbidden');
  });

  it('use the entity that was enrolled, whichever tenant owns it', async () => {
    const [carrier, insured] = [await carriers.newKey(), await carriers.newKey()];
    const entity = 'insured-party';
    const surfaces = ['chat'];
    const published = await carriers.running.post(
      '/api/v1/astl/publish',
      { entity, surfaces },
      { key: insured },
    );
    assert.equal(published.status, 200, published.text);
    assert.equal((await carriers.enroll(carrier, 'Party', { entity })).status, 200);
    await carriers.classify(carrier, VIOLATION, { entity: null });
    assert.deepEqual(decided(await carriers.comply(carrier, 'party')), [
      'BLOCK',
      ['evidence_missing'],
    ]);
    await carriers.classify(insured, HARMLESS, { entity });
    assert.deepEqual(decided(await carriers.comply(carrier, 'party')), ['ALLOW', []]);
    await carriers.classify(insured, VIOLATION, { entity });
    assert.deepEqual(decided(await carriers.comply(carrier, 'party')), [
      'BLOCK',
      ['open_violation'],
    ]);
  });
});
