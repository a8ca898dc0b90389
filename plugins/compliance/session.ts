// Reads a session whole, page by page, up to one map head, and the document by which anyone checks offline that
// nothing of it is left out. log/FORMAT.md §6; gateway/API.md §12.4.

import { RightEdge, toHex } from '../../log/index.ts';
import { ApiError } from '../contract.ts';
import type { ChainKey, JsonObject, LogView } from '../contract.ts';
import { countOf } from '../finding.ts';
import { Tally } from './tally.ts';

/** Entries read at a stretch: other requests come between. */
const PAGE = 250;
/** Entries that one document shows. */
const MAX_SHOWN = 100;
/** Leaves after which the full tiles are let go. */
const TILE = 256;
const ATTEMPTS = 5;

/** A session up to a map head. */
export interface ReadSession {
  readonly key: ChainKey;
  readonly session_ref: string;
  /** Time of the map head: everything up to it was read. */
  readonly to_ms: number;
  readonly tally: Tally;
  /** Hex; RFC 6962 root over the entries, oldest first: the leaf hashes are their entry hashes. */
  readonly entries_root: string;
  /**
   * The chain's closing proof under `checkpoint`, and the last entries before it: all of them up to
   * MAX_SHOWN. What closes it says how many entries the session has.
   */
  readonly completeness: JsonObject;
}

/** Reads what of a session is published; `log_unavailable` where the log does not publish. */
export async function readSession(
  log: LogView,
  session_ref: string,
  selectors: ReadonlyMap<string, readonly string[]>,
): Promise<ReadSession> {
  const key: ChainKey = ['session', session_ref];
  let wanted = log.size();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { size, map_head_ms: to_ms } = await log.covering(wanted);
    const { tally, root, shown_from_ms } = await passOver(log, key, to_ms, selectors);
    // More entries of the last millisecond than a document shows: the next map head is later than they.
    if (shown_from_ms > to_ms) {
      wanted = size + 1;
      continue;
    }
    const question = { key, from_ms: shown_from_ms, to_ms };
    const completeness = await log.lookup(question, { limit: MAX_SHOWN });
    if (countOf(completeness, key) !== tally.count) {
      throw new Error('a session read and its closing proof do not agree');
    }
    return { key, session_ref, to_ms, tally, entries_root: toHex(root), completeness };
  }
  throw new ApiError('log_busy', 'the session grows faster than it can be read: try again');
}

async function passOver(
  log: LogView,
  key: ChainKey,
  to_ms: number,
  selectors: ReadonlyMap<string, readonly string[]>,
): Promise<{ tally: Tally; root: Uint8Array; shown_from_ms: number }> {
  const tally = new Tally(selectors);
  const edge = new RightEdge();
  const last: number[] = [];
  for (let after: number | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const rows = await log.chain({ key, from_ms: 0, to_ms }, page);
    for (const { index, ms } of rows) {
      const text = log.entry(index);
      if (text === null) throw new Error(`entry ${String(index)} of a chain is missing`);
      const statement = JSON.parse(text) as JsonObject;
      const committed = statement['commitments'] !== undefined;
      tally.add(statement, committed && log.erasure(statement['entry_id'] as string) !== null);
      edge.append(log.leafHash(index));
      if (edge.size % TILE === 0) edge.takeDirty();
      last.push(ms);
      if (last.length > MAX_SHOWN + 1) last.shift();
    }
    after = rows.at(-1)?.index;
    if (rows.length < PAGE || after === undefined) break;
  }
  const [oldest = 0] = last;
  const shown_from_ms = tally.count <= MAX_SHOWN ? 0 : oldest + 1;
  return { tally, root: edge.root(), shown_from_ms };
}

/** The receipt of an entry with its place under a checkpoint, which it waits for. */
export async function placedReceipt(log: LogView, index: number): Promise<JsonObject> {
  const { size, note } = await log.covering(index + 1);
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const inclusion_proof = log
    .inclusion(index, size)
    .map((hash) => Buffer.from(hash).toString('base64'));
  const place = { origin: log.origin, index, checkpoint: note, inclusion_proof };
  return { ...receipt, log: place };
}
