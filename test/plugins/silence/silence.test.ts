// POST /silence-receipt: the log proves the numbers of the receipt. gateway/API.md §7.8, §9.5.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { canonical } from '../../../log/index.ts';
import type { ChainKey, Log } from '../../../log/index.ts';
import { trustedKeyOf, verifyAbsence } from '../../../log/verify.ts';
import type { AbsenceResult, Question, Trust } from '../../../log/verify.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

describe('POST /silence-receipt', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const classify = async (session_id: string) =>
    (await running.post('/api/v1/classify', { message: 'hi', session_id }, { key: running.live }))
      .json;
  const unhurried = { Prefer: 'wait=20' };
  const silence = (session_id: string, more = {}, key = running.live) =>
    running.post(
      '/silence-receipt',
      { session_id, context: 'nothing was sent', ...more },
      { key, headers: unhurried },
    );
  /** Without waiting: the proof ends at the newest checkpoint. */
  const atOnce = async (session_id: string) =>
    ok(await running.post('/silence-receipt', { session_id, context: 'x' }, { key: running.live }));
  const later = (entry_id: string, headers = {}) =>
    running.get(`/silence-receipt/${entry_id}`, { headers });

  it('counts the entries of a session, and says since when it is silent', async () => {
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
    assert.match(json.does_not_assert.join('\n'), /acts logged under another .* or log$/m);
  });

  it('ends its window when the request arrives, and waits for a proof up to that time', async () => {
    await classify('window');
    running.clock.pass(6000);
    const arrived = running.clock.wall();
    const { silence: said } = (await silence('window')).json;
    assert.ok(said.window_to_ms >= arrived);
    assert.equal(said.covered_to_ms, said.window_to_ms);
    assert.equal(said.coverage, 'UNDECLARED');
  });

  it('is pending if the proof ends before the window, and later has a proof of the whole window', async () => {
    await classify('pending');
    await silence('pending');
    const log = running.gateway.logs.live;
    const { map_head_ms } = await log.whenPublished(log.size());
    running.clock.pass(6000);
    const arrived = running.clock.wall();
    const first = await atOnce('pending');
    const { window_to_ms } = first.silence;
    assert.ok(window_to_ms >= arrived);
    assert.deepEqual(
      [first.silence.covered_to_ms, first.silence.coverage],
      [map_head_ms, 'PENDING'],
    );
    const { json, status, text } = await later(first.receipt.entry_id, unhurried);
    assert.equal(status, 200, text);
    assert.deepEqual(
      [json.silence.window_to_ms, json.silence.covered_to_ms, json.silence.coverage],
      [window_to_ms, window_to_ms, 'UNDECLARED'],
    );
    assert.equal(json.silence.entries_in_window, 1);
    assert.equal(json.receipt.entry_hash, first.receipt.entry_hash);
    const other = await classify('pending');
    assert.equal((await later(other.entry_id)).status, 404);
    assert.equal((await later(first.receipt.entry_id)).json.silence.entries_in_window, 1);
  });

  it('counts an entry that was acknowledged just before', async () => {
    for (let count = 1; count <= 5; count += 1) {
      await classify('quick');
      assert.equal((await silence('quick')).json.silence.entries_in_window, count);
    }
  });

  it('accepts a session without entries', async () => {
    const { entries_in_window, window_from_ms, last_index, silent_since_ms } = (
      await silence('never')
    ).json.silence;
    assert.deepEqual(
      [entries_in_window, window_from_ms, last_index, silent_since_ms],
      [0, null, null, null],
    );
  });

  it('is an entry about the chain of the session, but not on it', async () => {
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
      'a silence receipt does not end the silence',
    );
  });

  it('commits to the context, and links the proof of its numbers', async () => {
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

  it('keeps sessions of the public tenant separate from those of a tenant', async () => {
    await classify('mine');
    const answer = await running.post('/silence-receipt', { session_id: 'mine', context: 'x' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.silence.entries_in_window, 0);
  });

  it('accepts a session with any first character of its name in the log', async () => {
    const { tenants, logs } = running.gateway;
    const caller = tenants.anonymous(logs.live, '127.0.0.1');
    const ids = Array.from({ length: 2000 }, (_, i) => `session-${String(i)}`);
    const session_id = ids.find((id) => /^[-_]/.test(caller.sessionRef(id)));
    const answer = await running.post('/silence-receipt', { session_id, context: 'x' });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.json.silence.session_ref, /^[-_]/);
  });

  it('replays the same answer from its entry after further entries', async () => {
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

  describe('its completeness proof', () => {
    const log = (): Log => running.gateway.logs.live;
    const trust = (): Trust => {
      const { origin, vkey } = log();
      return { origin, vkey, keys: log().receiptKeys().map(trustedKeyOf) };
    };
    /** The question of a third party that has the receipt. */
    const verified = (json: Answer['json']): AbsenceResult => {
      const { session_ref, silent_since_ms, covered_to_ms } = json.silence;
      const key: ChainKey = ['session', session_ref];
      const question: Question = { key, from_ms: silent_since_ms ?? 0, to_ms: covered_to_ms };
      return verifyAbsence(json.completeness_proof, question, trust(), {
        now_ms: running.clock.wall(),
      });
    };

    it('is valid offline, counts as the receipt does, and has the digest in the entry', async () => {
      await classify('whole');
      await classify('whole');
      const { json } = await silence('whole');
      assert.equal(verified(json).verdict, 'PRESENT');
      const { proof, entries } = json.completeness_proof;
      assert.equal(proof.type, 'tail');
      assert.equal(proof.head.count, json.silence.entries_in_window);
      assert.deepEqual(
        entries.map(({ index }: { index: number }) => index),
        [json.silence.last_index],
      );
      const digest = createHash('sha256').update(canonical(json.completeness_proof)).digest('hex');
      assert.equal(json.receipt.document_sha256, digest);
    });

    it('shows that a session has no entries', async () => {
      const { json } = await silence('nothing at all');
      assert.equal(verified(json).verdict, 'ABSENT');
      assert.equal(json.silence.coverage, 'NO_WINDOW');
    });

    it('is refused for another session, and if a byte of it was changed', async () => {
      await classify('one');
      await classify('two');
      const { json } = await silence('one');
      const other = (await silence('two')).json;
      const swapped = { ...json, completeness_proof: other.completeness_proof };
      assert.throws(() => verified(swapped), { code: 'question_unanswered' });
      const forged = structuredClone(json);
      forged.completeness_proof.proof.head.count = 3;
      assert.throws(() => verified(forged), { code: 'document_invalid' });
    });
  });

  describe('heartbeats of the entity of the session', () => {
    const entity = 'silent-bot';
    const post = async (path: string, body: object): Promise<Answer['json']> => {
      return ok(await running.post(path, body, { key: running.live }));
    };
    const beat = (surface: string): Promise<Answer['json']> =>
      post('/api/v1/astl/heartbeat', { entity, surface });
    /** Entries must have different times: one millisecond would be one instant. */
    const pass = (ms: number): void => {
      running.clock.pass(ms);
    };
    const coverage = async (session_id: string): Promise<Answer['json']> =>
      (await silence(session_id)).json.silence;

    it('are null without an entity', async () => {
      await classify('unclaimed');
      const { coverage: said, heartbeats } = await coverage('unclaimed');
      assert.deepEqual([said, heartbeats], ['UNDECLARED', null]);
    });

    it('cover a silence if each surface has one unbroken run over it', async () => {
      await post('/api/v1/astl/publish', {
        entity,
        surfaces: ['chat', 'tool_call'],
        heartbeat_interval_ms: 3_600_000,
        min_detectable_gap_ms: 7_200_000,
      });
      pass(1000);
      await beat('chat');
      const last = await classify('covered');
      pass(1000);
      await beat('chat');
      const half = await coverage('covered');
      assert.equal(half.coverage, 'UNDERSAMPLED');
      assert.deepEqual(
        half.heartbeats.surfaces.map(
          (each: { surface: string; coverage: string; heartbeats: number }) => [
            each.surface,
            each.coverage,
            each.heartbeats,
          ],
        ),
        [
          ['chat', 'COVERED', 1],
          ['tool_call', 'UNDERSAMPLED', 0],
        ],
      );
      await beat('tool_call');
      const whole = await coverage('covered');
      assert.equal(whole.coverage, 'COVERED');
      assert.equal(whole.heartbeats.entity, entity);
      assert.equal(last.entity, entity);
    });

    it('do not cover a silence whose proof ends before its window', async () => {
      const { silence: said } = await atOnce('covered');
      assert.ok(said.covered_to_ms < said.window_to_ms);
      assert.equal(said.coverage, 'PENDING');
      const surfaces = said.heartbeats.surfaces.map((each: { coverage: string }) => each.coverage);
      assert.deepEqual(surfaces, ['PENDING', 'PENDING']);
    });

    it('do not cover a silence in which they stopped', async () => {
      pass(10_800_000);
      const { coverage: said, heartbeats } = await coverage('covered');
      assert.equal(said, 'UNDERSAMPLED');
      assert.equal(heartbeats.surfaces[0].interval_ms, 3_600_000);
      await beat('chat');
      await beat('tool_call');
      assert.equal((await coverage('covered')).coverage, 'UNDERSAMPLED', 'the run began anew');
    });

    it('count only while a manifest declares the surface', async () => {
      const before = await coverage('talk');
      assert.equal(before.coverage, 'UNDECLARED', 'the manifest is newer than the silence');
      assert.equal(before.heartbeats.surfaces_declared, 2);
    });
  });

  it('requires its members', async () => {
    const answer = await running.post('/silence-receipt', { session_id: 'x' });
    assert.equal(codeOf(answer, 400), 'parameter_missing');
    assert.equal(answer.json.error.param, 'context');
    assert.equal(codeOf(await silence(''), 400), 'parameter_invalid');
  });
});
