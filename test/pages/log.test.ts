// /log and /r/{entry_id} as a visitor uses them, also without JavaScript.

import assert from 'node:assert/strict';
import { calm, fits, follow, look, pagesSuite, picture, tabTo, validHtml } from './browser.ts';

const HTML = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const HOSTILE = '"><img src=x onerror=alert(1)>{{7*7}}';

/** The members of a receipt that the tests read. */
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

  it('shows a receipt to browsers, and returns JSON to other clients', async () => {
    const { running } = sight();
    const path = pathOf(receipts[0]);
    assert.equal((await running.get(path)).json.entry_id, receipts[0]?.entry_id);
    const own = await running.get(path, { headers: HTML, key: running.sandbox });
    assert.match(own.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(own.headers.get('vary') ?? '', /Accept/);
    assert.doesNotMatch(own.text, /<img src=x/);
    assert.match(own.text, /onerror=alert\(1\)/);
    // Users save this page: it contains its style, and the policy allows that style.
    assert.match(own.text, /<style>[^<]{1000,}<\/style>/);
    assert.match(own.headers.get('content-security-policy') ?? '', /style-src 'self' 'sha256-/);
    await validHtml(own.text);
    const context = {
      permissions: ['clipboard-write', 'clipboard-read'],
      timezoneId: 'Asia/Tokyo',
    };
    const page = await sight().open(path, context);
    assert.doesNotMatch((await page.textContent('main')) ?? '', /onerror/);
    assert.match((await page.textContent('.banner')) ?? '', /SANDBOX/);
    assert.match((await page.textContent('[data-local]')) ?? '', /(GMT\+9|JST).* UTC\)/);
    assert.match((await page.textContent('.outcome')) ?? '', /^[A-Z]+$/);
    await page.click('[data-copy]:has-text("Copy the id")');
    await page.waitForSelector('button:text-is("Copied")');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), receipts[0]?.entry_id);
    await tabTo(page, 'details > summary');
    await page.keyboard.press('Enter');
    await page.waitForSelector('details[open] #json');
    await look(page, 'receipt');
    const preview = await page.getAttribute('meta[property="og:description"]', 'content');
    assert.match(preview ?? '', /classified a message/);
    const image = await page.getAttribute('meta[property="og:image"]', 'content');
    const { pathname, search } = new URL(image ?? '');
    assert.equal((await running.get(pathname + search)).headers.get('content-type'), 'image/png');
    const badge = await running.get(path.replace('?', '/badge.svg?'));
    assert.match(badge.headers.get('content-type') ?? '', /^image\/svg/);
    assert.match(badge.text, /actlog: SANDBOX: [A-Z]+, entry \d+ in the log/);
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

  it('searches with one box and with filters, without JavaScript', async () => {
    const page = await sight().open('/log?log=sandbox', { javaScriptEnabled: false });
    const search = async (words: string): Promise<void> => {
      await page.goto('/log?log=sandbox');
      await page.fill('#q', words);
      await follow(page, '[role=search] button');
    };
    const rows = page.locator('.listing tbody tr');
    await search(chain);
    assert.equal(await rows.count(), 2);
    await follow(page, '.listing tbody tr:first-child td:nth-child(2) a');
    assert.match(page.url(), /type=classify\./);
    assert.equal(await rows.count(), 3);
    await search('log.open.v1');
    assert.equal(await rows.count(), 1);
    assert.match((await rows.textContent()) ?? '', /^\s*0/);
    await search(String(receipts[2]?.index));
    await follow(page, '.listing tbody td:nth-child(5) a');
    assert.match(page.url(), new RegExp(receipts[2]?.entry_id ?? '-'));
    await search(receipts[1]?.entry_id ?? '');
    assert.match(page.url(), new RegExp(`/r/${receipts[1]?.entry_id ?? '-'}`));
    await search('no such thing');
    assert.match((await page.textContent('.listing')) ?? '', /Nothing found/);
    // The suggested values come from the search index, which is delayed; a filter finds new entries immediately.
    await search('safe');
    const found = await rows.count();
    await page.goto('/log?log=sandbox');
    await tabTo(page, '#q');
    await page.keyboard.type('entity:nobody');
    const answered = page.waitForEvent('load');
    await page.keyboard.press('Enter');
    await answered;
    assert.match(page.url(), /entity=nobody/);
    assert.equal(await rows.count(), 0);
    await page.goto(`/log?log=sandbox&outcome=SAFE&from=2000-01-01T00:00&to=2100-01-01T00:00`);
    assert.equal(await rows.count(), found);
    await page.goto(`/log?log=sandbox&outcome=SAFE&to=2000-01-01T00:00`);
    assert.equal(await rows.count(), 0);
    for (const query of [
      'key=%5B%22no%22%5D',
      'index=1e9',
      `key=${encodeURIComponent(HOSTILE)}`,
      'from=x',
    ]) {
      await page.goto(`/log?${query}`);
      assert.equal(await page.locator('.listing .verdict').count(), 1, query);
      assert.equal(await page.locator('main img').count(), 0);
    }
    await page.context().close();
  });

  it('searches the whole log by type, and proves on /verify that a list is complete', async () => {
    const { gateway } = sight().running;
    const log = gateway.logs.sandbox;
    while (gateway.search.indexed(log) < log.published().size) {
      await new Promise((resolve) => log.onPublished(resolve));
    }
    const before = await gateway.search.values(log, 'type');
    assert.ok(before.includes('log.open.v1') && before.includes('classify.result.v1'));
    assert.ok((await gateway.search.values(log, 'outcome')).length > 0);
    const first = await gateway.search.search(log, {
      ...{ facets: { type: 'log.open.v1' }, before: Infinity, from: 0, limit: 5 },
    });
    assert.deepEqual(first, { indexes: [0], before: null });
    const page = await sight().open(`/log?log=sandbox&key=${encodeURIComponent(chain)}`);
    await look(page, 'log-chain');
    await follow(page, 'a:text("Verify that these are all")');
    await page.waitForSelector('#result [data-verdict="PRESENT"]');
    assert.equal(await page.locator('#result .acts a').count(), 2);
    await page.context().close();
  });

  it('pages back through the whole log', async () => {
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

  it('is valid, accessible, and shows new entries without a reload', async () => {
    const { running } = sight();
    await validHtml((await running.get('/log?log=sandbox')).text);
    const sandbox = await sight().open('/log?log=sandbox');
    await look(sandbox, 'log');
    calm(sandbox);
    await sandbox.context().close();
    const page = await sight().open('/log', { viewport: { width: 360, height: 740 } });
    await fits(page);
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
