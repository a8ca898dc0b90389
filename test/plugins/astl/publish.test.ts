// Tests of plugins/astl/publish.ts.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { fromHex, toHex, utf8 } from '../../../log/encoding/bytes.ts';
import { checkConsistency } from '../../../log/merkle/check.ts';
import { leafHash, nodeHash } from '../../../log/merkle/hash.ts';
import { verifyCheckpoint } from '../../../log/verify.ts';
import { fromBase64 } from '../../../log/index.ts';
import type { Log } from '../../../log/index.ts';
import { ENTITY, problem, serveSurfaces } from './surfaces.ts';
import type { Surfaces } from './surfaces.ts';

/** Root of the first entries, by the definition of RFC 9162 §2.1.1. */
function rootOf(log: Log, from: number, to: number): Uint8Array {
  if (to - from === 1) return leafHash(native, utf8(log.entry(from) ?? ''));
  const half = 2 ** Math.ceil(Math.log2(to - from) - 1);
  return nodeHash(native, rootOf(log, from, from + half), rootOf(log, from + half, to));
}

describe('POST /api/v1/astl/publish', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  it('claims an entity without an owner and publishes its manifest', async () => {
    const answer = await served.publish({
      ...{ entity: ENTITY, preset: 'hiring' },
      ...{ heartbeat_interval_ms: 60_000, min_detectable_gap_ms: 120_000 },
    });
    assert.equal(answer.status, 200, answer.text);
    const { index, receipt, claim, manifest, nyquist_floor } = answer.json;
    assert.equal(receipt.type, 'astl.manifest.v1');
    assert.equal(receipt.index, index);
    assert.deepEqual(
      [receipt.toll, receipt.toll_micro_usd, claim.toll],
      ['astl_publish', 250_000, undefined],
    );
    assert.equal(claim.type, 'astl.entity.v1');
    assert.equal(claim.action, 'claim');
    assert.equal(claim.tenant_ref, receipt.tenant_ref);
    assert.equal(manifest.valid_from_ms, receipt.issued_at_ms);
    assert.deepEqual(manifest.surfaces, [
      ...['adverse_action', 'background_pull', 'candidate_screen', 'offer_extend', 'policy_bind'],
    ]);
    assert.deepEqual(nyquist_floor, {
      heartbeat_interval_ms: 60_000,
      shortest_detectable_gap_ms: 120_000,
      min_detectable_gap_ms: 120_000,
    });
  });

  it('gives the log root at size index + 1 as head_hash, which leads to any later checkpoint', async () => {
    const answer = await served.publish({ entity: 'headed', surfaces: ['a'] });
    const { head_hash } = answer.json;
    const index = answer.json.index as number;
    const log = served.log();
    assert.equal(head_hash, toHex(rootOf(log, 0, index + 1)));
    await served.head();
    const path = `/log/sandbox/proof/consistency?from=${String(index + 1)}`;
    const { json: proof } = await served.gateway.get(path);
    const { root, size } = verifyCheckpoint(proof.checkpoint, served.trust());
    checkConsistency(native, {
      ...{ from: index + 1, to: size, fromRoot: fromHex(head_hash), toRoot: root },
      path: proof.path.map((hash: string) => fromBase64(hash)),
    });
    assert.ok(size > index + 1);
  });

  it('answers the manifest in force with the same entry, also under a new Idempotency-Key', async () => {
    const body = { entity: 'twice', surfaces: ['b', 'a'], heartbeat_interval_ms: 1000 };
    const first = await served.publish(body);
    const again = await served.publish({ ...body, surfaces: ['a', 'b', 'b'] });
    assert.equal(again.status, 200);
    assert.deepEqual(again.json.receipt, first.json.receipt);
    const headers = { 'Idempotency-Key': 'publish-twice-1' };
    const keyed = { key: served.gateway.sandbox, headers };
    const once = await served.gateway.post('/api/v1/astl/publish', body, keyed);
    assert.equal(once.json.index, first.json.index);
    const other = await served.publish({ ...body, surfaces: ['c'] });
    assert.ok(other.json.index > first.json.index, 'another manifest is another entry');
    const replay = await served.gateway.post('/api/v1/astl/publish', body, keyed);
    assert.equal(replay.headers.get('idempotent-replayed'), 'true');
    assert.equal(replay.text, once.text);
    const third = await served.publish(body);
    assert.ok(third.json.index > other.json.index, 'the older manifest is no longer in force');
  });

  it('appends one claim and one manifest for many concurrent requests', async () => {
    const body = { entity: 'rush', surfaces: ['a'] };
    const answers = await Promise.all(Array.from({ length: 8 }, () => served.publish(body)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    );
    assert.equal(new Set(answers.map(({ json }) => json.index)).size, 1);
    const { map_head_ms } = await served.log().whenPublished(served.log().size());
    const claims = await served
      .log()
      .chain({ key: ['claim', 'rush'], from_ms: 0, to_ms: map_head_ms });
    assert.equal(claims.length, 1);
  });

  it('gives an entity to one of two tenants that claim it concurrently', async () => {
    const body = { entity: 'contested', surfaces: ['a'] };
    const answers = await Promise.all([served.publish(body), served.publish(body, served.other)]);
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 403]);
  });

  it('refuses other tenants for a claimed entity, and claims none without a key', async () => {
    const body = { entity: ENTITY, surfaces: ['a'] };
    assert.deepEqual(problem(await served.publish(body, served.other)), [
      ...[403, 'tenant_forbidden', 'entity'],
    ]);
    const unclaimed = await served.publish({ ...body, entity: 'nobody' }, null);
    assert.deepEqual(problem(unclaimed).slice(0, 2), [401, 'api_key_missing']);
    const live = served.gateway.live;
    assert.equal((await served.publish({ entity: 'living', surfaces: [] }, live)).status, 200);
    const taken = await served.publish({ entity: 'living', surfaces: ['a'] }, null);
    assert.deepEqual(problem(taken), [403, 'tenant_forbidden', 'entity']);
  });

  it('refuses an invalid manifest', async () => {
    const refused = async (body: object): Promise<unknown> =>
      problem(await served.publish({ entity: ENTITY, ...body }));
    assert.deepEqual(await refused({}), [400, 'parameter_missing', 'surfaces']);
    const both = { surfaces: ['a'], preset: 'hiring' };
    assert.deepEqual(await refused(both), [400, 'parameter_invalid', 'preset']);
    assert.deepEqual(await refused({ surfaces: [], min_detectable_gap_ms: 10 }), [
      ...[400, 'parameter_missing', 'heartbeat_interval_ms'],
    ]);
    assert.deepEqual(await refused({ surfaces: ['Policy_bind'] }), [
      ...[400, 'parameter_invalid', 'surfaces.0'],
    ]);
    assert.deepEqual(await refused({ preset: 'piracy' }), [400, 'parameter_invalid', 'preset']);
    assert.deepEqual(await refused({ entity: 'Acme', surfaces: [] }), [
      ...[400, 'parameter_invalid', 'entity'],
    ]);
    assert.deepEqual(
      await refused({ surfaces: [], heartbeat_interval_ms: 6, min_detectable_gap_ms: 10 }),
      [400, 'parameter_invalid', 'heartbeat_interval_ms'],
    );
    assert.deepEqual(await refused({ surfaces: ['pay'], heartbeat_interval_ms: 2 ** 53 - 1 }), [
      ...[400, 'parameter_invalid', 'heartbeat_interval_ms'],
    ]);
  });
});

