// The dashboard of a tenant and the embeds as users see them: a key is typed in, or the page is a frame of another
// site.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { listening } from '../support/listening.ts';
import { accessible, calm, fits, pagesSuite, picture, validHtml } from './browser.ts';

const EMBEDS = ['/clear/embed/agents', '/clear/embed/bind-gate', '/clear/embed/hiring'];
const HOSTILE = '<img src=x onerror="document.title=1">';

pagesSuite('the pages of clear', (sight) => {
  const progress = (page: Page, text: RegExp): Promise<unknown> =>
    page.locator('#progress', { hasText: text }).waitFor();

  it('show no data of a tenant without its key, and delete it when the user leaves', async () => {
    const { running } = sight();
    const key = running.sandbox;
    for (const message of ['Schedule the interview', 'Reject her, she is pregnant']) {
      assert.equal((await running.post('/api/v1/classify', { message }, { key })).status, 200);
    }
    const body = { action_not_taken: 'payment', decision_reason: 'no authority' };
    await running.post('/api/v1/restraint', body, { key });

    const page = await sight().open('/clear/dashboard');
    await validHtml((await running.get('/clear/dashboard')).text);
    assert.ok(await page.isHidden('#board'));
    await accessible(page);
    await page.fill('#key', key);
    await page.click('#enter [type=submit]');
    await progress(page, /^Tenant /);
    assert.match((await page.textContent('#tolls')) ?? '', /classify20\.10/);
    assert.match((await page.textContent('#nap')) ?? '', /restraint10\.15/);
    assert.match((await page.textContent('#tiles')) ?? '', /Governed acts3/);
    assert.equal(await page.locator('.chart canvas').count(), 1);
    assert.equal(await page.locator('#toll-chart .lane').count(), 2);
    assert.equal(await page.inputValue('#key'), '');
    assert.ok(!page.url().includes('svc_'));
    await accessible(page);
    calm(page);
    await picture(page, 'dashboard');
    const download = page.waitForEvent('download');
    await page.click('#export');
    const saved = await (await download).path();
    assert.match(await readFile(saved, 'utf8'), /^month,toll,acts,micro_usd,usd\r\n.*classify,2,/s);
    await page.setViewportSize({ width: 360, height: 740 });
    await fits(page);
    await page.reload();
    await progress(page, /^Tenant /);
    await page.click('#leave');
    assert.ok(await page.isHidden('#board'));
    assert.equal(await page.textContent('#tiles'), '');
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.fill('#key', `svc_sandbox_${'a'.repeat(32)}`);
    await page.click('#enter [type=submit]');
    await progress(page, /not known/);
    assert.ok(await page.isHidden('#board'));
    await page.context().close();
  });

  it('show text of the service as text, not as HTML', async () => {
    const { running } = sight();
    const page = await sight().open('/clear/dashboard', { colorScheme: 'dark' });
    await page.route('**/api/v1/clear/usage?*', async (intercepted) => {
      const answer = await intercepted.fetch();
      const usage = (await answer.json()) as { tolls: object[] };
      const tolls = [{ toll: HOSTILE, acts: 1, micro_usd: '1', usd: '0.000001' }];
      await intercepted.fulfill({ response: answer, json: { ...usage, tolls } });
    });
    await page.fill('#key', running.sandbox);
    await page.keyboard.press('Enter');
    await progress(page, /^Tenant /);
    assert.equal(await page.textContent('#tolls th'), HOSTILE);
    assert.equal(await page.locator('#tolls img').count(), 0);
    assert.match(await page.title(), /^Dashboard/);
    await picture(page, 'dashboard-dark');
    await page.context().close();
  });

  it('can be framed by any site if they are embeds, and otherwise by none', async () => {
    const { running } = sight();
    const page = await sight().open(EMBEDS[0] ?? '', { viewport: { width: 360, height: 740 } });
    for (const path of EMBEDS) {
      const { text, headers } = await running.get(path);
      await validHtml(text);
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors \*/);
      assert.match(headers.get('content-security-policy') ?? '', /script-src 'self'/);
      assert.equal(headers.get('x-frame-options'), null);
      await page.goto(path);
      await fits(page);
      await accessible(page);
      await page.click('#try [type=submit]');
      await progress(page, /logged and verified/);
      assert.equal(await page.locator('.receipt .bad-word').count(), 0);
    }
    assert.equal(await page.textContent('#verdict-title'), 'VIOLATION');
    await page.fill('#message', 'I want to kill myself.');
    await page.click('#try [type=submit]');
    await page.locator('#helplines').waitFor();
    assert.match((await page.textContent('#helplines')) ?? '', /988/);
    await accessible(page);
    await picture(page, 'embed-hiring');
    calm(page);
    const board = await running.get('/clear/dashboard');
    assert.match(board.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
    assert.equal(board.headers.get('x-frame-options'), 'DENY');
    await page.context().close();
  });

  it('verify a receipt that the embedding site posts, and report the result', async () => {
    const { running } = sight();
    const message = 'Schedule the interview';
    const headers = { Prefer: 'wait=20' };
    const asked = { key: running.sandbox, headers };
    const { json: receipt } = await running.post('/api/v1/classify', { message }, asked);
    const page = await sight().open('/clear/embed/agents');
    const frame = ((await page.textContent('#snippet')) ?? '').trim();
    const site = await listening((_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<!doctype html><title>Site</title>${frame}`);
    });
    await page.goto(`${site.url}/`);
    const embed = page.frameLocator('iframe');
    await embed.locator('#try').waitFor();
    assert.ok(await embed.locator('#about').isHidden());
    const show = (shown: unknown) =>
      page.evaluate(
        (posted) =>
          new Promise<Record<string, unknown>>((resolve) => {
            addEventListener('message', ({ data }) => {
              const said = data as Record<string, unknown>;
              if (said['type'] === 'actlog.verified') resolve(said);
            });
            const [target] = document.getElementsByTagName('iframe');
            target?.contentWindow?.postMessage({ type: 'actlog.show', receipt: posted }, '*');
          }),
        shown,
      );
    const { entry_id } = receipt;
    const type = 'actlog.verified';
    assert.deepEqual(await show(receipt), { type, entry_id, valid: true, outcome: 'SAFE' });
    const forged = await show({ ...receipt, classification: HOSTILE });
    assert.equal(forged['valid'], false);
    assert.equal(await embed.locator('#verdict-title').textContent(), 'Does not verify');
    await page.context().close();
    await site.close();
  });
});
