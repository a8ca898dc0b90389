// What a session's chain says up to the newest checkpoint, read from proofs of the log's own lookup, so that
// anyone who asks the log the same question finds the same numbers. behaviour.md §7.8; formats.md §6.

import type { ChainKey, JsonObject, Link, LogView } from '../contract.ts';

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
export async function sessionState(
  log: LogView,
  session_ref: string,
  signal: AbortSignal,
): Promise<SessionState> {
  const { size, map_head_ms: to_ms } = await log.whenPublished(log.size(), signal);
  const key: ChainKey = ['session', session_ref];
  // The end of the window alone: whatever stands there, its closing proof counts the chain up to it.
  const end = await log.lookup({ key, from_ms: to_ms, to_ms });
  const closing = countOf(end['proof'] as unknown as Proof, key);
  const state = { key, to_ms, checkpoint_size: size, ...closing };
  if (closing.count === 0) return { ...state, first_ms: null };
  const start = await log.lookup({ key, from_ms: 0, to_ms }, { limit: 1 });
  const [first] = start['entries'] as unknown as Opened[];
  return {
    ...state,
    first_ms: first === undefined ? null : (statementOf(first)['issued_at_ms'] as number),
  };
}

function countOf(
  proof: Proof,
  key: ChainKey,
): Pick<SessionState, 'count' | 'last_index' | 'last_ms'> {
  if (proof.type === 'never') return { count: 0, last_index: null, last_ms: null };
  if (proof.type === 'tail') return proof.head;
  // A newer checkpoint came between: the entry that follows says what stood before it.
  const links = statementOf(proof.successor)['links'] as unknown as readonly Link[];
  const link = links.find((candidate) => candidate.key.join(' ') === key.join(' '));
  if (link === undefined) throw new Error('the successor in a gap has no link of its chain');
  return { count: link.seq, last_index: link.prev_index, last_ms: link.prev_ms };
}

const statementOf = (opened: Opened): JsonObject => JSON.parse(opened.entry) as JsonObject;
