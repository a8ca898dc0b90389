// Code shared by the scripts of pages, exported to plugins as `actlog/plugin-page`. Runs in browsers.
//
// Values are inserted as text by DOM calls and never as markup, so that a value cannot inject HTML. `addCopying` adds
// buttons that copy; `ask` calls the service; `say`, `busy` and `onSubmit` show progress; `receiptCard` shows a receipt and the checks that the browser
// made with the keys of the offline kit.

import { trustFromKit, verifyReceipt } from '../../log/verify.ts';
import type { Check, Json, JsonObject, ReceiptResult, Trust } from '../../log/verify.ts';

export { verifyAbsence, verifyReceipt } from '../../log/verify.ts';
export type { Json, JsonObject, Question } from '../../log/verify.ts';

/** Sets the text of every element that matches. */
export function texts(selector: string, text: string): void {
  for (const element of document.querySelectorAll(selector)) element.textContent = text;
}

/** The element with this id and class: `byId('text', HTMLTextAreaElement)`. Throws if the page has none. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no #${id} of this kind`);
  return element;
}

/** Creates an element with attributes and children. The DOM escapes the texts. */
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

/**
 * Adds a button that copies to each block of code, and shows the buttons with `data-copy`, which copy the text of that
 * attribute, or the address of the page if it is empty.
 */
export function addCopying(): void {
  for (const block of document.querySelectorAll('pre')) {
    const place = make('div', { class: 'copyable' });
    const button = make('button', { type: 'button', class: 'quiet small' }, 'Copy');
    block.replaceWith(place);
    place.append(block, button);
    copies(button, () => block.textContent);
  }
  for (const button of document.querySelectorAll<HTMLElement>('[data-copy]')) {
    button.hidden = false;
    const { copy = '' } = button.dataset;
    copies(button, () => (copy === '' ? location.href : copy));
  }
}

function copies(button: HTMLElement, text: () => string): void {
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(text()).then(
      () => (button.textContent = 'Copied'),
      () => (button.textContent = 'This browser does not allow it'),
    );
  });
}

/** A JSON object of the service. */
export type Body = Readonly<Record<string, unknown>>;

const BRAND = Symbol.for('actlog.Refused');

/** An error answer of the service, with the message of its error envelope. Status 0 means that there was no answer. */
export class Refused extends Error {
  readonly [BRAND] = true;
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Whether a thrown value is a `Refused`. */
export const isRefused = (thrown: unknown): thrown is Refused =>
  thrown instanceof Error && BRAND in thrown;

/** Options of a request. */
export interface Asking {
  readonly body?: Body;
  readonly key?: string;
  /** Seconds to wait for a checkpoint that covers the appended entries. */
  readonly wait?: number;
}

/**
 * Sends a request and parses the JSON answer. With a body it is a POST.
 *
 * @throws Refused with the message of the service, or if there was no answer
 */
export async function ask<T = Body>(path: string, asking: Asking = {}): Promise<T> {
  const response = await respond(path, asking);
  const answered = (await response.json().catch(() => null)) as T | null;
  if (answered === null) throw new Refused(response.status, 'The answer is not JSON.');
  return answered;
}

/** Like `ask`, for an answer that is text. */
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

/** A random name: 16 characters of a to z and 0 to 9. */
export function freshName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => (byte % 36).toString(36)).join('');
}

/** Shows a line of text about what the page is doing. */
export function say(text: string, style: 'hint' | 'bad-word' = 'hint'): void {
  const line = byId('progress', HTMLParagraphElement);
  line.className = style;
  line.textContent = text;
}

/** Runs an action with the buttons disabled. Shows the message of an error. */
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

/**
 * Calls `act` with the value of the pressed button when the form is submitted, in place of the browser's submission.
 */
export function onSubmit(form: HTMLFormElement, act: (by: string) => Promise<void>): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const by = event.submitter instanceof HTMLButtonElement ? event.submitter.value : '';
    void busy(form.querySelectorAll('button'), () => act(by));
  });
}

/** The trimmed value of a form's field. */
export function field(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** A receipt in an answer. */
export type Receipt = JsonObject;

let kit: Promise<Json> | null = null;

/** The keys of a log, from the offline kit, which is fetched once per page load. */
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

/** Renders checks as a list. */
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

/** Renders a receipt with the result of its checks; expanded if a check failed. */
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

/** A link to the page of a receipt; plain text if the permalink is not a receipt path. */
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

/** Checks a receipt and inserts its card at the top of an element. */
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
