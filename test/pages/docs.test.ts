// /docs, the guides and the standards: every operation has a page, from which it can be tried in the sandbox.

import assert from 'node:assert/strict';
import { accessible, calm, fits, pagesSuite, picture, validHtml } from './browser.ts';

const HTML = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

pagesSuite('/docs, /guides and /standards', (sight) => {
  it('have a page for every operation of the API', async () => {
    const { running } = sight();
    const { text } = await running.get('/docs');
    await validHtml(text);
    assert.ok(text.length < 150 * 1024, `${String(text.length)} bytes`);
    const { json } = await running.get('/openapi.json');
    const ids = Object.values(json.paths as Record<string, object>).flatMap((item) =>
      Object.values(item as Record<string, { operationId: string }>).map((one) => one.operationId),
    );
    assert.ok(ids.length > 50);
    for (const id of ids) {
      assert.ok(text.includes(`href="/docs/${id}"`), id);
      const page = await running.get(`/docs/${id}`);
      assert.equal(page.status, 200, id);
      assert.ok(page.text.length < 150 * 1024, `${id}: ${String(page.text.length)} bytes`);
    }
    await validHtml((await running.get('/docs/post_api_v1_classify')).text);
    await validHtml((await running.get('/docs/get_receipt_lookup')).text);
    assert.equal((await running.get('/docs/nothing')).status, 404);
  });

  it('send a request with a sandbox key, and refuse a live key', async () => {
    const { running } = sight();
    const page = await sight().open('/docs/post_api_v1_classify');
    await accessible(page);
    await page.fill('#key', running.live);
    await page.click('#try button');
    await page.waitForSelector('#answer h3');
    assert.equal(await page.textContent('#answer h3'), 'Not sent');
    await page.fill('#key', running.sandbox);
    await page.click('#try button');
    await page.waitForFunction(() =>
      document.querySelector('#answer h3')?.textContent.startsWith('200'),
    );
    const receipt = JSON.parse((await page.textContent('#answer code')) ?? '') as {
      readonly sandbox: boolean;
    };
    assert.equal(receipt.sandbox, true);
    await picture(page, 'docs-operation');
    await page.goto('/docs/get_receipt_lookup');
    assert.equal(await page.inputValue('#key'), running.sandbox);
    await page.fill('#field-entry_id', '<img src=x>');
    await page.click('#try button');
    await page.waitForSelector('#answer h3');
    assert.match((await page.textContent('#answer')) ?? '', /"found": false/);
    assert.equal(await page.locator('#answer img').count(), 0);
    calm(page);
    await page.context().close();
  });

  it('are accessible and valid, in the dark scheme at 360 px', async () => {
    const page = await sight().open('/docs', {
      colorScheme: 'dark',
      viewport: { width: 360, height: 740 },
    });
    for (const path of [
      '/docs',
      '/docs/post_api_v1_classify',
      '/standards/receipt-required',
      '/standards/absence-ledger/verify',
      '/guides',
      ...['api', 'format', 'operating', 'monitoring', 'plugins'].map((name) => `/guides/${name}`),
    ]) {
      await validHtml((await sight().running.get(path, { headers: HTML })).text);
      if (path !== '/docs') await page.goto(path);
      await accessible(page);
      await fits(page);
      // A guide is too long for one screenshot.
      if (!path.startsWith('/guides/')) await picture(page, `docs${path.replaceAll('/', '-')}`);
    }
    calm(page);
    await page.context().close();
  });

  it('find operations by words', async () => {
    const page = await sight().open('/docs');
    const all = await page.locator('.operations li:visible').count();
    await page.fill('#words', 'absence witness');
    const found = await page.locator('.operations li:visible').count();
    assert.ok(found > 0 && found < all / 4);
    assert.equal(await page.textContent('#found'), `${String(found)} operations`);
    await accessible(page);
    // A link in a table opens another table, and code can be copied.
    await page.goto('/docs/post_api_v1_classify');
    assert.match((await page.textContent('.members tbody')) ?? '', /Idempotency-Key/);
    await page.click('.members a:text("LogPlace")');
    await page.waitForSelector('#schema-LogPlace[open] td');
    assert.ok((await page.locator('.copyable > button').count()) >= 3);
    await page.context().close();
  });

  it('serve programs the original texts', async () => {
    const { running } = sight();
    const standard = await running.get('/standards/receipt-required');
    assert.match(standard.headers.get('content-type') ?? '', /^text\/markdown/);
    const steps = await running.get('/standards/absence-ledger/verify');
    assert.equal(steps.json.schema, 'svc-absence-witness-v1');
  });
});
