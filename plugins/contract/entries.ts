// Finding entries, windows and sessions in the served logs: by entry id or hash, by the kind of log, and across a log
// and its predecessors. gateway/API.md §1.4, §3.3, §5; log/FORMAT.md §1, §4, §6.

import { Type } from 'typebox';
import { fromHex, isLogError } from '../../log/index.ts';
import type { ChainKey, JsonObject, Kind, Link } from '../../log/index.ts';
import { ApiError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { PluginHost } from './plugin.ts';
import type { AnsweredEntry, AnsweredReceipt, Caller } from './route.ts';

const ENTRY_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Normalises an entry id or entry hash that a caller wrote: lower case, no `sha256:` or `0x`. Null if it is neither.
 */
export function entryName(written: string): string | null {
  const name = written.toLowerCase().replace(/^(sha256:|0x)/, '');
  return ENTRY_ID.test(name) || HASH.test(name) ? name : null;
}

/** Index of the entry with this entry id or entry hash (see `entryName`); null if the log has none. */
export const indexNamed = (log: LogView, name: string): number | null =>
  HASH.test(name) ? log.indexOfHash(fromHex(name, 32)) : log.indexOfEntry(name);

/** An entry of one of the served logs. */
interface FoundEntry {
  readonly log: LogView;
  readonly index: number;
}

/** Finds an entry by id or hash in the logs of these kinds. Newer logs of a kind are searched first. */
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

/** Like `findEntry`, but throws `resource_missing` if there is no such entry. */
export function entryNamed(host: PluginHost, kinds: readonly Kind[], name: string): FoundEntry {
  const found = findEntry(host, kinds, name);
  if (found !== null) return found;
  throw new ApiError('resource_missing', 'the log has no such entry', { param: 'entry_id' });
}

/** An entry of a log in the form that `respond` gets. */
export function answeredEntry(log: LogView, index: number): AnsweredEntry {
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const { entry_id, issued_at_ms } = receipt as { entry_id: string; issued_at_ms: number };
  return { index, entry_id, issued_at_ms, statement: receipt, receipt: receipt as AnsweredReceipt };
}

/** The first entry of the group that `respond` got. A route that appends an entry always has one. */
export function firstOf([entry]: readonly AnsweredEntry[]): AnsweredEntry {
  if (entry === undefined) throw new Error('the group of this answer has no entry');
  return entry;
}

/** The number of entries of a chain up to the end of an absence document's window, read from the document's proof. */
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
    description: 'Which log. The default is the log of the key, and the live log without a key.',
  }),
);

/** The parameter `log` of a public read that names an entry. */
export const LogOfEntry = Type.Optional(
  Type.Union([Type.Literal('live'), Type.Literal('sandbox')], {
    description:
      'Which log. The default is the log of the key. Without a key both are searched, the live one first.',
  }),
);

/** The kind of log that a read is about: that of its parameter `log`, else that of the key. */
export const kindOf = (asked: Kind | undefined, caller: Caller): Kind =>
  asked ?? (caller.key_id === null ? 'live' : caller.kind);

/** The kinds of log that a read of one entry searches, in this order. Without a key and a parameter it is both. */
export function kindsOf(asked: Kind | undefined, caller: Caller): readonly Kind[] {
  if (asked !== undefined) return [asked];
  return caller.key_id === null ? ['live', 'sandbox'] : [caller.kind];
}

type Logs = Pick<PluginHost, 'log' | 'logs' | 'url'>;

/** The parameter `log_number` of a read of a session. */
export const LogNumber = Type.Optional(
  Type.String({
    pattern: '^[1-9][0-9]{0,8}$',
    description:
      'Number of the log, if the log has predecessors. Required only if several logs have the session.',
  }),
);

