// The log's clock: never backwards, and not trusted when the wall clock leaves the monotonic one.

import { LogError } from '../errors.ts';

/** Milliseconds of UTC and milliseconds of a clock that nobody sets. Passed in, so that tests can set both. */
export interface TimeSource {
  wall(): number;
  monotonic(): number;
}

/** The machine's clocks. */
export const systemTime: TimeSource = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
};

/** How far the wall clock may leave the monotonic one before appends stop (gateway/API.md §13). */
export const CLOCK_TOLERANCE_MS = 60_000;

/** Gives times that fit after the last one, and refuses when the clock jumped. */
export class LogClock {
  readonly #source: TimeSource;
  #offset: number;
  /** The operator knows that the log's last entry is ahead of the clock. */
  #vouched = false;
  /** By how much the wall clock was ahead of the witnesses' at the start, when that is over the tolerance; else 0. */
  #ahead_ms = 0;

  constructor(source: TimeSource) {
    this.#source = source;
    this.#offset = source.wall() - source.monotonic();
  }

  /** By how much the wall clock has moved against the monotonic one since start or confirmation. */
  drift(): number {
    return Math.round(this.#source.wall() - this.#source.monotonic() - this.#offset);
  }

  wall(): number {
    return this.#source.wall();
  }

  /** The wall clock is ahead of an independent clock by so much (behind when negative), as was measured now. */
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

  /** Why an entry that is to follow `floor` gets no time, as what the clock does; null when it gets one. */
  doubt(floor: number): string | null {
    const drift = this.drift();
    const ahead = this.#ahead_ms + drift;
    if (Math.abs(ahead) > CLOCK_TOLERANCE_MS) {
      if (this.#ahead_ms === 0) return `moved by ${String(drift)} ms`;
      const way = ahead > 0 ? 'ahead of' : 'behind';
      return `is ${String(Math.abs(ahead))} ms ${way} the clocks of the witnesses`;
    }
    if (!this.#ahead(floor) || this.#vouched) return null;
    return `stands ${String(floor - this.#source.wall())} ms before the log's last entry`;
  }

  #ahead(floor: number): boolean {
    return floor > this.#source.wall() + CLOCK_TOLERANCE_MS;
  }

  /** The operator vouches for the wall clock as it stands; entries go on from the last one's time. */
  confirm(): void {
    this.#vouched = true;
    this.#ahead_ms = 0;
    this.#offset = this.#source.wall() - this.#source.monotonic();
  }
}
