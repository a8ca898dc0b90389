// Idempotency-Key over HTTP: each rule of gateway/API.md §5.

import assert from 'node:assert/strict';
import { idempotencyKey, sweepRecords } from '../../../gateway/http/idempotency-store.ts';
import { ApiError } from '../../../plugins/contract/index.ts';
import { Hold, notes } from '../notes.ts';
import { typesFrom } from '../../support/types-from.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

const idem = (key: string) => ({ 'Idempotency-Key': key });
const DAY_MS = 24 * 3_600_000;

describe('the text of an Idempotency-Key', () => {
  it('may be bare or a quoted structured-field string', () => {
    assert.equal(idempotencyKey('abcdefgh'), 'abcdefgh');
    assert.equal(idempotencyKey('"abcdefgh"'), 'abcdefgh');
    assert.equal(idempotencyKey('"abc\\"defgh\\\\"'), 'abc"defgh\\');
    assert.equal(idempotencyKey('x'.repeat(255)).length, 255);
  });

  for (const bad of [
    '',
    '1234567',
    '"1234567"',
    'x'.repeat(256),
    'with space',
    'tab\tinside',
    'ümlaut-key',
    '"abcdefgh";x=1',
    '"abcdefgh',
    '"abc"defgh"',
    '"abcdefgh\\"',
    '"abcdefgh", "ijklmnop"',
  ]) {
    it(`is refused: ${JSON.stringify(bad.slice(0, 12))} of ${String(bad.length)}`, () => {
      assert.throws(
        () => idempotencyKey(bad),
        (error: unknown) => error instanceof ApiError && error.code === 'invalid_idempotency_key',
      );
    });
  }
});

