// /verify as a person uses it: it verifies the receipt in its URL or a file, also offline, and remembers the log.

import assert from 'node:assert/strict';
import { accessible, calm, fits, look, pagesSuite, picture, tabTo, validHtml } from './browser.ts';
import { HOSTILE, openReady, outcome, receipt, show, verdictAfter } from './verify-page.ts';

pagesSuite('/verify', (sight) => {
  it('verifies the receipt in its URL, draws the inclusion path, and remembers the log', async () => {
    const { entry_id } = await receipt(sight().running);
    const { running } = sight();
    const path = `/verify?entry_id=${entry_id}`;
    const page = await sight().open(path);
    await page.waitForSelector('#result [data-verdict="VALID"]');
    assert.equal(await outcome(page, 'signature'), 'ok');
    assert.equal(await outcome(page, 'inclusion'), 'ok');
    assert.equal(await outcome(page, 'same_log_as_before'), 'not_shown');
    await page.focus('.hash-box.root');
    await page.keyboard.press('Enter');
    // The root is in base64, as in the checkpoint.
    assert.match((await page.textContent('.opened code')) ?? '', /^[A-Za-z0-9+/]{43}=$/);
    await look(page, 'verify-receipt');
    await receipt(sight().running);
    await verdictAfter(page, () => page.click('button[type=submit]'));
    await page.reload();
    await page.waitForSelector('[data-check="same_log_as_before"][data-outcome="ok"]');
    calm(page);
    await page.context().close();
    await validHtml((await running.get(path)).text);
    const asked = await running.get(path, { headers: { Accept: 'application/json' } });
    assert.equal(asked.json.found, true);
  });

  it('rejects a changed receipt, shows hostile text as text, and works offline', async () => {
    const good = await receipt(sight().running);
    const page = await openReady(sight(), '/verify', { viewport: { width: 360, height: 740 } });
    await page.context().setOffline(true);
    assert.equal(await show(page, JSON.stringify(good)), 'VALID');
    await fits(page);
    await accessible(page);
    await picture(page, 'verify-360');
    const later = { ...good, issued_at_ms: good.issued_at_ms + 1 };
    assert.equal(await show(page, JSON.stringify(later)), 'INVALID');
    const foreign = { ...good, [HOSTILE]: HOSTILE, type: HOSTILE, kid: HOSTILE };
    assert.equal(await show(page, JSON.stringify(foreign)), 'INVALID');
    assert.equal(await show(page, HOSTILE), 'UNKNOWN');
    assert.equal(await show(page, '{"schema":"<b>","a":1,"a":2}'), 'INVALID');
    assert.equal(await page.locator('#result img, #result b').count(), 0);
    await page.context().close();
  });

  it('has examples, removes the verdict when the input changes, and accepts dropped files', async () => {
    const page = await openReady(sight());
    await look(page, 'verify');
    const example = async (id: string): Promise<string> => {
      await tabTo(page, id);
      return verdictAfter(page, () => page.keyboard.press('Enter'));
    };
    assert.equal(await example('#example'), 'VALID');
    await page.press('#thing', 'End');
    await page.keyboard.type(' ');
    assert.equal(await page.locator('#result [data-verdict]').count(), 0);
    assert.match((await page.textContent('#result')) ?? '', /has changed/);
    assert.equal(await example('#changed'), 'INVALID');
    await page.click('summary');
    await page.fill('#from', '1');
    assert.equal(await page.locator('#result [data-verdict]').count(), 0);
    await page.fill('#from', '');
    const { json } = await sight().running.post(
      '/api/v1/restraint',
      { decision_reason: 'no consent', action_not_taken: 'payment' },
      { key: sight().running.sandbox, headers: { Prefer: 'wait=20' } },
    );
    const dropped = await verdictAfter(page, () =>
      page.evaluate((text) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], 'receipt.json'));
        document
          .querySelector('h1')
          ?.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
      }, JSON.stringify(json.receipt)),
    );
    assert.equal(dropped, 'VALID');
    assert.match((await page.textContent('#result [data-sandbox]')) ?? '', /SANDBOX.*test log/);
    assert.equal(await page.locator('#result .verdict.good').count(), 0);
    await accessible(page);
    await picture(page, 'verify-sandbox');
    calm(page);
    await page.context().close();
  });

  it('opens offline after a first visit', async () => {
    const first = await openReady(sight());
    await first.waitForSelector('html[data-kept]');
    await first.evaluate(async () => {
      await navigator.serviceWorker.ready;
    });
    const manifest = await first.getAttribute('link[rel=manifest]', 'href');
    assert.equal((await sight().running.get(manifest ?? '')).json.start_url, '/verify');
    await first.close();
    const context = sight().browser.contexts().at(-1) ?? (await sight().browser.newContext());
    await context.setOffline(true);
    const page = await context.newPage();
    await page.goto('/verify');
    await page.waitForSelector('html[data-ready]');
    assert.match((await page.textContent('[data-kit-state]')) ?? '', /does not answer/);
    assert.equal(await verdictAfter(page, () => page.click('#example')), 'VALID');
    await context.close();
  });

  it('names the command for verification without JavaScript', async () => {
    const page = await sight().open('/verify?entry_id=abc', { javaScriptEnabled: false });
    assert.match((await page.textContent('noscript')) ?? '', /actlog verify/);
    await page.context().close();
  });

  it('transfers less than 150 KiB', async () => {
    let bytes = 0;
    const page = await sight().open('/status');
    page.on('response', (response) => {
      if (!response.url().includes('/export/')) {
        bytes += Number(response.headers()['content-length'] ?? 0);
      }
    });
    await page.goto('/verify');
    await page.waitForSelector('html[data-ready]');
    assert.ok(bytes > 0 && bytes < 150 * 1024, `${String(bytes)} bytes`);
    await page.context().close();
  });
});
