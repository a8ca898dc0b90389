// POST /api/v1/classify over a running gateway; its receipt checked by the four steps of gateway/API.md §1.1,
// with nothing but SHA-256 and Ed25519.

import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { codeOf } from '../../gateway/http/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

const DERIVED = ['entry_hash', 'permalink', 'verify_url', 'disclosures', 'log'];
const SEVEN = [
  'classification',
  'entry_hash',
  'entry_id',
  'permalink',
  'sandbox',
  'signature',
  'verify_url',
];

describe('POST /api/v1/classify', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const classify = (body: unknown, key = running.live) =>
    running.post('/api/v1/classify', body, { key });

  it('answers the two sentences of the acceptance as they are', async () => {
    const violation = await classify({ message: 'We should not hire her, she might get pregnant' });
    assert.deepEqual([violation.status, violation.json.classification], [200, 'VIOLATION']);
    const safe = await classify({ message: 'Schedule the interview for Monday' });
    assert.deepEqual([safe.status, safe.json.classification], [200, 'SAFE']);
  });

  it('returns a receipt with seven fields that anyone can check', async () => {
    const { json: receipt } = await classify({ message: 'hello there', session_id: 'a' });
    for (const field of SEVEN) assert.ok(field in receipt, field);
    assert.equal(receipt.permalink, `http://test.example/r/${String(receipt.entry_id)}`);
    assert.equal(
      receipt.verify_url,
      `http://test.example/verify?entry_id=${String(receipt.entry_id)}`,
    );

    const entry = Object.fromEntries(
      Object.entries(receipt).filter(([name]) => !DERIVED.includes(name)),
    );
    const text = canonicalize(entry) ?? '';
    const leaf = createHash('sha256').update(Buffer.of(0)).update(text).digest('hex');
    assert.equal(leaf, receipt.entry_hash);
    assert.equal(running.gateway.logs.live.entry(receipt.index), text);

    assert.equal(receipt.origin, 'test.example/log/live/1');
    assert.equal(receipt.sandbox, false);

    const { signature, ...statement } = entry;
    const key = running.gateway.logs.live.receiptKeys().find(({ kid }) => kid === receipt.kid);
    assert.ok(key);
    const publicKey = createPublicKey({ key: key.jwk, format: 'jwk' });
    const signed = Buffer.from(canonicalize(statement) ?? '');
    assert.ok(verify(null, signed, publicKey, Buffer.from(signature as string, 'base64')));

    const { salt, value } = receipt.disclosures.message;
    assert.equal(value, 'hello there');
    const commitment = createHash('sha256')
      .update(Buffer.from(salt, 'hex'))
      .update(JSON.stringify(value))
      .digest('hex');
    assert.equal(commitment, receipt.commitments.message);
  });

  it('never puts the message, the session id or the webhook into the log', async () => {
    const { json } = await classify({
      message: 'zebra-message',
      session_id: 'zebra-session',
      webhook_url: 'https://zebra.example/',
      domain: 'zebra domain',
    });
    assert.doesNotMatch(running.gateway.logs.live.entry(json.index) ?? '', /zebra/);
    assert.equal(json.domain, 'general');
    assert.deepEqual(Object.keys(json.commitments).sort(), ['domain', 'message', 'webhook_url']);
  });

  it('is ERROR, logged too, for a message that is empty or too long', async () => {
    for (const message of ['', '   ', 'a '.repeat(20_000)]) {
      const { status, json } = await classify({ message });
      assert.deepEqual([status, json.classification], [200, 'ERROR']);
    }
  });

  it('links the entries of a session, which is never shared by two tenants', async () => {
    const first = (await classify({ message: 'one', session_id: 'shared' })).json;
    const second = (await classify({ message: 'two', session_id: 'shared' })).json;
    const link = second.links.find(({ key }: { key: string[] }) => key[0] === 'session');
    assert.deepEqual(link, {
      key: ['session', first.session_ref],
      seq: 1,
      prev_index: first.index,
      prev_ms: first.issued_at_ms,
    });
    const { key } = await running.gateway.tenants.issue({ tenant: 'other', kind: 'live' });
    const other = (await classify({ message: 'one', session_id: 'shared' }, key)).json;
    assert.notEqual(other.session_ref, first.session_ref);
  });

  it('has a toll', async () => {
    const { json } = await classify({ message: 'hi' });
    assert.deepEqual([json.toll, json.toll_micro_usd], ['classify', 50_000]);
  });

  for (const [what, body, code, param] of [
    ['no message', {}, 'message_required', 'message'],
    ['a message that is no text', { message: 1 }, 'parameter_invalid', 'message'],
    [
      'a domain that is too long',
      { message: 'x', domain: 'd'.repeat(513) },
      'parameter_invalid',
      'domain',
    ],
    [
      'a webhook without https',
      { message: 'x', webhook_url: 'http://example.org' },
      'invalid_webhook_url',
      'webhook_url',
    ],
    [
      'an entity in another spelling',
      { message: 'x', entity: 'Acme' },
      'parameter_invalid',
      'entity',
    ],
    ['an unclaimed entity', { message: 'x', entity: 'acme' }, 'parameter_invalid', 'entity'],
    [
      'an event far in the future',
      { message: 'x', event_at_ms: Date.now() + 3_600_000 },
      'parameter_invalid',
      'event_at_ms',
    ],
    [
      'a session id that is empty',
      { message: 'x', session_id: '' },
      'parameter_invalid',
      'session_id',
    ],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const answer = await classify(body);
      assert.equal(codeOf(answer, 400), code);
      assert.equal(answer.json.error.param, param);
    });
  }

  it('counts classifications for the metrics', async () => {
    const fresh = await run();
    await fresh.post('/api/v1/classify', { message: '' }, { key: fresh.live });
    await fresh.post('/api/v1/classify', { message: 'hello' }, { key: fresh.live });
    await fresh.post('/api/v1/classify', { message: 'hello' }, { key: fresh.sandbox });
    const counts = { attempts: 2, safe: 1, violation: 0, crisis: 0, error: 1 };
    const { metrics } = fresh.gateway.plugged();
    const invariant = { formula: 'attempts = safe + violation + crisis + error', holds: true };
    const shown = { invariant, classifications: counts, last_24_hours: counts };
    assert.deepEqual(await metrics.read(), shown);
    fresh.clock.pass(86_400_000);
    const none = { attempts: 0, safe: 0, violation: 0, crisis: 0, error: 0 };
    assert.deepEqual(await metrics.read(), { ...shown, last_24_hours: none });
    const { sandbox } = fresh.gateway.logs;
    assert.equal((sandbox.row('classify/totals') as { attempts: number }).attempts, 1);
    await fresh.close();
  });
});
