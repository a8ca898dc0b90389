// /clear/embed/…: a page in a frame of any site. It verifies receipts that the site posts to it, and can itself call
// the sandbox. It never handles a key. The page documents the messages.

import {
  ask,
  busy,
  byId,
  field,
  freshName,
  onSubmit,
  receiptCard,
  say,
  trustIn,
  verifyReceipt,
} from '../../contract/page.ts';
import type { Body, Receipt } from '../../contract/page.ts';

const WAIT_S = 20;
/** More characters than any receipt has. */
const MAX_CHARS = 4_000_000;
const { vertical = '' } = document.body.dataset;
const form = byId('try', HTMLFormElement);
const session_id = freshName();
const inFrame = window.parent !== window;
byId('about', HTMLElement).hidden = inFrame;

const GOOD: ReadonlySet<unknown> = new Set(['PERMIT', 'SAFE']);
const WAITING: ReadonlySet<unknown> = new Set(['HOLD', 'ERROR', null]);

/** The decision of a receipt, as the page and the messages name it. */
function outcomeOf({ outcome, classification }: Receipt): string | null {
  const word = outcome ?? classification;
  return typeof word === 'string' ? word : null;
}

async function shown(title: string, receipt: Receipt): Promise<Body> {
  const { origin } = receipt;
  const result = verifyReceipt(receipt, await trustIn(typeof origin === 'string' ? origin : ''));
  const outcome = outcomeOf(receipt);
  const style = !result.valid ? 'bad' : GOOD.has(outcome) ? 'good' : 'bad';
  byId('verdict', HTMLElement).className = `verdict ${WAITING.has(outcome) ? 'unknown' : style}`;
  byId('verdict-title', HTMLHeadingElement).textContent = result.valid
    ? (outcome ?? 'Logged')
    : 'Does not verify';
  byId('verdict-text', HTMLParagraphElement).textContent = result.valid
    ? 'The receipt was verified in this browser.'
    : 'Do not rely on it: a check failed.';
  byId('verdict', HTMLElement).hidden = false;
  byId('helplines', HTMLElement).hidden = !(result.valid && outcome === 'CRISIS');
  byId('receipts', HTMLDivElement).prepend(receiptCard(title, receipt, result));
  return { entry_id: result.entry_id, valid: result.valid, outcome };
}

function toParent(message: Body, origin = '*'): void {
  if (inFrame) window.parent.postMessage(message, origin);
}

addEventListener('message', ({ data, source, origin }: MessageEvent<unknown>) => {
  const message = data as { readonly type?: unknown; readonly receipt?: unknown } | null;
  // Only messages of the parent page are accepted, and their content is untrusted until it is verified.
  if (!inFrame || source !== window.parent || message?.type !== 'actlog.show') return;
  const { receipt } = message;
  if (typeof receipt !== 'object' || receipt === null) return;
  void busy([], async () => {
    if (JSON.stringify(receipt).length > MAX_CHARS) throw new Error('The receipt is too long.');
    const said = await shown('Receipt', receipt as Receipt);
    say('Verified the receipt of the page.');
    toParent({ type: 'actlog.verified', ...said }, origin === 'null' ? '*' : origin);
  });
});

async function asked(): Promise<Receipt> {
  const act = field(form, 'act');
  if (vertical === 'hiring') return hired(act);
  const body = {
    action_type: act,
    agent_id: 'agent:embed',
    amount_atomic: Number(field(form, 'amount')) * 1_000_000,
    currency: vertical === 'bind_gate' ? 'USD' : 'USDC',
    session_id,
  };
  await ask('/demo/calls/policy', { body: {} });
  const path = vertical === 'bind_gate' ? '/demo/calls/bind-gate' : '/demo/calls/gate';
  return (await ask(path, { body, wait: WAIT_S }))['receipt'] as Receipt;
}

/** The classification. If it is against the act, the restraint is logged first. */
async function hired(act: string): Promise<Receipt> {
  const body = { message: field(form, 'message'), domain: 'hiring', session_id };
  const judged = await ask<Receipt>('/demo/calls/classify', { body, wait: WAIT_S });
  const word = outcomeOf(judged);
  if (word === 'VIOLATION' || word === 'CRISIS') {
    const restraint = await ask('/demo/calls/restraint', {
      body: { action_not_taken: act, decision_reason: `the message is ${word}`, session_id },
      wait: WAIT_S,
    });
    await shown(`Not done: ${act}`, restraint['receipt'] as Receipt);
  }
  return judged;
}

onSubmit(form, async () => {
  say('Asking the sandbox …');
  const said = await shown('Receipt of the sandbox', await asked());
  say('Asked, logged and verified.');
  toParent({ type: 'actlog.result', ...said });
});

byId('copy', HTMLButtonElement).addEventListener('click', () => {
  const snippet = byId('snippet', HTMLElement).textContent;
  navigator.clipboard.writeText(snippet).then(
    () => {
      say('Copied.');
    },
    () => {
      getSelection()?.selectAllChildren(byId('snippet', HTMLElement));
      say('The text is selected. Copy it with the keyboard.');
    },
  );
});

new ResizeObserver(() => {
  toParent({ type: 'actlog.height', height: document.documentElement.scrollHeight });
}).observe(document.body);
toParent({ type: 'actlog.ready', vertical });
