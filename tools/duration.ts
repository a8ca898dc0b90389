// Spans and points of time as a person writes them on a command line.

import { CommandError, EXIT } from './command-line.ts';

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `30d`, `12h`, `90s`, `250ms` in milliseconds. */
export function parseSpan(text: string): number {
  const [, digits = '', unit = ''] = /^([0-9]{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (factor === undefined) {
    throw new CommandError(`${text} is no span of time: write 30d, 12h, 5m, 90s`, EXIT.unknown);
  }
  return Number(digits) * factor;
}

/** Milliseconds since 1970, or a date that says its offset, such as 2026-05-01T00:00:00Z. */
export function parseInstant(text: string): number {
  const ms = /^[0-9]{1,16}$/.test(text)
    ? Number(text)
    : /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text)
      ? Date.parse(text)
      : NaN;
  if (!Number.isSafeInteger(ms)) {
    throw new CommandError(
      `${text} is no time: write milliseconds since 1970 or 2026-05-01T00:00:00Z`,
      EXIT.unknown,
    );
  }
  return ms;
}
