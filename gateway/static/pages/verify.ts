// /verify: reads what the user shows, checks it here, and shows what came of it. behaviour.md §1.1, §2.5.

import { LogError } from '../../../log/verify.ts';
import type { Question } from '../../../log/verify.ts';
import { byId, make, texts } from '../dom.ts';
import { check, claimedOrigin } from '../verify/check.ts';
import { compareWithLast } from '../verify/consistency.ts';
import { checkAir, checkCose, coseOrigin } from '../verify/cose.ts';
import type { Finding } from '../verify/finding.ts';
import { lineOf, resultOf, undecided } from '../verify/result.ts';
import { KINDS, recognise, Unknown } from '../verify/shown.ts';
import type { Shown } from '../verify/shown.ts';
import { findKit, originsOf, pin, trustOf, unpin } from '../verify/trust.ts';
import type { FoundKit } from '../verify/trust.ts';

/** What a text area shows of a file; more is checked and not shown. */
const SHOWN_CHARS = 100_000;

const form = byId('verify', HTMLFormElement);
const thing = byId('thing', HTMLTextAreaElement);
const file = byId('file', HTMLInputElement);
const result = byId('result', HTMLElement);
/** The bytes of a chosen file, as long as the text area is not edited. */
let bytes: Uint8Array | null = null;
let found: FoundKit = { pinned: null, conflict: null, offline: true, served: [] };
let runs = 0;

/** Shows the parts and says that this run is over. */
function show(...parts: readonly HTMLElement[]): void {
  result.replaceChildren(...parts);
  result.dataset['run'] = String(++runs);
}

async function verify(): Promise<void> {
  try {
    const shown = recognise(bytes ?? new TextEncoder().encode(thing.value));
    if (shown.kind === 'kit') {
      found = { ...found, pinned: pin(shown.text, 'file'), conflict: null };
      showTrust();
      show(
        undecided('This is a kit: it is pinned now, and what you show next is checked with it.'),
      );
      return;
    }
    const { pinned } = found;
    if (pinned === null) {
      throw new Unknown(
        'There is no kit to check with: the service does not answer. Drop one here.',
      );
    }
    const claimed = shown.kind === 'cose' ? coseOrigin(shown.bytes) : claimedOrigin(shown);
    const origins = originsOf(pinned.kit);
    const trust = trustOf(pinned.kit, origins.find((one) => one === claimed) ?? origins[0] ?? '');
    const finding = await findingOf(shown, trust, pinned.kit);
    const parts = resultOf(KINDS[shown.kind], finding);
    const { valid, seen } = finding;
    if (valid && seen !== undefined) {
      const line = await compareWithLast(seen.note, trust, found.served.includes(seen.origin));
      parts[1]?.querySelector('.checks')?.append(lineOf(line));
      if (line.outcome === 'failed') parts.unshift(split());
    }
    show(...parts);
  } catch (error) {
    if (error instanceof LogError) {
      show(undecided(`This cannot be read: ${error.message}.`));
    } else if (error instanceof Unknown) {
      show(undecided(error.message));
    } else {
      throw error;
    }
  }
}

type Kit = NonNullable<FoundKit['pinned']>['kit'];

async function findingOf(
  shown: Exclude<Shown, { kind: 'kit' }>,
  trust: Parameters<typeof check>[1],
  kit: Kit,
): Promise<Finding> {
  const receipt = byId('beside', HTMLTextAreaElement).value;
  switch (shown.kind) {
    case 'air':
      return checkAir(shown.document, trust, kit);
    case 'cose':
      return checkCose(shown.bytes, trust, kit, receipt);
    default:
      return check(shown, trust, { receipt, question: askedQuestion() });
  }
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
    throw new Unknown(
      'Your question is not one: the key is a JSON array, the times are dates or milliseconds.',
    );
  }
}

function instant(text = ''): number {
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
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
  texts('[data-kit]', pinned === null ? 'none' : `${whose}, pinned ${pinned.since}`);
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

async function take(chosen: File | undefined): Promise<void> {
  if (chosen === undefined) return;
  bytes = new Uint8Array(await chosen.arrayBuffer());
  const text = new TextDecoder().decode(bytes.subarray(0, SHOWN_CHARS));
  thing.value =
    bytes[0] === 0xd2 ? `(${chosen.name}: ${String(bytes.length)} bytes of COSE)` : text;
  await verify();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void verify();
});
thing.addEventListener('input', () => (bytes = null));
file.addEventListener('change', () => void take(file.files?.[0]).then(() => (file.value = '')));
form.addEventListener('dragover', (event) => event.preventDefault());
form.addEventListener('drop', (event) => {
  if (event.dataTransfer?.files.length === 0) return;
  event.preventDefault();
  void take(event.dataTransfer?.files[0]);
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

await start();
await lookUp();
