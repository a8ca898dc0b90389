// Resolving a finding by a human: whom it unblocks, and what stays visible. gateway/API.md §8.3.

import assert from 'node:assert/strict';
import { codeOf } from '../../gateway/http/envelope.ts';
import type { Answer } from '../../gateway/running.ts';
import { ok } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
import { Carriers, DAY_MS, decided, HARMLESS, VIOLATION } from './carriers.ts';

const CRISIS = 'I want to kill myself';
const ALLOW = ['ALLOW', []];
const BLOCK = ['BLOCK', ['open_violation']];

describe('plugins/carrier POST /carrier/v1/findings/{entry_id}/resolve', () => {
  let carriers: Carriers;
  before(async () => {
    carriers = await Carriers.start();
  });
  after(() => carriers.close());

  const resolve = (key: string, id: string, more: object = {}): Promise<Answer> =>
    carriers.running.post(
      `/carrier/v1/findings/${id}/resolve`,
      { outcome: 'dismissed', reason: 'a quotation of the zebra', ...more },
      { key },
    );
  const violation = async (key: string, more: object = {}): Promise<Body> => {
    const found = await carriers.classify(key, VIOLATION, more);
    assert.equal(found.classification, 'VIOLATION');
    return found;
  };

  it('unblocks the insured, names the resolution, and keeps the finding and its reason', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Resolved');
    const finding = await violation(key);
    assert.deepEqual(decided(await carriers.comply(key, 'resolved')), BLOCK);
    const resolved = ok(await resolve(key, finding.entry_id));
    assert.deepEqual(
      [resolved.finding_id, resolved.classification, resolved.outcome, resolved.entry_id],
      [finding.entry_id, 'VIOLATION', 'dismissed', resolved.receipt.entry_id],
    );
    assert.doesNotMatch(carriers.entryText(resolved.receipt.index), /zebra/);
    assert.equal(resolved.receipt.disclosures.reason.value, 'a quotation of the zebra');

    const answer = await carriers.comply(key, 'resolved');
    assert.deepEqual(decided(answer), ALLOW);
    const { finding_id, classification, outcome, entry_id, resolved_at } = resolved;
    assert.deepEqual(answer.json.resolutions, [
      { finding_id, classification, outcome, entry_id, resolved_at },
    ]);
    assert.deepEqual(
      answer.json.audit.map(({ part, entry_id: id }: Body) => [part, id]),
      [
        ['mandate', answer.json.mandate_id],
        ['resolved_finding', finding.entry_id],
        ['resolution', entry_id],
        ['evidence', finding.entry_id],
      ],
    );
    const bound = await carriers.bind(key, { slug: 'resolved' });
    assert.deepEqual(decided(bound), ALLOW);
    assert.equal(bound.json.resolutions[0].entry_id, entry_id);
  });

  it('is linked to the finding, by its chain', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Linked');
    const { entry_id } = await violation(key);
    const resolution = ok(
      await carriers.running.post(
        `/carrier/v1/findings/${entry_id as string}/resolve`,
        { outcome: 'remediated', reason: 'retrained' },
        { key, headers: { Prefer: 'wait=10' } },
      ),
    );
    const asked = new URLSearchParams({
      key: JSON.stringify(['carrier.finding', entry_id]),
      from_ms: '0',
      to_ms: String(resolution.receipt.issued_at_ms),
    });
    const chain = ok(await carriers.running.get(`/log/live/1/proof/lookup?${asked.toString()}`));
    assert.deepEqual(
      chain.entries.map(({ index }: Body) => index),
      [resolution.receipt.index],
    );
  });

  it('happens once with concurrent requests, and names unknown findings', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Once');
    const { entry_id, entry_hash } = await violation(key);
    const answers = await Promise.all(Array.from({ length: 6 }, () => resolve(key, entry_id)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409]);
    const again = await resolve(key, `sha256:${entry_hash as string}`, { outcome: 'remediated' });
    assert.equal(codeOf(again, 409), 'finding_resolved');

    const safe: Body = await carriers.classify(key, HARMLESS);
    const unknown = '01890a5d-ac96-774b-bcce-b302099a8057';
    for (const id of [safe.entry_id, unknown, 'x', '0'.repeat(64)]) {
      assert.equal(codeOf(await resolve(key, id), 404), 'resource_missing', id);
    }
    const other = await violation(key);
    for (const more of [{ outcome: 'ignored' }, { reason: '' }, { reason: 7 }]) {
      const refused = await resolve(key, other.entry_id, more);
      assert.equal(codeOf(refused, 400), 'parameter_invalid');
    }
    const silent = await resolve(key, other.entry_id, { reason: undefined });
    assert.equal(codeOf(silent, 400), 'parameter_missing');
    assert.deepEqual(decided(await carriers.comply(key, 'once')), BLOCK, 'nothing was appended');
  });

  it('closes one finding only, in any order', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Several');
    const crisis: Body = await carriers.classify(key, CRISIS);
    const first = await violation(key);
    const second = await violation(key);
    const third = await violation(key);
    await carriers.classify(key, HARMLESS);
    const said = async (): Promise<unknown[]> => {
      const { json } = await carriers.comply(key, 'several');
      const open = json.audit.filter(({ part }: Body) => /^(crisis|violation)$/.test(part));
      return [json.reasons, open.map((item: Body) => item.entry_id)];
    };
    const both = ['open_crisis', 'open_violation'];
    assert.deepEqual(await said(), [both, [crisis.entry_id, third.entry_id]]);
    ok(await resolve(key, second.entry_id));
    assert.deepEqual(await said(), [both, [crisis.entry_id, third.entry_id]]);
    ok(await resolve(key, third.entry_id));
    assert.deepEqual(await said(), [both, [crisis.entry_id, first.entry_id]]);
    ok(await resolve(key, crisis.entry_id));
    assert.deepEqual(await said(), [['open_violation'], [first.entry_id]]);
    ok(await resolve(key, first.entry_id));
    assert.deepEqual(await said(), [[], []]);
    const fourth = await violation(key);
    assert.deepEqual(await said(), [['open_violation'], [fourth.entry_id]]);
  });

  it('counts for the carrier that resolved it, and no other carrier can make it', async () => {
    const [one, two, insured, stranger] = await Promise.all(
      [1, 2, 3, 4].map(() => carriers.newKey()),
    );
    assert.ok(one && two && insured && stranger);
    const entity = 'shared-insured';
    const publish = { entity, surfaces: ['chat'] };
    ok(await carriers.running.post('/api/v1/astl/publish', publish, { key: insured }));
    for (const key of [one, two]) await carriers.enroll(key, 'Shared', { entity });
    const { entry_id } = await violation(insured, { entity });
    assert.equal(codeOf(await resolve(stranger, entry_id), 404), 'resource_missing');
    ok(await resolve(insured, entry_id));
    assert.deepEqual(decided(await carriers.comply(one, 'shared')), BLOCK);
    ok(await resolve(one, entry_id));
    assert.deepEqual(decided(await carriers.comply(one, 'shared')), ALLOW);
    assert.deepEqual(decided(await carriers.comply(two, 'shared')), BLOCK);
    const reader = await carriers.keyOf('reader', 'insured');
    assert.equal(codeOf(await resolve(reader, entry_id), 403), 'role_forbidden');
    const anonymous = await carriers.running.post(`/carrier/v1/findings/x/resolve`, {});
    assert.equal(codeOf(anonymous, 401), 'api_key_missing');
  });

  it('is shown by a check for as long as the finding would block', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Fading');
    const { entry_id } = await violation(key);
    ok(await resolve(key, entry_id));
    carriers.running.clock.pass(30 * DAY_MS - 60_000);
    await carriers.classify(key, HARMLESS);
    assert.equal((await carriers.comply(key, 'fading')).json.resolutions.length, 1);
    carriers.running.clock.pass(120_000);
    assert.deepEqual((await carriers.comply(key, 'fading')).json.resolutions, []);
  });
});