describe('idempotency', () => {
  let running: Running;
  const hold = new Hold();
  before(async () => {
    hold.release();
    running = await run({ TRUST_PROXY: '1' }, { plugins: [notes(hold)] });
  });
  after(() => running.close());

  const write = (key: string, body: unknown, path = '/notes/a', more = {}) =>
    running.post(path, body, { key: running.live, headers: { ...idem(key), ...more } });

  it('answers the same request with the same status and body, and appends once', async () => {
    const first = await write('replayed-1', { text: 'x' });
    const before = running.gateway.logs.live.size();
    const second = await write('"replayed-1"', { text: 'x' });
    assert.equal(first.status, 200);
    assert.equal(first.headers.get('idempotent-replayed'), null);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.equal(second.status, first.status);
    assert.equal(second.text, first.text);
    assert.equal(first.json.receipt.disclosures.text.value, 'x');
    assert.notEqual(second.headers.get('x-request-id'), first.headers.get('x-request-id'));
    assert.deepEqual(typesFrom(running.gateway.logs.live, before), []);
  });

  it('compares bodies as JSON values, not as text', async () => {
    const first = await write('canonical-1', '{"text":"x","number":1}');
    const second = await write('canonical-1', '{ "number": 1.0, "text": "\\u0078" }');
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.equal(second.text, first.text);
  });

  it('refuses the key with another body, and keeps the first answer', async () => {
    await write('reused-11', { text: 'x' });
    const other = await write('reused-11', { text: 'y' });
    assert.equal(other.status, 409);
    assert.equal(other.json.error.code, 'idempotency_key_reused');
    assert.equal(
      (await write('reused-11', { text: 'x' })).headers.get('idempotent-replayed'),
      'true',
    );
  });

  it('separates keys of other paths, tenants and logs, and shares those of an alias', async () => {
    const first = await write('scoped-11', { text: 'x' });
    const path = await write('scoped-11', { text: 'x' }, '/notes/b');
    assert.equal(path.headers.get('idempotent-replayed'), null);
    const alias = await write('scoped-11', { text: 'x' }, '/v1/notes/a');
    assert.equal(alias.headers.get('idempotent-replayed'), 'true');
    assert.equal(alias.headers.get('link'), '<http://test.example/notes/a>; rel="canonical"');
    const sandbox = await running.post(
      '/notes/a',
      { text: 'x' },
      { key: running.sandbox, headers: idem('scoped-11') },
    );
    assert.equal(sandbox.headers.get('idempotent-replayed'), null);
    const { key } = await running.gateway.tenants.issue({ tenant: 'other', kind: 'live' });
    const tenant = await running.post(
      '/notes/a',
      { text: 'x' },
      { key, headers: idem('scoped-11') },
    );
    assert.equal(tenant.headers.get('idempotent-replayed'), null);
    assert.notEqual(tenant.json.receipt.entry_id, first.json.receipt.entry_id);
  });

  it('is shared by the keys of one tenant', async () => {
    const first = await write('rotated-1', { text: 'x' });
    const { key } = await running.gateway.tenants.issue({ tenant: 'first', kind: 'live' });
    const second = await running.post(
      '/notes/a',
      { text: 'x' },
      { key, headers: idem('rotated-1') },
    );
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.equal(second.text, first.text);
  });

  it('identifies a caller without a key by its address, and stores none of its disclosures', async () => {
    const from = (ip: string) =>
      running.post(
        '/notes/a',
        { text: 'secret' },
        { headers: { ...idem('public-11'), 'X-Forwarded-For': ip } },
      );
    const first = await from('192.0.2.1');
    const again = await from('192.0.2.1');
    const other = await from('192.0.2.2');
    assert.equal(first.json.receipt.disclosures.text.value, 'secret');
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    const { disclosures: _, ...receipt } = first.json.receipt;
    assert.deepEqual(again.json.receipt, receipt);
    assert.equal(other.headers.get('idempotent-replayed'), null);
  });

  it('does not store an answer that failed before the append', async () => {
    const bad = await write('failed-11', { text: 1 });
    assert.equal(bad.status, 400);
    const refused = await running.post(
      '/notes/a',
      { text: 'x' },
      { key: 'svc_live_x', headers: idem('failed-11') },
    );
    assert.equal(refused.status, 401);
    const good = await write('failed-11', { text: 'x' });
    assert.equal(good.status, 200);
    assert.equal(good.headers.get('idempotent-replayed'), null);
  });

  it('refuses a malformed key with its name', async () => {
    const answer = await write('short', { text: 'x' });
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error.code, 'invalid_idempotency_key');
    assert.equal(answer.json.error.param, 'Idempotency-Key');
  });

  it('adds the proof to a replay that asks for it', async () => {
    const first = await write('waiting-1', { text: 'x' });
    assert.deepEqual(Object.keys(first.json.receipt.log), ['origin', 'index']);
    const second = await write('waiting-1', { text: 'x' }, '/notes/a', { Prefer: 'wait=10' });
    assert.equal(second.headers.get('preference-applied'), 'wait=10');
    assert.ok(second.json.receipt.log.checkpoint.startsWith('test.example/log/live/1\n'));
  });

  it('survives a restart, and expires after 24 hours', async () => {
    const first = await write('restart-1', { text: 'x' });
    await running.close(true);
    running = await run(
      { TRUST_PROXY: '1', DATA_DIR: running.data },
      { plugins: [notes()], clock: running.clock },
    ).then((again) => ({
      ...again,
      live: running.live,
      sandbox: running.sandbox,
    }));
    const second = await write('restart-1', { text: 'x' });
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.equal(second.text, first.text);

    running.clock.pass(DAY_MS + 60_000);
    const log = running.gateway.logs.live;
    const next = await write('restart-1', { text: 'x' });
    assert.equal(next.status, 200);
    assert.equal(next.headers.get('idempotent-replayed'), null);
    // The sweep removes expired rows and keeps the one that was written again.
    assert.ok((await sweepRecords(log, running.gateway.now(), DAY_MS)) > 5);
    assert.equal((await log.attachedRows('idempotency/')).length, 1);
    assert.equal((await log.attachedRows('idempotency-expiry/')).length, 1);
    assert.equal(
      (await write('restart-1', { text: 'x' })).headers.get('idempotent-replayed'),
      'true',
    );
    assert.equal(await sweepRecords(log, running.gateway.now(), DAY_MS), 0);
  });
});

describe('an Idempotency-Key in flight', () => {
  it('is refused to all concurrent requests but the first, which completes', async () => {
    const hold = new Hold();
    const running = await run({}, { plugins: [notes(hold)] });
    const write = () =>
      running.post('/notes/a', { text: 'x' }, { key: running.live, headers: idem('in-flight') });
    const first = write();
    await hold.entered;
    const others = await Promise.all([write(), write(), write()]);
    for (const { status, json, headers } of others) {
      assert.deepEqual([status, json.error.code], [409, 'idempotency_key_in_use']);
      assert.equal(headers.get('retry-after'), '1');
    }
    hold.release();
    const done = await first;
    assert.equal(done.status, 200);
    assert.equal((await write()).text, done.text);
    assert.deepEqual((await running.get('/notes/total')).json, { total: 1 });
    await running.close();
  });
});
