// /scan/exhibit-d: lines classified into one session, and that session as Exhibit D.

import {
  ask,
  byId,
  checked,
  field,
  freshName,
  make,
  onSubmit,
  say,
  showReceipt,
} from '../../contract/page.ts';
import type { Receipt } from '../../contract/page.ts';

const WAIT_S = 20;
const MAX_LINES = 8;
const form = byId('scan', HTMLFormElement);
const rows = byId('classified', HTMLTableSectionElement);
const exhibit = byId('exhibit', HTMLTableSectionElement);
let pack: Pack | null = null;

interface Row {
  readonly id: string;
  readonly label: string;
  readonly status: string;
  readonly value: number | string | Readonly<Record<string, number>> | null;
}

interface Pack {
  readonly exhibit_d: { readonly title: string; readonly rows: readonly Row[] };
  readonly applicability_note: string;
  readonly receipt: Receipt;
}

const STYLES: Readonly<Record<string, string>> = { SAFE: 'good-word', ERROR: 'warn-word' };

onSubmit(form, async () => {
  const lines = field(form, 'lines')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, MAX_LINES);
  const session_id = freshName();
  const { domain = 'general' } = form.dataset;
  rows.replaceChildren();
  byId('receipts', HTMLDivElement).replaceChildren();
  for (const [i, message] of lines.entries()) {
    say(`Line ${String(i + 1)} of ${String(lines.length)} …`);
    const receipt = await ask('/demo/calls/classify', {
      body: { message, domain, session_id },
      wait: WAIT_S,
    });
    const { valid } = await checked(receipt as Receipt);
    const word = String(receipt['classification']);
    rows.append(
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, message),
        make('td', { class: STYLES[word] ?? 'bad-word' }, word),
        make('td', {}, valid ? 'verified here' : 'does NOT verify'),
      ),
    );
  }
  say('Mapping the session …');
  const found = await ask<Pack>(`/demo/calls/exhibits/${session_id}`, { wait: WAIT_S });
  pack = found;
  byId('exhibit-caption', HTMLTableCaptionElement).textContent = found.exhibit_d.title;
  exhibit.replaceChildren(...found.exhibit_d.rows.map(rowOf));
  byId('note', HTMLParagraphElement).textContent = found.applicability_note;
  byId('result', HTMLElement).hidden = false;
  await showReceipt(byId('receipts', HTMLDivElement), 'Seal of the pack', found.receipt);
  say('Scanned, sealed and verified.');
  byId('result-title', HTMLHeadingElement).focus();
});

function rowOf({ id, label, status, value }: Row): HTMLElement {
  const style = status === 'NOT EVIDENCED' ? 'warn-word' : 'good-word';
  return make(
    'tr',
    {},
    make('th', { scope: 'row' }, id),
    make('td', {}, label),
    make('td', { class: style }, status),
    make('td', {}, worded(value)),
  );
}

/** Counts as `insurance 2, hiring 1`; the rest as it is. */
function worded(value: Row['value']): string {
  if (value === null) return '';
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([name, count]) => `${name} ${String(count)}`)
    .join(', ');
}

byId('print', HTMLButtonElement).addEventListener('click', () => {
  print();
});
byId('save', HTMLButtonElement).addEventListener('click', () => {
  if (pack === null) return;
  const url = URL.createObjectURL(new Blob([JSON.stringify(pack)], { type: 'application/json' }));
  make('a', { href: url, download: 'exhibit-pack.json' }).click();
  URL.revokeObjectURL(url);
});
