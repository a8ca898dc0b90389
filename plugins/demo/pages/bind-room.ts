// /bind-room: a bind or renewal asked of the gate, and the human who decides what is held.

import {
  ask,
  byId,
  field,
  freshName,
  make,
  onSubmit,
  say,
  showReceipt,
} from '../../contract/page.ts';
import type { Body, Receipt } from '../../contract/page.ts';

const WAIT_S = 20;
const session_id = freshName();
const human = byId('human', HTMLFormElement);
const decision = byId('decision', HTMLDivElement);
const receipts = byId('receipts', HTMLDivElement);
let hold = '';

function micro(usd: string): number {
  const [whole = '0', cents = ''] = usd.split('.');
  return Number(whole) * 1_000_000 + Number(cents.padEnd(2, '0')) * 10_000;
}

function shown(outcome: string, answer: Body): void {
  const style = { PERMIT: 'good-word', HOLD: 'warn-word' }[outcome] ?? 'bad-word';
  const allowed = outcome === 'PERMIT' ? 'ALLOW' : 'BLOCK';
  const reasons = (answer['reasons'] as readonly string[]).join(', ');
  decision.replaceChildren(
    make('p', { class: 'large' }, make('strong', { class: style }, allowed), ` (${outcome})`),
    make('p', { class: 'hint' }, `Because: ${reasons}`),
  );
  hold = outcome === 'HOLD' ? String(answer['hold_id']) : '';
  human.hidden = hold === '';
}

const form = byId('ask', HTMLFormElement);
onSubmit(form, async () => {
  say('Asking the gate …');
  const message = field(form, 'message');
  const body = {
    action_type: field(form, 'action'),
    agent_id: 'agent:pas',
    amount_atomic: micro(field(form, 'premium')),
    currency: 'USD',
    reversibility: 'hard_to_reverse',
    domain: 'insurance',
    session_id,
    ...(message === '' ? {} : { message }),
  };
  await ask('/demo/calls/policy', { body: {} });
  const answer = await ask('/demo/calls/bind-gate', { body, wait: WAIT_S });
  const outcome = String(answer['outcome']);
  shown(outcome, answer);
  await showReceipt(receipts, `Decision ${outcome}`, answer['receipt'] as Receipt);
  if (answer['restraint_receipt'] !== undefined) {
    await showReceipt(receipts, 'Restraint', answer['restraint_receipt'] as Receipt);
  }
  say(hold === '' ? 'Decided.' : 'Held: it waits for you.');
});

onSubmit(human, async (by) => {
  say('Logging your decision …');
  const body = { action: by === 'refuse' ? 'refuse' : 'release', reason: field(human, 'reason') };
  const answer = await ask(`/demo/calls/holds/${hold}`, { body, wait: WAIT_S });
  const outcome = String(answer['outcome']);
  shown(outcome, answer);
  await showReceipt(receipts, 'Your resolution', answer['resolution_receipt'] as Receipt);
  await showReceipt(receipts, `Decision ${outcome}`, answer['receipt'] as Receipt);
  say('Decided by a human.');
});
