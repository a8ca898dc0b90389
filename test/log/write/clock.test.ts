// Log time never goes back, and is refused if the wall clock diverges from the monotonic clock.

import assert from 'node:assert/strict';
import { CLOCK_TOLERANCE_MS, LogClock, systemTime } from '../../../log/write/clock.ts';
import { TestTime } from '../../support/open-test-log.ts';
import { code } from './kept-log.ts';

const START = 1_790_000_000_000;
const untrusted = code('clock_untrusted');

const clockAt = (): { time: TestTime; clock: LogClock } => {
  const time = new TestTime(START);
  return { time, clock: new LogClock(time) };
};

describe('clock', () => {
  it('returns the time, or the floor if that is later', () => {
    const { time, clock } = clockAt();
    assert.equal(clock.next(0), START);
    assert.equal(clock.next(START + 5), START + 5);
    time.advance(10);
    assert.equal(clock.next(START + 5), START + 10);
    assert.equal(clock.wall(), START + 10);
    assert.equal(clock.drift(), 0);
  });

  it('tolerates a jump up to its limit in both directions, and no larger one', () => {
    for (const sign of [1, -1]) {
      const { time, clock } = clockAt();
      time.jump(START + sign * CLOCK_TOLERANCE_MS);
      assert.equal(clock.next(START), Math.max(START, START + sign * CLOCK_TOLERANCE_MS));
      assert.equal(clock.drift(), sign * CLOCK_TOLERANCE_MS);
      time.jump(START + sign * (CLOCK_TOLERANCE_MS + 1));
      assert.throws(() => clock.next(0), untrusted);
      time.jump(START);
      assert.equal(clock.next(START), START, 'trusted again after it is set back');
    }
  });

  it('does not count the time between two calls as a jump', () => {
    const { time, clock } = clockAt();
    time.advance(7 * 86_400_000);
    assert.equal(clock.next(START), START + 7 * 86_400_000);
  });

  it('refuses a floor far ahead: the clock was set back while the log was not running', () => {
    const { clock } = clockAt();
    assert.equal(clock.next(START + CLOCK_TOLERANCE_MS), START + CLOCK_TOLERANCE_MS);
    assert.throws(() => clock.next(START + CLOCK_TOLERANCE_MS + 1), untrusted);
  });

  it('continues from the last time after a confirmation, until the clock has caught up', () => {
    const { time, clock } = clockAt();
    const last = START + 3_600_000;
    assert.throws(() => clock.next(last), untrusted);
    clock.confirm();
    assert.equal(clock.next(last), last);
    assert.equal(clock.next(last + 1), last + 1);
    time.advance(3_600_000);
    assert.equal(clock.next(last), last);
    // The clock has caught up, so the confirmation has ended.
    assert.throws(() => clock.next(last + CLOCK_TOLERANCE_MS + 1), untrusted);
  });

  it('reports in advance why it would refuse, without using up a confirmation', () => {
    const { time, clock } = clockAt();
    const last = START + 3_600_000;
    assert.equal(clock.doubt(START), null);
    assert.equal(clock.doubt(last), "is 3600000 ms behind the log's last entry");
    clock.confirm();
    assert.deepEqual([clock.doubt(START), clock.doubt(last)], [null, null]);
    assert.equal(clock.next(last), last);
    time.jump(START - 61_000);
    assert.equal(clock.doubt(last), 'moved by -61000 ms');
  });

  it('requires a new confirmation for a new jump', () => {
    const { time, clock } = clockAt();
    time.jump(START + 3_600_000);
    assert.throws(() => clock.next(0), untrusted);
    clock.confirm();
    assert.equal(clock.next(0), START + 3_600_000);
    time.jump(START + 7_200_000);
    assert.throws(() => clock.next(0), untrusted);
  });

  it('reads the clocks of the machine', () => {
    const clock = new LogClock(systemTime);
    const before = Date.now();
    const ms = clock.next(0);
    assert.ok(ms >= before && ms <= Date.now());
    assert.ok(Number.isSafeInteger(clock.drift()));
  });
});
