// plugins/carrier/verify.ts: the bundle of an enrollment is valid only if its mandate commits to it.

import assert from 'node:assert/strict';
import { trustFromKit } from '../../../log/verify.ts';
import type { Trust } from '../../../log/verify.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import type { Finding } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';
import type { Body } from '../../support/body.ts';
import { ok, run } from '../../gateway/running.ts';

describe('a pre-dispute bundle', () => {
  let enrolled: Body;
  let other: Body;
  let renewed: Body;
  let trust: Trust;

  before(async () => {
    const running = await run();
    try {
      const enroll = async (company: string): Promise<Body> => {
        const headers = { Prefer: 'wait=10' };
        const ask = { key: running.live, headers };
        return ok(await running.post('/carrier/v1/enroll', { company }, ask));
      };
      enrolled = await enroll('Acme');
      other = await enroll('Beta');
      const ask = { key: running.live, headers: { Prefer: 'wait=10' } };
      renewed = ok(await running.post('/carrier/v1/insured/acme/renew', {}, ask));
      const { json: kit } = await running.get('/export/offline-verify-kit.json');
      trust = trustFromKit(kit, enrolled.receipt.origin as string);
    } finally {
      await running.close();
    }
  });

  const checked = (answer: object): Promise<Finding> => {
    const shown = recognised(JSON.stringify(answer));
    assert.equal(shown.kind, 'mandate');
    return checkDocument(shown, trust);
  };

  it('is valid offline with the receipt of its mandate', async () => {
    const { valid, checks, summary } = await checked(enrolled);
    assert.equal(valid, true, JSON.stringify(checks));
    assert.deepEqual(
      checks.slice(-3, -1).map(({ name }) => name),
      ['terms', 'acceptance code'],
    );
    assert.match(
      checks.at(-1)?.detail ?? '',
      /^the answer's other members, such as slug, .* bundle$/,
    );
    assert.match(summary, /in the tree of \d+ entries; it commits to the terms of the bundle$/);
  });

  it('is refused with other terms, another digest, slug or mandate', async () => {
    const { bundle } = enrolled as { bundle: Body };
    const terms = { ...bundle.terms, findings_window_days: 1 };
    for (const [changed, said] of [
      [{ terms }, 'the mandate commits to other terms'],
      [{ terms: { ...terms, more: 0.5 } }, 'the mandate commits to other terms'],
      [{ terms: undefined }, 'the mandate commits to other terms'],
      [{ terms_sha256: '0'.repeat(64) }, 'terms_sha256 is not what the mandate commits to'],
      [{ slug: 'beta' }, 'the slug is not that of the mandate'],
      [other.bundle, 'the receipt is of another mandate'],
    ] as const) {
      const { valid, summary } = await checked({ ...enrolled, bundle: { ...bundle, ...changed } });
      assert.equal(valid, false);
      assert.equal(summary, `terms failed: ${said}`);
    }
    const forged = { ...enrolled.receipt, terms_sha256: '0'.repeat(64) };
    assert.match(
      (await checked({ ...enrolled, receipt: forged })).summary,
      /^(entry hash|signature) failed/,
    );
  });

  it('of a renewal is valid with its own receipt only', async () => {
    const { valid, checks } = await checked(renewed);
    assert.equal(valid, true, JSON.stringify(checks));
    const mixed = await checked({ ...renewed, bundle: enrolled.bundle });
    assert.equal(mixed.summary, 'terms failed: the mandate commits to other terms');
  });

  it('is refused with another acceptance code', async () => {
    const { acceptance_code } = other;
    const { valid, summary } = await checked({ ...enrolled, acceptance_code });
    assert.equal(valid, false);
    assert.match(summary, /^acceptance code failed/);
  });

  it('cannot be checked alone', () => {
    const alone = JSON.stringify(enrolled.bundle);
    assert.throws(() => recognised(alone), /together with the receipt of its mandate/);
  });
});
