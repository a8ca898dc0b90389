// Roles, tenants and kinds of log at the carrier gate, and malformed questions. gateway/API.md §16.

import assert from 'node:assert/strict';
import { codeOf } from '../../gateway/http/envelope.ts';
import { Carriers, decided } from './carriers.ts';

describe('plugins/carrier: access', () => {
  let carriers: Carriers;
  before(async () => {
    carriers = await Carriers.start();
  });
  after(() => carriers.close());

  it('shows an insured its own compliance only', async () => {
    const carrier = await carriers.keyOf('with-roles', 'carrier');
    const insured = await carriers.keyOf('with-roles', 'insured');
    await carriers.enroll(carrier, 'Roles');
    assert.equal(decided(await carriers.comply(insured, 'roles'))[0], 'BLOCK');
    assert.equal(codeOf(await carriers.enroll(insured, 'Other'), 403), 'role_forbidden');
    assert.equal(codeOf(await carriers.bind(insured, { slug: 'roles' }), 403), 'role_forbidden');
  });

  it('separates carriers, and sandbox and live', async () => {
    const [one, other] = [await carriers.newKey(), await carriers.newKey()];
    await carriers.enroll(one, 'Apart');
    assert.deepEqual((await carriers.comply(other, 'apart')).json.reasons, ['not_enrolled']);
    assert.deepEqual((await carriers.comply(carriers.running.sandbox, 'apart')).json.reasons, [
      'not_enrolled',
    ]);
    const { json } = await carriers.enroll(carriers.running.sandbox, 'Apart');
    assert.equal(json.receipt.sandbox, true);
    assert.equal(
      codeOf(await carriers.running.get('/carrier/v1/insured/apart/compliance'), 401),
      'api_key_missing',
    );
  });

  it('refuses a malformed question', async () => {
    const key = await carriers.newKey();
    assert.equal(
      codeOf(await carriers.comply(key, 'x', '?action=cancel'), 400),
      'parameter_invalid',
    );
    const missing = await carriers.bind(key, {});
    assert.equal(codeOf(missing, 400), 'parameter_missing');
    assert.equal(missing.json.error.param, 'slug');
    const both = await carriers.bind(key, { slug: 'a', company: 'B' });
    assert.equal(codeOf(both, 400), 'parameter_invalid');
    assert.equal(
      codeOf(await carriers.bind(key, { slug: 'a', policy_id: 7 }), 400),
      'parameter_invalid',
    );
  });
});
