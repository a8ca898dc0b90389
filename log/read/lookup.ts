// Answers which entries of a chain lie in a window, with the proof that none is left out: a document of log/FORMAT.md
// §6 without `declared` and `coverage`, always under the newest published checkpoint.

import { native } from '../crypto/native.ts';
import type { Core } from '../write/core.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { checkKey, skey } from '../map/key.ts';
import { chainEnd, openAt, shortChain } from './parts.ts';
import type { Visible } from '../write/publisher.ts';
import { chainRowKey, readChainRowKey } from '../store/layout.ts';
import type { ChainKey, ChainRow } from '../types.ts';

/** The most entries of one document. */
export const MAX_LOOKUP_ENTRIES = 100;

/** A question about one chain. The window is in milliseconds of log time and includes both ends. */
export interface Question {
  readonly key: ChainKey;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Which page of the answer: at most `limit` entries after an index. */
export interface Page {
  readonly after?: number;
  readonly limit?: number;
}

/** The part of a chain that a question asks for, in one published tree. */
export interface Found {
  readonly key: ChainKey;
  readonly place: Uint8Array;
  /** The entries in the window, at most one page. */
  readonly rows: readonly ChainRow[];
  /** The entry of the chain that follows them, in the window or after it. */
  readonly next: ChainRow | undefined;
}

/**
 * Finds the rows that answer a question. Throws `window_not_closed` while new entries may still fall into the window.
 */
export async function lookupRows(
  core: Core,
  visible: Visible,
  { key: asked, from_ms, to_ms }: Question,
  { after = -1, limit = MAX_LOOKUP_ENTRIES }: Page = {},
): Promise<Found> {
  const key = checkKey(asked, core.declarations.kinds);
  if (
    !Number.isSafeInteger(from_ms) ||
    !Number.isSafeInteger(to_ms) ||
    from_ms < 0 ||
    to_ms < from_ms
  ) {
    throw new LogError('out_of_range', 'the window is not 0 <= from_ms <= to_ms');
  }
  if (!Number.isSafeInteger(after) || after < -1 || !Number.isSafeInteger(limit) || limit < 1) {
    throw new LogError('out_of_range', 'a page is after an index and of at least one entry');
  }
  if (visible.size === 0 || to_ms > visible.map_head_ms) {
    throw new LogError('window_not_closed', 'the window reaches beyond the last checkpoint');
  }
  const place = skey(native, core.origin, key);
  const found = await rowsFrom(core, visible, place, { from_ms, after, limit: limit + 1 });
  const rows = found.filter(({ ms }) => ms <= to_ms).slice(0, limit);
  return { key, place, rows, next: found[rows.length] };
}

/** The answer as a document. Throws the errors of `lookupRows`. */
export async function lookup(
  core: Core,
  visible: Visible,
  asked: Question,
  page: Page = {},
): Promise<JsonObject> {
  const { from_ms, to_ms } = asked;
  const limit = Math.min(page.limit ?? MAX_LOOKUP_ENTRIES, MAX_LOOKUP_ENTRIES);
  const { key, place, rows, next } = await lookupRows(core, visible, asked, { ...page, limit });
  if (rows.length === 0 && page.after !== undefined) {
    // An empty page would make a statement about the whole window, which verifiers refuse.
    throw new LogError(
      'out_of_range',
      `nothing of the window comes after entry ${String(page.after)}`,
    );
  }
  const more = rows.length > 0 && next !== undefined && next.ms <= to_ms;
  const proof =
    next === undefined
      ? await chainEnd(core, visible, place)
      : { successor: openAt(core, next.index, visible), type: 'gap' };
  return {
    schema: 'svc-absence-witness-v1',
    question: { from_ms, key, to_ms },
    verdict: rows.length > 0 ? 'PRESENT' : absentVerdict(key),
    checkpoint: visible.note,
    map_head: json(openAt(core, visible.size - 1, visible)),
    proof: json(proof),
    ...(rows.length > 0
      ? { entries: json(rows.map(({ index }) => openAt(core, index, visible))) }
      : {}),
    ...(more ? { more: true } : {}),
  };
}

/** Without `declared`, an empty window of a surface proves no more than UNDECLARED (log/FORMAT.md §6, step 8). */
const absentVerdict = ([kind]: ChainKey): string => (kind === 'surface' ? 'UNDECLARED' : 'ABSENT');

const json = (value: unknown): Json => value as Json;

/** Which rows of a chain: from a time on, after an index. */
export interface RowsAsked {
  readonly from_ms: number;
  readonly after?: number;
  readonly limit: number;
  /** Whether to begin with the last row before `from_ms`, if there is one. It does not count towards the limit. */
  readonly withOneBefore?: boolean;
}

/** The rows of a chain in the published tree, oldest first. */
export async function rowsFrom(
  core: Core,
  visible: Visible,
  place: Uint8Array,
  asked: RowsAsked,
): Promise<ChainRow[]> {
  const { from_ms, after = -1, limit, withOneBefore = false } = asked;
  const published = ({ index }: ChainRow): boolean => index < visible.size - 1;
  const short = shortChain(core, visible, place);
  if (short !== null) {
    const { row } = short;
    if (row === null) return [];
    const wanted = withOneBefore || (row.ms >= from_ms && row.index > after);
    return wanted && published(row) ? [row] : [];
  }
  const start = after >= 0 ? Math.max(from_ms, timeOf(core, after)) : from_ms;
  const end = chainRowKey(place, Number.MAX_SAFE_INTEGER, 0);
  const keys = await core.store.scanKeys({
    gte: chainRowKey(place, start, after + 1),
    lt: end,
    limit,
  });
  const before = withOneBefore
    ? await core.store.scanKeys({
        gte: chainRowKey(place, 0, 0),
        lt: chainRowKey(place, from_ms, 0),
        reverse: true,
        limit: 1,
      })
    : [];
  return [...before, ...keys].map(readChainRowKey).filter(published);
}

const timeOf = (core: Core, index: number): number =>
  index < core.durable
    ? (core.statementAt(index)['issued_at_ms'] as number)
    : Number.MAX_SAFE_INTEGER;
