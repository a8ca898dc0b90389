// /console: lists of a tenant with what can be done about their rows, as panels that the page declares, and events as
// they are logged. The key is kept in the sessionStorage of the tab and sent as a header only.

import {
  ask,
  busy,
  byId,
  field,
  isRefused,
  make,
  onSubmit,
  say,
} from '../../../plugins/contract/page.ts';
import type { Json, JsonObject } from '../../../plugins/contract/page.ts';

const STORED = 'actlog-key';
/** Rows of a panel, and lines of the live list. */
const ROWS = 20;
const LIVE = 30;
const RETRY_MS = 3000;
/** A burst of events reloads the panels once. */
const SETTLE_MS = 400;

interface Action {
  readonly name: string;
  readonly path: string;
  readonly body: JsonObject;
  readonly ask?: { readonly member: string; readonly question: string };
}
interface Panel {
  readonly id: string;
  readonly title: string;
  readonly list: string;
  readonly empty: string;
  readonly heading: string;
  readonly receipt?: string;
  readonly facts: readonly { readonly name: string; readonly member: string }[];
  readonly actions?: readonly Action[];
}

/** The answer of a list. */
interface List {
  readonly data: readonly JsonObject[];
  readonly has_more: boolean;
}

const form = byId('enter', HTMLFormElement);
const leave = byId('leave', HTMLButtonElement);
const board = byId('board', HTMLDivElement);
const live = byId('live', HTMLOListElement);
const kept = (): string => sessionStorage.getItem(STORED) ?? '';
const isSandbox = (): boolean => kept().startsWith('svc_sandbox_');

const sections = [...document.querySelectorAll<HTMLElement>('[data-panel]')].map((section) => ({
  section,
  panel: JSON.parse(section.dataset['panel'] ?? '{}') as Panel,
}));

/** A member of a row, or of a member of it. */
function memberOf(row: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = row;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}

/** Local times with their zone. */
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** A duration in seconds, or from two hours on in hours. */
const spanOf = (seconds: number): string =>
  seconds < 7200
    ? `${seconds.toLocaleString()} s`
    : `${(seconds / 3600).toLocaleString(undefined, { maximumFractionDigits: 1 })} h`;

function wordsOf(member: string, value: Json): string {
  // Times since 1970; a smaller number is a duration.
  if (typeof value === 'number' && member.endsWith('_ms')) {
    return value > 1e11 ? moments.format(value) : spanOf(value / 1000);
  }
  if (typeof value === 'number') return value.toLocaleString();
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  const words = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return words ? (value as readonly string[]).join(', ') : JSON.stringify(value);
}

/** A cell of a table whose rows become cards on a narrow screen. */
const cellOf = (label: string, ...children: readonly (Node | string)[]): HTMLElement =>
  make('td', { 'data-label': label }, make('div', {}, ...children));

function tableOf(
  title: string,
  columns: readonly string[],
  rows: readonly HTMLElement[],
  kind = '',
): HTMLElement {
  const heads = columns.map((name) =>
    name === '' ? make('td', {}) : make('th', { scope: 'col' }, name),
  );
  return make(
    'table',
    { class: `stack lined ${kind}` },
    make('caption', { class: 'visually-hidden' }, title),
    make('thead', {}, make('tr', {}, ...heads)),
    make('tbody', {}, ...rows),
  );
}

/** The facts of a panel that some row has. */
const factsOf = ({ facts }: Panel, rows: readonly JsonObject[]): Panel['facts'] =>
  facts.filter(({ member }) => rows.some((row) => isSaid(memberOf(row, member))));

const isSaid = (value: Json | undefined): value is Json =>
  value !== undefined && value !== null && value !== '';

function panelTable(panel: Panel, rows: readonly JsonObject[]): HTMLElement {
  const facts = factsOf(panel, rows);
  const acts = panel.actions === undefined ? [] : [''];
  const columns = ['What', ...facts.map(({ name }) => name), ...acts];
  return tableOf(
    panel.title,
    columns,
    rows.map((row) => rowOf(panel, facts, row)),
    // A sentence and its outcome need no labels beside them on a narrow screen.
    panel.receipt !== undefined && panel.actions === undefined ? 'compact' : '',
  );
}

