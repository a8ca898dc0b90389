// Finding entries: by the name that a caller gives, by the log that a request asks, and in logs that follow each other.
// gateway/API.md §1.4, §3.3, §5; log/FORMAT.md §1, §4, §6.

import { Type } from 'typebox';
import { fromHex, isLogError } from '../../log/index.ts';
import type { ChainKey, JsonObject, Kind, Link } from '../../log/index.ts';
import { ApiError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { PluginHost } from './plugin.ts';
import type { AnsweredEntry, AnsweredReceipt, Caller } from './route.ts';

const ENTRY_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const HASH = /^[0-9a-f]{64}$/;

/** What a caller wrote as the name of an entry: an entry id, or an entry hash without its prefix; null when it is neither. */
export function entryName(written: string): string | null {
  const name = written.toLowerCase().replace(/^(sha256:|0x)/, '');
  return ENTRY_ID.test(name) || HASH.test(name) ? name : null;
}

/** Index of the entry of an entry id or an entry hash. */
export const indexNamed = (log: LogView, name: string): number | null =>
  HASH.test(name) ? log.indexOfHash(fromHex(name, 32)) : log.indexOfEntry(name);

/** An entry of one of the served logs. */
interface FoundEntry {
  readonly log: LogView;
  readonly index: number;
}

/** The entry of a name in the logs of these kinds, of each the newest log first. */
export function findEntry(
  host: PluginHost,
  kinds: readonly Kind[],
  name: string,
): FoundEntry | null {
  for (const log of kinds.flatMap((kind) => host.logs(kind).toReversed())) {
    const index = indexNamed(log, name);
    if (index !== null) return { log, index };
  }
  return null;
}

/** The same; `resource_missing` where there is none. */
export function entryNamed(host: PluginHost, kinds: readonly Kind[], name: string): FoundEntry {
  const found = findEntry(host, kinds, name);
  if (found !== null) return found;
  throw new ApiError('resource_missing', 'the log has no such entry', { param: 'entry_id' });
}

/** An entry of the log as answers have it. */
export function answeredEntry(log: LogView, index: number): AnsweredEntry {
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const { entry_id, issued_at_ms } = receipt as { entry_id: string; issued_at_ms: number };
  return { index, entry_id, issued_at_ms, statement: receipt, receipt: receipt as AnsweredReceipt };
}

/** How many entries a chain has up to the end of an absence document's window, by what closes it there. */
export function countOf({ proof }: JsonObject, key: ChainKey): number {
  const closing = proof as unknown as
    | { readonly type: 'never' }
    | { readonly type: 'tail'; readonly head: { readonly count: number } }
    | { readonly type: 'gap'; readonly successor: { readonly entry: string } };
  if (closing.type === 'never') return 0;
  if (closing.type === 'tail') return closing.head.count;
  const { links } = JSON.parse(closing.successor.entry) as { readonly links: readonly Link[] };
  const link = links.find((candidate) => candidate.key.join(' ') === key.join(' '));
  if (link === undefined) throw new Error('the successor in a gap has no link of its chain');
  return link.seq;
}

/** The parameter `log` of a public read. */
export const LogName = Type.Optional(
  Type.Union([Type.Literal('live'), Type.Literal('sandbox')], {
    description: 'Which log; that of the key unless given, and live without a key.',
  }),
);

/** The parameter `log` of a public read that names an entry. */
export const LogOfEntry = Type.Optional(
  Type.Union([Type.Literal('live'), Type.Literal('sandbox')], {
    description:
      'Which log; that of the key unless given, and without a key both, the live one first.',
  }),
);

/** The kind that a read is about: its parameter says so, else the key; nothing of one is found in the other. */
export const kindOf = (asked: Kind | undefined, caller: Caller): Kind =>
  asked ?? (caller.key_id === null ? 'live' : caller.kind);

/** The kinds that a read of one entry searches, in this order: without a key an entry may be in either. */
export function kindsOf(asked: Kind | undefined, caller: Caller): readonly Kind[] {
  if (asked !== undefined) return [asked];
  return caller.key_id === null ? ['live', 'sandbox'] : [caller.kind];
}

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
    const began_ms = log.beganMs();
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
  const began_ms = log.beganMs();
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

/** Characters that the embedded classifier judges in what 1 stands for, as measured. */
const CHARS = 8000;

/** What a request costs that classifies a text. */
export const textCost = (text: string | undefined): number => 1 + (text ?? '').length / CHARS;

/** How many entries a chain has, as last published. */
export async function chainCount(log: LogView, key: ChainKey): Promise<number> {
  const { map_head_ms: at } = log.published();
  try {
    // The last moment alone: what closes it counts the chain up to there.
    return countOf(await log.lookup({ key, from_ms: at, to_ms: at }, { limit: 1 }), key);
  } catch (error) {
    // A log that has published nothing yet; what is wrong with the key is for the handler to say.
    if (isLogError(error)) return 0;
    throw error;
  }
}

/** What a request costs that reads a whole session, with `entries` of it in what 1 stands for. */
export async function sessionCost(
  host: PluginHost,
  caller: Caller,
  session_id: string,
  entries: number,
): Promise<number> {
  const counts = host
    .logs(caller.kind)
    .map((log) => chainCount(log, ['session', caller.sessionRef(session_id, log.origin)]));
  return 1 + Math.max(...(await Promise.all(counts))) / entries;
}
