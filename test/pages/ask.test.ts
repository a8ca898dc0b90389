// /ask as a claims handler uses it: from the home page to an answer, with the mouse, with the keyboard, and without
// JavaScript.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Clock } from '../gateway/running.ts';
import type { Page } from 'playwright-core';
import { calm, follow, look, pagesSuite, tabTo, validHtml } from './browser.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const clock = new Clock();

pagesSuite(
  '/ask',
  (sight) => {
    const isChecked = async (page: Page): Promise<void> => {
      await page.waitForSelector('#answer[data-checked]');
      assert.match((await page.textContent('#checked')) ?? '', /^Checked by this browser/);
    };
    /** The home page, in a browser whose clock agrees with that of the service. */
    const open = async (): Promise<Page> => {
      const page = await sight().open('/', { timezoneId: 'UTC' });
      await page.clock.setFixedTime(clock.wall() + 60_000);
      return page;
    };
    const ask = (query: string): string => `/ask?entity=acme&surface=policy_bind&${query}`;

    before(async function () {
      if (this.test?.parent?.pending === true) return;
      const { running } = sight();
      const { live: key } = running;
      const headers = { Prefer: 'wait=20' };
      const post = async (path: string, body: object): Promise<void> => {
        const { status, text } = await running.post(path, body, { key, headers });
        assert.equal(status, 200, text);
      };
      // The manifest is published at 09:00 UTC, the act is at 13:00, and the browser opens the page a day later.
      const to = (hour: number): void => {
        const now = clock.wall();
        clock.pass(Math.floor(now / DAY) * DAY + DAY + hour * HOUR - now);
      };
      to(9);
      await post('/api/v1/astl/publish', { entity: 'acme', surfaces: ['policy_bind', 'payment'] });
      clock.pass(4 * HOUR);
      const message = 'Bind the policy of the warehouse';
      await post('/api/v1/classify', { message, entity: 'acme', surface: 'policy_bind' });
      to(14);
      await post('/api/v1/restraint', {
        decision_reason: 'no consent',
        action_not_taken: 'payment',
      });
    });

    it('leads from the home page to an answer in three clicks, and the browser verifies the answer', async () => {
      const page = await open();
      await look(page, 'home');
      await follow(page, 'a:text("Did something happen, or not?")');
      await look(page, 'ask');
      await follow(page, '.chip:text("acme")');
      await look(page, 'ask-entity');
      await follow(page, '[aria-label="Binding a policy"] .chip:text("Yesterday afternoon")');
      await isChecked(page);
      assert.match(
        (await page.textContent('.verdict')) ?? '',
        /Yes, once\s+1 act of acme was logged between 12:00 and 18:00 UTC on \d+ \w+ \d{4}/,
      );
      assert.equal(await page.locator('.acts li a').count(), 1);
      assert.equal(await page.locator('.lane rect.acts').count(), 1);
      assert.equal(await page.locator('.lane rect.declared').count(), 1);
      assert.ok(!page.url().includes('when='));
      const { width = 0 } = (await page.locator('.lane rect.acts').boundingBox()) ?? {};
      assert.ok(width > 0);
      await look(page, 'ask-present');
      const download = page.waitForEvent('download');
      await page.click('#save');
      const saved = await readFile(await (await download).path(), 'utf8');
      assert.equal(JSON.parse(saved).witness.verdict, 'PRESENT');
      await follow(page, '.acts a');
      assert.match(page.url(), /\/r\/[0-9a-f-]{36}$/);
      calm(page);
      await page.context().close();
    });

    it('answers no, or that the log cannot tell, with the keyboard only', async () => {
      const page = await open();
      const enter = async (selector: string): Promise<void> => {
        await tabTo(page, selector);
        const loaded = page.waitForEvent('load');
        await page.keyboard.press('Enter');
        await loaded;
      };
      await enter('a.button[href="/ask"]');
      await enter('.chip[href="/ask?entity=acme"]');
      await enter('.chip[href*="surface=policy_bind"][href*="when=yesterday-evening"]');
      await isChecked(page);
      assert.match(
        (await page.textContent('.verdict')) ?? '',
        /No policy was bound by acme between 18:00 and 24:00 UTC/,
      );
      await look(page, 'ask-absent');
      const from = await page.inputValue('#from');
      await page.goto('/ask?entity=acme');
      await tabTo(page, '#surface');
      await page.keyboard.type('policy_bind');
      // A date input has separate fields for its parts; their meaning is tested above.
      await page.fill('#from', from.replace('T18', 'T06'));
      await page.fill('#to', from.replace('T18', 'T07'));
      await page.focus('#to');
      await enter('#ask button');
      await isChecked(page);
      assert.match(
        (await page.textContent('.verdict')) ?? '',
        /cannot be said\s+Nothing was logged by acme between 06:00 and 07:00 UTC/,
      );
      calm(page);
      await page.context().close();
    });

    it('uses the time zone of the question, and explains invalid input', async () => {
      const { running } = sight();
      const text = async (query: string) => (await running.get(ask(query))).text;
      assert.match(
        await text('from=2026-03-29T02:30&to=2026-03-29T03:30&tz=Europe/Berlin'),
        /twice or never: give it with its offset/,
      );
      assert.match(
        await text('from=2025-11-21T15:00&to=2025-11-21T16:00&tz=europe/berlin'),
        /between 15:00 and 16:00 CET on 21 November 2025/,
      );
      assert.match(
        await text('from=2025-11-21T16:00&to=2025-11-21T15:00&tz=UTC'),
        /From is after to/,
      );
      assert.match(await text('from=x&to=y&tz=UTC'), /From is no time such as/);
      assert.match(await text('from=2025-11-21&to=2025-11-22&tz=Mars/Base'), /Tz is no time zone/);
      assert.match(await text('from=2099-01-01&to=2099-01-02&tz=UTC'), /cannot be said yet/);
      const hostile = '<img src=x>';
      const query = new URLSearchParams({ entity: hostile, surface: hostile, from: hostile });
      const { status, text: page } = await running.get(`/ask?${query.toString()}`);
      assert.equal(status, 200);
      assert.ok(!page.includes(hostile));
      const wrong = await running.get(ask('when=tomorrow'));
      assert.equal(wrong.json.error.param, 'when');
      await validHtml((await running.get('/ask?entity=acme')).text);
    });

    it('works without JavaScript', async () => {
      const page = await sight().open(ask('when=yesterday-afternoon'), {
        javaScriptEnabled: false,
      });
      assert.match((await page.textContent('.verdict')) ?? '', /Yes, once/);
      assert.equal(await page.getAttribute('noscript a', 'download'), 'proof.json');
      await page.context().close();
    });
  },
  { clock },
);
