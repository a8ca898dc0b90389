// The life cycle of a mandate: terms, list, renewal, end, acceptance and overage. gateway/API.md §8.3.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fsck } from '../../../log/operate.ts';
import { broughtTypes } from '../../../tools/brought-types.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Answer } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
import { succeeded } from '../succeeded.ts';
import { Carriers, DAY_MS, decided, HARMLESS } from './carriers.ts';

const ALLOW = ['ALLOW', []];
const OVER = ['BLOCK', ['limit_over_authority']];

describe('plugins/carrier: mandates', () => {
  let carriers: Carriers;
  before(async () => {
    carriers = await Carriers.start();
  });
  after(() => carriers.close());

  const post = (path: string, body: object, key: string): Promise<Answer> =>
    carriers.running.post(`/carrier/v1/${path}`, body, { key });
  const list = async (key: string, query = ''): Promise<Body> =>
    ok(await carriers.running.get(`/carrier/v1/insured${query}`, { key }));
  const enrolled = async (key: string, company: string, more: object = {}): Promise<Body> => {
    const mandate = ok(await carriers.enroll(key, company, more));
    await carriers.classify(key, HARMLESS);
    return mandate;
  };

  it('are signed with their terms, which a request can only narrow', async () => {
    const key = await carriers.newKey();
    const { receipt, bundle } = await enrolled(key, 'Limited', {
      ...{ limit_usd: '1000.5', domain: 'zebra' },
    });
    assert.deepEqual(
      [receipt.actions, receipt.limit_micro_usd],
      [['bind', 'renewal'], '1000500000'],
    );
    assert.deepEqual(bundle.terms.limit_micro_usd, '1000500000');
    assert.equal(bundle.terms.subject.entity, receipt.subject_key[1]);
    assert.doesNotMatch(carriers.entryText(receipt.index), /zebra/);
    const asked = async (limit_usd: string, most?: string) => {
      const authority = most === undefined ? {} : { authority: { limit_usd: most } };
      return decided(await carriers.bind(key, { slug: 'limited', limit_usd, ...authority }));
    };
    assert.deepEqual(await asked('1000.5'), ALLOW);
    assert.deepEqual(await asked('1000.500001'), OVER);
    assert.deepEqual(
      await asked('1000.500001', '5000'),
      OVER,
      'an authority does not extend a mandate',
    );
    assert.deepEqual(await asked('1000', '999.99'), OVER);
    assert.deepEqual(await asked('999.99', '999.99'), ALLOW);

    const renewals = await carriers.newKey();
    await enrolled(renewals, 'Renewals', { actions: ['renewal'] });
    assert.deepEqual(decided(await carriers.comply(renewals, 'renewals', '?action=renew')), ALLOW);
    const outside = ['BLOCK', ['action_outside_mandate']];
    assert.deepEqual(decided(await carriers.comply(renewals, 'renewals')), outside);
    for (const more of [
      { limit_usd: '1e3' },
      { limit_usd: -1 },
      { actions: [] },
      { actions: ['x'] },
    ]) {
      const refused = await carriers.enroll(renewals, 'Refused', more);
      assert.equal(codeOf(refused, 400), 'parameter_invalid', refused.text);
    }
  });

  it('are listed by pages, each with its state', async () => {
    const key = await carriers.newKey();
    const valid_until_ms = carriers.running.clock.wall() + DAY_MS;
    const first = await enrolled(key, 'List one', { limit_usd: 7 });
    const second = await enrolled(key, 'List two', { valid_until_ms });
    const third = await enrolled(key, 'List three');
    ok(await post('insured/list-three/end', {}, key));
    carriers.running.clock.pass(DAY_MS + 1);
    const whole = await list(key);
    assert.deepEqual([whole.has_more, whole.next_cursor], [false, null]);
    const states = new Map<string, unknown[]>(
      whole.data.map((one: Body) => [one.mandate_id, [one.slug, one.state, one.limit_usd]]),
    );
    assert.deepEqual(states.get(first.mandate_id), ['list-one', 'in_force', '7']);
    assert.deepEqual(states.get(second.mandate_id), ['list-two', 'expired', null]);
    assert.deepEqual(states.get(third.mandate_id), ['list-three', 'ended', null]);
    const paged: unknown[] = [];
    for (let cursor: string | null = null; ;) {
      const page: Body = await list(key, `?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
      paged.push(...page.data.map((one: Body) => one.mandate_id));
      cursor = page.next_cursor;
      if (!page.has_more) break;
      assert.equal(page.data.length, 1);
    }
    assert.deepEqual(
      paged,
      whole.data.map((one: Body) => one.mandate_id),
    );
    assert.deepEqual((await list(await carriers.newKey())).data, []);
    const wrong = await carriers.running.get('/carrier/v1/insured?cursor=x', { key });
    assert.equal(codeOf(wrong, 400), 'parameter_invalid');
  });

  it('are renewed to a later time, also when they have expired', async () => {
    const key = await carriers.newKey();
    const valid_until_ms = carriers.running.clock.wall() + DAY_MS;
    const { mandate_id } = await enrolled(key, 'Renewed', { valid_until_ms });
    const earlier = await post('insured/renewed/renew', { valid_until_ms }, key);
    assert.equal(codeOf(earlier, 400), 'parameter_invalid');
    const later = ok(
      await post('insured/renewed/renew', { valid_until_ms: valid_until_ms + DAY_MS }, key),
    );
    assert.equal(later.mandate_id, mandate_id);
    assert.equal(later.receipt.valid_until_ms, valid_until_ms + DAY_MS);
    assert.equal(later.bundle.terms.valid_until_ms, valid_until_ms + DAY_MS);
    carriers.running.clock.pass(3 * DAY_MS);
    await carriers.classify(key, HARMLESS);
    const expired = ['BLOCK', ['mandate_expired']];
    assert.deepEqual(decided(await carriers.comply(key, 'renewed')), expired);
    const again = ok(await post('insured/renewed/renew', {}, key));
    assert.equal(again.valid_until_ms - again.valid_from_ms, 365 * DAY_MS);
    const answer = await carriers.comply(key, 'renewed');
    assert.deepEqual(decided(answer), ALLOW);
    assert.deepEqual(
      answer.json.audit.map(({ part, entry_id }: Body) => [part, entry_id]).slice(0, 2),
      [
        ['mandate', mandate_id],
        ['renewal', again.receipt.entry_id],
      ],
    );
    assert.equal(codeOf(await post('insured/nobody/renew', {}, key), 404), 'resource_missing');
    const other = await carriers.newKey();
    assert.equal(codeOf(await post('insured/renewed/renew', {}, other), 404), 'resource_missing');
  });

  it('end once, and the slug can be enrolled again', async () => {
    const key = await carriers.newKey();
    const { mandate_id, acceptance_code } = await enrolled(key, 'Ended');
    const answers = await Promise.all(
      [1, 2, 3].map(() => post('insured/ended/end', { reason: 'the zebra left' }, key)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
    const { json: end } = answers.find(({ status }) => status === 200)!;
    assert.equal(end.mandate_id, mandate_id);
    assert.doesNotMatch(carriers.entryText(end.receipt.index), /zebra/);
    for (const refused of [
      await post('insured/ended/end', {}, key),
      await post('insured/ended/renew', {}, key),
      await post('mandates/accept', { mandate_id, acceptance_code }, key),
    ]) {
      assert.equal(codeOf(refused, 409), 'mandate_ended');
    }
    const blocked = await carriers.comply(key, 'ended');
    assert.deepEqual(decided(blocked), ['BLOCK', ['mandate_ended']]);
    const again = await enrolled(key, 'Ended');
    assert.notEqual(again.mandate_id, mandate_id);
    assert.deepEqual(decided(await carriers.comply(key, 'ended')), ALLOW);
  });

  it('are accepted by the insured with the code, once, and it then sees the mandate', async () => {
    const key = await carriers.newKey();
    const headers = { 'Idempotency-Key': 'enroll-accepted' };
    const asked = { company: 'Accepted' };
    const mandate = ok(await carriers.running.post('/carrier/v1/enroll', asked, { key, headers }));
    const replayed = await carriers.running.post('/carrier/v1/enroll', asked, { key, headers });
    assert.deepEqual(ok(replayed), mandate);
    const { mandate_id, acceptance_code, entity } = mandate;
    assert.doesNotMatch(carriers.entryText(mandate.receipt.index), new RegExp(acceptance_code));
    const act = { message: HARMLESS, entity };
    ok(await carriers.running.post('/api/v1/classify', act, { key }));
    const [insured, stranger] = await Promise.all([
      carriers.keyOf('the-insured', 'insured'),
      carriers.keyOf('a-stranger', 'insured'),
    ]);
    const accept = (by: string, more: object = {}): Promise<Answer> =>
      post('mandates/accept', { mandate_id, acceptance_code, ...more }, by);

    assert.equal((await carriers.comply(key, 'accepted')).json.mandate_accepted, false);
    assert.deepEqual((await list(insured)).data, []);
    for (const wrong of [
      '',
      'x',
      `${acceptance_code as string}x`,
      mandate.receipt.acceptance_sha256,
    ]) {
      const refused = await accept(insured, { acceptance_code: wrong });
      assert.equal(codeOf(refused, 403), 'acceptance_code_invalid', wrong);
    }
    const unknown = '01890a5d-ac96-774b-bcce-b302099a8057';
    assert.equal(codeOf(await accept(insured, { mandate_id: unknown }), 404), 'resource_missing');
    const accepted = ok(await accept(insured));
    assert.equal(accepted.mandate_id, mandate_id);
    for (const by of [insured, stranger]) {
      assert.equal(codeOf(await accept(by), 409), 'mandate_accepted');
    }
    const answer = await carriers.comply(key, 'accepted');
    assert.deepEqual(decided(answer), ALLOW);
    assert.equal(answer.json.mandate_accepted, true);
    assert.equal(answer.json.receipt.mandate_accepted, true);
    assert.equal(answer.json.audit[1].entry_id, accepted.receipt.entry_id);
    const { json: unmandated } = await carriers.comply(key, 'nobody');
    assert.equal(unmandated.mandate_accepted, null);

    const [seen, none] = (await list(insured)).data;
    assert.deepEqual([seen.mandate_id, seen.entity, seen.accepted], [mandate_id, entity, true]);
    assert.deepEqual([seen.slug, none], [null, undefined], 'the slug is private to its carrier');
    assert.deepEqual((await list(stranger)).data, []);
    assert.deepEqual(
      (await list(key)).data.map((one: Body) => one.accepted),
      [true],
    );
  });

  it('above the included number have the toll of overage', async () => {
    const running = await run({ MANDATES_INCLUDED: '2' });
    const { live: key } = running;
    try {
      const enroll = (n: number) =>
        running.post('/carrier/v1/enroll', { company: `Company ${String(n)}` }, { key });
      const usage = async (): Promise<unknown[]> => {
        const { tolls, total_micro_usd } = ok(await running.get('/api/v1/clear/usage', { key }));
        const [line] = tolls.filter(({ toll }: Body) => toll === 'mandate_overage');
        return [line?.acts ?? 0, total_micro_usd];
      };
      ok(await enroll(1));
      assert.deepEqual(await usage(), [0, '0']);
      const answers = (await Promise.all([2, 3, 4, 5].map(enroll))).map(ok);
      const counted = answers.map(({ receipt }) => [receipt.mandates_in_year, receipt.toll]);
      assert.deepEqual(
        counted.sort(([a], [b]) => a - b),
        [[2, undefined], ...[3, 4, 5].map((n) => [n, 'mandate_overage'])],
      );
      assert.equal((await enroll(5)).status, 409);
      assert.deepEqual(await usage(), [3, '9000000']);
      const renewed = ok(await running.post('/carrier/v1/insured/company-1/renew', {}, { key }));
      assert.equal(renewed.receipt.toll_micro_usd, 3_000_000);
      assert.deepEqual(await usage(), [4, '12000000']);
    } finally {
      await running.close();
    }
  });
});

describe('plugins/carrier: mandates in a log that follows another', function () {
  this.timeout(60_000);

  it('have the state that they had in the closed log', async () => {
    const running = await run();
    const { live: key } = running;
    const { tenants } = running.gateway;
    const insured = (await tenants.issue({ tenant: 'party', kind: 'live', role: 'insured' })).key;
    const enroll = async (company: string): Promise<Body> =>
      ok(await running.post('/carrier/v1/enroll', { company, limit_usd: 5 }, { key }));
    const [kept, ended, open] = [await enroll('Kept'), await enroll('Ended'), await enroll('Open')];
    const { mandate_id, acceptance_code } = kept;
    ok(
      await running.post(
        '/carrier/v1/mandates/accept',
        { mandate_id, acceptance_code },
        { key: insured },
      ),
    );
    const renewal = ok(await running.post('/carrier/v1/insured/kept/renew', {}, { key }));
    ok(await running.post('/carrier/v1/insured/ended/end', {}, { key }));
    const again = await succeeded(running);
    try {
      const post = (path: string, body: object, by = key) =>
        again.post(`/carrier/v1/${path}`, body, { key: by });
      const check = async (slug: string): Promise<Body> =>
        ok(await again.get(`/carrier/v1/insured/${slug}/compliance`, { key }));
      const answer = await check('kept');
      assert.deepEqual([answer.reasons, answer.mandate_accepted], [['evidence_missing'], true]);
      assert.deepEqual(
        answer.audit.map(({ part, receipt }: Body) => [part, receipt.origin.slice(-6)]),
        ['mandate', 'renewal', 'acceptance'].map((part) => [part, 'live/1']),
      );
      assert.equal(answer.audit[1].entry_id, renewal.receipt.entry_id);
      assert.deepEqual((await check('ended')).reasons, ['mandate_ended']);
      assert.equal(codeOf(await post('insured/ended/renew', {}), 409), 'mandate_ended');
      const seen = ok(await again.get('/carrier/v1/insured', { key: insured })).data;
      assert.deepEqual(
        seen.map((one: Body) => [one.mandate_id, one.limit_usd]),
        [[mandate_id, '5']],
      );
      const code = { mandate_id: open.mandate_id, acceptance_code: open.acceptance_code };
      ok(await post('mandates/accept', code, insured));
      const renewed = ok(await post('insured/kept/renew', {}));
      assert.equal(renewed.receipt.mandates_in_year, 5);
      assert.ok(ended.mandate_id);
    } finally {
      await again.close(true);
    }
    const types = await broughtTypes({ PLUGINS: [] });
    for (const number of ['1', '2']) {
      const folder = join(again.data, 'live', number);
      assert.deepEqual((await fsck({ folder, types })).differences, [], number);
    }
  });
});
