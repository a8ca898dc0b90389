// When a window is closed, and for whom. log/FORMAT.md §6, steps 0 and 3.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import type { JsonObject } from '../../../log/encoding/json-types.ts';
import { policyOf } from '../../../log/note/policy.ts';
import { formatVkey } from '../../../log/note/vkey.ts';
import type { Trust } from '../../../log/verify.ts';
import { check, documentOf, refusal, refuses } from '../../support/absence-documents.ts';
import { Forge, name43, seedKey } from '../../support/forge.ts';

describe('the window of an absence document', () => {
  const log = new Forge().usual();
  const { ms } = log;
  const never = (from_ms: number, to_ms: number): JsonObject =>
    documentOf(log, { key: ['session', name43(1)], from_ms, to_ms }, { verdict: 'ABSENT' });

  it('closes at the map head and, without a policy, at the clock of the verifier', () => {
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

  it('does not end before it begins', () => {
    check(never(ms, ms));
    refuses(never(ms, ms - 1), /step 0/);
    refuses(never(-1, ms), /step 0/);
    refuses(never(0.5, ms), /document/);
  });

  it('is counted by the witnesses of the policy, not by the clock', () => {
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
});
