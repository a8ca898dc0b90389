// /demo/hero: the whole story on real calls of the sandbox, and the checks of all of it in this browser.

import {
  ask,
  busy,
  byId,
  checked,
  freshName,
  make,
  receiptCard,
  say,
  trustIn,
  verifyAbsence,
} from '../../contract/page.ts';
import type { Body, JsonObject, Question, Receipt } from '../../contract/page.ts';

const WAIT_S = 20;

interface Story {
  readonly message: string;
  readonly surfaces: readonly [string, string];
  readonly agent_id: string;
  readonly action_type: string;
  readonly amount_atomic: number;
  readonly currency: string;
}

/** Receipts by what they are about, in the order of the story. */
const receipts = new Map<string, Receipt>();
let absence: { readonly document: JsonObject; readonly question: Question } | null = null;

const place = byId('story', HTMLOListElement);
const story = JSON.parse(place.dataset['story'] ?? '{}') as Story;
const run = byId('run', HTMLButtonElement);
const tamper = byId('tamper', HTMLButtonElement);

const call = (name: string, body: Body): Promise<Body> =>
  ask(`/demo/calls/${name}`, { body, wait: WAIT_S });

function outcomeOf(step: string): HTMLElement {
  const found = place.querySelector(`[data-step="${step}"] [data-outcome]`);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no step ${step}`);
  return found;
}

function told(step: string, word: string, style: string, text: string): void {
  outcomeOf(step).replaceChildren(
    make('p', {}, make('strong', { class: style }, word), ` ${text}`),
  );
  outcomeOf(step).closest('li')?.classList.add('done');
}

function kept(title: string, receipt: unknown): Receipt {
  receipts.set(title, receipt as Receipt);
  return receipt as Receipt;
}

async function play(): Promise<void> {
  receipts.clear();
  for (const step of place.querySelectorAll('.step')) step.classList.remove('done');
  byId('verdict', HTMLElement).hidden = true;
  const entity = `demo:${freshName()}`;
  const session_id = freshName();
  const [paid, exported] = story.surfaces;
  await call('policy', {});

  say('Declaring the surfaces …');
  const manifest = await call('publish', { entity, surfaces: story.surfaces });
  const declared = kept('Manifest', manifest['receipt']);
  told('publish', 'DECLARED', 'good-word', `${story.surfaces.join(' and ')} of ${entity}`);

  say('Classifying the message …');
  const { message } = story;
  const answered = await call('classify', { message, domain: 'hiring', session_id });
  const judged = kept('Classification', answered);
  const rules = (judged['rule_ids'] as readonly string[]).join(', ');
  told('classify', judged['classification'] as string, 'bad-word', `“${message}” (${rules})`);

  say('Asking the gate …');
  const { agent_id, action_type, amount_atomic, currency } = story;
  const act = { action_type, agent_id, amount_atomic, currency, entity, surface: paid };
  const decision = await call('gate', { ...act, reversibility: 'irreversible', session_id });
  kept('Decision', decision['receipt']);
  kept('Restraint', decision['restraint_receipt']);
  told(
    'gate',
    String(decision['outcome']),
    'warn-word',
    (decision['reasons'] as string[]).join(', '),
  );

  say('A human looks at it …');
  const released = await call(`holds/${String(decision['hold_id'])}`, {
    action: 'release',
    reason: 'A visitor of the demonstration released it.',
  });
  kept('Resolution', released['resolution_receipt']);
  kept('Permit', released['receipt']);
  told('release', String(released['outcome']), 'good-word', 'single use, for this act alone');

  say('Binding the payment …');
  const digest = crypto.getRandomValues(new Uint8Array(32));
  const payment_hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const preimage = decision['preimage'] as Body;
  const entry_id = String(released['decision_entry_id']);
  const bound = await call('payment', { ...act, ...preimage, payment_hash, entry_id, session_id });
  kept('Payment twin', bound['receipt']);
  told('payment', 'BOUND', 'good-word', `${payment_hash.slice(0, 16)}… to the permitted act`);

  say('Asking what did not happen …');
  const from_ms = Number(declared['issued_at_ms']) + 1;
  const to_ms = Number(receipts.get('Payment twin')?.['issued_at_ms']);
  const asked = { entity, surface: exported, from_ms, to_ms };
  const { witness } = await call('witness', asked);
  const document = witness as JsonObject & { readonly verdict: string; readonly statement: string };
  absence = { document, question: { key: ['surface', entity, exported], from_ms, to_ms } };
  kept('Absence document', document['receipt']);
  told('absence', document.verdict, 'good-word', `${exported}: ${document.statement}`);

  await verifyAll();
}

async function verifyAll(): Promise<void> {
  say('Checking in this browser …');
  const out = outcomeOf('verify');
  out.replaceChildren();
  let failed = 0;
  for (const [title, receipt] of receipts) {
    const result = await checked(receipt);
    if (!result.valid) failed += 1;
    out.append(receiptCard(title, receipt, result));
  }
  const shown = await absenceVerdict();
  out.append(make('p', {}, shown.text));
  if (!shown.holds) failed += 1;
  out.closest('li')?.classList.add('done');
  finish(failed);
}

/** The document is checked against this page's own question, not the one that it says it answers. */
async function absenceVerdict(): Promise<{ holds: boolean; text: string }> {
  if (absence === null) return { holds: false, text: 'There is no absence document.' };
  const { document, question } = absence;
  const { origin } = document['receipt'] as { readonly origin: string };
  try {
    const { verdict } = verifyAbsence(document, question, await trustIn(origin));
    return { holds: true, text: `The absence document supports the verdict ${verdict}.` };
  } catch (error) {
    return { holds: false, text: `The absence document fails: ${String(error)}` };
  }
}

function finish(failed: number): void {
  const verdict = byId('verdict', HTMLElement);
  const title = byId('verdict-title', HTMLHeadingElement);
  const good = failed === 0;
  verdict.className = `verdict ${good ? 'good' : 'bad'}`;
  title.textContent = good
    ? `All ${String(receipts.size)} receipts verify`
    : `${String(failed)} of ${String(receipts.size)} do not verify`;
  byId('verdict-text', HTMLParagraphElement).textContent = good
    ? 'Your browser recomputed every hash and signature with the keys of the offline kit. The service was asked for nothing but the keys.'
    : 'One changed character is enough: the hash is another, and no signature of the log covers it.';
  verdict.hidden = false;
  say(good ? 'Done.' : 'Done: something was changed.');
  tamper.disabled = false;
  run.textContent = 'Run it again';
}

run.addEventListener('click', () => void busy([run, tamper], play));
tamper.addEventListener('click', () => {
  const judged = receipts.get('Classification');
  if (judged === undefined) return;
  const { classification } = judged;
  // One letter, as a person who forges a receipt might change it: VIOLATION becomes VIOLATIOM.
  const changed = typeof classification === 'string' ? `${classification.slice(0, -1)}M` : 'M';
  receipts.set('Classification', { ...judged, classification: changed });
  void busy([run, tamper], verifyAll);
});
if (new URLSearchParams(location.search).get('autorun') === '1') void busy([run, tamper], play);