/** The part of a window that lies in the time of one log. */
export interface LogWindow {
  readonly log: LogView;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** `live/1`, as in the URLs of the log. */
export const logName = ({ kind, number }: Pick<LogView, 'kind' | 'number'>): string =>
  `${kind}/${String(number)}`;

/** URL of the log's lookup of a chain, which answers with the entries and a proof of completeness. */
export function lookupUrl(
  host: Pick<PluginHost, 'url'>,
  log: Pick<LogView, 'kind' | 'number'>,
  key: ChainKey,
): string {
  const question = new URLSearchParams({ key: JSON.stringify(key) });
  return host.url(`/log/${logName(log)}/proof/lookup?${question.toString()}`);
}

/**
 * Splits a window by the logs that cover it, oldest first. A window that lies between the end of one log and the start
 * of the next is given to the newest log.
 *
 * @throws ApiError `parameter_invalid` if the window overlaps the time of a log that the service does not serve
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
        `the window begins before ${log.origin}, and this service does not have the log before it: ` +
        `from_ms must be at least ${String(began_ms)}`;
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
 * Refuses a window that begins before the newest log, for answers that cannot span several logs.
 *
 * @throws ApiError `parameter_invalid`
 */
export function checkWithinNewest(host: Logs, kind: Kind, from_ms: number, key: ChainKey): LogView {
  const log = host.log(kind);
  const began_ms = log.beganMs();
  if (from_ms >= began_ms) return log;
  const before = host.logs(kind).find(({ number }) => number === log.number - 1);
  const message =
    `the window begins before ${log.origin}: from_ms must be at least ${String(began_ms)}; ` +
    (before === undefined
      ? 'this service does not have the log before it'
      : `read the log before it at ${lookupUrl(host, before, key)}`);
  throw new ApiError('parameter_invalid', message, { param: 'from_ms' });
}

/** A session in one log. */
export interface LogSession {
  readonly log: LogView;
  readonly session_ref: string;
  /** Number of its entries in the log, up to the newest checkpoint. */
  readonly count: number;
}

/** A session of the caller in each served log, oldest log first. */
export function sessionsOf(
  host: Logs,
  caller: Caller,
  session_id: string,
): Promise<readonly LogSession[]> {
  const found = host.logs(caller.kind).map(async (log): Promise<LogSession> => {
    const session_ref = caller.sessionRef(session_id, log.origin);
    const key: ChainKey = ['session', session_ref];
    const { map_head_ms: at } = await log.covering(log.size());
    // A window of one millisecond is enough: its proof states the length of the whole chain.
    const count = countOf(await log.lookup({ key, from_ms: at, to_ms: at }), key);
    return { log, session_ref, count };
  });
  return Promise.all(found);
}

/** Whether the service lacks any predecessor of the newest log. */
export const isLogMissing = (host: Logs, kind: Kind): boolean =>
  host.logs(kind).length < host.log(kind).number;

/**
 * The log in which a request reads a session: that of `asked` (the parameter `log_number`), else the only log that has
 * the session, else the newest.
 *
 * @throws ApiError `parameter_invalid` if several logs have the session, or a log that is not served may have it
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
      throw new ApiError('parameter_invalid', `this service has no log ${caller.kind}/${asked}`, {
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
    const message = `the session is in several logs, ${counts.join(' and ')}: choose one with log_number`;
    throw new ApiError('parameter_invalid', message, { param: 'log_number' });
  }
  if (only !== undefined) return only;
  if (isLogMissing(host, caller.kind)) {
    const message =
      `no log of this service has the session, and a log before ${newest.origin} is missing here: ` +
      'choose a log with log_number';
    throw new ApiError('parameter_invalid', message, { param: 'log_number' });
  }
  return { log: newest, session_ref: caller.sessionRef(session_id) };
}

/** Characters that the embedded classifier judges at a cost of 1 (measured). */
const CHARS_PER_COST = 8000;

/** Cost of a request that classifies a text. */
export const textCost = (text: string | undefined): number =>
  1 + (text ?? '').length / CHARS_PER_COST;

/** The number of entries of a chain at the last publication. */
export async function chainCount(log: LogView, key: ChainKey): Promise<number> {
  const { map_head_ms: at } = log.published();
  try {
    // A window of one millisecond is enough: its proof states the length of the whole chain.
    return countOf(await log.lookup({ key, from_ms: at, to_ms: at }, { limit: 1 }), key);
  } catch (error) {
    // The log has published nothing yet, or the key is invalid, which the handler reports.
    if (isLogError(error)) return 0;
    throw error;
  }
}

/** Cost of a request that reads a whole session; reading `entries` entries costs 1. */
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
