// Tests of plugins/astl/lookup.ts.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { fromHex } from '../../../log/encoding/bytes.ts';
import { fromBase64 } from '../../../log/index.ts';
import { checkConsistency } from '../../../log/merkle/check.ts';
import { verifyCheckpoint, verifyReceipt } from '../../../log/verify.ts';
import { ENTITY, problem, serveSurfaces } from './surfaces.ts';
import type { Surfaces } from './surfaces.ts';

describe('GET /api/v1/astl/lookup, log.json and verify', () => {
  let served: Surfaces;
  const hashes: string[] = [];
  const get = (path: string) => served.gateway.get(path, { key: served.gateway.sandbox });

  before(async () => {
    served = await serveSurfaces();
    for (const surfaces of [['a'], ['a', 'b'], []]) {
      const { json } = await served.publish({ entity: ENTITY, surfaces });
      hashes.push(json.surface_manifest_hash);
    }
    for (let n = 0; n < 4; n++)
      await served.publish({ entity: `other-${String(n)}`, surfaces: [] });
  });
  after(() => served.close());

  it('finds a manifest by hash, with proofs of its entry and of its head hash', async () => {
    const { json } = await get(`/api/v1/astl/lookup?surface_manifest_hash=${hashes[0] ?? ''}`);
    assert.equal(json.found, true);
    assert.deepEqual([json.in_force, json.superseded_by], [false, hashes[2]]);
    const { proof, receipt, head_hash } = json;
    const index = json.index as number;
    const place = { checkpoint: proof.checkpoint, inclusion_proof: proof.inclusion };
    const shown = { ...receipt, log: { ...receipt.log, ...place } };
    const checked = verifyReceipt(shown, served.trust());
    assert.equal(checked.valid, true);
    assert.equal(checked.size, proof.size);
    checkConsistency(native, {
      from: index + 1,
      to: proof.size,
      fromRoot: fromHex(head_hash),
      toRoot: verifyCheckpoint(proof.checkpoint, served.trust()).root,
      path: proof.consistency.map((hash: string) => fromBase64(hash)),
    });
  });

  it('finds the newest manifest of an entity, and reports if there is none', async () => {
    const { json } = await get(`/api/v1/astl/lookup?entity=${ENTITY}`);
    assert.deepEqual([json.surface_manifest_hash, json.in_force], [hashes[2], true]);
    assert.deepEqual((await get('/api/v1/astl/lookup?entity=nobody')).json, { found: false });
    const none = `/api/v1/astl/lookup?surface_manifest_hash=${'0'.repeat(64)}`;
    assert.deepEqual((await get(none)).json, { found: false });
    const live = await get(`/api/v1/astl/lookup?entity=${ENTITY}&log=live`);
    assert.deepEqual(live.json, { found: false }, 'an entity of one log is unknown in the other');
    const keyless = await served.gateway.get(`/api/v1/astl/lookup?entity=${ENTITY}&log=sandbox`);
    assert.equal(keyless.json.found, true);
    assert.deepEqual(problem(await get('/api/v1/astl/lookup')).slice(0, 2), [
      ...[400, 'parameter_missing'],
    ]);
  });

  it('lists every manifest once and in order, page by page', async () => {
    const seen: { index: number; surface_manifest_hash: string }[] = [];
    let cursor: string | null = null;
    const page = async (limit: number) => {
      const after = cursor === null ? '' : `&cursor=${cursor}`;
      const { json } = await get(`/api/v1/astl/log.json?limit=${String(limit)}${after}`);
      seen.push(...json.data);
      cursor = json.next_cursor;
      return json;
    };
    assert.equal((await page(3)).has_more, true);
    assert.equal((await page(3)).has_more, true);
    assert.equal((await page(3)).has_more, false);
    assert.equal(seen.length, 7);
    assert.deepEqual(
      seen.slice(0, 3).map(({ surface_manifest_hash }) => surface_manifest_hash),
      hashes,
    );
    assert.deepEqual((await page(3)).data, [], 'the cursor of the last page can be used again');
    const { json: later } = await served.publish({ entity: 'late', surfaces: [] });
    assert.equal((await page(1)).data[0].index, later.index);
    const { json: all } = await get('/api/v1/astl/log.json');
    assert.deepEqual(all.data, seen);
    assert.equal(all.data.at(-1).head_hash, later.head_hash);
  });

  it('limits pages and refuses cursors that it did not issue', async () => {
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['cursor=MS4', 'cursor'],
      ['cursor=AAAA', 'cursor'],
    ] as const) {
      assert.deepEqual(problem(await get(`/api/v1/astl/log.json?${query}`)), [
        ...[400, 'parameter_invalid', param],
      ]);
    }
    assert.equal((await get('/api/v1/astl/log.json?limit=100')).status, 200);
  });

  it('verifies a manifest by its hash', async () => {
    const { json } = await get(`/api/v1/astl/verify?surface_manifest_hash=${hashes[1] ?? ''}`);
    assert.deepEqual([json.valid, json.found, json.in_force], [true, true, false]);
    assert.ok(json.checks.every(({ outcome }: { outcome: string }) => outcome !== 'failed'));
    const gone = await get(`/api/v1/astl/verify?surface_manifest_hash=${'0'.repeat(64)}`);
    assert.deepEqual([gone.json.valid, gone.json.found], [false, false]);
  });

  it('verifies a given manifest, whatever hash it claims, and reports missing members', async () => {
    const { manifest } = (await get(`/api/v1/astl/lookup?entity=${ENTITY}`)).json;
    const verify = async (body: object) =>
      (await served.gateway.post('/api/v1/astl/verify', body, { key: served.gateway.sandbox }))
        .json;
    assert.equal((await verify(manifest)).valid, true);
    const { surface_manifest_hash: _, ...bare } = manifest;
    assert.equal((await verify(bare)).valid, true);
    const wider = await verify({ ...bare, note: 'mine' });
    assert.deepEqual([wider.valid, wider.ignored_members], [true, ['note']]);
    const claims = await verify({ ...bare, surface_manifest_hash: hashes[0] });
    assert.deepEqual([claims.valid, claims.found], [false, true]);
    const altered = await verify({ ...bare, surfaces: ['z'] });
    assert.deepEqual([altered.valid, altered.found], [false, false]);
  });

  it('verifies a given receipt', async () => {
    const { receipt } = (await get(`/api/v1/astl/lookup?entity=${ENTITY}`)).json;
    const verify = async (body: object) =>
      (await served.gateway.post('/api/v1/astl/verify', body, { key: served.gateway.sandbox }))
        .json;
    assert.equal((await verify(receipt)).valid, true);
    assert.equal((await verify({ ...receipt, valid_from_ms: 1 })).valid, false);
    assert.equal((await verify({ ...receipt, origin: 'elsewhere/log/live/1' })).valid, false);
    const { json: beat } = await served.beat({ entity: ENTITY, surface: 'a' });
    assert.equal((await verify(beat.receipt)).valid, false, 'a heartbeat is not a manifest');
  });
});
