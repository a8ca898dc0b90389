// Enrollment of an insured: its mandate, its bundle, and the rules for slugs.
// gateway/API.md §8.3.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { canonical } from '../../../log/index.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { Carriers, DAY_MS, decided } from './carriers.ts';

describe('plugins/carrier POST /carrier/v1/enroll', () => {
  let carriers: Carriers;
  before(async () => {
    carriers = await Carriers.start();
  });
  after(() => carriers.close());

  it('returns a mandate and the bundle that both parties keep, and writes no name into the log', async () => {
    const key = await carriers.newKey();
    const { status, json, text } = await carriers.enroll(key, 'Ácme Zebra & Söhne', {
      domain: 'zebra',
    });
    assert.equal(status, 200, text);
    assert.equal(json.slug, 'acme-zebra-sohne');
    assert.equal(json.mandate_id, json.receipt.entry_id);
    assert.equal(json.valid_until_ms - json.valid_from_ms, 365 * DAY_MS);
    const { bundle } = json;
    assert.equal(bundle.mandate_id, json.mandate_id);
    const digest = createHash('sha256').update(canonical(bundle.terms)).digest('hex');
    assert.equal(bundle.terms_sha256, digest);
    assert.equal(json.receipt.terms_sha256, digest);
    assert.ok(bundle.keys.some(({ kid }: { kid: string }) => kid === json.receipt.kid));
    assert.ok(bundle.checkpoint.startsWith(`${bundle.log.origin as string}\n`));
    assert.equal(bundle.kit_url, 'http://test.example/export/offline-verify-kit.json');
    assert.doesNotMatch(carriers.entryText(json.receipt.index), /zebra/i);
  });

  it('accepts a slug once for each carrier, and again after the mandate has expired', async () => {
    const [one, other] = [await carriers.newKey(), await carriers.newKey()];
    const valid_until_ms = carriers.running.clock.wall() + DAY_MS;
    assert.equal((await carriers.enroll(one, 'Twice', { valid_until_ms })).status, 200);
    const again = await carriers.enroll(one, ' TWICE ');
    assert.equal(codeOf(again, 409), 'mandate_exists');
    assert.equal(again.json.error.param, 'company');
    assert.equal((await carriers.enroll(other, 'Twice')).status, 200);
    carriers.running.clock.pass(DAY_MS + 1);
    assert.deepEqual(decided(await carriers.comply(one, 'twice')), ['BLOCK', ['mandate_expired']]);
    assert.equal((await carriers.enroll(one, 'Twice')).status, 200);
  });

  it('enrolls once for concurrent requests', async () => {
    const key = await carriers.newKey();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => carriers.enroll(key, 'Contended')),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      200,
      ...Array.from({ length: 11 }, () => 409),
    ]);
  });

  it('accepts every company, whatever its tenant_ref begins with', async () => {
    const key = await carriers.newKey();
    const companies = Array.from({ length: 200 }, (_, n) => `Company ${String(n)}`);
    const answers = await Promise.all(companies.map((company) => carriers.enroll(key, company)));
    for (const { status, text } of answers) assert.equal(status, 200, text);
  });

  it('refuses an invalid enrollment', async () => {
    const key = await carriers.newKey();
    assert.equal((await carriers.enroll(key, '株式会社')).json.error.param, 'company');
    assert.equal(
      codeOf(await carriers.enroll(key, 'Late', { valid_until_ms: 1 }), 400),
      'parameter_invalid',
    );
    assert.equal(codeOf(await carriers.enroll(key, 'x'.repeat(513)), 400), 'parameter_invalid');
    assert.equal(
      codeOf(await carriers.running.post('/carrier/v1/enroll', {}, { key }), 400),
      'parameter_missing',
    );
    const anonymous = await carriers.running.post('/carrier/v1/enroll', { company: 'Nobody' });
    assert.equal(codeOf(anonymous, 401), 'api_key_missing');
  });
});
