// The timeline of an answer on the page /ask, to scale: a lane each for what was declared, signs of life, acts, and the
// window. Places are in thousandths of the width, so that the lanes stretch with the page.

import { namedStatement } from '../contract/index.ts';
import type { LogView } from '../contract/index.ts';
import { momentWords } from './ask-time.ts';
import type { AskedAbout } from './ask-words.ts';

const WIDTH = 1000;
/** The part of the width on each side of the window. */
const MARGIN = 120;
/** Heartbeats, and manifests, that are drawn. */
const MAX_SHOWN = 100;

/** A bar or, if it is narrower than two thousandths, a mark. */
interface Bar {
  readonly x: number;
  readonly width: number;
}

/** One lane, with the same in words for those who do not see it. */
export interface Lane {
  readonly name: string;
  readonly kind: 'declared' | 'alive' | 'acts' | 'window';
  readonly bars: readonly Bar[];
  readonly words: string;
}

/** The members of a manifest (log/FORMAT.md §4) that the lane needs. */
interface ManifestMembers {
  readonly issued_at_ms: number;
  readonly valid_from_ms: number;
  readonly valid_until_ms?: number;
  readonly surfaces: readonly string[];
}

/** The lanes, and the times at which they begin and end. */
export async function lanesOf(
  logs: readonly LogView[],
  { entity, surface, from_ms, to_ms, tz }: AskedAbout,
  acts: readonly { readonly ms: number }[],
) {
  const scale = (WIDTH - 2 * MARGIN) / Math.max(1, to_ms - from_ms);
  const first_ms = from_ms - MARGIN / scale;
  const last_ms = to_ms + MARGIN / scale;
  const bar = (start_ms: number, end_ms: number): Bar | null => {
    const [start, end] = [Math.max(first_ms, start_ms), Math.min(last_ms, end_ms)];
    if (start > end) return null;
    const x = Math.round((start - first_ms) * scale);
    return { x: Math.min(x, WIDTH - 3), width: Math.max(3, Math.round((end - start) * scale)) };
  };
  const bars = (spans: readonly (readonly [number, number])[]): Bar[] =>
    spans.map(([start, end]) => bar(start, end)).filter((one) => one !== null);
  const declared = bars(await declaredSpans(logs, entity, surface));
  const beats = await heartbeats(logs, entity, surface, { from_ms: first_ms, to_ms: last_ms });
  const lanes: readonly Lane[] = [
    {
      ...{ name: 'Declared', kind: 'declared', bars: declared },
      words:
        declared.length === 0
          ? 'no declaration is shown'
          : 'the declarations of the surface in this time',
    },
    {
      ...{ name: 'Signs of life', kind: 'alive', bars: bars(beats.map((ms) => [ms, ms] as const)) },
      words:
        beats.length === MAX_SHOWN
          ? `the first ${String(MAX_SHOWN)} heartbeats`
          : `${String(beats.length)} heartbeats`,
    },
    {
      ...{ name: 'Acts', kind: 'acts', bars: bars(acts.map(({ ms }) => [ms, ms] as const)) },
      words: `${String(acts.length)} acts`,
    },
    {
      ...{ name: 'Asked about', kind: 'window', bars: bars([[from_ms, to_ms]]) },
      words: 'the time of the question',
    },
  ];
  return {
    lanes,
    from: momentWords(from_ms, tz),
    to: momentWords(to_ms, tz),
    fromX: MARGIN,
    toX: WIDTH - MARGIN,
  };
}

/** The times in which a manifest that declares the surface was in force, each until the next manifest. */
async function declaredSpans(
  logs: readonly LogView[],
  entity: string,
  surface: string,
): Promise<(readonly [number, number])[]> {
  const manifests: ManifestMembers[] = [];
  for (const log of logs) {
    const window = { from_ms: 0, to_ms: log.published().map_head_ms };
    const found = await log.chain({ key: ['manifest', entity], ...window }, { limit: MAX_SHOWN });
    manifests.push(
      ...found.map(({ index }) => namedStatement(log, index) as unknown as ManifestMembers),
    );
  }
  return manifests.flatMap(({ issued_at_ms, valid_from_ms, valid_until_ms, surfaces }, i) => {
    if (!surfaces.includes(surface)) return [];
    const next_ms = manifests[i + 1]?.issued_at_ms ?? Infinity;
    const start_ms = Math.max(issued_at_ms, valid_from_ms);
    return [[start_ms, Math.min(valid_until_ms ?? Infinity, next_ms)] as const];
  });
}

/** The times of the heartbeats of a surface in a window, up to `MAX_SHOWN`. */
async function heartbeats(
  logs: readonly LogView[],
  entity: string,
  surface: string,
  { from_ms, to_ms }: { readonly from_ms: number; readonly to_ms: number },
): Promise<readonly number[]> {
  const beats: number[] = [];
  for (const log of logs) {
    const end_ms = Math.min(Math.floor(to_ms), log.published().map_head_ms);
    const window = { from_ms: Math.max(0, Math.ceil(from_ms)), to_ms: end_ms };
    if (beats.length >= MAX_SHOWN || window.from_ms > end_ms) continue;
    const key = ['heartbeat', entity, surface] as const;
    const found = await log.chain({ key, ...window }, { limit: MAX_SHOWN - beats.length });
    beats.push(...found.map(({ ms }) => ms));
  }
  return beats;
}
