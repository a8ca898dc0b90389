// A wall clock that jumps: appends are refused until the operator confirms the clock, and times never go back.
// log/FORMAT.md §1; gateway/API.md §13.

import assert from 'node:assert/strict';
import type { Appended, OpenLogOptions } from '../../log/index.ts';
import { code, note, withLog } from '../log/write/kept-log.ts';
import type { KeptLog } from '../log/write/kept-log.ts';

const HOUR = 3_600_000;

const append = async (kept: KeptLog): Promise<Appended> => {
  const [entry] = await kept.append(note('case'));
  return entry!;
};

describe('a clock that jumps', () => {
  for (const jump of [HOUR, -HOUR]) {
    const way = jump > 0 ? 'forth' : 'back';

    it(
      `refuses appends after it is set an hour ${way} on a running log`,
      withLog(async (kept) => {
        const before = await append(kept);
        kept.time.jump(kept.time.wall() + jump);
        await assert.rejects(append(kept), code('clock_untrusted'));
        assert.equal(kept.log.health().clock_offset_ms, jump);
        assert.equal(kept.log.entry(before.index), before.text, 'reads still work');
        assert.equal(kept.log.health().writable, true, 'the store is writable');

        kept.log.operator.confirmClock();
        const after = await append(kept);
        assert.equal(after.index, before.index + 1);
        assert.ok(after.issued_at_ms >= before.issued_at_ms);
        if (jump > 0) assert.equal(after.issued_at_ms, kept.time.wall());
        assert.equal(kept.log.health().clock_offset_ms, 0);
        await kept.publish();
      }),
    );

    it(
      `accepts appends after it is set right from an hour ${way}`,
      withLog(async (kept) => {
        const before = await append(kept);
        kept.time.jump(kept.time.wall() + jump);
        await assert.rejects(append(kept), code('clock_untrusted'));
        kept.time.jump(kept.time.wall() - jump);
        assert.equal((await append(kept)).index, before.index + 1);
      }),
    );
  }

  it(
    'stops publishing until it is confirmed, while the log stays healthy',
    withLog(
      async (kept) => {
        await kept.publish();
        const { size } = kept.log.published();
        await append(kept);
        kept.time.jump(kept.time.wall() + HOUR);
        const waiting = kept.log.whenPublished(size + 1);
        await assert.rejects(append(kept), code('clock_untrusted'));
        assert.equal(kept.log.published().size, size);
        kept.log.operator.confirmClock();
        await append(kept);
        assert.ok((await waiting).size > size);
      },
      { checkpoint_interval_ms: 20 },
    ),
  );

  it(
    'is accepted an hour forward across a restart, as time that has passed',
    withLog(async (kept) => {
      const before = await append(kept);
      await kept.stop();
      kept.time.jump(kept.time.wall() + HOUR);
      await kept.start();
      const after = await append(kept);
      assert.equal(after.issued_at_ms, kept.time.wall());
      assert.ok(after.issued_at_ms > before.issued_at_ms + HOUR - 1000);
    }),
  );

  it(
    'refuses appends after a restart an hour before the last entry, until it is confirmed',
    withLog(async (kept) => {
      const before = await append(kept);
      await kept.stop();
      kept.time.jump(kept.time.wall() - HOUR);
      await kept.start();
      assert.equal(kept.log.entry(before.index), before.text, 'reads still work');
      await assert.rejects(append(kept), code('clock_untrusted'));
      kept.log.operator.confirmClock();
      const after = await append(kept);
      assert.ok(after.issued_at_ms >= before.issued_at_ms, 'the time does not go back');
      kept.time.advance(1000);
      assert.ok((await append(kept)).issued_at_ms >= after.issued_at_ms);
    }),
  );

  it(
    'is compared with the clocks of the witnesses at a start, and accepted once it is set right',
    withLog(async (kept) => {
      const before = await append(kept);
      await kept.publish();
      const asked: number[] = [];
      let ahead = 2 * HOUR;
      const judgeClock: OpenLogOptions['judgeClock'] = ({ size, note: shown }, last_ms) => {
        assert.equal(size, kept.log.published().size);
        assert.match(
          shown,
          /^[^\n]+\n\d+\n\S+\n\n— \S+ \S+\n$/,
          'the note with the signature of the log only',
        );
        asked.push(last_ms);
        return Promise.resolve(ahead);
      };
      await kept.stop();
      kept.time.jump(kept.time.wall() + 2 * HOUR);
      await kept.start({ judgeClock });
      assert.equal(asked.length, 1);
      assert.ok(asked[0]! >= before.issued_at_ms);
      await assert.rejects(append(kept), /7200000 ms ahead of the clocks of the witnesses/);
      assert.match(kept.log.health().clock_doubt ?? '', /ahead of the clocks of the witnesses/);
      kept.time.jump(kept.time.wall() - 2 * HOUR);
      const after = await append(kept);
      assert.equal(kept.log.health().clock_doubt, null);
      assert.ok(after.issued_at_ms < before.issued_at_ms + HOUR);

      ahead = -2 * HOUR;
      await kept.restart({ judgeClock });
      await assert.rejects(append(kept), /7200000 ms behind the clocks of the witnesses/);
      kept.log.operator.confirmClock();
      await append(kept);
      ahead = 59_000;
      await kept.restart({ judgeClock });
      await append(kept);
    }),
  );

  it(
    'may go back half a minute without a refusal, and no entry has an earlier time',
    withLog(async (kept) => {
      let last = (await append(kept)).issued_at_ms;
      for (const step of [-30_000, 5_000, -20_000, 10_000]) {
        kept.time.jump(kept.time.wall() + step);
        const { issued_at_ms } = await append(kept);
        assert.ok(issued_at_ms >= last);
        last = issued_at_ms;
        await kept.publish();
      }
    }),
  );
});
