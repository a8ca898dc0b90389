// Operations of the operator: rotation, revocation, closing, confirming the clock. The replay verifies the entries.

import assert from 'node:assert/strict';
import { LogError, receiptOf } from '../../../log/index.ts';
import type { Appended, JsonObject } from '../../../log/index.ts';
import { toBase64 } from '../../../log/encoding/bytes.ts';
import { verifyReceipt } from '../../../log/verify.ts';
import { code, intervals, note, statementOf, withLog, type KeptLog } from '../write/kept-log.ts';

/** A receipt with an inclusion proof. */
async function proven(kept: KeptLog, entry: Appended): Promise<JsonObject> {
  const { size, note: checkpoint } = await kept.log.whenPublished(entry.index + 1);
  const receipt = receiptOf(entry, { base_url: 'https://log.example', sandbox: false });
  const inclusion_proof = kept.log.inclusion(entry.index, size).map(toBase64);
  return { ...receipt, log: { ...(receipt.log as JsonObject), checkpoint, inclusion_proof } };
}

const inForce = (kept: KeptLog): string =>
  kept.log.receiptKeys().find(({ status }) => status === 'active')!.kid;

describe('operator: keys', () => {
  it(
    'rotate: the old key signs the declaration of the new one, and the new one the retirement of the old',
    withLog(async (kept) => {
      const [old] = await kept.append(note('a'));
      const before = inForce(kept);
      const kid = await kept.log.operator.rotateKey();
      assert.notEqual(kid, before);
      assert.equal(inForce(kept), kid);
      const size = kept.log.size();
      const kids = [size - 2, size - 1].map((index) => statementOf(kept.log, index).kid);
      assert.deepEqual(kids, [before, kid]);
      const [entry] = await kept.append(note('a'));
      assert.equal(entry!.statement.kid, kid);
      assert.equal(kept.log.receiptKeys().find((key) => key.kid === before)?.status, 'retired');
      for (const one of [old!, entry!]) {
        const receipt = receiptOf(one, { base_url: 'https://log.example', sandbox: false });
        assert.equal(verifyReceipt(receipt, kept.trust()).valid, true);
      }
    }),
  );

  it(
    'rotate under load: every entry is signed by the key in force at its index',
    withLog(async (kept) => {
      const all: Promise<unknown>[] = [];
      for (let i = 0; i < 12; i += 1) {
        for (let n = 0; n < 15; n += 1) all.push(kept.append(note(String(n))));
        if (i % 3 === 1) all.push(kept.log.operator.rotateKey());
        if (i % 4 === 2) all.push(kept.log.whenPublished(kept.log.size() + 1));
        await new Promise(setImmediate);
      }
      await Promise.all(all);
      assert.equal(kept.log.receiptKeys().length, 5);
      await kept.restart();
      await kept.append(note('after'));
    }),
  );

  it(
    'rotate and revoke concurrently, one after the other',
    withLog(async (kept) => {
      const kid = inForce(kept);
      const { operator } = kept.log;
      await Promise.all([
        operator.rotateKey(),
        operator.rotateKey(),
        operator.revokeKey(kid),
        operator.rotateKey(),
      ]);
      const status = kept.log.receiptKeys().map((key) => key.status);
      assert.deepEqual(status.sort(), ['active', 'retired', 'retired', 'revoked']);
      await kept.append(note('a'));
    }),
  );

  it(
    'revoke the key in force: a new key is declared first and signs later entries',
    withLog(async (kept) => {
      const [entry] = await kept.append(note('a'));
      const kid = inForce(kept);
      const without = receiptOf(entry!, { base_url: 'https://log.example', sandbox: false });
      assert.equal(verifyReceipt(without, kept.trust()).valid, true);
      await kept.log.operator.revokeKey(kid);
      const key = kept.log.receiptKeys().find((one) => one.kid === kid)!;
      assert.equal(key.status, 'revoked');
      assert.equal(key.revoked_index, kept.log.size() - 1);
      assert.notEqual(inForce(kept), kid);
      assert.equal(
        verifyReceipt(without, kept.trust()).valid,
        false,
        'the receipt now needs an inclusion proof',
      );
      assert.equal(verifyReceipt(await proven(kept, entry!), kept.trust()).valid, true);
      const [next] = await kept.append(note('a'));
      assert.equal(next!.statement.kid, inForce(kept));
    }),
  );

  it(
    'revoke a retired key once, and leave the key in force; an unknown key is not_found',
    withLog(async (kept) => {
      const kid = inForce(kept);
      await kept.log.operator.rotateKey();
      const now = inForce(kept);
      await kept.log.operator.revokeKey(kid);
      const size = kept.log.size();
      await kept.log.operator.revokeKey(kid);
      assert.equal(kept.log.size(), size);
      assert.equal(inForce(kept), now);
      await assert.rejects(kept.log.operator.revokeKey('x'), code('not_found'));
      await kept.restart();
      assert.equal(inForce(kept), now);
      assert.equal(kept.log.receiptKeys().find((key) => key.kid === kid)?.status, 'revoked');
    }),
  );
});

