// The beginning and the end of a log, and where it stands in the line of its kind. log/FORMAT.md §1.

import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import type { Kind } from '../types.ts';
import { RuleBroken } from './violation.ts';

/** The parts of an origin. */
export interface OriginParts {
  readonly host: string;
  readonly kind: Kind;
  readonly number: number;
}

/** How the log before this one ended, where the caller has replayed it too. */
export interface Predecessor {
  readonly origin: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly root: string;
  readonly last_ms: number;
}

/** `closing`: only the map head of log.closed.v1 is still to come. */
export type Phase = 'empty' | 'open' | 'closing' | 'closed';

/** Splits `<host>/log/<kind>/<n>`; null for anything else. */
export function originParts(origin: string): OriginParts | null {
  const [, host, kind, n] = /^(.+)\/log\/(live|sandbox)\/([1-9][0-9]{0,15})$/u.exec(origin) ?? [];
  if (host === undefined || (kind !== 'live' && kind !== 'sandbox')) return null;
  return { host, kind, number: Number(n) };
}

/** Whether an entry of this type may stand here: log.open.v1 first and only there, nothing after the end. */
export function checkPhase(phase: Phase, type: string, closed_at: number | null): void {
  // First, since log.open.v1 may not follow either.
  if (phase === 'closed' || (phase === 'closing' && type !== 'log.map_head.v1')) {
    const related = closed_at === null ? [] : [closed_at];
    throw new RuleBroken('log_closed', 'nothing follows log.closed.v1 but its map head', related);
  }
  if ((type === 'log.open.v1') !== (phase === 'empty')) {
    const related = phase === 'empty' ? [] : [0];
    throw new RuleBroken('log_open', 'log.open.v1 is entry 0, and only entry 0', related);
  }
}

/** The phase after an entry of this type. */
export function nextPhase(phase: Phase, type: string): Phase {
  if (type === 'log.closed.v1') return 'closing';
  return phase === 'closing' ? 'closed' : 'open';
}

/** n = 1 has no predecessor; n > 1 has log n − 1 of its kind, is later, and agrees with what is known of it. */
export function checkPredecessor(
  statement: JsonObject,
  own: string,
  known: Predecessor | null,
): void {
  const origin = originParts(own);
  const predecessor = statement.predecessor ?? null;
  if (origin === null || (predecessor === null) !== (origin.number === 1)) {
    throw new RuleBroken(
      'predecessor',
      'a log has a predecessor exactly when its number is over 1',
    );
  }
  if (predecessor === null || !isJsonObject(predecessor)) return;
  if (!isNeighbour(predecessor.origin, origin, -1)) {
    throw new RuleBroken('predecessor', 'predecessor is not the log before of its kind');
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

/** The successor that log.closed.v1 names is log n + 1 of the kind. */
export function checkSuccessor({ successor }: JsonObject, own: string): void {
  const origin = originParts(own);
  if (successor === null) return;
  if (origin === null || !isNeighbour(successor, origin, 1)) {
    throw new RuleBroken('successor', 'successor is not the log after of its kind');
  }
}

function isNeighbour(value: Json | undefined, origin: OriginParts, step: 1 | -1): boolean {
  const other = typeof value === 'string' ? originParts(value) : null;
  return other !== null && other.kind === origin.kind && other.number === origin.number + step;
}
