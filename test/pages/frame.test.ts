// The common frame of all pages, on the first two of them.

import assert from 'node:assert/strict';
import { accessible, calm, fits, pagesSuite, picture, validHtml } from './browser.ts';

pagesSuite('the frame of the pages', (sight) => {
  for (const path of ['/', '/status']) {
    it(`${path} is valid, accessible and loads nothing from other hosts, in light and dark`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await sight().open(path, { colorScheme });
        await accessible(page);
        calm(page);
        await picture(page, `frame${path.replace('/', '-')}-${colorScheme}`);
        await page.context().close();
      }
      const { text, headers } = await sight().running.get(path);
      await validHtml(text);
      assert.match(headers.get('content-security-policy') ?? '', /script-src 'self'/);
    });

    it(`${path} fits into 360 px, and can be used with the keyboard`, async () => {
      const page = await sight().open(path, { viewport: { width: 360, height: 740 } });
      await fits(page);
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement?.className), 'skip');
      await page.keyboard.press('Enter');
      assert.equal(new URL(page.url()).hash, '#main');
      await page.context().close();
    });
  }

  it('works without JavaScript', async () => {
    const page = await sight().open('/status', { javaScriptEnabled: false });
    assert.equal(await page.textContent('[data-status]'), 'All systems operational');
    await page.context().close();
  });

  it('transfers less than 150 KiB', async () => {
    let bytes = 0;
    const page = await sight().open('/');
    page.on('response', (response) => {
      bytes += Number(response.headers()['content-length'] ?? 0);
    });
    await page.reload();
    assert.ok(bytes > 0 && bytes < 150 * 1024, `${String(bytes)} bytes`);
    await page.context().close();
  });
});
