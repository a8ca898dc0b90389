// The published sizes of a log over time: every checkpoint ends with its map head, which names the one before it.
// log/FORMAT.md §4, §5.

import { parseJson } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';

const SHOWN = 24;

/** One published checkpoint. */
export interface PastCheckpoint {
  readonly size: number;
  readonly ms: number;
  readonly at: string;
  /** Base64, as in the note. */
  readonly root: string;
  /** Names of those that cosigned it. */
  readonly cosigners: readonly string[];
  /** Size of the checkpoint before it; null where that is none. */
  readonly previous: number | null;
}

/** The newest checkpoints, newest first. */
export function checkpointsOf(log: Log): PastCheckpoint[] {
  const found: PastCheckpoint[] = [];
  let size = log.published().size;
  while (size > 0 && found.length < SHOWN) {
    const note = log.published().size === size ? log.published().note : log.checkpointAt(size);
    const { issued_at_ms, prev_map_head } = parseJson(log.entry(size - 1) ?? '{}') as unknown as {
      readonly issued_at_ms: number;
      readonly prev_map_head: number | null;
    };
    const previous = prev_map_head === null ? null : prev_map_head + 1;
    // A map head that no checkpoint ended with stays in the log, and has no note.
    if (note !== null) {
      found.push({
        size,
        ms: issued_at_ms,
        at: new Date(issued_at_ms).toISOString(),
        root: note.split('\n', 3)[2] ?? '',
        cosigners: cosignersOf(note),
        previous,
      });
    }
    size = previous ?? 0;
  }
  return found;
}

/** The names on a note's signature lines but the log's own, which is the first. */
function cosignersOf(note: string): string[] {
  const lines = note.split('\n').filter((line) => line.startsWith('— '));
  return lines.slice(1).map((line) => line.split(' ', 2)[1] ?? '');
}

/** Points of a step line in a box of 100 by 30, oldest first; empty where there is nothing to compare. */
export function curveOf(checkpoints: readonly PastCheckpoint[]): string {
  const [newest] = checkpoints;
  const oldest = checkpoints.at(-1);
  if (newest === undefined || oldest === undefined || newest === oldest) return '';
  const span = Math.max(1, newest.ms - oldest.ms);
  const growth = Math.max(1, newest.size - oldest.size);
  let last = '0,30';
  const points = checkpoints.toReversed().flatMap(({ ms, size }) => {
    const x = (((ms - oldest.ms) / span) * 100).toFixed(2);
    const y = (30 - ((size - oldest.size) / growth) * 30).toFixed(2);
    const corner = `${x},${last.split(',', 2)[1] ?? '30'}`;
    last = `${x},${y}`;
    return [corner, last];
  });
  return points.join(' ');
}
