// The log's clock. Its times never go backwards, and it is not trusted when the wall clock drifts from the monotonic
// clock.

import { LogError } from '../errors.ts';
import { randomFillSync, randomInt } from 'node:crypto';
import { v7 } from 'uuid';

/**
 * The wall clock in milliseconds of UTC, and a monotonic clock in milliseconds. Passed in, so that tests can set both.
 */
export interface TimeSource {
  wall(): number;
  monotonic(): number;
}

/** The machine's clocks. */
export const systemTime: TimeSource = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
};

/** How far the wall clock may drift from the monotonic clock before appends stop (gateway/API.md §13). */
export const CLOCK_TOLERANCE_MS = 60_000;

/** Gives each entry a time that is not before the last one, and refuses after the wall clock jumped. */
export class LogClock {
  readonly #source: TimeSource;
  #offset: number;
  /** Whether the operator has confirmed that the log's last entry is ahead of the clock. */
  #vouched = false;
  /**
   * Milliseconds by which the wall clock was ahead of the witnesses' clocks at the start, if over the tolerance; else
   * 0.
   */
  #ahead_ms = 0;

  constructor(source: TimeSource) {
    this.#source = source;
    this.#offset = source.wall() - source.monotonic();
  }

  /**
   * Milliseconds by which the wall clock has drifted from the monotonic clock since the start or the last confirmation.
   */
  drift(): number {
    return Math.round(this.#source.wall() - this.#source.monotonic() - this.#offset);
  }

  wall(): number {
    return this.#source.wall();
  }

  /**
   * Records the measured milliseconds by which the wall clock is ahead of an independent clock; negative when behind.
   */
  compared(ahead_ms: number): void {
    const drift = this.drift();
    this.#ahead_ms = Math.abs(ahead_ms) > CLOCK_TOLERANCE_MS ? Math.round(ahead_ms) - drift : 0;
  }

  monotonic(): number {
    return this.#source.monotonic();
  }

  /**
   * The time of the next entry, at least `floor`. A jump, or a floor far ahead of the wall clock (the clock
   * was set back while the log was down), is `clock_untrusted`: entries would carry times that no monitor accepts.
   */
  next(floor: number): number {
    const doubt = this.doubt(floor);
    if (!this.#ahead(floor)) this.#vouched = false;
    if (doubt !== null) {
      const limit = `the limit is ${String(CLOCK_TOLERANCE_MS)} ms`;
      throw new LogError(
        'clock_untrusted',
        `the clock ${doubt}, ${limit}: set it right, then confirm it`,
      );
    }
    return Math.max(this.#source.wall(), floor);
  }

  /** What the clock does, so that an entry after `floor` gets no time; null when it gets one. */
  doubt(floor: number): string | null {
    const drift = this.drift();
    const ahead = this.#ahead_ms + drift;
    if (Math.abs(ahead) > CLOCK_TOLERANCE_MS) {
      if (this.#ahead_ms === 0) return `moved by ${String(drift)} ms`;
      const way = ahead > 0 ? 'ahead of' : 'behind';
      return `is ${String(Math.abs(ahead))} ms ${way} the clocks of the witnesses`;
    }
    if (!this.#ahead(floor) || this.#vouched) return null;
    return `is ${String(floor - this.#source.wall())} ms behind the log's last entry`;
  }

  #ahead(floor: number): boolean {
    return floor > this.#source.wall() + CLOCK_TOLERANCE_MS;
  }

  /**
   * Accepts the wall clock as it is now, at the operator's request. The next entries continue from the time of the last
   * one.
   */
  confirm(): void {
    this.#vouched = true;
    this.#ahead_ms = 0;
    this.#offset = this.#source.wall() - this.#source.monotonic();
  }
}

// UUIDv7 (RFC 9562 §5.7) that strictly increases with the index: its 48-bit time is issued_at_ms, its
// counter starts at a random value in each millisecond and counts up within it.

const random = new Uint8Array(4096);
let used = random.length;

/** Upper bound of the random start, so that the counter cannot overflow within one millisecond. */
const HIGHEST_START = 0x3fffffff;

/** The counter of the next id: the last one's plus one within a millisecond, a fresh start otherwise. */
export const nextSeq = (ms: number, last_ms: number, last_seq: number): number =>
  ms === last_ms ? last_seq + 1 : randomInt(HIGHEST_START);

/** The id of an entry of this time and counter, in lower case. */
export function entryId(ms: number, seq: number): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += 16;
  return v7({ msecs: ms, seq, random: random.subarray(used - 16, used) });
}

/** The counter of an id, from which the next entry of the same millisecond continues. */
export function seqOf(entry_id: string): number {
  const digits = entry_id.replaceAll('-', '');
  const byte = (at: number): number => parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  // RFC 9562 §5.7 with the counter of 32 bits that `v7` puts behind the version and the variant.
  const seq =
    ((byte(6) & 0x0f) << 28) |
    (byte(7) << 20) |
    ((byte(8) & 0x3f) << 14) |
    (byte(9) << 6) |
    (byte(10) >> 2);
  return seq >>> 0;
}
