// Prefer: wait=N on appends. RFC 7240; gateway/API.md §1.4.

import assert from 'node:assert/strict';
import { fromBase64, fromHex, native } from '../../../log/index.ts';
import { rootOfInclusion } from '../../../log/merkle/check.ts';
import { notes } from '../notes.ts';
import { run } from '../running.ts';

describe('Prefer: wait', () => {
  it('adds the checkpoint that covers the entry, and the proof', async () => {
    const running = await run({}, { plugins: [notes()] });
    for (const prefer of ['wait=10', 'respond-async, wait=10', 'wait="10"; foo=bar']) {
      const answer = await running.post(
        '/notes/a',
        { text: 'x' },
        { key: running.live, headers: { Prefer: prefer } },
      );
      assert.equal(answer.headers.get('preference-applied'), 'wait=10');
      const { log, entry_hash, index } = answer.json.receipt;
      const [origin, size, root] = log.checkpoint.split('\n');
      assert.equal(origin, 'test.example/log/live/1');
      const computed = rootOfInclusion(native, {
        index,
        size: Number(size),
        leafHash: fromHex(entry_hash),
        path: log.inclusion_proof.map((hash: string) => fromBase64(hash)),
      });
      assert.deepEqual(Buffer.from(computed).toString('base64'), root);
    }
    await running.close();
  });

  it('answers without them after the time, or if the preference is not valid', async () => {
    const running = await run({ CHECKPOINT_INTERVAL_MS: '60000' }, { plugins: [notes()] });
    for (const prefer of ['wait=0', 'wait=-1', 'wait=x', 'return=minimal']) {
      const answer = await running.post(
        '/notes/a',
        { text: 'x' },
        { key: running.live, headers: { Prefer: prefer } },
      );
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('preference-applied'), null);
      assert.deepEqual(Object.keys(answer.json.receipt.log), ['origin', 'index']);
    }
    await running.close();
  });

  it('waits 30 seconds at most', async () => {
    const running = await run({}, { plugins: [notes()] });
    const answer = await running.post(
      '/notes/a',
      { text: 'x' },
      { key: running.live, headers: { Prefer: 'wait=100' } },
    );
    assert.equal(answer.headers.get('preference-applied'), 'wait=30');
    await running.close();
  });
});
