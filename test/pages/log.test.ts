// /log and /r/{entry_id}: what a visitor reads of the log, without JavaScript as well.

import assert from 'node:assert/strict';
import { accessible, calm, fits, follow, pagesSuite, picture, validHtml } from './browser.ts';

const HTML = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const HOSTILE = '"><img src=x onerror=alert(1)>{{7*7}}';

/** What the tests read of a receipt. */
interface Receipt {
  readonly entry_id: string;
  readonly index: number;
}

pagesSuite('/log and /r', (sight) => {
  let receipts: readonly Receipt[] = [];
  let chain = '';

  before(async () => {
    const { running } = sight();
    const made: Receipt[] = [];
    for (const session_id of ['one', 'one', 'two']) {
      const body = { message: HOSTILE, session_id };
      const ask = { key: running.sandbox, headers: { Prefer: 'wait=20' } };
      const { status, json } = await running.post('/api/v1/classify', body, ask);
      assert.equal(status, 200);
      made.push(json as Receipt);
      if (session_id === 'one') chain = JSON.stringify(['session', json.session_ref]);
    }
    receipts = made;
  });

  const pathOf = (receipt: Receipt | undefined): string =>
    `/r/${receipt?.entry_id ?? ''}?log=sandbox`;

  it('shows a receipt to browsers, and gives JSON to everyone else', async () => {
    const { running } = sight();
    const path = pathOf(receipts[0]);
    assert.equal((await running.get(path)).json.entry_id, receipts[0]?.entry_id);
    const own = await running.get(path, { headers: HTML, key: running.sandbox });
    assert.match(own.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(own.headers.get('vary') ?? '', /Accept/);
    assert.doesNotMatch(own.text, /<img/);
    assert.match(own.text, /onerror=alert\(1\)/);
    await validHtml(own.text);
    const page = await sight().open(path, { viewport: { width: 360, height: 740 } });
    assert.doesNotMatch((await page.textContent('main')) ?? '', /onerror/);
    await fits(page);
    await accessible(page);
    await picture(page, 'receipt-360');
    await page.setViewportSize({ width: 1000, height: 800 });
    await picture(page, 'receipt');
    await page.emulateMedia({ media: 'print' });
    assert.ok(await page.isVisible('.print-only'));
    assert.ok(!(await page.isVisible('nav')));
    await picture(page, 'receipt-print');
    calm(page);
    await page.context().close();
    const missing = await running.get('/r/nothing', { headers: HTML });
    assert.equal(missing.status, 404);
    await validHtml(missing.text);
  });

  it('browses by index, chain and type, without JavaScript', async () => {
    const page = await sight().open('/log?log=sandbox', { javaScriptEnabled: false });
    await page.fill('#find-key', chain);
    await follow(page, 'form:has(#find-key) button');
    assert.equal(await page.locator('.listing tbody tr').count(), 2);
    await follow(page, '.listing tbody tr:first-child td:nth-child(2) a');
    assert.match(page.url(), /type=classify\./);
    assert.equal(await page.locator('.listing tbody tr').count(), 3);
    await page.goto(`/log?log=sandbox&index=${String(receipts[2]?.index)}`);
    await follow(page, '.listing tbody td:nth-child(4) a');
    assert.match(page.url(), new RegExp(receipts[2]?.entry_id ?? '-'));
    for (const query of ['key=%5B%22no%22%5D', 'index=1e9', `key=${encodeURIComponent(HOSTILE)}`]) {
      await page.goto(`/log?${query}`);
      assert.equal(await page.locator('.listing .verdict').count(), 1, query);
      assert.equal(await page.locator('img').count(), 0);
    }
    await page.context().close();
  });

  it('goes back through the whole log page by page', async () => {
    const page = await sight().open('/log?log=sandbox');
    const seen = new Set<string>();
    for (;;) {
      for (const index of await page.locator('.listing tbody td:first-child').allTextContents())
        seen.add(index);
      if ((await page.locator('a[rel=next]').count()) === 0) break;
      await follow(page, 'a[rel=next]');
    }
    assert.ok(seen.has('0') && seen.has(String(receipts[2]?.index)));
    assert.equal(seen.size, Math.max(...[...seen].map(Number)) + 1);
    await page.context().close();
  });

  it('is valid, accessible, and shows new entries by itself', async () => {
    const { running } = sight();
    await validHtml((await running.get('/log?log=sandbox')).text);
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await sight().open('/log?log=sandbox', { colorScheme });
      await accessible(page);
      await picture(page, `log-${colorScheme}`);
      calm(page);
      await page.context().close();
    }
    const page = await sight().open('/log', { viewport: { width: 360, height: 740 } });
    await fits(page);
    await accessible(page);
    await picture(page, 'log-360');
    const size = await page.textContent('[data-size]');
    const body = { action_not_taken: 'x', decision_reason: 'y' };
    await running.post('/api/v1/restraint', body, { key: running.live });
    await page.waitForFunction(
      (before) => document.querySelector('[data-size]')?.textContent !== before,
      size,
    );
    await page.context().close();
  });
});
