// The newest checkpoints of a log, for its page: their sizes, times, roots and cosigners, and the growth as a curve.
// log/FORMAT.md §5.

import { parseJson } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';

/** How many checkpoints the page shows. */
const SHOWN = 24;

/** One published checkpoint. */
interface PastCheckpoint {
  readonly size: number;
  readonly ms: number;
  readonly at: string;
  /** Base64, as in the note. */
  readonly root: string;
  /** The names of its cosigners. */
  readonly cosigners: readonly string[];
  /** The size of the checkpoint before it; null if it is the first. */
  readonly previous: number | null;
}

/** The newest checkpoints, newest first. Each ends with a map head entry, which names the map head before it. */
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
    // A crash can leave a map head that no checkpoint was published for. It has no note.
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

/** The names on the signature lines of a note, without the first line, which is the log's own. */
function cosignersOf(note: string): string[] {
  const lines = note.split('\n').filter((line) => line.startsWith('— '));
  return lines.slice(1).map((line) => line.split(' ', 2)[1] ?? '');
}

/** The points of a step line in a box of 100 by 30, oldest first; empty for fewer than two checkpoints. */
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
