// The page /verify as a test uses it: gives it documents and reads what it says of them, and of each check.

import assert from 'node:assert/strict';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Running } from '../gateway/running.ts';
import type { Sight } from './browser.ts';

export const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;{{7*7}}';

/** What the tests read of a receipt. */
export interface Receipt {
  readonly entry_id: string;
  readonly index: number;
  readonly issued_at_ms: number;
}

/** A restraint receipt of the live log with hostile text in it, under a checkpoint. */
export async function receipt(running: Running): Promise<Receipt> {
  const { status, json } = await running.post(
    '/api/v1/restraint',
    { decision_reason: 'no consent', action_not_taken: HOSTILE },
    { key: running.live, headers: { Prefer: 'wait=20' } },
  );
  assert.equal(status, 200);
  return json.receipt as Receipt;
}

/** Runs what `act` starts, and gives the verdict that the page then shows. */
export async function verdictAfter(page: Page, act: () => Promise<unknown>): Promise<string> {
  const before = await page.getAttribute('#result', 'data-run');
  await act();
  await page.waitForFunction(
    (run) => document.querySelector<HTMLElement>('#result')?.dataset['run'] !== run,
    before ?? undefined,
  );
  return (await page.getAttribute('#result [data-verdict]', 'data-verdict')) ?? '';
}

/** Gives the page a file, and gives what it then says of it. */
export const show = (page: Page, text: string | Uint8Array, name = 'shown.json'): Promise<string> =>
  verdictAfter(page, () =>
    page.setInputFiles('#file', {
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(text),
    }),
  );

/** The page, once its script and its kit are there. */
export async function openReady(
  sight: Sight,
  path = '/verify',
  options: BrowserContextOptions = {},
): Promise<Page> {
  const page = await sight.open(path, options);
  await page.waitForSelector('html[data-ready]');
  return page;
}

/** What came of one check. */
export const outcome = (page: Page, check: string): Promise<string | null> =>
  page.getAttribute(`[data-check="${check}"]`, 'data-outcome');
