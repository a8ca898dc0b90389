// How a log stands: whether it takes entries, what waits for a checkpoint, how the clock runs.

import type { Engine } from './write/engine.ts';
import { floorAfter } from './write/state.ts';
import type { LogHealth } from './types.ts';

/** For how long a failure of a plugin is told: some fail on one caller's entries only. */
const FAILED_MS = 3_600_000;

/** `reason` says why the log does not take entries; null when it does. */
export function healthOf(engine: Engine, failure: string | null): LogHealth {
  const { core, publisher, folded, read_only } = engine;
  const reason = failure ?? read_only?.reason ?? null;
  const { visible } = publisher;
  const waiting = core.durable - visible.size;
  const oldest = waiting > 0 ? (core.statementAt(visible.size).issued_at_ms as number) : null;
  return {
    writable: reason === null,
    ...(reason === null ? {} : { reason }),
    lost_key: read_only?.lost_key ?? null,
    closed: core.position.closed || read_only?.lost_key === null,
    size: core.durable,
    published_size: visible.size,
    published_at_ms: visible.published_at_ms,
    waiting,
    oldest_waiting_ms: oldest === null ? null : Math.max(0, core.clock.wall() - oldest),
    clock_offset_ms: core.clock.drift(),
    clock_doubt: core.clock.doubt(floorAfter(core.position)),
    keys_in_map: folded.keys,
    failed_plugins: [...core.failures]
      .filter(([, at_ms]) => core.clock.monotonic() - at_ms < FAILED_MS)
      .map(([plugin]) => plugin)
      .sort(),
  };
}
