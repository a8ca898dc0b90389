// /console as an operator of a tenant uses it: a key is typed in; holds and new entries are shown.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { IN_CLUSTER } from '../cluster/suite-cluster.ts';
import { calm, look, pagesSuite, tabTo, validHtml } from './browser.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';

pagesSuite('/console', (sight) => {
  const progress = (page: Page, words: RegExp): Promise<unknown> =>
    page.locator('#progress', { hasText: words }).waitFor();
  const post = async (path: string, body: object, key: string) => {
    const answer = await sight().running.post(path, body, { key, headers: { Prefer: 'wait=20' } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };

  it('releases a hold with the keyboard, and shows new entries as they are logged', async () => {
    const { running } = sight();
    const { live: key } = running;
    await post('/api/v1/execute-gate/policy', { rules: [{ id: 'all', effect: 'hold' }] }, key);
    const act = { action_type: HOSTILE, agent_id: 'agent-7' };
    await post('/api/v1/execute-gate', act, key);
    await validHtml((await running.get('/console')).text);
    const page = await sight().open('/console');
    assert.ok(await page.isHidden('#board'));
    await tabTo(page, '#key');
    await page.keyboard.type(key);
    await page.keyboard.press('Enter');
    await progress(page, /^Tenant first, role service, live log/);
    await page.waitForSelector('[data-stream="open"]');
    assert.ok(!page.url().includes('svc_'));
    assert.equal(await page.inputValue('#key'), '');
    const holds = page.locator('#panel-holds .rows');
    assert.equal(await holds.locator('tbody tr').count(), 1);
    assert.match((await holds.textContent()) ?? '', /onerror.*agent-7/);
    assert.match((await page.textContent('#service-state')) ?? '', /log\/live\/1/);
    assert.match(
      (await page.textContent('#panel-keys')) ?? '',
      /Role.*State.*Last use.*service.*active/,
    );
    await look(page, 'console');
    // One panel is shown at a time, and the URL names it.
    await tabTo(page, '[data-tab=service]');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#service-state table');
    assert.ok(await page.isHidden('#panel-holds'));
    const replication = IN_CLUSTER
      ? /Replication.*entries of live\/1.*follower.*http:/
      : /Replication.*one process/;
    assert.match((await page.textContent('#service-state')) ?? '', replication);
    await look(page, 'console-service');
    await page.goBack();
    await page.waitForSelector('#panel-holds .rows');
    await post('/api/v1/classify', { message: 'Schedule the interview' }, key);
    await page
      .locator('#live li', { hasText: /classified a message/ })
      .first()
      .waitFor();
    await page
      .locator('#panel-receipts tr', { hasText: /classified a message/ })
      .first()
      .waitFor({ state: 'attached' });
    await tabTo(page, '#panel-holds button', 120);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.id === 'ask-holds');
    await page.keyboard.type('the invoice was checked');
    await page.keyboard.press('Enter');
    await progress(page, /^Release: done/);
    await holds.filter({ hasText: /No act waits/ }).waitFor();
    assert.match(await page.title(), /^Console/);
    assert.equal(await page.locator('#board img').count(), 0);
    calm(page);
    await page.click('#leave');
    assert.ok(await page.isHidden('#board'));
    assert.equal(await page.textContent('#live'), '');
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.fill('#key', `svc_live_${'a'.repeat(32)}`);
    await page.keyboard.press('Enter');
    await progress(page, /not known/);
    await page.context().close();
  });

  it('shows a tenant only its own entries', async () => {
    const { gateway, live: other } = sight().running;
    const order = { tenant: 'acme', kind: 'live', role: 'carrier' } as const;
    const { key } = await gateway.tenants.issue(order);
    const page = await sight().open('/console');
    await page.fill('#key', key);
    await page.keyboard.press('Enter');
    await progress(page, /^Tenant acme, role carrier/);
    await page.waitForSelector('[data-stream="open"]');
    assert.ok(await page.isHidden('[data-tab=service]'));
    assert.equal(await page.locator('#panel-keys tbody tr').count(), 1);
    await post('/api/v1/classify', { message: 'Of another tenant' }, other);
    await post('/api/v1/restraint', { decision_reason: 'x', action_not_taken: 'payment' }, key);
    await page.locator('#live li').first().waitFor();
    assert.doesNotMatch((await page.textContent('#live')) ?? '', /classified/);
    assert.doesNotMatch((await page.textContent('#panel-receipts')) ?? '', /classified/);
    await page.context().close();
    const { running } = sight();
    assert.equal((await running.get('/api/v1/events')).status, 401);
    assert.equal((await running.get('/api/v1/service', { key })).status, 403);
    const replay = '/signal/trigger/deliveries/msg_x/replay';
    assert.equal((await running.post(replay, {}, { key })).status, 404);
  });
});
