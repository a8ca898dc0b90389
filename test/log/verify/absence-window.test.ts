// When the window of an absence document is closed, and for which verifier. log/FORMAT.md §6, steps 0 and 3.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { policyOf } from '../../../log/note/policy.ts';
import { formatVkey } from '../../../log/note/note.ts';
import type { Question, Trust } from '../../../log/verify.ts';
import {
  check,
  checkAsked,
  documentOf,
  refusal,
  refuses,
  SURFACE,
} from '../../support/absence-documents.ts';
import { Forge, name43, seedKey } from '../../support/forge.ts';

describe('the window of an absence document', () => {
  const log = new Forge().usual();
  const { ms } = log;
  const never = (from_ms: number, to_ms: number): JsonObject =>
    documentOf(log, { key: ['session', name43(1)], from_ms, to_ms }, { verdict: 'ABSENT' });

  it('is closed at the map head and, without a policy, by the clock of the verifier', () => {
    assert.deepEqual(check(never(0, ms), {}, ms - 60_000), {
      verdict: 'ABSENT',
      proof: 'never',
      entries: 0,
      as_of_ms: ms,
      witnessed: 0,
      map_verified: 0,
      lag_ms: null,
      heartbeat_interval_ms: null,
    });
    refuses(never(0, ms + 1), /step 3: window is not closed at the map head/);
    assert.throws(() => check(never(0, ms), {}, ms - 60_001), refusal(/step 3: .*clock/));
  });

  it('must not end before it begins', () => {
    check(never(ms, ms));
    refuses(never(ms, ms - 1), /step 0/);
    refuses(never(-1, ms), /step 0/);
    refuses(never(0.5, ms), /document/);
  });

  it('is closed by the witnesses of the policy, not by the clock, if there is a policy', () => {
    const [one, two, map] = [seedKey(0x51), seedKey(0x52), seedKey(0x53)];
    const names = ['w.example/one', 'w.example/two', 'm.example/map'];
    const vkeys = [one, two, map].map((key, i) => formatVkey(native, names[i]!, 4, key.publicKey));
    const at = (key: typeof one, i: number, time_ms: number) => ({
      name: names[i]!,
      key,
      time_s: time_ms / 1000,
    });
    const seen = (...times: readonly number[]): JsonObject => ({
      ...never(0, ms),
      checkpoint: log.note(
        [one, two, map].flatMap((key, i) => (times[i] ? [at(key, i, times[i])] : [])),
      ),
    });
    const policy = (k: number): Partial<Trust> => ({ policy: policyOf(native, k, vkeys) });
    const all = seen(ms + 9000, ms + 5000, ms + 1000);
    assert.deepEqual(check(all, policy(2), 0), {
      ...check(never(0, ms)),
      witnessed: 2,
      map_verified: 1,
      lag_ms: 5000,
    });
    assert.equal(check(all, policy(1), 0).lag_ms, 9000);
    assert.equal(check(seen(ms - 60_000, 0, ms), policy(1), 0).lag_ms, -60_000);
    refuses(seen(ms - 61_000), /step 3: too few/, policy(1));
    refuses(seen(ms, 0, ms), /step 3: too few/, policy(2));
    const { witnessed, map_verified, lag_ms } = check(all, policy(0));
    assert.deepEqual(
      { witnessed, map_verified, lag_ms },
      { witnessed: 0, map_verified: 1, lag_ms: null },
    );
  });

  const unanswered = { name: 'LogError', code: 'question_unanswered' };

  it('answers a question about a part of it, and the result names the window', () => {
    const document = never(1000, ms);
    const { key, from_ms, to_ms } = document['question'] as unknown as Question;
    const part = checkAsked(document, { key, from_ms: from_ms + 1, to_ms: to_ms - 1 });
    assert.deepEqual(part, { ...check(document), covers: { key, from_ms, to_ms } });
    assert.equal('covers' in check(document), false);
  });

  it('answers no question about another chain, or about a time outside it', () => {
    const document = never(1000, ms - 1000);
    const { key, from_ms, to_ms } = document['question'] as unknown as Question;
    for (const other of [
      { key: ['session', name43(2)], from_ms, to_ms },
      { key, from_ms: from_ms - 1, to_ms },
      { key, from_ms, to_ms: to_ms + 1 },
      { key, from_ms: 0, to_ms: ms },
    ]) {
      assert.throws(() => checkAsked(document, other), unanswered);
    }
    const after = { key, from_ms: from_ms + 1, to_ms, after: 1 };
    assert.throws(() => checkAsked(document, after), refusal(/step 5/));
    const none = { ...after, after: null as unknown as number };
    assert.throws(() => checkAsked(document, none), refusal(/step 0/));
  });

  it('is checked against the question of the document before that of the caller', () => {
    const { key } = never(0, ms)['question'] as unknown as Question;
    const late = never(0, ms + 1);
    assert.throws(
      () => checkAsked(late, { key, from_ms: 0, to_ms: 1 }),
      refusal(/step 3: window is not closed/),
    );
  });

  it('counts the entries inside the part, if all pages are complete', () => {
    const act = log.opened(4); // the act, see Forge.usual
    const at = (JSON.parse(act['entry'] as string) as { issued_at_ms: number }).issued_at_ms;
    const question = { key: SURFACE, from_ms: 0, to_ms: ms };
    const document = documentOf(log, question, {
      verdict: 'PRESENT',
      entries: [act],
    });
    assert.equal(check(document).entries, 1);
    const inside = checkAsked(document, { ...question, from_ms: at, to_ms: at });
    assert.deepEqual([inside.verdict, inside.entries], ['PRESENT', 1]);
    assert.deepEqual(inside.covers, question);
    // Without a declaration there is no evidence that the surface was watched.
    const beside = checkAsked(document, { ...question, from_ms: at + 1 });
    assert.deepEqual([beside.verdict, beside.entries], ['UNDECLARED', 0]);
    assert.throws(() => checkAsked({ ...document, more: true }, { ...question, from_ms: 1 }), {
      code: 'document_invalid',
    });
  });

  it('answers nothing about a part if the surface is not declared', () => {
    const key = ['surface', SURFACE[1]!, 'never_seen'];
    const document = documentOf(log, { key, from_ms: 0, to_ms: ms }, { verdict: 'UNDECLARED' });
    assert.equal(check(document).verdict, 'UNDECLARED');
    assert.throws(() => checkAsked(document, { key, from_ms: 1, to_ms: ms }), unanswered);
  });
});
