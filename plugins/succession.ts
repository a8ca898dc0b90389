// Which logs of a kind a question is about. A closed log keeps its own time, and the one after it knows nothing of
// that: chains do not cross logs, so a question has an answer of each. log/FORMAT.md §1, §4.

import { Type } from 'typebox';
import { ApiError } from './contract.ts';
import type { Caller, ChainKey, JsonObject, Kind, LogView, PluginHost } from './contract.ts';
import { countOf } from './finding.ts';

type Logs = Pick<PluginHost, 'log' | 'logs' | 'url'>;

/** The parameter `log_number` of what is asked about a session. */
export const LogNumber = Type.Optional(
  Type.String({
    pattern: '^[1-9][0-9]{0,8}$',
    description:
      'Which log, of those that followed each other; the only one that has the session unless given.',
  }),
);

/** The part of a window that lies in the time of one log. */
export interface LogWindow {
  readonly log: LogView;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** `live/1`, as the addresses of the log have it. */
export const logName = ({ kind, number }: Pick<LogView, 'kind' | 'number'>): string =>
  `${kind}/${String(number)}`;

/** Where a log itself says what stands on a chain, with the proof that this is all. */
export function lookupUrl(
  host: Pick<PluginHost, 'url'>,
  log: Pick<LogView, 'kind' | 'number'>,
  key: ChainKey,
): string {
  const question = new URLSearchParams({ key: JSON.stringify(key) });
  return host.url(`/log/${logName(log)}/proof/lookup?${question.toString()}`);
}

/** Of logs that follow another; it never changes. */
const opened = new WeakMap<LogView, number>();

/** When the time of a log begins: that of its first entry, or for ever before where no log precedes it. */
export function beganMs(log: LogView): number {
  if (log.number === 1) return 0;
  const known = opened.get(log);
  if (known !== undefined) return known;
  const text = log.entry(0);
  if (text === null) throw new Error(`${log.origin} has no first entry`);
  const ms = (JSON.parse(text) as JsonObject)['issued_at_ms'] as number;
  opened.set(log, ms);
  return ms;
}

/**
 * A window by the logs whose time it reaches into, oldest first. Between two logs nothing was logged; where it lies
 * there whole, the newest one answers.
 *
 * @throws ApiError `parameter_invalid` where it reaches into the time of a log that is not served
 */
export function windowsOf(
  host: Logs,
  kind: Kind,
  { from_ms, to_ms }: { readonly from_ms: number; readonly to_ms: number },
): readonly LogWindow[] {
  const newest = host.log(kind);
  if (newest.number === 1) return [{ log: newest, from_ms, to_ms }];
  const parts: LogWindow[] = [];
  let before = { number: 0, ended_ms: 0 };
  for (const log of host.logs(kind)) {
    const began_ms = beganMs(log);
    if (before.number !== log.number - 1 && from_ms < began_ms && to_ms > before.ended_ms) {
      const message =
        `the window begins before ${log.origin}, and the log before that is not served here: ` +
        `this one answers from ${String(began_ms)} on`;
      throw new ApiError('parameter_invalid', message, { param: 'from_ms' });
    }
    const ended_ms = log === newest ? Infinity : log.published().map_head_ms;
    const part = { log, from_ms: Math.max(from_ms, began_ms), to_ms: Math.min(to_ms, ended_ms) };
    if (part.from_ms <= part.to_ms) parts.push(part);
    before = { number: log.number, ended_ms };
  }
  return parts.length === 0 ? [{ log: newest, from_ms, to_ms }] : parts;
}

/**
 * Refuses a window that begins before the newest log, where the answer is of one log alone.
 *
 * @throws ApiError `parameter_invalid`
 */
export function checkWithinNewest(host: Logs, kind: Kind, from_ms: number, key: ChainKey): LogView {
  const log = host.log(kind);
  const began_ms = beganMs(log);
  if (from_ms >= began_ms) return log;
  const before = host.logs(kind).find(({ number }) => number === log.number - 1);
  const message =
    `the window begins before ${log.origin}, which answers from ${String(began_ms)} on; ` +
    (before === undefined
      ? 'the log before it is not served here'
      : `for the log before it ${lookupUrl(host, before, key)} answers`);
  throw new ApiError('parameter_invalid', message, { param: 'from_ms' });
}

/** A session as one log names it. */
export interface LogSession {
  readonly log: LogView;
  readonly session_ref: string;
  /** Its entries there up to the newest checkpoint. */
  readonly count: number;
}

/** What each served log of the caller has of a session, oldest first. */
export function sessionsOf(
  host: Logs,
  caller: Caller,
  session_id: string,
): Promise<readonly LogSession[]> {
  const found = host.logs(caller.kind).map(async (log): Promise<LogSession> => {
    const session_ref = caller.sessionRef(session_id, log.origin);
    const key: ChainKey = ['session', session_ref];
    const { map_head_ms: at } = await log.covering(log.size());
    // The last moment alone: what closes it counts the chain up to there.
    const count = countOf(await log.lookup({ key, from_ms: at, to_ms: at }), key);
    return { log, session_ref, count };
  });
  return Promise.all(found);
}

/** Whether a log that the newest one follows, however far behind, is not served: what it had is not known here. */
export const isLogMissing = (host: Logs, kind: Kind): boolean =>
  host.logs(kind).length < host.log(kind).number;

/**
 * The log that a question about a session is for: the one that was asked for, else the only one that has it, else
 * the newest.
 *
 * @throws ApiError `parameter_invalid` where several have it, or one may that is not served
 */
export async function sessionLog(
  host: Logs,
  caller: Caller,
  session_id: string,
  asked: string | undefined,
): Promise<Omit<LogSession, 'count'>> {
  const newest = host.log(caller.kind);
  if (asked !== undefined) {
    const log = host.logs(caller.kind).find(({ number }) => String(number) === asked);
    if (log === undefined) {
      throw new ApiError('parameter_invalid', `${caller.kind}/${asked} is not served here`, {
        param: 'log_number',
      });
    }
    return { log, session_ref: caller.sessionRef(session_id, log.origin) };
  }
  if (newest.number === 1) return { log: newest, session_ref: caller.sessionRef(session_id) };
  const all = await sessionsOf(host, caller, session_id);
  const having = all.filter(({ count }) => count > 0);
  const [only, another] = having;
  if (another !== undefined) {
    const counts = having.map(({ log, count }) => `${logName(log)} (${String(count)} entries)`);
    const message = `the session is in several logs, ${counts.join(' and ')}: log_number says which is asked`;
    throw new ApiError('parameter_invalid', message, { param: 'log_number' });
  }
  if (only !== undefined) return only;
  if (isLogMissing(host, caller.kind)) {
    const message = `no log here has the session, and not every log before ${newest.origin} is served here: log_number says which is asked`;
    throw new ApiError('parameter_invalid', message, { param: 'log_number' });
  }
  return { log: newest, session_ref: caller.sessionRef(session_id) };
}
