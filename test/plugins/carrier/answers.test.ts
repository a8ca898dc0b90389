// An answer of the carrier gate: the receipts that it is based on, what it keeps private, and that errors block.
// gateway/API.md §8.3.

import assert from 'node:assert/strict';
import { LogError } from '../../../log/index.ts';
import type { Log } from '../../../log/index.ts';
import { trustFromKit, verifyReceipt } from '../../../log/verify.ts';
import { Carriers, decided, HARMLESS, VIOLATION } from './carriers.ts';

describe('plugins/carrier: an answer', () => {
  let carriers: Carriers;
  before(async () => {
    carriers = await Carriers.start();
  });
  after(() => carriers.close());

  it('contains the receipts that it is based on, which are valid offline', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Audited');
    await carriers.classify(key, VIOLATION);
    const { json } = await carriers.comply(key, 'audited', '?action=renew');
    assert.equal(json.action, 'renewal');
    assert.equal(json.checked_at, new Date(json.receipt.issued_at_ms).toISOString());
    const { json: kit } = await carriers.running.get('/export/offline-verify-kit.json');
    const trust = trustFromKit(kit, json.receipt.origin as string);
    assert.deepEqual(
      json.audit.map(({ part }: { part: string }) => part),
      ['mandate', 'violation'],
    );
    for (const { receipt, inclusion_proof } of json.audit) {
      assert.ok(Array.isArray(inclusion_proof));
      const proven = {
        ...receipt,
        log: { ...receipt.log, checkpoint: json.checkpoint, inclusion_proof },
      };
      const { valid, checks } = verifyReceipt(proven, trust);
      assert.equal(valid, true, JSON.stringify(checks));
    }
  });

  it('is on the chain of its mandate, which the log proves complete', async () => {
    const key = await carriers.newKey();
    const { json: enrolled } = await carriers.enroll(key, 'Chained');
    for (const action of ['', '?action=bind', '?action=renewal'])
      await carriers.comply(key, 'chained', action);
    const { json } = await carriers.bind(
      key,
      { slug: 'chained' },
      { headers: { Prefer: 'wait=10' } },
    );
    const url = new URL(json.audit_url as string);
    const history = await carriers.running.get(url.pathname + url.search);
    assert.equal(history.status, 200, history.text);
    assert.equal(history.json.entries.length, 5);
    assert.equal(history.json.entries[0].index, enrolled.receipt.index);
    assert.equal(history.json.entries[4].index, json.receipt.index);
  });

  it('keeps policy, agent and money out of the log, and is replayed', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Private');
    await carriers.classify(key, HARMLESS);
    const body = {
      company: 'Private',
      policy_id: 'ZEBRA 1',
      agent_id: 'zebra agent',
      premium_usd: '4242.424242',
      limit_usd: 9_191_919,
      authority: { limit_usd: '9191919' },
      session_id: 'zebra session',
    };
    const headers = { 'Idempotency-Key': 'bind-check-1' };
    const first = await carriers.bind(key, body, { headers });
    assert.deepEqual(decided(first), ['ALLOW', []]);
    const entry = carriers.entryText(first.json.receipt.index);
    assert.doesNotMatch(entry, /zebra|private|4242\.?4242|9191919/i);
    assert.equal(first.json.receipt.disclosures.policy_id.value, 'ZEBRA 1');
    await carriers.classify(key, VIOLATION);
    const again = await carriers.bind(key, body, { headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
  });

  it('uses a finding that was logged just before, also with concurrent requests', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Racing');
    await carriers.classify(key, HARMLESS);
    const answers = await Promise.all([
      carriers.classify(key, VIOLATION),
      ...Array.from({ length: 20 }, () => carriers.comply(key, 'racing')),
    ]);
    const [finding, ...checks] = answers;
    for (const { json } of checks) {
      const after = (json.receipt.index as number) > (finding['index'] as number);
      assert.equal(json.decision, after ? 'BLOCK' : 'ALLOW');
    }
  });

  it('blocks with an error if the log does not answer, and hides the cause', async () => {
    const key = await carriers.newKey();
    await carriers.enroll(key, 'Failing');
    await carriers.classify(key, HARMLESS);
    const log = carriers.running.gateway.logs.live as Log & { append: Log['append'] };
    const { append } = log;
    const failures: readonly (readonly [Error, number, string])[] = [
      [new LogError('log_unavailable', 'the disk says zebra'), 503, 'log_unavailable'],
      [new LogError('log_busy', 'zebra'), 503, 'log_busy'],
      [new LogError('clock_untrusted', 'zebra'), 503, 'log_unavailable'],
      [new Error('zebra'), 500, 'internal_error'],
    ];
    for (const [failure, status, code] of failures) {
      log.append = () => Promise.reject(failure);
      try {
        for (const { status: got, json, text } of [
          await carriers.comply(key, 'failing'),
          await carriers.bind(key, { slug: 'failing' }),
        ]) {
          assert.deepEqual([got, json.error.code, json.decision], [status, code, 'BLOCK']);
          assert.doesNotMatch(text, /zebra/);
        }
      } finally {
        log.append = append;
      }
    }
    assert.deepEqual(decided(await carriers.comply(key, 'failing')), ['ALLOW', []]);
  });
});
