// /hiring-proof, /mortgage-proof, /chatbot-proof: a message classified, and the act that was not done because of it.

import { ask, byId, field, freshName, onSubmit, say, showReceipt } from '../../contract/page.ts';
import type { Receipt } from '../../contract/page.ts';

const WAIT_S = 20;
const session_id = freshName();
const form = byId('proof', HTMLFormElement);
const receipts = byId('receipts', HTMLDivElement);
const { domain = 'general', act = '', agent = '' } = form.dataset;

for (const sample of form.querySelectorAll<HTMLButtonElement>('[data-sample]')) {
  sample.addEventListener('click', () => {
    const message = byId('message', HTMLTextAreaElement);
    message.value = sample.dataset['sample'] ?? '';
    message.focus();
  });
}

const TOLD: Readonly<Record<string, readonly [string, string]>> = {
  SAFE: [
    'good',
    'The classifier found nothing against the message; the receipt names the classifier.',
  ],
  VIOLATION: ['bad', 'It is not to be done, and that it was not done has a receipt of its own.'],
  CRISIS: [
    'bad',
    'A crisis outranks everything else: help is shown above, and the reply was withheld.',
  ],
  ERROR: ['unknown', 'The message could not be judged, and what cannot be judged is never SAFE.'],
};

onSubmit(form, async () => {
  say('Classifying …');
  const message = field(form, 'message');
  const judged = await ask('/demo/calls/classify', {
    body: { message, domain, session_id },
    wait: WAIT_S,
  });
  const classification = String(judged['classification']);
  byId('helplines', HTMLElement).hidden = classification !== 'CRISIS';
  const [style, text] = TOLD[classification] ?? ['unknown', ''];
  byId('verdict', HTMLElement).className = `verdict ${style}`;
  byId('verdict-title', HTMLHeadingElement).textContent = classification;
  byId('verdict-text', HTMLParagraphElement).textContent = text;
  byId('verdict', HTMLElement).hidden = false;
  const good = await showReceipt(receipts, `Classification ${classification}`, judged as Receipt);
  if (classification === 'SAFE' || classification === 'ERROR') {
    say(good ? 'Classified, and verified in this browser.' : 'The receipt does not verify.');
    return;
  }
  say('Logging what was not done …');
  const restraint = await ask('/demo/calls/restraint', {
    body: {
      action_not_taken: act,
      decision_reason: `the message is ${classification}`,
      capability_proof: { classification_entry_id: judged['entry_id'] },
      agent_id: agent,
      session_id,
    },
    wait: WAIT_S,
  });
  await showReceipt(receipts, `Not done: ${act}`, restraint['receipt'] as Receipt);
  say('Classified and restrained; both receipts are verified in this browser.');
});
