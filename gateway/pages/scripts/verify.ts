// /verify: reads what the user shows, checks it here, and shows what came of it. gateway/API.md §1.1, §2.5.

import {
  check,
  firstVerifiers,
  isJsonObject,
  isLogError,
  isUnanswerable,
  logOf,
  objectOf,
  originsOf,
  parsedOf,
  recognise,
  SIGN1,
  textOf,
  timeWords,
  trustFromKit,
  Unanswerable,
  verifierOf,
} from '../../../plugins/verifiers.ts';
import type { Question, Shown, Verifier } from '../../../plugins/verifiers.ts';
import { byId, make, texts } from '../../../plugins/contract/page.ts';
import { lineOf, resultOf, severalOf, undecided } from './verify/result.ts';
import type { Shape } from './verify/result.ts';
import { compareWithLast, findKit, pin, unpin } from './verify/trust.ts';
import type { FoundKit } from './verify/trust.ts';

/** What a text area shows of a file; more is checked and not shown. */
const SHOWN_CHARS = 100_000;

const form = byId('verify', HTMLFormElement);
const thing = byId('thing', HTMLTextAreaElement);
const file = byId('file', HTMLInputElement);
const result = byId('result', HTMLElement);
/** The chosen files, as long as the text area is not edited. */
let files: readonly Piece[] | null = null;
let found: FoundKit = { pinned: null, conflict: null, offline: true, served: [] };
let runs = 0;