function rowOf(panel: Panel, facts: Panel['facts'], row: JsonObject): HTMLElement {
  const heading = memberOf(row, panel.heading);
  const id = panel.receipt === undefined ? undefined : memberOf(row, panel.receipt);
  const title = typeof heading === 'string' ? heading : typeof id === 'string' ? id : 'Entry';
  const href = typeof id === 'string' ? `/r/${id}${isSandbox() ? '?log=sandbox' : ''}` : null;
  const cells = facts.map(({ name, member }) => {
    const value = memberOf(row, member);
    if (!isSaid(value)) return cellOf(name);
    const words = wordsOf(member, value);
    return cellOf(name, name === 'Outcome' ? make('span', { class: 'tag' }, words) : words);
  });
  const { actions = [] } = panel;
  if (actions.length > 0) {
    const place = make('p', { class: 'actions' });
    place.append(...actions.map((action) => buttonOf(panel, action, row, title, place)));
    cells.push(cellOf('', place));
  }
  const head = cellOf('', href === null ? title : make('a', { href }, title));
  head.classList.add('wide');
  return make('tr', {}, head, ...cells);
}

function buttonOf(
  panel: Panel,
  action: Action,
  row: JsonObject,
  title: string,
  place: HTMLElement,
): HTMLElement {
  const attributes = {
    type: 'button',
    class: 'quiet small',
    'aria-label': `${action.name}: ${title}`,
  };
  const button = make('button', attributes, action.name) as HTMLButtonElement;
  button.addEventListener('click', () => {
    const { ask: question } = action;
    if (question === undefined) void perform(panel, action, row, {}, button);
    else place.replaceWith(questionOf(panel, action, row, question));
  });
  return button;
}

/** The form that asks for the member that an action needs; Cancel shows the row again. */
function questionOf(
  panel: Panel,
  action: Action,
  row: JsonObject,
  { member, question }: { readonly member: string; readonly question: string },
): HTMLElement {
  const id = `ask-${panel.id}`;
  const input = make('input', {
    id,
    type: 'text',
    required: '',
    autocomplete: 'off',
  }) as HTMLInputElement;
  const send = make('button', { type: 'submit' }, action.name) as HTMLButtonElement;
  const cancel = make('button', { type: 'button', class: 'quiet' }, 'Cancel');
  const asking = make(
    'form',
    {},
    make('label', { for: id }, question),
    input,
    make('p', { class: 'actions' }, send, cancel),
  );
  asking.addEventListener('submit', (event) => {
    event.preventDefault();
    void perform(panel, action, row, { [member]: input.value }, send);
  });
  cancel.addEventListener('click', () => void load(panel));
  setTimeout(() => input.focus());
  return asking;
}

async function perform(
  panel: Panel,
  { name, path, body }: Action,
  row: JsonObject,
  more: JsonObject,
  button: HTMLButtonElement,
): Promise<void> {
  const address = path.replace(/\{(\w+)\}/g, (_, member: string) => {
    const value = memberOf(row, member);
    return encodeURIComponent(typeof value === 'string' ? value : '');
  });
  await busy([button], async () => {
    await ask(address, { key: kept(), body: { ...body, ...more } });
    say(`${name}: done.`);
    await load(panel);
  });
}

/** Loads a panel. A key that may not see it does not get it. */
async function load(panel: Panel): Promise<void> {
  const found = sections.find((one) => one.panel.id === panel.id);
  const rows = found?.section.querySelector('.rows');
  if (found === undefined || rows === null || rows === undefined) return;
  const tab = tabOf(panel.id);
  try {
    const { data, has_more } = await ask<List>(panel.list, { key: kept() });
    const empty = make('p', { class: 'hint' }, panel.empty);
    rows.replaceChildren(data.length === 0 ? empty : panelTable(panel, data.slice(0, ROWS)));
    const count = tab?.querySelector('[data-count]');
    if (count) {
      count.textContent = data.length === 0 ? '' : String(data.length) + (has_more ? '+' : '');
    }
    if (tab !== null) tab.hidden = false;
  } catch (error) {
    if (!isRefused(error) || error.status !== 403) throw error;
    if (tab !== null) tab.hidden = true;
  }
}

