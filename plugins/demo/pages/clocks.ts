// /clocks/naic: the moment that is sealed in the log, and the times that run from it.

import { ask, byId, field, freshName, onSubmit, say, showReceipt } from '../../contract/page.ts';
import type { Receipt } from '../../contract/page.ts';

const WAIT_S = 20;
const HOUR_MS = 3_600_000;
const form = byId('seal', HTMLFormElement);
const rows = [...byId('clocks', HTMLTableElement).querySelectorAll<HTMLElement>('[data-hours]')];
let sealed_at_ms: number | null = null;

onSubmit(form, async () => {
  say('Sealing …');
  const body = { event_type: field(form, 'kind'), session_id: freshName() };
  const answer = await ask('/demo/calls/seal', { body, wait: WAIT_S });
  const receipt = (answer['receipt'] ?? answer) as Receipt;
  sealed_at_ms = Number(receipt['issued_at_ms']);
  await showReceipt(byId('receipts', HTMLDivElement), `Sealed ${field(form, 'kind')}`, receipt);
  for (const row of rows) {
    const due = new Date(sealed_at_ms + Number(row.dataset['hours']) * HOUR_MS);
    const cell = row.querySelector('[data-due]');
    if (cell !== null) cell.textContent = due.toISOString().replace('.000Z', 'Z');
  }
  tick();
  say(`Sealed at ${new Date(sealed_at_ms).toISOString()}; the clocks run.`);
});

function tick(): void {
  if (sealed_at_ms === null) return;
  for (const row of rows) {
    const left = sealed_at_ms + Number(row.dataset['hours']) * HOUR_MS - Date.now();
    const cell = row.querySelector('[data-left]');
    if (cell !== null) cell.textContent = left <= 0 ? 'over' : spell(left);
  }
}

function spell(left_ms: number): string {
  const seconds = Math.floor(left_ms / 1000);
  const parts = [seconds / 3600, (seconds % 3600) / 60, seconds % 60];
  return parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
}

setInterval(tick, 1000);
