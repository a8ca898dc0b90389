// The demonstrations as a visitor uses them: real calls to the sandbox, and every receipt verified in the browser.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { accessible, calm, fits, pagesSuite, picture, validHtml } from './browser.ts';
import type { Sight } from './browser.ts';

const PAGES = [
  '/demo/hero',
  '/bind-room',
  '/scan/exhibit-d',
  '/clocks/naic',
  '/broker-relay',
  '/hiring-proof',
  '/mortgage-proof',
  '/chatbot-proof',
];
const HOSTILE = '<img src=x onerror="document.title=1"> </script><script>document.title=1</script>';

pagesSuite('the demonstrations', (sight: () => Sight) => {
  const done = (page: Page, text: RegExp): Promise<unknown> =>
    page.locator('#progress', { hasText: text }).waitFor();

  async function close(page: Page, name: string): Promise<void> {
    await picture(page, name);
    calm(page);
    await page.context().close();
  }

  it('are valid, accessible, small, fit into 360 px, and have text for browsers without JavaScript', async () => {
    const page = await sight().open('/demo/hero', { viewport: { width: 360, height: 740 } });
    for (const path of PAGES) {
      let bytes = 0;
      const count = (response: { headers(): Record<string, string> }): void => {
        bytes += Number(response.headers()['content-length'] ?? 0);
      };
      page.on('response', count);
      await page.goto(path);
      page.off('response', count);
      assert.ok(bytes > 0 && bytes < 150 * 1024, `${path}: ${String(bytes)} bytes`);
      await fits(page);
      await accessible(page);
      const { text } = await sight().running.get(path);
      await validHtml(text);
      assert.match(text, /<noscript>\s*<p[^>]*>\s*[^<\s]/);
    }
    calm(page);
    await page.context().close();
  });

  it('plays the whole story, verifies it, and detects a changed character', async () => {
    const page = await sight().open('/demo/hero?autorun=1', { colorScheme: 'dark' });
    await done(page, /^Done\.$/);
    assert.match((await page.textContent('#verdict-title')) ?? '', /^All 8 receipts verify$/);
    assert.equal(
      await page.locator('.receipt .good-word', { hasText: 'verified here' }).count(),
      8,
    );
    assert.match((await page.textContent('[data-step=gate] strong')) ?? '', /^HOLD$/);
    assert.match((await page.textContent('[data-step=release] strong')) ?? '', /^PERMIT$/);
    assert.match((await page.textContent('[data-step=absence] strong')) ?? '', /^ABSENT$/);
    await accessible(page);
    await picture(page, 'demo-hero');
    await page.click('#tamper');
    await done(page, /something was changed/);
    assert.match((await page.textContent('#verdict-title')) ?? '', /^1 of 8 do not verify$/);
    await page.setViewportSize({ width: 360, height: 740 });
    await fits(page);
    await close(page, 'demo-hero-tampered');
  });

  it('holds a large premium until a human decides, and permits a small one', async () => {
    const page = await sight().open('/bind-room');
    await page.click('#ask button');
    await done(page, /^Held/);
    assert.match((await page.textContent('#decision')) ?? '', /BLOCK \(HOLD\)/);
    await page.click('#human button[value=release]');
    await done(page, /by a human/);
    assert.match((await page.textContent('#decision')) ?? '', /ALLOW \(PERMIT\)/);
    assert.ok(await page.isHidden('#human'));
    await page.fill('#premium', '120.50');
    await page.fill('#message', HOSTILE);
    await page.click('#ask button');
    await done(page, /^Decided\.$/);
    assert.equal(await page.locator('.receipt .bad-word').count(), 0);
    assert.match(await page.title(), /^The bind room/);
    await accessible(page);
    await close(page, 'bind-room');
  });

  it('proves a violation and its restraint, shows helplines in a crisis, and shows any text as text', async () => {
    const page = await sight().open('/chatbot-proof', { viewport: { width: 360, height: 740 } });
    await page.click('[type=submit]');
    await done(page, /both receipts are verified/);
    assert.equal(await page.textContent('#verdict-title'), 'CRISIS');
    assert.match((await page.textContent('#helplines')) ?? '', /988/);
    assert.ok(await page.isVisible('#helplines'));
    await accessible(page);
    await fits(page);
    await picture(page, 'chatbot-proof');
    await page.fill('#message', HOSTILE);
    await page.click('[type=submit]');
    await page.locator('#receipts .receipt').nth(2).waitFor();
    assert.ok(!(await page.title()).startsWith('1'));
    for (const path of ['/hiring-proof', '/mortgage-proof']) {
      await page.goto(path);
      await page.click('[type=submit]');
      await done(page, /both receipts are verified/);
      assert.equal(await page.textContent('#verdict-title'), 'VIOLATION');
      await page.locator('[data-sample]').last().click();
      await page.click('[type=submit]');
      await done(page, /^Classified, and verified/);
      assert.equal(await page.textContent('#verdict-title'), 'SAFE');
    }
    await page.setViewportSize({ width: 1100, height: 900 });
    await close(page, 'mortgage-proof');
  });

  it('maps pasted lines to Exhibit D, and can be printed', async () => {
    const page = await sight().open('/scan/exhibit-d');
    await page.fill('#lines', `Pay the claim.\n${HOSTILE}`);
    await page.click('[type=submit]');
    await done(page, /sealed and verified/);
    assert.equal(await page.locator('#classified tr').count(), 2);
    assert.equal(await page.textContent('#classified tr:nth-child(2) th'), HOSTILE);
    assert.match((await page.textContent('#exhibit')) ?? '', /D\.1.*EVIDENCED.*NOT EVIDENCED/s);
    await page.emulateMedia({ media: 'print' });
    assert.ok(await page.isHidden('#print'));
    await page.emulateMedia({ media: 'screen' });
    await accessible(page);
    await close(page, 'scan');
  });

  it('seals a moment from which the clocks run', async () => {
    const page = await sight().open('/clocks/naic');
    await page.click('[type=submit]');
    await done(page, /the clocks run/);
    const left = await page.textContent('#clocks [data-hours="72"] [data-left]');
    assert.match(left ?? '', /^7[12]:\d\d:\d\d$/);
    await close(page, 'clocks');
  });

  it('enrolls a partner, whose link leads to a page with its name', async () => {
    const page = await sight().open('/broker-relay');
    await page.click('#enroll button');
    await done(page, /0 visits/);
    await accessible(page);
    await picture(page, 'broker-relay');
    await page.click('#tracked a >> text=/bind-room');
    await page.waitForURL(/bind-room\?partner=demo-acme-brokers/);
    assert.match((await page.textContent('.foot .partner')) ?? '', /demo-acme-brokers/);
    await page.goto('/verify?partner=demo-acme-brokers');
    assert.match((await page.textContent('.foot .partner')) ?? '', /demo-acme-brokers/);
    await page.goto('/broker-relay?partner=nobody');
    assert.equal(await page.locator('.foot .partner').count(), 0);
    await page.fill('#slug', 'demo-acme-brokers');
    await page.click('#lookup button');
    await done(page, /1 visits so far/);
    await page.fill('#slug', 'nobody');
    // The browser itself reports the 404s that the page causes.
    await page.click('#lookup button');
    await done(page, /no partner with this slug/);
    await page.context().close();
  });
});

