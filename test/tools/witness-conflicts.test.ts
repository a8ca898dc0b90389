// A witness of a log that contradicts a cosigned checkpoint: it stores the contradiction as a finding that others can
// verify (log/FORMAT.md §7.1), and reports it.

import assert from 'node:assert/strict';
import { native } from '../../log/crypto/native.ts';
import type { JsonObject } from '../../log/encoding/json.ts';
import { formatAddCheckpoint } from '../../log/note/checkpoint.ts';
import { violationVerifier } from '../../log/verify.ts';
import { serveStatus } from '../../tools/status.ts';
import { MOST_KEPT } from '../../tools/witness/conflicts.ts';
import { witnessReport } from '../../tools/witness/report.ts';
import { Witness } from '../../tools/witness/witness.ts';
import { GrowingTree } from '../support/growing-tree.ts';
import { ORIGIN, Served, signer } from './witness-served.ts';

describe('witness: a log that contradicts a cosigned checkpoint', () => {
  let served: Served;
  /** The cosigned tree of five entries, and a different history. */
  const tree = new GrowingTree(ORIGIN, 41).grow(5);
  const fork = new GrowingTree(ORIGIN, 41).grow(4).grow(3, 'other');

  beforeEach(async () => {
    served = new Served(tree.vkey);
    await served.start();
    assert.equal((await served.answer(tree.request(0)))[0], 200);
  });
  afterEach(() => served.end());

  const conflicts = async (): Promise<JsonObject[]> => {
    const response = await fetch(`${served.url}/conflicts`);
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    return ((await response.json()) as { conflicts: JsonObject[] }).conflicts;
  };

  /** The sentence of the offline verifier, which must accept the finding. */
  const proven = async (finding: JsonObject | undefined): Promise<string> => {
    const trust = { origin: ORIGIN, vkey: tree.vkey, keys: [] };
    const { valid, summary } = await violationVerifier.check(finding ?? {}, trust, {
      suite: native,
    });
    assert.ok(valid, summary);
    return summary;
  };

  it('keeps another root of the same size, whatever the old size of the request', async () => {
    assert.deepEqual(await conflicts(), []);
    assert.deepEqual(await served.answer(fork.request(0, 5)), [409, 'size 5\n']);
    const [finding, ...more] = await conflicts();
    assert.deepEqual(more, []);
    assert.match(await proven(finding), /signed two different roots for the tree of 5 entries/);
    assert.equal((await served.answer(fork.request(5, 5)))[0], 422);
    assert.equal((await conflicts()).length, 1, 'it is kept once');
  });

  it('keeps a later checkpoint whose own proof shows another prefix, over a restart', async () => {
    assert.equal((await served.answer(fork.request(5)))[0], 422);
    await served.stop();
    await served.start();
    const [finding] = await conflicts();
    assert.match(await proven(finding), /the first 5 entries of the two are not the same/);
  });

  it('keeps nothing for a proof that is not valid, or for a checkpoint of another key', async () => {
    const longer = new GrowingTree(ORIGIN, 41).grow(9);
    const path = longer.consistency(5).toReversed();
    const bad = formatAddCheckpoint({ old: 5, path, note: longer.note() });
    assert.equal((await served.answer(bad))[0], 422);
    const stranger = new GrowingTree(ORIGIN, 42).grow(5, 'other');
    assert.equal((await served.answer(stranger.request(5, 5)))[0], 403);
    assert.equal((await served.answer(longer.request(3)))[0], 409);
    assert.deepEqual(await conflicts(), []);
    assert.equal((await fetch(`${served.url}/conflicts`, { method: 'POST' })).status, 405);
  });

  it('keeps a bounded number of findings', async () => {
    for (let i = 0; i < MOST_KEPT + 2; i += 1) {
      const other = new GrowingTree(ORIGIN, 41).grow(5, `fork ${String(i)}`);
      assert.equal((await served.answer(other.request(5, 5)))[0], 422);
    }
    assert.equal((await conflicts()).length, MOST_KEPT);
  });

  it('reports each new one by a log line, a webhook, metrics and health', async () => {
    await served.stop();
    const lines: string[] = [];
    const posts: [string, JsonObject][] = [];
    const report = witnessReport((line) => lines.push(line), {
      send: (type, data) => posts.push([type, data]),
    });
    const { folder, vkeys } = served;
    const options = { name: 'w', signer, vkeys, folder, onConflict: report.conflict };
    const witness = await Witness.open(options);
    const status = await serveStatus('127.0.0.1:0', report.status(witness));
    try {
      await witness.addCheckpoint(Buffer.from(fork.request(5)));
      await witness.addCheckpoint(Buffer.from(fork.request(5)));
      assert.equal(lines.length, 1);
      assert.match(
        lines[0] ?? '',
        /^log\.example\/log\/live\/1 {2}CONFLICT: the tree of 7 entries/,
      );
      const [[type, data] = ['', {}]] = posts;
      assert.equal(type, 'witness.conflict');
      await proven(data);
      const base = `http://127.0.0.1:${String(status.port)}`;
      const text = await (await fetch(`${base}/metrics`)).text();
      assert.match(
        text,
        /^actlog_witness_conflicts_total\{origin="log\.example\/log\/live\/1"\} 1$/m,
      );
      assert.match(text, /^actlog_witness_conflicts_kept 1$/m);
      assert.match(text, /^actlog_witness_cosigned_size\{origin=".*"\} 5$/m);
      const health = await fetch(`${base}/health`);
      assert.deepEqual([health.status, await health.json()], [200, { ok: true, conflicts: 1 }]);
      assert.equal((await fetch(`${base}/other`)).status, 404);
      assert.equal((await fetch(`${base}/health`, { method: 'POST' })).status, 405);
    } finally {
      await status.close();
      await witness.close();
      await served.start();
    }
  });
});
