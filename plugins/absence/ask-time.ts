// Windows of time as people say them on the page /ask: local times of a time zone, and words such as "yesterday
// afternoon". Zones are those of the IANA database; calendar rules are temporal-polyfill's.

import { Temporal } from 'temporal-polyfill';
import { ApiError } from '../contract/index.ts';

/** The window of a question, in milliseconds, closed at both ends. */
export interface Window {
  readonly from_ms: number;
  readonly to_ms: number;
}

/** A zone's name as the database spells it; 400 for a zone that does not exist. */
export function zoneOf(text: string): string {
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text.trim()).timeZoneId;
  } catch (cause) {
    const message = `tz is no time zone such as UTC, Europe/Berlin or America/New_York`;
    throw new ApiError('parameter_invalid', message, { param: 'tz', cause });
  }
}

/**
 * The instant of a local time such as `2026-11-21T15:00`, of a date, or of a time that names its offset.
 *
 * @throws ApiError `parameter_invalid` for what is no time, and for a local time that the zone has twice or never,
 * because its clocks change then
 */
export function instantOf(text: string, tz: string, param: 'from' | 'to'): number {
  const written = text.trim();
  try {
    if (/(?:z|[+-]\d\d:?\d\d)$/i.test(written) && written.includes('T')) {
      return Temporal.Instant.from(written).epochMilliseconds;
    }
    const local = Temporal.PlainDateTime.from(written);
    return local.toZonedDateTime(tz, { disambiguation: 'reject' }).epochMilliseconds;
  } catch (cause) {
    const local = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?$/.test(written);
    const message = local
      ? `${param} is a time that ${tz} has twice or never: give it with its offset, such as ${written}+01:00`
      : `${param} is no time such as 2026-11-21T15:00`;
    throw new ApiError('parameter_invalid', message, { param, cause });
  }
}

/** The local time of an instant, as `<input type="datetime-local">` has it. */
export function localOf(ms: number, tz: string): string {
  const local = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(tz).toPlainDateTime();
  const whole = local.millisecond === 0;
  return local.toString({
    smallestUnit: !whole ? 'millisecond' : local.second === 0 ? 'minute' : 'second',
  });
}

/** A span of days as hours of the local day: `[first day, its hour, last day, its hour]`, days counted from today. */
type Span = readonly [number, number, number, number] | 'now';

/** Windows that have a name. `now` ends at the newest checkpoint. */
export const PRESETS: Readonly<Record<string, { readonly name: string; readonly span: Span }>> = {
  'yesterday-morning': { name: 'Yesterday morning', span: [-1, 6, -1, 12] },
  'yesterday-afternoon': { name: 'Yesterday afternoon', span: [-1, 12, -1, 18] },
  'yesterday-evening': { name: 'Yesterday evening', span: [-1, 18, 0, 0] },
  yesterday: { name: 'Yesterday', span: [-1, 0, 0, 0] },
  'last-7-days': { name: 'The last 7 days', span: [-7, 0, 0, 0] },
  today: { name: 'Today so far', span: 'now' },
};

/** The window of a preset. */
export function presetWindow(
  name: string,
  tz: string,
  { now_ms, closed_ms }: { readonly now_ms: number; readonly closed_ms: number },
): Window {
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  if (preset === undefined) {
    const message = `when is one of ${Object.keys(PRESETS).join(', ')}`;
    throw new ApiError('parameter_invalid', message, { param: 'when' });
  }
  const today = Temporal.Instant.fromEpochMilliseconds(now_ms).toZonedDateTimeISO(tz).toPlainDate();
  const at = (days: number, hour: number): number =>
    today
      .add({ days })
      .toZonedDateTime({ timeZone: tz, plainTime: Temporal.PlainTime.from({ hour }) })
      .epochMilliseconds;
  if (preset.span === 'now') {
    const from_ms = at(0, 0);
    return { from_ms, to_ms: Math.max(from_ms, closed_ms) };
  }
  const [first, start, last, end] = preset.span;
  return { from_ms: at(first, start), to_ms: at(last, end) };
}

/** `15:00`, or with seconds where they matter. */
function clock(ms: number, tz: string): string {
  const seconds = ms % 60_000 === 0 ? {} : ({ second: '2-digit' } as const);
  return new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone: tz, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    ...seconds,
  }).format(ms);
}

/** `21 November 2026`. */
const day = (ms: number, tz: string): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone: tz, dateStyle: 'long' }).format(ms);

/** The short name of a zone at a time, such as `CET`. */
function zoneName(ms: number, tz: string): string {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone: tz, timeZoneName: 'short' });
  return parts.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? tz;
}

/** `between 15:00 and 16:00 CET on 21 November 2026`. An end at midnight is 24:00 of the day before. */
export function windowWords({ from_ms, to_ms }: Window, tz: string): string {
  const zones = [zoneName(from_ms, tz), zoneName(to_ms, tz)];
  const [zone = tz, later = tz] = zones;
  const midnight = clock(to_ms, tz) === '00:00' && to_ms > from_ms;
  const last = day(midnight ? to_ms - 1 : to_ms, tz);
  const until = midnight ? '24:00' : clock(to_ms, tz);
  if (day(from_ms, tz) === last) {
    const from = zone === later ? clock(from_ms, tz) : `${clock(from_ms, tz)} ${zone}`;
    return `between ${from} and ${until} ${later} on ${last}`;
  }
  return `between ${clock(from_ms, tz)} ${zone} on ${day(from_ms, tz)} and ${until} ${later} on ${last}`;
}

/** `21 November 2026, 15:00:07 CET`. */
export const momentWords = (ms: number, tz: string): string =>
  `${day(ms, tz)}, ${clock(ms, tz)} ${zoneName(ms, tz)}`;
