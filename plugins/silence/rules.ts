// What a session's chain says up to the newest checkpoint, read from proofs of the log's own lookup, so that
// anyone who asks the log the same question finds the same numbers. gateway/API.md §7.8; log/FORMAT.md §6.

import type { ChainKey, JsonObject, Link, LogView } from '../contract.ts';
import { beganMs } from '../succession.ts';

/** A session's chain as of one map head. */
export interface SessionState {
  readonly key: ChainKey;
  /** Time of the map head. */
  readonly to_ms: number;
  readonly checkpoint_size: number;
  readonly count: number;
  readonly first_ms: number | null;
  readonly last_index: number | null;
  readonly last_ms: number | null;
}

interface Opened {
  readonly index: number;
  readonly entry: string;
}

type Proof =
  | { readonly type: 'never' }
  | { readonly type: 'tail'; readonly head: { count: number; last_index: number; last_ms: number } }
  | { readonly type: 'gap'; readonly successor: Opened };

/** Reads the session's chain under a checkpoint that covers everything acknowledged before the call. */
export async function sessionState(log: LogView, session_ref: string): Promise<SessionState> {
  const { size, map_head_ms: to_ms } = await log.covering(log.size());
  const key: ChainKey = ['session', session_ref];
  const closing = await chainUpTo(log, key, to_ms);
  const state = { key, to_ms, checkpoint_size: size, ...closing };
  const [first] =
    closing.count === 0 ? [] : await log.chain({ key, from_ms: 0, to_ms }, { limit: 1 });
  return { ...state, first_ms: first?.ms ?? null };
}

/**
 * The proof of the silence: what the session has from its last entry to the map head, and that it is all. Its closing
 * proof counts the whole chain. A session without entries has none since the log began.
 */
export const completeness = (
  log: LogView,
  { key, last_ms, to_ms }: SessionState,
): Promise<JsonObject> => log.lookup({ key, from_ms: last_ms ?? beganMs(log), to_ms });

/** How many entries a chain has up to a time, and the last of them. */
export type ChainCount = Pick<SessionState, 'count' | 'last_index' | 'last_ms'>;

/** Reads a chain's count up to a time that no entry can come before any more. */
export async function chainUpTo(log: LogView, key: ChainKey, to_ms: number): Promise<ChainCount> {
  // The end of the window alone: whatever stands there, its closing proof counts the chain up to it.
  const end = await log.lookup({ key, from_ms: to_ms, to_ms });
  return countOf(end['proof'] as unknown as Proof, key);
}

/** The link of an entry on a chain. */
export function linkOn(statement: JsonObject, key: ChainKey): Link {
  const links = statement['links'] as unknown as readonly Link[];
  const link = links.find((candidate) => candidate.key.join(' ') === key.join(' '));
  if (link === undefined) throw new Error('the entry has no link of its chain');
  return link;
}

function countOf(proof: Proof, key: ChainKey): ChainCount {
  if (proof.type === 'never') return { count: 0, last_index: null, last_ms: null };
  if (proof.type === 'tail') return proof.head;
  // A newer checkpoint came between: the entry that follows says what stood before it.
  const { seq, prev_index, prev_ms } = linkOn(statementOf(proof.successor), key);
  return { count: seq, last_index: prev_index, last_ms: prev_ms };
}

const statementOf = (opened: Opened): JsonObject => JSON.parse(opened.entry) as JsonObject;
