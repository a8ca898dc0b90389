// A run of `actlog monitor`: the lines of a service, looked at once or until a violation or a signal.

import { openVerifyPool } from '../../log/operate.ts';
import type { Kind } from '../../log/index.ts';
import { EXIT } from '../command-line.ts';
import { parseSpan } from '../duration.ts';
import type { HttpMirrorOptions } from '../mirror/http.ts';
import { Bell } from './bell.ts';
import { openExtras, type MonitorExtras } from './extras.ts';
import type { Missing } from './follower.ts';
import { KeyUses } from './key-uses.ts';
import { Line, type Outcome } from './line.ts';
import { placeOf } from './place.ts';
import { jsonReport, textReport, type Report } from './report.ts';

/** The options of the command. */
export interface MonitorOptions extends MonitorExtras {
  readonly once?: boolean;
  readonly log: Kind | 'both';
  readonly vkey?: readonly string[];
  readonly kit?: string;
  readonly requireMlDsa?: boolean;
  readonly interval: string;
  readonly json?: boolean;
}

/** What a caller in the same process gives. */
export interface MonitorRun {
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly report?: Report;
  readonly mirror?: Omit<HttpMirrorOptions, 'signal'>;
  readonly missing?: Missing;
}

/** Runs the monitor to its exit code. */
export async function runMonitor(
  address: string,
  options: MonitorOptions,
  { threads, signal, mirror, missing, report }: MonitorRun,
): Promise<number> {
  const { once = false, state, json = false, vkey, kit, requireMlDsa = false } = options;
  const interval_ms = parseSpan(options.interval);
  const bell = new Bell();
  const own = report ?? (json ? jsonReport() : textReport(once));
  const extras = await openExtras(options, own, { bell, interval_ms });
  const pool = openVerifyPool({ threads });
  pool.start();
  const lines: Line[] = [];
  try {
    const place = await placeOf(address, options.log, { ...mirror, signal });
    const keys = new KeyUses(({ origin }, text) => {
      own.note(origin, text);
    });
    const shared = { place, state, pool, keys, ...extras.line, bars: !json, signal, requireMlDsa };
    const trusted = {
      ...(vkey === undefined ? {} : { vkey }),
      ...(kit === undefined ? {} : { kit }),
      ...(missing === undefined ? {} : { missing }),
    };
    for (const kind of place.kinds) lines.push(new Line(kind, { ...shared, ...trusted }));
    return once ? exitOf(await lookAt(lines)) : await poll(lines, interval_ms, { bell, signal });
  } finally {
    for (const line of lines) await line.close();
    await pool.close();
    await extras.close();
  }
}

/**
 * One look at each kind. Neither a violation nor an error in one keeps the other from being looked at, and an error
 * is thrown only where there is no violation to tell.
 */
async function lookAt(lines: readonly Line[], interval_ms?: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const errors: unknown[] = [];
  for (const line of lines) {
    const polled = interval_ms === undefined ? undefined : { now_ms: Date.now(), interval_ms };
    try {
      outcomes.push(await line.look(polled));
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0 && !outcomes.includes('violation')) throw errors[0];
  return outcomes;
}

/** Looks until a violation or a signal; silence of the service makes the pauses longer, up to five minutes. */
async function poll(
  lines: readonly Line[],
  interval_ms: number,
  { bell, signal }: { readonly bell: Bell; readonly signal: AbortSignal },
): Promise<number> {
  const longest = Math.max(300_000, interval_ms);
  for (let pause = interval_ms; !signal.aborted;) {
    const outcomes = await lookAt(lines, pause);
    if (outcomes.includes('violation')) return EXIT.violation;
    pause = outcomes.includes('trouble') ? Math.min(2 * pause, longest) : interval_ms;
    await bell.pause(pause, signal);
  }
  return EXIT.ok;
}

function exitOf(outcomes: readonly Outcome[]): number {
  if (outcomes.includes('violation')) return EXIT.violation;
  return outcomes.every((outcome) => outcome === 'ok') ? EXIT.ok : EXIT.trouble;
}
