// The first and the last entry of a log, and the order of the logs of one kind. log/FORMAT.md §1.

import { isJsonObject } from '../encoding/json.ts';
import type { JsonObject } from '../encoding/json.ts';
import { isNeighbour, originParts } from '../map/grammar.ts';
import { RuleBroken } from './violation.ts';

/** How the predecessor ended, if the caller has replayed it. */
export interface Predecessor {
  readonly origin: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly root: string;
  readonly last_ms: number;
}

/** `closing`: only the map head after log.closed.v1 may follow. */
export type Phase = 'empty' | 'open' | 'closing' | 'closed';

/**
 * Checks that an entry of this type may come next: the first entry is log.open.v1, no other one is, and only a map head
 * follows log.closed.v1.
 *
 * @throws RuleBroken `log_open`, `log_closed`
 */
export function checkPhase(phase: Phase, type: string, closed_at: number | null): void {
  // Checked first, because log.open.v1 must not follow log.closed.v1 either.
  if (phase === 'closed' || (phase === 'closing' && type !== 'log.map_head.v1')) {
    const related = closed_at === null ? [] : [closed_at];
    throw new RuleBroken('log_closed', 'only a map head may follow log.closed.v1', related);
  }
  if ((type === 'log.open.v1') !== (phase === 'empty')) {
    const related = phase === 'empty' ? [] : [0];
    throw new RuleBroken(
      'log_open',
      'entry 0 must be log.open.v1, and no other entry may be',
      related,
    );
  }
}

/** The phase after an entry of this type. */
export function nextPhase(phase: Phase, type: string): Phase {
  if (type === 'log.closed.v1') return 'closing';
  return phase === 'closing' ? 'closed' : 'open';
}

/**
 * Checks the predecessor that entry 0 names. Log 1 has none. Log n > 1 names log n − 1 of its kind and, if `known` is
 * given, its last checkpoint, and begins after its last entry.
 *
 * @throws RuleBroken `predecessor`
 */
export function checkPredecessor(
  statement: JsonObject,
  own: string,
  known: Predecessor | null,
): void {
  const origin = originParts(own);
  const predecessor = statement.predecessor ?? null;
  if (origin === null || (predecessor === null) !== (origin.number === 1)) {
    throw new RuleBroken('predecessor', 'log 1 has no predecessor, and every later log has one');
  }
  if (predecessor === null || !isJsonObject(predecessor)) return;
  if (!isNeighbour(predecessor.origin, origin, -1)) {
    throw new RuleBroken('predecessor', 'predecessor is not the previous log of its kind');
  }
  if (known === null) return;
  const { size, root } = predecessor;
  if (predecessor.origin !== known.origin || size !== known.size || root !== known.root) {
    throw new RuleBroken('predecessor', 'predecessor is not the last checkpoint of that log');
  }
  if (Number(statement.issued_at_ms) <= known.last_ms) {
    throw new RuleBroken('predecessor', 'log begins before its predecessor ends');
  }
}

/** Checks that the successor in log.closed.v1 is null or log n + 1 of the kind; throws RuleBroken `successor`. */
export function checkSuccessor({ successor }: JsonObject, own: string): void {
  const origin = originParts(own);
  if (successor === null) return;
  if (origin === null || !isNeighbour(successor, origin, 1)) {
    throw new RuleBroken('successor', 'successor is not the next log of its kind');
  }
}
