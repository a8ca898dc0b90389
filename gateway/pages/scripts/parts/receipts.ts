// Receipts as pages show them: checked in this browser with the keys of the offline kit, each check in a line.

import { trustFromKit, verifyReceipt } from '../../../../log/verify.ts';
import type { Check, Json, JsonObject, ReceiptResult, Trust } from '../../../../log/verify.ts';
import { ask } from './ask.ts';
import { make } from './dom.ts';

/** A receipt as answers have it. */
export type Receipt = JsonObject;

let kit: Promise<Json> | null = null;

/** The keys of the log that a receipt names, from the kit; the kit is fetched once for each visit. */
export async function trustIn(origin: string): Promise<Trust> {
  kit ??= ask<Json>('/export/offline-verify-kit.json');
  return trustFromKit(await kit, origin);
}

/** Checks a receipt in this browser. */
export async function checked(receipt: Receipt): Promise<ReceiptResult> {
  const { origin } = receipt;
  return verifyReceipt(receipt, await trustIn(typeof origin === 'string' ? origin : ''));
}

const NAMES: Readonly<Record<Check['name'], string>> = {
  document_form: 'Form',
  entry_hash: 'Entry hash',
  origin: 'Log',
  checkpoint: 'Checkpoint',
  inclusion: 'Inclusion',
  cosignatures: 'Witnesses',
  signature: 'Signature',
  disclosures: 'Disclosures',
};

const WORDS: Readonly<Record<Check['outcome'], readonly [string, string]>> = {
  ok: ['holds', 'good-word'],
  failed: ['FAILS', 'bad-word'],
  not_shown: ['not shown', 'warn-word'],
};

/** The checks as a list. */
function checkList(checks: readonly Check[]): HTMLElement {
  return make(
    'ul',
    { class: 'checks' },
    ...checks.map(({ name, outcome, detail }) => {
      const [word, style] = WORDS[outcome];
      const verdict = make('span', { class: style }, word);
      return make('li', {}, NAMES[name], make('span', {}, verdict, ` ${detail}`));
    }),
  );
}

/** A receipt with what this browser found, open when something fails. */
export function receiptCard(title: string, receipt: Receipt, result: ReceiptResult): HTMLElement {
  const word = result.valid
    ? make('span', { class: 'good-word' }, 'verified here')
    : make('span', { class: 'bad-word' }, 'does NOT verify');
  const card = make(
    'details',
    { class: 'receipt' },
    make('summary', {}, `${title}: `, word),
    make('p', {}, ...linkOf(receipt)),
    checkList(result.checks),
    make('pre', { tabindex: '0' }, make('code', {}, JSON.stringify(receipt, null, 2))),
  );
  if (!result.valid) card.setAttribute('open', '');
  return card;
}

/** A link to the receipt's own page; an address that is none of this service stays text. */
function linkOf({ permalink, entry_id }: Receipt): (Node | string)[] {
  const id = typeof entry_id === 'string' ? entry_id : '';
  const path = typeof permalink === 'string' ? pathHere(permalink) : null;
  return path === null ? [`Entry ${id}`] : ['Entry ', make('a', { href: path }, id)];
}

function pathHere(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { pathname, search } = new URL(address);
  return /^\/r\/[0-9a-f-]{36}$/.test(pathname) ? pathname + search : null;
}

/** Checks a receipt and puts its card at the top of a place. */
export async function showReceipt(
  place: HTMLElement,
  title: string,
  receipt: Receipt,
): Promise<boolean> {
  const result = await checked(receipt);
  place.querySelector(':scope > .hint')?.remove();
  place.prepend(receiptCard(title, receipt, result));
  return result.valid;
}