const tabs = [...document.querySelectorAll<HTMLAnchorElement>('[data-tab]')];
const tabOf = (id: string): HTMLAnchorElement | null =>
  tabs.find((tab) => tab.dataset['tab'] === id) ?? null;

/** Shows the panel that the address names, or else the first one that the key may see. */
function choose(): void {
  const open = tabs.filter(({ hidden }) => !hidden);
  const chosen = open.find(({ hash }) => hash === location.hash) ?? open[0];
  for (const tab of tabs) {
    const section = document.querySelector<HTMLElement>(tab.hash);
    if (section !== null) section.hidden = tab !== chosen;
    if (tab === chosen) tab.setAttribute('aria-current', 'true');
    else tab.removeAttribute('aria-current');
  }
}

addEventListener('hashchange', choose);

/** Loads every panel whose form nobody is writing in. */
async function loadAll(): Promise<void> {
  const free = sections.filter(({ section }) => section.querySelector('form') === null);
  await Promise.all(free.map(({ panel }) => load(panel)));
}

interface Service {
  readonly logs: readonly JsonObject[];
  readonly witnesses: readonly {
    readonly log: string;
    readonly witnesses: readonly JsonObject[];
  }[];
  readonly replication: {
    readonly role?: string;
    readonly leader?: string | null;
    readonly applied?: Readonly<Record<string, number>>;
    readonly lag_ms?: number;
  };
  readonly uploads: readonly JsonObject[];
  readonly components: readonly { readonly name: string; readonly fault: string | null }[];
  readonly failed_deliveries: number;
  readonly event_streams: number;
  readonly uptime_ms: number;
}

/** Rows with the same members as a table, with the names of the members in words. */
function listOf(title: string, rows: readonly JsonObject[], none: string): HTMLElement[] {
  const members = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const words = members.map((member) => member.replace(/_ms$/, '').replaceAll('_', ' '));
  const items = rows.map((row) =>
    make(
      'tr',
      {},
      ...members.map((member, i) => {
        const value = row[member];
        return cellOf(words[i] ?? '', isSaid(value) ? wordsOf(member, value) : '');
      }),
    ),
  );
  const shown =
    rows.length === 0 ? make('p', { class: 'hint' }, none) : tableOf(title, words, items);
  return [make('h3', {}, title), make('div', { class: 'scroll', tabindex: '0' }, shown)];
}

/** The operator's view, for a key of the role `service`. */
async function loadService(): Promise<void> {
  const state = await ask<Service>('/api/v1/service', { key: kept() });
  const { failed_deliveries, event_streams, uptime_ms, replication } = state;
  const { role, leader = null, applied = {}, lag_ms = 0 } = replication;
  const alone = 'This service runs as one process, without a cluster.';
  const sizes = Object.entries(applied).map(
    ([log, size]) => [`entries of ${log.replace('-', '/')}`, size] as const,
  );
  const node = role === undefined ? [] : [{ role, leader, lag_ms, ...Object.fromEntries(sizes) }];
  const witnesses = state.witnesses.flatMap((one) =>
    one.witnesses.map((witness) => ({ log: one.log, ...witness })),
  );
  const parts = state.components.map(({ name, fault }) => ({
    part: name,
    state: fault ?? 'works',
  }));
  byId('service-state', HTMLDivElement).replaceChildren(
    ...listOf('Logs and checkpoints', state.logs, 'No log is served.'),
    ...listOf('Witnesses', witnesses, 'This service has no witnesses.'),
    ...listOf('Replication', node, alone),
    ...(state.uploads.length === 0 ? [] : listOf('Object store', state.uploads, '')),
    ...listOf('Queues', [{ failed_deliveries, event_streams, running_for_ms: uptime_ms }], ''),
    ...listOf('Parts', parts, 'No part is known.'),
  );
}