describe('operator: closing', () => {
  it(
    'ends the log with log.closed.v1 and a map head; no entry follows, also after restarts',
    withLog(
      async (kept) => {
        await kept.append(note('a'));
        const published = await kept.log.operator.closeForGood('log.example/log/live/2');
        const size = kept.log.size();
        assert.equal(published.size, size);
        assert.equal(statementOf(kept.log, size - 2).type, 'log.closed.v1');
        assert.equal(statementOf(kept.log, size - 2).successor, 'log.example/log/live/2');
        for (let again = 0; again < 2; again += 1) {
          await assert.rejects(kept.append(note('a')), code('log_closed'));
          await assert.rejects(kept.log.operator.rotateKey(), code('log_closed'));
          await assert.rejects(kept.log.operator.closeForGood(null), code('log_closed'));
          const waiting = new AbortController();
          const more = kept.log.whenPublished(size + 1, waiting.signal);
          // Some of them are idle.
          await intervals(10, 5);
          waiting.abort();
          await assert.rejects(more, LogError);
          // Ends with the checkpoint in progress, if there were one.
          await kept.restart();
          assert.equal(kept.log.size(), size);
        }
        assert.equal(kept.check().closed, true);
      },
      { checkpoint_interval_ms: 10, idle_ms: 20 },
    ),
  );

  it(
    'refuses a successor that is not the next log of the kind',
    withLog(async (kept) => {
      for (const bad of ['log.example/log/live/3', 'log.example/log/sandbox/2', 'x', '']) {
        await assert.rejects(kept.log.operator.closeForGood(bad), code('entry_invalid'));
      }
      await kept.append(note('a'));
    }),
  );

  it(
    'refuses appends that are queued behind it',
    withLog(async (kept) => {
      const [closed, late] = await Promise.allSettled([
        kept.log.operator.closeForGood(null),
        kept.append(note('late')),
      ]);
      assert.equal(closed.status, 'fulfilled');
      assert.equal(late.status, 'rejected');
      code('log_closed')(late.reason);
    }),
  );
});

describe('operator: the clock', () => {
  it(
    'refuses appends after a jump until it is confirmed, and then continues from the last time',
    withLog(async (kept) => {
      const [before] = await kept.append(note('a'));
      for (const jump of [3_600_000, -3_600_000]) {
        kept.time.jump(kept.time.wall() + jump);
        await assert.rejects(kept.append(note('a')), code('clock_untrusted'));
        assert.equal(kept.log.health().clock_offset_ms, jump);
        kept.log.operator.confirmClock();
        await kept.append(note('a'));
        assert.equal(kept.log.health().clock_offset_ms, 0);
      }
      const [after] = await kept.append(note('a'));
      assert.ok(after!.issued_at_ms > before!.issued_at_ms + 3_590_000);
    }),
  );
});
