// /clear/dashboard: shows a tenant's months. The tenant's key is kept in the sessionStorage of the tab.

import uPlot from 'uplot';
import {
  ask,
  askText,
  busy,
  byId,
  field,
  isRefused,
  make,
  onSubmit,
  say,
} from '../../contract/page.ts';

const STORED = 'actlog-key';

interface Spent {
  readonly acts: number;
  readonly tolls_usd: string;
  readonly fees_usd: string;
  readonly cleared_usd: string;
  readonly total_usd: string;
}
interface Line {
  readonly acts: number;
  readonly usd: string;
}
interface Usage extends Spent {
  readonly tenant_ref: string;
  readonly sandbox: boolean;
  readonly tolls: readonly (Line & { readonly toll: string })[];
}
interface Exposure {
  readonly tier: string;
  readonly to_next_tier_micro_usd: string | null;
  readonly tiers: readonly {
    readonly tier: string;
    readonly bps: number;
    readonly acts: number;
    readonly cleared_micro_usd: string;
    readonly fees_micro_usd: string;
  }[];
}
interface Nap {
  readonly skus: readonly (Line & { readonly sku: string })[];
}
interface Credits {
  readonly granted_micro_usd: string;
  readonly drawn_micro_usd: string;
  readonly left_micro_usd: string;
}
interface Slot {
  readonly week: string;
  readonly acts: number;
  readonly sum_cleared_usd: string;
}

const form = byId('enter', HTMLFormElement);
const months = byId('month', HTMLSelectElement);
const leave = byId('leave', HTMLButtonElement);