let stream: AbortController | null = null;
let settle: ReturnType<typeof setTimeout> | undefined;

const status = (words: string): void => {
  byId('stream', HTMLParagraphElement).textContent = words;
};

/** A call, because the signal changes while the stream is read. */
const hasLeft = (signal: AbortSignal): boolean => signal.aborted;

/** Reads the events until the user leaves, and connects again after a failure. */
async function follow(signal: AbortSignal): Promise<void> {
  while (!hasLeft(signal)) {
    try {
      const headers = { 'x-api-key': kept(), accept: 'text/event-stream' };
      const answer = await fetch('/api/v1/events', { headers, signal, cache: 'no-store' });
      if (!answer.ok || answer.body === null) throw new Error(String(answer.status));
      status('Connected: new entries appear here by themselves.');
      board.dataset['stream'] = 'open';
      await readEvents(answer.body);
    } catch {
      // A stop of the service, a network that went away, or the user who left: the next round tells.
    }
    delete board.dataset['stream'];
    if (hasLeft(signal)) return;
    status('Not connected; trying again.');
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function readEvents(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>; // the DOM types of the two disagree about ArrayBuffer
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (text + value).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) onEvent(part);
  }
}

function onEvent(part: string): void {
  const [, kind] = /^event: (\w+)$/m.exec(part) ?? [];
  const [, data = '{}'] = /^data: (.*)$/m.exec(part) ?? [];
  if (kind !== 'entry') return;
  const { entry_id, sentence, issued_at_ms } = JSON.parse(data) as Record<string, string | number>;
  const href = `/r/${String(entry_id)}${isSandbox() ? '?log=sandbox' : ''}`;
  const time = new Date(Number(issued_at_ms)).toLocaleTimeString(undefined, { timeStyle: 'long' });
  live.prepend(make('li', {}, make('a', { href }, time), make('span', {}, String(sentence))));
  while (live.childElementCount > LIVE) live.lastElementChild?.remove();
  clearTimeout(settle);
  settle = setTimeout(() => void loadAll().catch(() => undefined), SETTLE_MS);
}

async function open(key: string): Promise<void> {
  say('Asking …');
  const { tenant_id, role } = await ask<{ tenant_id: string; role: string }>('/api/v1/me', { key });
  sessionStorage.setItem(STORED, key);
  form.reset();
  await loadAll();
  const operates = role === 'service';
  const tab = tabOf('service');
  if (tab !== null) tab.hidden = !operates;
  if (operates) await loadService();
  choose();
  byId('sandbox', HTMLParagraphElement).hidden = !isSandbox();
  form.hidden = true;
  leave.hidden = false;
  board.hidden = false;
  say(`Tenant ${tenant_id}, role ${role}, ${isSandbox() ? 'sandbox' : 'live log'}.`);
  stream?.abort();
  stream = new AbortController();
  void follow(stream.signal);
}

function forget(words: string, style: 'hint' | 'bad-word' = 'hint'): void {
  sessionStorage.removeItem(STORED);
  stream?.abort();
  form.hidden = false;
  leave.hidden = true;
  board.hidden = true;
  live.replaceChildren();
  for (const { section } of sections) section.querySelector('.rows')?.replaceChildren();
  byId('service-state', HTMLDivElement).replaceChildren();
  say(words, style);
}

async function tried(key: string): Promise<void> {
  try {
    await open(key);
  } catch (error) {
    if (!isRefused(error)) throw error;
    forget(error.message, 'bad-word');
  }
}

onSubmit(form, () => tried(field(form, 'key')));
leave.addEventListener('click', () => forget('The key is forgotten.'));
if (kept() !== '') void tried(kept());
