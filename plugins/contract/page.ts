// What the scripts of pages share, those of plugins included: `actlog/plugin-page`. Runs in browsers.
//
// Values become text by DOM calls, never markup, so that the content security policy of pages holds. `ask` calls the
// service; `say`, `busy` and `onSubmit` show what a page is doing; `receiptCard` shows a receipt with the checks that
// this browser made of it, by the keys of the offline kit.

import { trustFromKit, verifyReceipt } from '../../log/verify.ts';
import type { Check, Json, JsonObject, ReceiptResult, Trust } from '../../log/verify.ts';

export { verifyAbsence, verifyReceipt } from '../../log/verify.ts';
export type { Json, JsonObject, Question } from '../../log/verify.ts';

/** Sets the text of every element that matches. */
export function texts(selector: string, text: string): void {
  for (const element of document.querySelectorAll(selector)) element.textContent = text;
}

/** The element of this id and kind, `byId('text', HTMLTextAreaElement)`; a page without it is a mistake. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no #${id} of this kind`);
  return element;
}

/** A new element with attributes and children; texts are escaped by the DOM itself. */
export function make(
  tag: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** JSON of the service; pages read it by name and show it as text. */
export type Body = Readonly<Record<string, unknown>>;

/** A refusal, in the words of the error envelope. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What a request may have beside its path. */
export interface Asking {
  readonly body?: Body;
  readonly key?: string;
  /** Seconds to wait for the checkpoint over what is appended. */
  readonly wait?: number;
}

/**
 * Asks; a body makes it a POST.
 *
 * @throws Refused with the message of the service, or with why there was no answer
 */
export async function ask<T = Body>(path: string, asking: Asking = {}): Promise<T> {
  const response = await respond(path, asking);
  const answered = (await response.json().catch(() => null)) as T | null;
  if (answered === null) throw new Refused(response.status, 'The answer is no JSON.');
  return answered;
}

/** The same, for an answer that is text. */
export async function askText(path: string, asking: Asking = {}): Promise<string> {
  return (await respond(path, asking)).text();
}

async function respond(path: string, { body, key, wait }: Asking): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (key !== undefined) headers['x-api-key'] = key;
  if (wait !== undefined) headers['prefer'] = `wait=${String(wait)}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(path, { ...request, headers, cache: 'no-store' }).catch(() => null);
  if (response === null) throw new Refused(0, 'The service cannot be reached.');
  if (!response.ok) throw new Refused(response.status, await reasonOf(response));
  return response;
}

async function reasonOf(response: Response): Promise<string> {
  const answered = (await response.json().catch(() => null)) as {
    readonly error?: { readonly message?: unknown };
  } | null;
  const message = answered?.error?.message;
  return typeof message === 'string' ? message : `The service answered ${String(response.status)}.`;
}

/** A name that no other visit has: 16 characters of a to z and 0 to 9. */
export function freshName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => (byte % 36).toString(36)).join('');
}

/** Says what is going on. */
export function say(text: string, style: 'hint' | 'bad-word' = 'hint'): void {
  const line = byId('progress', HTMLParagraphElement);
  line.className = style;
  line.textContent = text;
}

/** Runs an act of the page with its buttons off; a refusal is told in the service's words. */
export async function busy(buttons: Iterable<HTMLButtonElement>, act: () => Promise<void>) {
  const held = [...buttons].filter((button) => !button.disabled);
  for (const button of held) button.disabled = true;
  try {
    await act();
  } catch (error) {
    say(error instanceof Error ? error.message : 'Something went wrong.', 'bad-word');
  } finally {
    for (const button of held) button.disabled = false;
  }
}

/** Calls `act` with the form's button when it is sent, and keeps the page. */
export function onSubmit(form: HTMLFormElement, act: (by: string) => Promise<void>): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const by = event.submitter instanceof HTMLButtonElement ? event.submitter.value : '';
    void busy(form.querySelectorAll('button'), () => act(by));
  });
}

/** The value of a field of a form. */
export function field(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}

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
