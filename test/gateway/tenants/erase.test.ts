// DELETE /api/v1/disclosures/{entry_id}: the texts are destroyed, the log stays complete and records the erasure, and a
// spoliation hold always prevents it. gateway/API.md §1.2.

import assert from 'node:assert/strict';
import { native } from '../../../log/index.ts';
import { trustFromKit, verifyReceipt } from '../../../log/verify.ts';
import { ERASURE } from '../../../gateway/tenants/erasure.ts';
import { succeeded } from '../../plugins/succeeded.ts';
import { codeOf } from '../http/envelope.ts';
import { ok, run } from '../running.ts';
import type { Answer, Ask, Running } from '../running.ts';
import type { Body } from '../../support/body.ts';

const MESSAGE = 'a zebra asked about the post';

describe('the erasure of disclosures', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const erase = (entry_id: string, key: string | undefined = running.live): Promise<Answer> =>
    running.ask('DELETE', `/api/v1/disclosures/${entry_id}`, key === '' ? {} : { key });
  const classify = async (session_id = 'erased', ask: Ask = {}): Promise<Body> => {
    const body = { message: MESSAGE, session_id };
    return ok(await running.post('/api/v1/classify', body, { key: running.live, ...ask }));
  };
  const lookup = async (entry_id: string, ask: Ask = { key: running.live }): Promise<Body> =>
    (await running.get(`/receipt/lookup?entry_id=${entry_id}`, ask)).json;
  const sealSession = (session_id: string) =>
    running.post(
      '/api/v1/spoliation-seal',
      { trigger_event: 'a claim', session_ids: [session_id] },
      { key: running.live },
    );

  it('leaves no text, is recorded in the log, and invalidates no proof', async () => {
    const { entry_id, entry_hash } = await classify();
    assert.equal((await lookup(entry_id)).receipt.disclosures.message.value, MESSAGE);
    const { status, json, text } = await erase(entry_id);
    assert.equal(status, 200, text);
    assert.deepEqual([json.entry_id, json.erased], [entry_id, ['message']]);
    assert.equal(json.receipt.type, 'disclosure.erasure.v1');
    assert.equal(json.receipt.subject_entry_id, entry_id);
    assert.deepEqual(json.receipt.links[0].key, ['disclosure.subject', entry_id]);

    const kit = (await running.get('/export/offline-verify-kit.json')).json;
    const trust = trustFromKit(kit, running.gateway.logs.live.origin, { suite: native });
    const erased = {
      erased: true,
      erased_at_ms: json.erased_at_ms,
      erasure_entry_id: json.erasure_entry_id,
    };
    for (const ask of [{ key: running.live }, {}]) {
      const found = await lookup(entry_id, ask);
      assert.equal(found.receipt.entry_hash, entry_hash);
      assert.deepEqual(found.receipt.disclosures, { message: erased });
      assert.deepEqual(found.checks.signature_valid && found.checks.inclusion_valid, true);
      const result = verifyReceipt(found.receipt, trust, { tlogProof: found.proof.tlog_proof });
      assert.equal(result.valid, true);
      const shown = result.checks.find(({ name }) => name === 'disclosures');
      assert.deepEqual([shown?.outcome, shown?.detail], ['not_shown', 'erased']);
      const page = await running.get(`/r/${entry_id}`, {
        headers: { Accept: 'application/json' },
        ...ask,
      });
      assert.deepEqual(page.json.disclosures, { message: erased });
    }
    const forged = { ...(await lookup(entry_id)).receipt, disclosures: { other: erased } };
    assert.equal(verifyReceipt(forged, trust).valid, false);
  });

  it('gives the same answer to repeated and concurrent requests', async () => {
    const { entry_id } = await classify();
    const answers = await Promise.all(Array.from({ length: 6 }, () => erase(entry_id)));
    const [first] = answers;
    for (const { status, text } of [...answers, await erase(entry_id)]) {
      assert.equal(status, 200, text);
      assert.equal(text, first?.text);
    }
  });

  it('is possible for own entries with disclosures only', async () => {
    const { entry_id } = await classify();
    assert.equal(codeOf(await erase(entry_id, ''), 401), 'api_key_missing');
    const other = await running.gateway.tenants.issue({ tenant: 'other', kind: 'live' });
    assert.equal(codeOf(await erase(entry_id, other.key), 403), 'tenant_forbidden');
    assert.equal(codeOf(await erase(entry_id, running.sandbox), 404), 'resource_missing');
    const nowhere = await erase('01900000-0000-7000-8000-000000000000');
    assert.equal(codeOf(nowhere, 404), 'resource_missing');
    assert.equal(nowhere.json.error.param, 'entry_id');
    const open = await running.post('/silence-receipt', { session_id: 'x', context: 'y' });
    assert.equal(codeOf(await erase(open.json.receipt.entry_id), 403), 'tenant_forbidden');
    const { json } = await erase(entry_id);
    assert.equal(codeOf(await erase(json.erasure_entry_id), 404), 'resource_missing');
    assert.equal(codeOf(await erase('%00'), 404), 'resource_missing');
  });

  it('is refused under a spoliation hold, and the text is kept', async () => {
    const { entry_id } = await classify('held');
    const { json } = await sealSession('held');
    const answer = await erase(entry_id);
    assert.equal(codeOf(answer, 409), 'retention_hold');
    assert.match(answer.json.error.message, new RegExp(json.seal_id));
    assert.equal((await lookup(entry_id)).receipt.disclosures.message.value, MESSAGE);
  });

  it('is possible only after an operator of the tenant has released the hold', async () => {
    const { entry_id } = await classify('released');
    const { json: sealed } = await sealSession('released');
    const path = '/api/v1/spoliation-seal/release';
    const body = { seal_id: sealed.seal_id, reason: 'the matter was settled' };
    const { key: plain } = await running.gateway.tenants.issue({ tenant: 'clerk', kind: 'live' });
    assert.equal(codeOf(await running.post(path, body, { key: plain }), 403), 'role_forbidden');
    const { key: foreign } = await running.gateway.tenants.issue({
      ...{ tenant: 'clerk', kind: 'live', role: 'operator' },
    });
    assert.equal(codeOf(await running.post(path, body, { key: foreign }), 403), 'tenant_forbidden');
    const none = await running.post(path, { ...body, seal_id: entry_id }, { key: running.live });
    assert.equal(codeOf(none, 404), 'resource_missing');
    assert.equal(codeOf(await erase(entry_id), 409), 'retention_hold');

    const [first, second] = await Promise.all(
      [0, 1].map(() => running.post(path, body, { key: running.live })),
    );
    assert.deepEqual([first!.status, second!.status].sort(), [200, 409]);
    const { json } = first!.status === 200 ? first! : second!;
    assert.equal(json.retention_hold, false);
    assert.equal(json.receipt.type, 'restraint.seal_release.v1');
    assert.equal(json.receipt.reason, undefined, 'the log has only a commitment to the reason');
    assert.equal((await erase(entry_id)).status, 200);
  });

  it('is refused if a hold is set concurrently', async () => {
    for (let round = 0; round < 8; round += 1) {
      const session = `race-${String(round)}`;
      const { entry_id } = await classify(session);
      const [erased, sealed] = await Promise.all([erase(entry_id), sealSession(session)]);
      assert.equal(sealed.status, 200, sealed.text);
      const { disclosures } = (await lookup(entry_id)).receipt;
      if (erased.status === 200) {
        assert.ok(
          erased.json.receipt.index < sealed.json.receipt.index,
          'the hold was set after the erasure',
        );
        assert.equal(disclosures.message.erased, true);
      } else {
        assert.equal(codeOf(erased, 409), 'retention_hold');
        assert.equal(disclosures.message.value, MESSAGE);
      }
    }
  });

  it('removes the text from the replay of an Idempotency-Key', async () => {
    const ask = { headers: { 'Idempotency-Key': 'erase-replay' } };
    const first = await classify('replayed', ask);
    assert.equal(first.disclosures.message.value, MESSAGE);
    await erase(first.entry_id);
    const { disclosures: _, ...rest } = first;
    assert.deepEqual(await classify('replayed', ask), rest);
  });

  it('is counted in the report about the session, which is sealed again', async () => {
    const report = async (): Promise<Body> =>
      (
        await running.get('/compliance/eu-ai-act/article-12?session_id=reported', {
          key: running.live,
        })
      ).json;
    const { entry_id } = await classify('reported');
    const before = await report();
    assert.equal(before.retention.erased.count, 0);
    await erase(entry_id);
    const after = await report();
    assert.deepEqual(after.retention.erased.entry_ids, [entry_id]);
    assert.equal(after.entries, before.entries, 'an erasure is not on the session’s chain');
    assert.notEqual(after.receipt.entry_id, before.receipt.entry_id);
  });
});

