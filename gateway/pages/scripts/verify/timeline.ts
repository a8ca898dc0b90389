// The window of an absence document as a picture: in order from top to bottom, not to scale, since years may lie
// between two entries of a chain.

import { timeWords } from '../../../../log/verify.ts';
import type { Moment } from '../../../../log/verify.ts';
import { make } from '../../../../plugins/contract/page.ts';
import { draw } from './svg.ts';

const WIDTH = 340;
const ROW = 54;
const AXIS = 22;

/** Entries at each end of the window that are drawn, where there are more than twice as many. */
const ENDS = 4;

/** The moments, without those entries in the middle that would make the picture longer than a page. */
function shortened(moments: readonly Moment[]): readonly Moment[] {
  const entries = moments.filter(({ kind }) => kind === 'entry');
  if (entries.length <= 2 * ENDS + 1) return moments;
  const left = new Set(entries.slice(ENDS + 1, -ENDS));
  const [first] = entries.slice(ENDS, ENDS + 1);
  return moments.flatMap((moment) => {
    if (left.has(moment)) return [];
    if (moment !== first) return [moment];
    const { index: _, ...more } = moment;
    return [{ ...more, label: `${String(left.size + 1)} more entries from here on` }];
  });
}

/** The picture; the list below it says the same to readers who do not see it. */
export function timeline(all: readonly Moment[], empty: boolean): HTMLElement {
  const moments = shortened(all);
  const height = moments.length * ROW;
  const yOf = (i: number): number => i * ROW + ROW / 2;
  const opens = moments.findIndex(({ kind }) => kind === 'opens');
  const closes = moments.findIndex(({ kind }) => kind === 'closes');
  const svg = draw(
    'svg',
    {
      class: 'timeline',
      viewBox: `0 0 ${String(WIDTH)} ${String(height)}`,
      role: 'img',
      'aria-label': `${empty ? 'The window is empty' : 'The window has entries'}; ${moments
        .map(({ label, ms }) => `${label}, ${timeWords(ms)}`)
        .join('; ')}`,
    },
    draw('rect', {
      class: empty ? 'window empty' : 'window',
      x: AXIS - 13,
      y: yOf(opens),
      width: 26,
      height: Math.max(4, yOf(closes) - yOf(opens)),
      rx: 4,
    }),
    draw('line', { class: 'edge', x1: AXIS, y1: 8, x2: AXIS, y2: height - 8 }),
    ...moments.flatMap(({ kind, label, ms, index }, i) => {
      const y = yOf(i);
      const entry = index === undefined ? '' : ` (${String(index)})`;
      return [
        kind === 'entry'
          ? draw('circle', { class: 'mark entry', cx: AXIS, cy: y, r: 7 })
          : draw('line', { class: 'mark', x1: AXIS - 13, y1: y, x2: AXIS + 13, y2: y }),
        draw('text', { x: AXIS + 26, y: y - 3 }, label + entry),
        draw('text', { class: 'soft', x: AXIS + 26, y: y + 15 }, timeWords(ms)),
      ];
    }),
  );
  const words = empty
    ? 'The chain has no entry in the window.'
    : 'The chain has entries in the window.';
  return make(
    'figure',
    {},
    svg,
    make('figcaption', { class: 'hint' }, `${words} In order, not to scale.`),
  );
}