describe('POST /api/v1/astl/heartbeat', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
    await served.publish({ entity: ENTITY, surfaces: ['pay'], heartbeat_interval_ms: 50_000 });
  });
  after(() => served.close());

  it('takes its interval from the manifest in force, and its entity from the only claim', async () => {
    const never = await served.beat({ surface: 'pay', interval_ms: 2 ** 53 - 1 });
    assert.deepEqual(problem(never), [400, 'parameter_invalid', 'interval_ms']);
    const { status, json } = await served.beat({ surface: 'pay', acts_total: 3 });
    assert.equal(status, 200);
    const { heartbeat, receipt } = json;
    assert.equal(heartbeat.entity, ENTITY);
    assert.equal(heartbeat.interval_ms, 50_000);
    assert.equal(heartbeat.run_since_ms, receipt.issued_at_ms);
    assert.equal(heartbeat.due_ms, (receipt.issued_at_ms as number) + 50_000);
    assert.equal(receipt.acts_total, 3);
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['heartbeat', 100_000]);
    assert.deepEqual(
      receipt.links.map(({ key }: { key: unknown }) => key),
      [['heartbeat', ENTITY, 'pay']],
    );
  });

  it('continues a run while it arrives in time with the same interval, and begins a new one otherwise', async () => {
    const beat = async (interval_ms?: number) => {
      const named = interval_ms === undefined ? {} : { interval_ms };
      const { json } = await served.beat({ entity: ENTITY, surface: 'run', ...named });
      return json.heartbeat.run_since_ms as number;
    };
    const since = await beat();
    served.gateway.clock.pass(20_000);
    assert.equal(await beat(), since);
    const shorter = await beat(49_999);
    assert.ok(shorter > since, 'another interval begins another run');
    served.gateway.clock.pass(60_000);
    assert.ok((await beat(49_999)) > shorter, 'after the end of the interval');
  });

  it('is 60,000 if no manifest is in force', async () => {
    await served.publish({ entity: 'plain', surfaces: ['a'] });
    const { json } = await served.beat({ entity: 'plain', surface: 'a' });
    assert.equal(json.heartbeat.interval_ms, 60_000);
  });

  it('must name one of several entities, and only its own', async () => {
    assert.deepEqual(problem(await served.beat({ surface: 'a' })), [
      ...[400, 'parameter_missing', 'entity'],
    ]);
    const foreign = await served.beat({ entity: ENTITY, surface: 'a' }, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'entity']);
    assert.deepEqual(problem(await served.beat({ surface: 'a' }, served.other)), [
      ...[400, 'parameter_missing', 'entity'],
    ]);
    const nobody = await served.beat({ entity: 'unknown', surface: 'a' });
    assert.deepEqual(problem(nobody), [400, 'parameter_invalid', 'entity']);
    const keyless = await served.gateway.post('/api/v1/astl/heartbeat', { surface: 'a' });
    assert.equal(keyless.status, 401);
  });

  it('accepts an event time within the limits of the format', async () => {
    const now = served.gateway.clock.wall();
    const body = { entity: ENTITY, surface: 'pay' };
    const { json } = await served.beat({ ...body, event_at_ms: now - 1000 });
    assert.equal(json.receipt.event_at_ms, now - 1000);
    const old = await served.beat({ ...body, event_at_ms: now - 86_500_000 });
    assert.deepEqual(problem(old), [400, 'parameter_invalid', 'event_at_ms']);
  });
});