describe('the calls of visitors', () => {
  it('refuse keys, members that no page sends, and names of others', async () => {
    const { run } = await import('../gateway/running.ts');
    const running = await run();
    try {
      const call = (name: string, body: unknown, key?: string) =>
        running.post(`/demo/calls/${name}`, body, key === undefined ? {} : { key });
      const message = 'Schedule the interview';
      const own = await call('classify', { message });
      assert.equal(own.json.sandbox, true);
      assert.ok(own.json.disclosures.message.salt);
      const { entry_id } = own.json;
      const looked = await running.get(`/receipt/lookup?entry_id=${String(entry_id)}&log=sandbox`);
      assert.equal(looked.json.receipt.disclosures, undefined);
      assert.equal((await call('classify', { message }, running.sandbox)).status, 401);
      const hooked = { message, webhook_url: 'https://example.com/' };
      assert.equal((await call('classify', hooked)).status, 400);
      assert.equal((await call('publish', { entity: 'acme', surfaces: [] })).status, 400);
      assert.equal((await call('partner', { partner: 'Acme' })).status, 400);
      const open = { rules: [{ id: 'all', effect: 'allow' }] };
      assert.equal((await call('policy', open)).status, 400);
      assert.equal((await call('policy', {})).json.policy.rules.length, 5);
    } finally {
      await running.close();
    }
  });

  it('are limited by address, and refused if writes need a key', async () => {
    const { run } = await import('../gateway/running.ts');
    const limited = await run({ RATE_LIMITS: 'on', RATE_ANONYMOUS_WRITES: '2' });
    try {
      const ask = () => limited.post('/demo/calls/policy', {});
      assert.deepEqual(
        [(await ask()).status, (await ask()).status, (await ask()).status],
        [...[200, 200, 429]],
      );
    } finally {
      await limited.close();
    }
    const closed = await run({ ANONYMOUS_WRITES: 'deny' });
    try {
      const { status, json } = await closed.post('/demo/calls/policy', {});
      assert.deepEqual([status, json.error.code], [401, 'api_key_missing']);
    } finally {
      await closed.close();
    }
  });
});
