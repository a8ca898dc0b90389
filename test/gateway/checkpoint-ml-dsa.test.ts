// CHECKPOINT_ML_DSA: checkpoints with a second signature by a key that the kit names. log/FORMAT.md §5.2.

import assert from 'node:assert/strict';
import { native } from '../../log/index.ts';
import { openNote, splitNote } from '../../log/operate.ts';
import { parseVkey, trustFromKit, verifyReceipt } from '../../log/verify.ts';
import type { Json, Trust } from '../../log/verify.ts';
import { run } from './running.ts';
import type { Running } from './running.ts';

describe('CHECKPOINT_ML_DSA', () => {
  const env = { CHECKPOINT_ML_DSA: 'on' };
  const linesOf = async (running: Running): Promise<number> =>
    splitNote((await running.get('/log/live/checkpoint')).text).signatures.length;

  it('signs checkpoints twice, with the same key after a restart, until it is off', async () => {
    const first = await run(env);
    const body = { message: 'one' };
    const asked = { key: first.live, headers: { Prefer: 'wait=10' } };
    const receipt = (await first.post('/api/v1/classify', body, asked)).json;
    const kit = (await first.get('/export/offline-verify-kit.json')).json;
    const { origin } = first.gateway.logs.live;
    const { vkey, vkey_ml_dsa } = kit.logs.find((log: { origin: string }) => log.origin === origin);
    const { text: note } = await first.get('/log/live/checkpoint');
    const keys = [vkey, vkey_ml_dsa].map((key: string) => parseVkey(native, key));
    const { verified } = openNote(native, note, keys);
    assert.deepEqual(
      verified.map(({ time_s }) => time_s),
      [undefined, 0],
    );
    const trust = trustFromKit(kit, origin, { suite: native });
    const required = { ...trust, require_ml_dsa: true } as const;
    const outcomeOf = (shown: Json, by: Trust): string => {
      const { checks } = verifyReceipt(shown, by, { suite: native });
      return checks.find(({ name }) => name === 'checkpoint')?.detail ?? '';
    };
    assert.match(outcomeOf(receipt, required), /^tree of \d+ entries, signed with ML-DSA-44 too$/);
    assert.equal(verifyReceipt(receipt, required, { suite: native }).valid, true);
    await first.close(true);

    const second = await run({ ...env, DATA_DIR: first.data });
    assert.equal(second.gateway.logs.live.vkey_ml_dsa, vkey_ml_dsa);
    await second.close(true);

    const third = await run({ DATA_DIR: first.data });
    try {
      const late = (await third.post('/api/v1/classify', body, { ...asked, key: first.live })).json;
      assert.equal(await linesOf(third), 1);
      assert.match(outcomeOf(late, trust), /^tree of \d+ entries, not signed with ML-DSA-44$/);
      assert.equal(verifyReceipt(late, trust, { suite: native }).valid, true);
      assert.match(outcomeOf(late, required), /has no ML-DSA-44 signature of its log/);
      assert.equal(verifyReceipt(late, required, { suite: native }).valid, false);
    } finally {
      await third.close();
    }
  });
});
