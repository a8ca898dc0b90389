// What several layers look up alike: an entry by the name that a caller gives it, the length of a chain by what
// closes it. gateway/API.md §1.4; log/FORMAT.md §6.

import { fromHex } from '../log/index.ts';
import { ApiError } from './contract.ts';
import type {
  AnsweredEntry,
  AnsweredReceipt,
  ChainKey,
  JsonObject,
  Kind,
  Link,
  LogView,
  PluginHost,
} from './contract.ts';

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