/** Bytes that the user shows. */
interface Piece {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** What bytes were read as, or why they could not be. */
interface Read {
  readonly name: string;
  readonly shown: Shown | Error;
}

/** The verifiers that this page has loaded. */
let verifiers = firstVerifiers;

/** Whether the loaded verifiers check everything in these bytes. */
function isKnown(bytes: Uint8Array): boolean {
  try {
    const shown = recognise(verifiers, bytes);
    return shown.every(({ kind }) => kind === 'kit' || verifiers.some((one) => one.kind === kind));
  } catch (error) {
    return !isUnanswerable(error);
  }
}

/** Loads the other verifiers (verify-more.ts). */
async function loadMore(): Promise<void> {
  try {
    const more = (await import(form.dataset['more'] ?? '')) as {
      readonly verifiers: readonly Verifier[];
    };
    ({ verifiers } = more);
  } catch {
    throw new Unanswerable(
      'this is no receipt, absence document, invoice or checkpoint, and the part of this page that checks others did not load: try again with a connection',
    );
  }
}

/** The document types of plugins from other packages, whose verifiers this page does not have. */
const elsewhere = JSON.parse(form.dataset['elsewhere'] ?? '[]') as readonly {
  readonly plugin: string;
  readonly title: string;
  readonly schemas: readonly string[];
}[];

/** Where the document in these bytes can be checked, if not here; null for what is no such document. */
function placeToCheck(bytes: Uint8Array): Unanswerable | null {
  const text = new TextDecoder().decode(bytes);
  if (!/^\s*\{/.test(text)) return null;
  const schema = textOf(parsedOf(text).schema);
  const found = elsewhere.find(({ schemas }) => schemas.includes(schema));
  if (found === undefined) return null;
  const { title, plugin } = found;
  return new Unanswerable(
    `this is ${title}, a document of the plugin ${plugin}, and this page does not run its code: check it with PLUGINS=PACKAGE npx actlog verify FILE --kit kit.json, where the package of the plugin is installed`,
  );
}

/** Shows the parts and says that this run is over. */
function show(...parts: readonly HTMLElement[]): void {
  result.replaceChildren(...parts);
  result.dataset['run'] = String(++runs);
}

/** Counts the changes of the input, so that a check of an earlier input shows nothing. */
let edition = 0;

/** Removes the verdict: it is about an input that has changed. */
function forget(): void {
  edition += 1;
  if (result.childElementCount === 0) return;
  result.replaceChildren(make('p', { class: 'hint' }, 'The input has changed: verify it again.'));
}

async function verify(): Promise<void> {
  const current = ++edition;
  const pieces = files ?? [{ name: '', bytes: new TextEncoder().encode(thing.value) }];
  const read = (await Promise.all(pieces.map(readPiece))).flat();
  // A kit first: what is shown with it is checked with it.
  const kits = read.filter(isKit);
  const things = read.filter((one) => !isKit(one));
  const results: Shape[] = [];
  for (const { name, shown } of [...kits, ...things]) {
    results.push({ name, ...(await resultFor(shown)) });
  }
  if (current !== edition) return;
  const told = things.length === 0 ? results.slice(-1) : results.slice(kits.length);
  const [only, ...others] = told;
  show(...(others.length === 0 ? (only?.parts ?? []) : severalOf(told)));
}

const isKit = ({ shown }: Read): boolean => !(shown instanceof Error) && shown.kind === 'kit';

/** What a file or the text area holds; a witness about several surfaces is as many things. */
async function readPiece({ name, bytes }: Piece): Promise<Read[]> {
  try {
    if (verifiers === firstVerifiers && !isKnown(bytes)) await loadMore();
    const all = recognise(verifiers, bytes);
    const documents = all.length === 1 ? all : aboutAsked(all);
    return documents.map((shown, i) => ({
      name: all.length === 1 ? name : `${name} ${String(i + 1)}`.trim(),
      shown,
    }));
  } catch (error) {
    const place = isUnanswerable(error) ? placeToCheck(bytes) : null;
    return [{ name, shown: place ?? (error as Error) }];
  }
}

/** Of documents about several surfaces, those that the user's question is about; all of them without one. */
function aboutAsked(documents: readonly Shown[]): readonly Shown[] {
  const asked = askedQuestion();
  if (asked === null) return documents;
  const key = JSON.stringify(asked.key);
  const about = documents.filter(
    ({ document }) => JSON.stringify(objectOf(objectOf(document).question).key) === key,
  );
  if (about.length === 0) throw new Unanswerable(`none of these documents is about ${key}`);
  return about;
}

/** What came of one thing. */
async function resultFor(shown: Shown | Error): Promise<Omit<Shape, 'name'>> {
  try {
    if (shown instanceof Error) throw shown;
    if (shown.kind === 'kit') {
      found = { ...found, pinned: pin(textOf(shown.document), 'file'), conflict: null };
      showTrust();
      const words = 'This is a kit: it is pinned now, and what you show next is checked with it.';
      return { valid: null, parts: [undecided(words)] };
    }
    const { pinned } = found;
    if (pinned === null) {
      throw new Unanswerable(
        'there is no kit to check with: the service does not answer. Drop one here',
      );
    }
    const { kit } = pinned;
    const trust = trustFromKit(kit, logOf(verifiers, shown, originsOf(kit)));
    const { title } = verifierOf(verifiers, shown);
    const finding = await check(verifiers, shown, trust, {
      kit,
      receipt: byId('beside', HTMLTextAreaElement).value,
      ...questionOf(shown, title),
    });
    if (finding.untold === true) throw new Unanswerable(finding.summary);
    const parts = resultOf(title, finding);
    const { valid, seen } = finding;
    if (valid && seen !== undefined) {
      const line = await compareWithLast(seen.note, trust, found.served.includes(seen.origin));
      parts[1]?.querySelector('.checks')?.append(lineOf(line));
      if (line.outcome === 'failed') {
        parts.unshift(split());
        return { valid: false, parts };
      }
    }
    return { valid, parts };
  } catch (error) {
    if (isUnanswerable(error)) return { valid: null, parts: [undecided(error.message)] };
    if (!isLogError(error)) throw error;
    if (error !== shown)
      return { valid: null, parts: [undecided(`this cannot be read: ${error.message}`)] };
    const reason = `this is not JSON as receipts have it: ${error.message}`;
    return { valid: false, parts: [undecided(reason, 'INVALID')] };
  }
}

/** The user's question, or else, of an absence document, its own: the summary says which question it was. */
function questionOf(shown: Shown, title: string): { readonly question?: Question } {
  const question = askedQuestion();
  if (shown.kind === 'absence') {
    const own = parsedOf(shown.document).question;
    if (question !== null) return { question };
    return isJsonObject(own ?? null) ? { question: own as unknown as Question } : {};
  }
  if (question === null) return {};
  // A good receipt would pass for the answer.
  throw new Unanswerable(
    `your question is not answered: it is about an absence document, and this is ${title}`,
  );
}

/** What the user asks of an absence document; null when nothing is typed. */
function askedQuestion(): Question | null {
  const [key, from, to] = ['key', 'from', 'to'].map((id) =>
    byId(id, HTMLInputElement).value.trim(),
  );
  if (key === '' && from === '' && to === '') return null;
  try {
    return { key: JSON.parse(key ?? '') as string[], from_ms: instant(from), to_ms: instant(to) };
  } catch {
    throw new Unanswerable(
      'your question is not one: the key is a JSON array, the times are dates or milliseconds',
    );
  }
}

/** A time as milliseconds or as a date; a time of day without a zone is UTC, as everything that this page shows. */
function instant(text = ''): number {
  const zoned = /[Tt ]\d/.test(text) && !/(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text) ? `${text}Z` : text;
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(zoned);
  if (Number.isNaN(ms)) throw new Error('no time');
  return ms;
}

const split = (): HTMLElement =>
  make(
    'div',
    { class: 'verdict bad', 'data-verdict': 'SPLIT' },
    make('h2', {}, 'Two logs under one name'),
    make(
      'p',
      {},
      'The log showed this browser another tree before. Keep this document and tell others.',
    ),
  );

function showTrust(): void {
  const { pinned, conflict, offline } = found;
  const whose = pinned?.source === 'file' ? 'a kit of yours' : "the service's own kit";
  texts(
    '[data-kit]',
    pinned === null ? 'none' : `${whose}, pinned ${timeWords(Date.parse(pinned.since))}`,
  );
  texts('[data-origins]', pinned === null ? '' : originsOf(pinned.kit).join(', '));
  texts(
    '[data-kit-state]',
    conflict !== null
      ? `The service's kit contradicts the pinned one: ${conflict}. The pinned one is used.`
      : offline
        ? 'The service does not answer now; what is pinned is used.'
        : pinned?.source === 'file'
          ? "What the service's own kit says is not looked at."
          : 'It agrees with what the service says now.',
  );
  document.querySelector('[data-kit-state]')?.classList.toggle('bad-word', conflict !== null);
}

async function lookUp(): Promise<void> {
  const { searchParams } = new URL(location.href);
  const chain = searchParams.get('key');
  if (chain !== null && chain !== '') {
    await lookUpChain(chain, searchParams.get('log') ?? 'live', searchParams.get('n') ?? '1');
    return;
  }
  const entry_id = searchParams.get('entry_id');
  if (entry_id === null || entry_id === '') return;
  const query = new URLSearchParams({ entry_id });
  const log = searchParams.get('log');
  if (log !== null) query.set('log', log);
  try {
    const answer = await fetch(`/receipt/lookup?${query.toString()}`, {
      headers: { accept: 'application/json' },
    });
    thing.value = JSON.stringify(await answer.json(), null, 2);
  } catch {
    show(undecided('The service does not answer. Drop the receipt here instead.'));
    return;
  }
  await verify();
}

/** Fetches the list of a chain with the proof that it is complete, and checks it. */
async function lookUpChain(key: string, kind: string, number: string): Promise<void> {
  const place = `/log/${encodeURIComponent(kind)}/${encodeURIComponent(number)}`;
  try {
    const answer = await fetch(`${place}/proof/lookup?${new URLSearchParams({ key }).toString()}`);
    if (!answer.ok) throw new Error(String(answer.status));
    thing.value = JSON.stringify(await answer.json(), null, 2);
  } catch {
    show(undecided('The service gave no proof about this chain. Drop a document here instead.'));
    return;
  }
  await verify();
}

async function take(chosen: FileList | null | undefined): Promise<void> {
  const taken = await Promise.all(
    Array.from(chosen ?? [], async (one) => ({
      name: one.name,
      bytes: new Uint8Array(await one.arrayBuffer()),
    })),
  );
  const [first, ...others] = taken;
  if (first === undefined) return;
  files = taken;
  const { name, bytes } = first;
  const text = new TextDecoder().decode(bytes.subarray(0, SHOWN_CHARS));
  const binary = bytes[0] === SIGN1 ? `(${name}: ${String(bytes.length)} bytes of COSE)` : text;
  thing.value = others.length === 0 ? binary : `(${taken.map((one) => one.name).join(', ')})`;
  await verify();
}

/** An example to check: the receipt of the kit itself, which this browser has also without a connection. */
async function example(change: (text: string) => string): Promise<void> {
  const receipt = found.pinned?.kit.receipt ?? null;
  if (receipt === null) {
    show(undecided('There is no kit to take an example from: the service does not answer.'));
    return;
  }
  files = null;
  thing.value = change(JSON.stringify(receipt, null, 2));
  await verify();
  result.scrollIntoView({ block: 'nearest' });
}

/** Changes the last character of the first 64 hex digits, such as those of a hash that the log signed. */
const changed = (text: string): string =>
  text.replace(/[0-9a-f]{64}/, (hash) => hash.slice(0, -1) + (hash.endsWith('0') ? '1' : '0'));

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void verify();
});
form.addEventListener('input', ({ target }) => {
  if (target === file) return;
  if (target === thing) files = null;
  forget();
});
file.addEventListener('change', () => void take(file.files).then(() => (file.value = '')));
byId('example', HTMLButtonElement).addEventListener('click', () => void example((text) => text));
byId('changed', HTMLButtonElement).addEventListener('click', () => void example(changed));
// Files may be dropped anywhere on the page; the browser would leave it to show them.
for (const kind of ['dragenter', 'dragover']) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    document.documentElement.classList.add('dropping');
  });
}
document.addEventListener('dragleave', ({ relatedTarget }) => {
  if (relatedTarget === null) document.documentElement.classList.remove('dropping');
});
document.addEventListener('drop', (event) => {
  event.preventDefault();
  document.documentElement.classList.remove('dropping');
  const { dataTransfer } = event;
  if (dataTransfer === null) return;
  if (dataTransfer.files.length > 0) {
    void take(dataTransfer.files);
    return;
  }
  const text = dataTransfer.getData('text/plain');
  if (text === '') return;
  files = null;
  thing.value = text;
  void verify();
});
byId('unpin', HTMLButtonElement).addEventListener('click', () => {
  unpin();
  void start();
});

async function start(): Promise<void> {
  found = await findKit();
  showTrust();
  document.documentElement.dataset['ready'] = 'true';
}

// Keeps the page for use without a connection. A browser that refuses it shows the page from the service.
if ('serviceWorker' in navigator) {
  navigator.serviceWorker.register('/sw.js', { scope: '/verify' }).then(
    () => (document.documentElement.dataset['kept'] = 'true'),
    () => undefined,
  );
}
await start();
await lookUp();