/** `1234567.500000` as `1,234,567.50`, exact to the micro-USD. */
function money(usd: string): string {
  const [whole = '0', fraction = ''] = usd.split('.');
  const cents = fraction.replace(/0+$/, '').padEnd(2, '0');
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${cents}`;
}

function micro(digits: string): string {
  const padded = digits.padStart(7, '0');
  return money(`${padded.slice(0, -6)}.${padded.slice(-6)}`);
}

function rows(id: string, lines: readonly (readonly (string | number | Node)[])[]): void {
  const body = byId(id, HTMLTableSectionElement);
  body.replaceChildren(
    ...lines.map(([name = '', ...cells]) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, shown(name)),
        ...cells.map((cell) =>
          make('td', cell instanceof Node ? {} : { class: 'number' }, shown(cell)),
        ),
      ),
    ),
  );
  if (lines.length === 0) {
    body.append(make('tr', {}, make('td', { colspan: '5', class: 'hint' }, 'None.')));
  }
}

const shown = (cell: string | number | Node): string | Node =>
  cell instanceof Node ? cell : String(cell);

function pairs(id: string, facts: readonly (readonly [string, string])[]): void {
  byId(id, HTMLDListElement).replaceChildren(
    ...facts.map(([term, value]) =>
      make('div', {}, make('dt', {}, term), make('dd', { class: 'number' }, value)),
    ),
  );
}

async function month(key: string, name: string): Promise<void> {
  const query = `?month=${encodeURIComponent(name)}`;
  const [usage, exposure, nap] = await Promise.all([
    ask<Usage>(`/api/v1/clear/usage${query}`, { key }),
    ask<Exposure>(`/api/v1/clear/exposure${query}`, { key }),
    ask<Nap>(`/api/v1/nap/usage${query}`, { key }),
  ]);
  pairs('tiles', [
    ['Governed acts', String(usage.acts)],
    ['Tolls, USD', money(usage.tolls_usd)],
    ['Fees, USD', money(usage.fees_usd)],
    ['Due, USD', money(usage.total_usd)],
    ['Cleared, USD', money(usage.cleared_usd)],
    ['Tier', exposure.tier],
  ]);
  rows(
    'tolls',
    usage.tolls.map(({ toll, acts, usd }) => [toll, acts, money(usd)]),
  );
  rows(
    'tiers',
    exposure.tiers.map(({ tier, bps, acts, cleared_micro_usd, fees_micro_usd }) => [
      ...[tier, bps, acts, micro(cleared_micro_usd), micro(fees_micro_usd)],
    ]),
  );
  const left = exposure.to_next_tier_micro_usd;
  byId('next-tier', HTMLParagraphElement).textContent =
    left === null ? 'This is the last tier.' : `${micro(left)} USD to the next tier.`;
  rows(
    'nap',
    nap.skus.map(({ sku, acts, usd }) => [sku, acts, money(usd)]),
  );
  barChart(
    byId('toll-chart', HTMLDivElement),
    usage.tolls.map(({ toll, usd }) => [toll, Number(usd)]),
  );
  const log = usage.sandbox ? 'the sandbox' : 'the live log';
  say(`Tenant ${usage.tenant_ref} in ${log}, ${name}.`);
}

async function open(key: string): Promise<void> {
  say('Asking …');
  const [history, credits, slots] = await Promise.all([
    ask<{ data: readonly (Spent & { month: string })[] }>('/api/v1/clear/usage/history', { key }),
    ask<Credits>('/api/v1/clearing/credits', { key }),
    ask<{ data: readonly Slot[] }>('/api/v1/clearing/slots', { key }),
  ]);
  sessionStorage.setItem(STORED, key);
  form.reset();
  leave.hidden = false;
  byId('board', HTMLDivElement).hidden = false;
  months.replaceChildren(
    ...history.data.map(({ month: name }) => make('option', { value: name }, name)),
  );
  rows(
    'months',
    history.data.map(({ month: name, acts, tolls_usd, fees_usd, cleared_usd }) => [
      ...[name, acts, money(tolls_usd), money(fees_usd), money(cleared_usd)],
    ]),
  );
  historyChart(
    byId('chart', HTMLDivElement),
    history.data.toReversed().map((of) => ({ ...of, usd: Number(of.total_usd) })),
  );
  pairs('credits', [
    ['Granted, USD', micro(credits.granted_micro_usd)],
    ['Drawn, USD', micro(credits.drawn_micro_usd)],
    ['Left, USD', micro(credits.left_micro_usd)],
  ]);
  rows(
    'slots',
    slots.data.map(({ week, acts, sum_cleared_usd }) => [
      ...[week, acts, money(sum_cleared_usd), proofButton(week)],
    ]),
  );
  await month(key, months.value);
}

function proofButton(week: string): Node {
  const button = make('button', { type: 'button', class: 'quiet small' }, `Save ${week}`);
  button.addEventListener('click', () => {
    void busy([button as HTMLButtonElement], async () => {
      const path = `/api/v1/clearing/slots/${encodeURIComponent(week)}/proof`;
      save(`proof-${week}.json`, await askText(path, { key: kept() }), 'application/json');
    });
  });
  return button;
}

const kept = (): string => sessionStorage.getItem(STORED) ?? '';

function save(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make('a', { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

function forget(): void {
  sessionStorage.removeItem(STORED);
  leave.hidden = true;
  byId('board', HTMLDivElement).hidden = true;
  for (const id of ['months', 'tolls', 'tiers', 'nap', 'slots']) rows(id, []);
  for (const id of ['tiles', 'credits']) pairs(id, []);
  for (const id of ['chart', 'toll-chart']) byId(id, HTMLDivElement).replaceChildren();
  byId('next-tier', HTMLParagraphElement).textContent = '';
  say('The key is forgotten.');
}

/** Forgets an invalid key, and hides the data that an earlier key has loaded. */
async function tried(key: string): Promise<void> {
  try {
    await open(key);
  } catch (error) {
    forget();
    if (isRefused(error)) say(error.message, 'bad-word');
    else throw error;
  }
}

onSubmit(form, () => tried(field(form, 'key')));
leave.addEventListener('click', forget);
months.addEventListener('change', () => void busy([], () => month(kept(), months.value)));
const exported = byId('export', HTMLButtonElement);
exported.addEventListener('click', () => {
  void busy([exported], async () => {
    const path = `/api/v1/clear/usage?format=csv&month=${encodeURIComponent(months.value)}`;
    save(`usage-${months.value}.csv`, await askText(path, { key: kept() }), 'text/csv');
  });
});
if (kept() !== '') void busy([], () => tried(kept()));

// Charts by uPlot in the colours of the page. Each shows the numbers of the table next to it.

const HEIGHT = 220;
/** Room for a label such as `2026-11`, in pixels. */
const LABEL = 64;

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axes(labels: readonly string[]): uPlot.Axis[] {
  const line = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 } };
  return [
    {
      ...line,
      // Counted from the newest; those for which there is no room are left out.
      splits: ({ width }) => {
        const every = Math.max(1, Math.ceil((labels.length * LABEL) / width));
        return labels.flatMap((_, i) => ((labels.length - 1 - i) % every === 0 ? [i] : []));
      },
      values: (_plot, splits) => splits.map((at) => labels[at] ?? ''),
    },
    { ...line, size: 60 },
  ];
}

function draw(
  place: HTMLElement,
  labels: readonly string[],
  series: readonly { values: readonly number[]; bars: boolean; scale: string }[],
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
        ...series.map(({ bars: barred, scale }) => ({
          scale,
          width: barred ? 0 : 2,
          stroke: colour('--accent'),
          points: { show: !barred },
          ...(barred ? { fill: colour('--line') } : {}),
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

/** A chart of months: USD as a line, acts as bars. */
function historyChart(
  place: HTMLElement,
  months: readonly { readonly month: string; readonly acts: number; readonly usd: number }[],
): void {
  draw(
    place,
    months.map(({ month }) => month),
    [
      { values: months.map(({ acts }) => acts), bars: true, scale: 'acts' },
      { values: months.map(({ usd }) => usd), bars: false, scale: 'y' },
    ],
  );
}

/** A chart with one bar for each name, which is beside the bar. The table has the numbers. */
function barChart(
  place: HTMLElement,
  bars: readonly (readonly [name: string, value: number])[],
): void {
  const most = Math.max(...bars.map(([, value]) => value), Number.MIN_VALUE);
  place.replaceChildren(
    ...bars.map(([name, value]) => {
      const bar = make('div', { class: 'bar-of' });
      bar.style.width = `${String((value / most) * 100)}%`;
      return make('div', { class: 'lane' }, make('span', {}, name.replaceAll('_', ' ')), bar);
    }),
  );
}
