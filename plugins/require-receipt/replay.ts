// That a permit is used once. Portable. The store decides, atomically; what it forgets too early can be replayed,
// what it keeps too long does no harm. gateway/API.md §8.2.

import type { Permit } from './permit.ts';

/**
 * Where used permits are remembered. A service of several processes gives one that they share, for example
 * `SET id 1 NX PXAT expires_at_ms` of Redis, or an insert under a unique index.
 */
export interface ReplayStore {
  /**
   * True for the first call with this id, false ever after, whoever asks and however many at once. It may
   * forget the id at `expires_at_ms` (milliseconds of UTC), never before. A throw refuses the act.
   */
  use(id: string, expires_at_ms: number, permit: Permit): boolean | Promise<boolean>;
}

/** A store that needs only the id. */
export interface MemoryReplayStore extends ReplayStore {
  use(id: string, expires_at_ms: number): boolean;
}

/** Beyond any clock's error: the verifier and the store may read different ones. */
const GRACE_MS = 120_000;
const MAX_IDS = 100_000;

/**
 * Remembers in this process, so it is for a service of one process; over a restart a permit may be used again
 * while it lives. When it is full of permits that still live it refuses rather than forgets.
 */
export function memoryReplayStore({
  max = MAX_IDS,
  now = Date.now,
}: { readonly max?: number; readonly now?: () => number } = {}): MemoryReplayStore {
  const used = new Map<string, number>();
  return {
    use(id, expires_at_ms) {
      if (used.has(id)) return false;
      if (used.size >= max) forget(used, now());
      if (used.size >= max) throw new Error(`over ${String(max)} permits are in use`);
      used.set(id, expires_at_ms + GRACE_MS);
      return true;
    },
  };
}

function forget(used: Map<string, number>, now_ms: number): void {
  for (const [id, until] of used) if (until <= now_ms) used.delete(id);
}