describe('an erasure that a crash interrupted', () => {
  it('is completed by the next start', async () => {
    const first = await run();
    const body = { message: MESSAGE };
    const { json } = await first.post('/api/v1/classify', body, { key: first.live });
    const { entry_id } = json as { readonly entry_id: string };
    const log = first.gateway.logs.live;
    // The state between the batch of the entry and the destruction of the key.
    await log.putAttached([{ key: `erasing/${entry_id}`, value: Buffer.alloc(0) }]);
    assert.notDeepEqual(await first.gateway.disclosures.open([log], entry_id), {});
    await first.close(true);
    const second = await run({ DATA_DIR: first.data });
    try {
      const { disclosures, logs } = second.gateway;
      assert.deepEqual(await disclosures.open([logs.live], entry_id), {});
      assert.equal(logs.live.attached(`erasing/${entry_id}`), undefined);
    } finally {
      await second.close();
    }
  });
});

describe('an erasure of an entry of a closed log', function () {
  this.timeout(60_000);
  let running: Running;
  let key: string;
  /** Entries of the first log, and the sealed answers that contained them. */
  let erased: Body;
  let acknowledged: Body;
  let kept: Body;

  const classify = async (name: string): Promise<Body> =>
    ok(
      await running.post(
        '/api/v1/classify',
        { message: MESSAGE },
        { key, headers: { 'Idempotency-Key': `succession-${name}` } },
      ),
    );
  const hasKey = ({ entry_id }: Body): Promise<boolean> =>
    running.gateway.disclosures.hasKey(running.gateway.served.live, entry_id as string);
  const restart = async (): Promise<void> => {
    await running.close(true);
    running = await run({ DATA_DIR: running.data });
  };

  before(async () => {
    running = await run();
    key = running.live;
    erased = await classify('erased');
    acknowledged = await classify('acknowledged');
    kept = await classify('kept');
    running = await succeeded(running);
  });
  after(() => running.close());

  it('destroys the key, and no replay or lookup returns the text', async () => {
    const { entry_id } = erased;
    assert.equal(await hasKey(erased), true);
    const answer = await running.ask('DELETE', `/api/v1/disclosures/${String(entry_id)}`, { key });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await hasKey(erased), false);
    const { disclosures: _, ...rest } = erased;
    assert.deepEqual(await classify('erased'), rest);
    const found = await running.get(`/receipt/lookup?entry_id=${String(entry_id)}`, { key });
    assert.equal(found.json.receipt.disclosures.message.erased, true);
    const { logs } = running.gateway;
    assert.equal(logs.live.attached(`erasing/${String(entry_id)}`), undefined);
    await restart();
    assert.equal(await hasKey(erased), false);
    assert.deepEqual(await classify('erased'), rest);
    assert.deepEqual(await classify('kept'), kept);
  });

  it('that was acknowledged before anything was destroyed is completed by the next start', async () => {
    const { gateway } = running;
    const tenant_ref = acknowledged.tenant_ref as string;
    const members = {
      subject_entry_id: acknowledged.entry_id as string,
      subject_commitments: ['message'],
    };
    await gateway.logs.live.append([{ type: ERASURE, tenant_ref, members }]);
    assert.equal(await hasKey(acknowledged), true, 'as the earlier release left it');
    const { disclosures: _, ...rest } = acknowledged;
    assert.deepEqual(await classify('acknowledged'), rest);
    await restart();
    assert.equal(await hasKey(acknowledged), false);
    assert.equal(await hasKey(kept), true);
    assert.deepEqual(await classify('kept'), kept);
  });

  it('is completed by the start that finds its pending row in any log', async () => {
    const { served } = running.gateway;
    const pending = `erasing/${String(kept.entry_id)}`;
    // The crash happened before the succession, so the row is in the closed log.
    await served.live[0]!.putAttached([{ key: pending, value: Buffer.alloc(0) }]);
    await restart();
    assert.equal(await hasKey(kept), false);
    assert.equal(running.gateway.served.live[0]!.attached(pending), undefined);
  });

  it('stays pending while the log with the sealed text is not served', async () => {
    const unknown = '01900000-0000-7000-8000-000000000000';
    const pending = `erasing/${unknown}`;
    await running.gateway.logs.live.putAttached([{ key: pending, value: Buffer.alloc(0) }]);
    const lines: string[] = [];
    await running.close(true);
    running = await run({ DATA_DIR: running.data }, { lines: (line) => lines.push(line) });
    assert.notEqual(running.gateway.logs.live.attached(pending), undefined);
    assert.ok(lines.some((line) => line.includes(unknown) && line.includes('not finished')));
  });
});
