// Tests of gateway/routes/proof-download.ts: the file is the proof of the lookup, and it is valid.

import assert from 'node:assert/strict';
import { native } from '../../../log/index.ts';
import { verifyReceipt } from '../../../log/verify.ts';
import { codeOf } from '../http/envelope.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';

describe('GET /r/{entry_id}/tlog-proof', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  it('downloads a proof of the requested log that the offline verifier accepts', async () => {
    for (const [kind, key] of [
      ['live', running.live],
      ['sandbox', running.sandbox],
    ] as const) {
      const { json } = await running.post('/api/v1/classify', { message: 'hi' }, { key });
      const answer = await running.get(`/r/${String(json.entry_id)}/tlog-proof?log=${kind}`);
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="\d+/);
      const { origin, vkey } = running.gateway.logs[kind];
      const trust = { origin, vkey, keys: running.gateway.logs[kind].receiptKeys() };
      const { log: _, ...receipt } = json;
      const options = { suite: native, tlogProof: answer.text };
      const { valid, size } = verifyReceipt(receipt, trust, options);
      assert.ok(valid && size !== undefined);
    }
  });

  it('answers 404 for an unknown entry', async () => {
    assert.equal(codeOf(await running.get('/r/nothing/tlog-proof'), 404), 'resource_missing');
  });
});
