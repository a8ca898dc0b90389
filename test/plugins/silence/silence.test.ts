// POST /silence-receipt: its numbers are those that the log proves. behaviour.md §7.8, §9.5.

import assert from 'node:assert/strict';
import { codeOf } from '../../gateway/middleware/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

describe('POST /silence-receipt', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const classify = async (session_id: string) =>
    (await running.post('/api/v1/classify', { message: 'hi', session_id }, { key: running.live }))
      .json;
  const silence = (session_id: string, more = {}, key = running.live) =>
    running.post('/silence-receipt', { session_id, context: 'nothing was sent', ...more }, { key });

  it('says what a session holds, and since when it is silent', async () => {
    const first = await classify('talk');
    await classify('other');
    const last = await classify('talk');
    const { status, json } = await silence('talk');
    assert.equal(status, 200);
    assert.equal(json.ok, true);
    assert.equal(json.silence.session_ref, first.session_ref);
    assert.equal(json.silence.entries_in_window, 2);
    assert.equal(json.silence.window_from_ms, first.issued_at_ms);
    assert.equal(json.silence.last_index, last.index);
    assert.equal(json.silence.silent_since_ms, last.issued_at_ms);
    assert.ok(json.silence.window_to_ms >= last.issued_at_ms);
    assert.ok(json.silence.checkpoint_size > last.index);
    assert.ok(json.does_not_assert.length > 0);
  });

  it('covers what was answered a moment before', async () => {
    for (let count = 1; count <= 5; count += 1) {
      await classify('quick');
      assert.equal((await silence('quick')).json.silence.entries_in_window, count);
    }
  });

  it('knows a session that has no entries', async () => {
    const { entries_in_window, window_from_ms, last_index, silent_since_ms } = (
      await silence('never')
    ).json.silence;
    assert.deepEqual(
      [entries_in_window, window_from_ms, last_index, silent_since_ms],
      [0, null, null, null],
    );
  });

  it('signs what it says, about the chain and not on it', async () => {
    await classify('spoken');
    const { json } = await silence('spoken');
    const statement = JSON.parse(running.gateway.logs.live.entry(json.receipt.index) ?? '');
    assert.deepEqual(statement.subject_key, ['session', json.silence.session_ref]);
    assert.equal(statement.links, undefined);
    assert.equal(statement.entries_in_window, 1);
    assert.ok(statement.does_not_assert.includes('acts_never_logged'));
    assert.equal(
      (await silence('spoken')).json.silence.entries_in_window,
      1,
      'a silence receipt breaks no silence',
    );
  });

  it('commits to the context and names where the log proves the numbers', async () => {
    await classify('proved');
    const { json } = await silence('proved', { context: 'zebra context', domain: 'zebra domain' });
    assert.doesNotMatch(running.gateway.logs.live.entry(json.receipt.index) ?? '', /zebra/);
    const url = new URL(json.silence.proof_url);
    const document = await running.get(url.pathname + url.search);
    assert.equal(document.status, 200);
    assert.equal(document.json.verdict, 'PRESENT');
    assert.equal(document.json.entries.length, json.silence.entries_in_window);
    assert.equal(document.json.entries[0].index, json.silence.last_index);
  });

  it('keeps the public session apart from a tenant’s own', async () => {
    await classify('mine');
    const answer = await running.post('/silence-receipt', { session_id: 'mine', context: 'x' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.silence.entries_in_window, 0);
  });

  it('takes a session whatever its name in the log begins with', async () => {
    const { tenants, logs } = running.gateway;
    const caller = tenants.anonymous(logs.live, '127.0.0.1');
    const ids = Array.from({ length: 2000 }, (_, i) => `session-${String(i)}`);
    const session_id = ids.find((id) => /^[-_]/.test(caller.sessionRef(id)));
    const answer = await running.post('/silence-receipt', { session_id, context: 'x' });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.json.silence.session_ref, /^[-_]/);
  });

  it('replays from its entry, however much has come since', async () => {
    const headers = { 'Idempotency-Key': 'silence-1' };
    const ask = () =>
      running.post(
        '/silence-receipt',
        { session_id: 'again', context: 'x' },
        { key: running.live, headers },
      );
    const first = await ask();
    await classify('again');
    const second = await ask();
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(second.json, first.json);
  });

  it('needs its members', async () => {
    const answer = await running.post('/silence-receipt', { session_id: 'x' });
    assert.equal(codeOf(answer, 400), 'parameter_missing');
    assert.equal(answer.json.error.param, 'context');
    assert.equal(codeOf(await silence(''), 400), 'parameter_invalid');
  });
});
