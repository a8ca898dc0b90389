// Charts by uPlot in the page's own colours. Each has a table beside it, which is what counts.

import uPlot from 'uplot';

const HEIGHT = 220;

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axes(labels: readonly string[]): uPlot.Axis[] {
  const line = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 } };
  return [
    {
      ...line,
      splits: labels.map((_, i) => i),
      values: (_plot, splits) => splits.map((at) => labels[at] ?? ''),
    },
    { ...line, size: 60 },
  ];
}

function draw(
  place: HTMLElement,
  labels: readonly string[],
  series: readonly { values: readonly number[]; bars: boolean; scale: string; fill?: string }[],
): void {
  place.replaceChildren();
  const bars = uPlot.paths.bars?.({ size: [0.6, 60] });
  const plot = new uPlot(
    {
      width: Math.max(240, place.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [-0.6, labels.length - 0.4] } },
      axes: axes(labels),
      series: [
        {},
        ...series.map(({ bars: barred, scale, fill = '--line' }) => ({
          scale,
          width: barred ? 0 : 2,
          stroke: colour('--accent'),
          points: { show: !barred },
          ...(barred ? { fill: colour(fill) } : {}),
          ...(barred && bars !== undefined ? { paths: bars } : {}),
        })),
      ],
    },
    [labels.map((_, i) => i), ...series.map(({ values }) => [...values])],
    place,
  );
  new ResizeObserver(() => {
    const width = Math.max(240, place.clientWidth);
    if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
  }).observe(place);
}

/** Months with their USD as a line over their acts as bars. */
export function historyChart(
  place: HTMLElement,
  months: readonly { readonly month: string; readonly acts: number; readonly usd: number }[],
): void {
  draw(
    place,
    months.map(({ month }) => month.slice(5)),
    [
      { values: months.map(({ acts }) => acts), bars: true, scale: 'acts' },
      { values: months.map(({ usd }) => usd), bars: false, scale: 'y' },
    ],
  );
}

/** One bar for each name. */
export function barChart(
  place: HTMLElement,
  bars: readonly (readonly [name: string, value: number])[],
): void {
  draw(
    place,
    bars.map(([name]) => name.replaceAll('_', ' ')),
    [{ values: bars.map(([, value]) => value), bars: true, scale: 'y', fill: '--accent' }],
  );
}
