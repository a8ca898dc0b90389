// The page /verify for tests: gives it documents, and reads the verdict and the checks.

import assert from 'node:assert/strict';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Running } from '../gateway/running.ts';
import type { Sight } from './browser.ts';

export const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;{{7*7}}';

/** The members of a receipt that the tests read. */
export interface Receipt {
  readonly entry_id: string;
  readonly index: number;
  readonly issued_at_ms: number;
}

/** A restraint receipt of the live log with hostile text in it, and with a proof. */
export async function receipt(running: Running): Promise<Receipt> {
  const { status, json } = await running.post(
    '/api/v1/restraint',
    { decision_reason: 'no consent', action_not_taken: HOSTILE },
    { key: running.live, headers: { Prefer: 'wait=20' } },
  );
  assert.equal(status, 200);
  return json.receipt as Receipt;
}

/** Runs `act`, and returns the verdict that the page then shows. */
export async function verdictAfter(page: Page, act: () => Promise<unknown>): Promise<string> {
  const before = await page.getAttribute('#result', 'data-run');
  await act();
  await page.waitForFunction(
    (run) => document.querySelector<HTMLElement>('#result')?.dataset['run'] !== run,
    before ?? undefined,
  );
  return (await page.getAttribute('#result [data-verdict]', 'data-verdict')) ?? '';
}

/** Gives the page a file, and returns the verdict. */
export const show = (page: Page, text: string | Uint8Array, name = 'shown.json'): Promise<string> =>
  verdictAfter(page, () =>
    page.setInputFiles('#file', {
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(text),
    }),
  );

/** The page, after its script and its kit have loaded. */
export async function openReady(
  sight: Sight,
  path = '/verify',
  options: BrowserContextOptions = {},
): Promise<Page> {
  const page = await sight.open(path, options);
  await page.waitForSelector('html[data-ready]');
  return page;
}

/** The outcome of a check. */
export const outcome = (page: Page, check: string): Promise<string | null> =>
  page.getAttribute(`[data-check="${check}"]`, 'data-outcome');
