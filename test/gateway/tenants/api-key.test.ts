// The form of API keys, and how the service checks one. gateway/API.md §3.1, §3.2.

import assert from 'node:assert/strict';
import { judge, keyHash, kindOfKey, newKeyText } from '../../../gateway/tenants/api-key.ts';
import type { KeyRecord } from '../../../gateway/tenants/api-key.ts';

const text = `svc_live_${'a'.repeat(32)}`;
const record: KeyRecord = {
  key_id: 'key_1',
  sha256: keyHash(text),
  tenant: 'acme',
  kind: 'live',
  role: 'carrier',
  scopes: [],
  created_at_ms: 0,
};

describe('API keys', () => {
  it('have the prefix of their kind and 32 base62 characters', () => {
    for (const kind of ['live', 'sandbox'] as const) {
      const key = newKeyText(kind);
      assert.match(key, new RegExp(`^svc_${kind}_[0-9A-Za-z]{32}$`));
      assert.equal(kindOfKey(key), kind);
    }
    assert.notEqual(newKeyText('live'), newKeyText('live'));
  });

  for (const other of [
    '',
    'x',
    `svc_test_${'a'.repeat(32)}`,
    `svc_live_${'a'.repeat(31)}`,
    `${text}a`,
    `${text}\n`,
    ` ${text}`,
    text.toUpperCase(),
  ]) {
    it(`are not ${JSON.stringify(other)}`, () => assert.equal(kindOfKey(other), null));
  }

  it('are stored as the SHA-256 of their text', () => {
    assert.equal(
      keyHash('abc'),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  it('are valid until they expire or are revoked; revoked is reported first', () => {
    const hash = record.sha256;
    assert.equal(judge(record, hash, 1e15), null);
    assert.equal(judge({ ...record, expires_at_ms: 10 }, hash, 9), null);
    assert.equal(judge({ ...record, expires_at_ms: 10 }, hash, 10), 'api_key_expired');
    assert.equal(
      judge({ ...record, expires_at_ms: 10, revoked_at_ms: 5 }, hash, 20),
      'api_key_revoked',
    );
    assert.equal(judge(record, keyHash('other'), 0), 'api_key_invalid');
  });
});
