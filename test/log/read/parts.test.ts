// Tests of log/read/parts.ts: answers under one published tree share their common parts, which are not used for
// another tree.

import assert from 'node:assert/strict';

import { native } from '../../../log/crypto/native.ts';
import { manifestHash } from '../../../log/index.ts';
import type { ChainKey, Json, JsonObject } from '../../../log/index.ts';
import { trustedKeyOf, verifyAbsence } from '../../../log/verify.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';

const TENANT = 'dGVuYW50LWV4YW1wbGUtMQ';

interface Document {
  readonly verdict: string;
  readonly checkpoint: string;
  readonly map_head: JsonObject;
  readonly proof: JsonObject;
  readonly declared: { readonly manifests: readonly { index: number }[]; readonly closing: Json };
  readonly coverage?: { readonly heartbeat: { readonly index: number } };
}

describe('log/parts', () => {
  let test: TestLog;

  before(async () => {
    test = await openTestLog({ types: [] });
    await test.log.registerTenant(TENANT, '0'.repeat(64));
  });
  after(async () => {
    await test.check();
    await test.close();
  });

  const append = async (type: string, members: JsonObject): Promise<number> => {
    test.time.advance(1);
    const [entry] = await test.log.append([{ type, tenant_ref: TENANT, members }]);
    test.time.advance(1);
    return entry?.index ?? -1;
  };

  const publish = async (): Promise<number> => {
    const { map_head_ms } = await test.log.whenPublished(test.log.size() + 1);
    return map_head_ms;
  };

  const manifest = (entity: string, more: JsonObject = {}): Promise<number> => {
    const members = { entity, surfaces: ['bind', 'pay'], valid_from_ms: 0, ...more };
    const surface_manifest_hash = manifestHash(native, members);
    return append('astl.manifest.v1', { ...members, surface_manifest_hash });
  };

  /** Requests a document and verifies it. */
  const ask = async (key: ChainKey, from_ms: number, to_ms: number): Promise<Document> => {
    const { log } = test;
    const question = { key, from_ms, to_ms };
    const document = await log.absence(question);
    const trust = { origin: log.origin, vkey: log.vkey, keys: log.receiptKeys().map(trustedKeyOf) };
    const options = { suite: native, now_ms: test.time.wall() };
    const { verdict } = verifyAbsence(document, question, trust, options);
    assert.equal(verdict, document.verdict);
    return document as unknown as Document;
  };

  it('reads an entry and proves the end of a chain once for a tree', async () => {
    await append('astl.entity.v1', { entity: 'one', action: 'claim' });
    await manifest('one');
    const from_ms = await publish();
    const to_ms = await publish();
    const first = await ask(['surface', 'one', 'bind'], from_ms, to_ms);
    const again = await ask(['surface', 'one', 'bind'], from_ms, to_ms);
    assert.deepEqual(again, first);
    assert.equal(again.proof, first.proof);
    const other = await ask(['surface', 'one', 'pay'], from_ms + 1, to_ms);
    assert.equal(other.map_head, first.map_head);
    assert.equal(other.declared.manifests[0], first.declared.manifests[0]);
    assert.equal(other.declared.closing, first.declared.closing);
    assert.notEqual(other.proof, first.proof);
    for (const part of [first.map_head, first.proof, first.declared.closing]) {
      assert.ok(Object.isFrozen(part), 'shared parts are frozen');
    }
  });

  it('shows a manifest and a heartbeat as soon as they are published', async () => {
    const entity = 'two';
    await append('astl.entity.v1', { entity, action: 'claim' });
    const older = await manifest(entity);
    const from_ms = await publish();
    const key = ['surface', entity, 'bind'];
    const before = await ask(key, from_ms, from_ms);
    assert.equal(before.verdict, 'ABSENT');
    assert.deepEqual(
      before.declared.manifests.map(({ index }) => index),
      [older],
    );

    const newer = await manifest(entity, { heartbeat_interval_ms: 20 });
    assert.deepEqual(await ask(key, from_ms, from_ms), before, 'an unpublished entry is not shown');
    const second_ms = await publish();
    const after = await ask(key, from_ms, second_ms);
    assert.notEqual(after.checkpoint, before.checkpoint);
    assert.equal(after.verdict, 'UNDERSAMPLED');
    assert.deepEqual(
      after.declared.manifests.map(({ index }) => index),
      [older, newer],
    );
    // The older window again, under the newer tree: the end of the chain differs.
    const same = await ask(key, from_ms, from_ms);
    assert.equal(same.verdict, 'ABSENT');
    assert.notDeepEqual(same.declared.closing, before.declared.closing);

    const run_since_ms = test.time.wall() + 1;
    const beat = await append('astl.heartbeat.v1', {
      ...{ entity, surface: 'bind', interval_ms: 20, run_since_ms },
    });
    const third_ms = await publish();
    const covered = await ask(key, second_ms, third_ms);
    assert.equal(covered.verdict, 'ABSENT');
    assert.equal(covered.coverage?.heartbeat.index, beat);
  });

  it('follows a chain with no entry, one and several', async () => {
    const key = ['claim', 'four'];
    const shown = async (to_ms: number): Promise<readonly Json[]> => {
      const { entries = [] } = await test.log.absence({ key, from_ms: 0, to_ms });
      return (entries as readonly { readonly index: number }[]).map(({ index }) => index);
    };
    const indexes: number[] = [];
    assert.deepEqual(await shown(await publish()), indexes);
    for (const action of ['claim', 'release', 'claim']) {
      indexes.push(await append('astl.entity.v1', { entity: 'four', action }));
      const to_ms = await publish();
      assert.deepEqual(await shown(to_ms), indexes);
      assert.deepEqual(await shown(to_ms), indexes, 'the same document again');
    }
  });

  it('gives concurrent requests the same answers', async () => {
    const entity = 'three';
    await append('astl.entity.v1', { entity, action: 'claim' });
    await manifest(entity);
    const from_ms = await publish();
    const to_ms = await publish();
    const questions = ['bind', 'pay', 'bind', 'pay'].map((surface) =>
      ask(['surface', entity, surface], from_ms, to_ms),
    );
    const [a, b, c, d] = await Promise.all(questions);
    assert.deepEqual(c, a);
    assert.deepEqual(d, b);
    assert.notDeepEqual(a, b);
  });
});
