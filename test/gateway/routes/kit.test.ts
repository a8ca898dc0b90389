// Tests of gateway/routes/kit.ts.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { canonical, native, parseCheckpoint } from '../../../log/index.ts';
import type { Json, JsonObject } from '../../../log/index.ts';
import { trustFromKit, verifyReceipt } from '../../../log/verify.ts';
import { checkKit } from '../../../tools/verify/kit.ts';
import { Clock } from '../running.ts';
import { serve } from './served.ts';
import type { Served } from './served.ts';

const PATH = '/export/offline-verify-kit.json';

describe('gateway/routes/kit', () => {
  let served: Served;
  let clock: Clock;

  beforeEach(async () => {
    clock = new Clock();
    served = await serve({}, { clock });
  });

  afterEach(() => served.close());

  const kit = async (): Promise<JsonObject> => (await served.get(PATH)).json();

  /** The number of entries of the live log that commit to kits. */
  const commitments = (): number => {
    const { live } = served.gateway.logs;
    const texts = Array.from({ length: live.size() }, (_, i) => live.entry(i) ?? '');
    return texts.filter((text) => text.includes('"type":"kit.document.v1"')).length;
  };

  it('has vectors whose verdicts the offline verifier confirms with the kit alone', async () => {
    const receipt = await served.classify(served.live);
    await served.gateway.logs.live.whenPublished((receipt['index'] as number) + 1);
    const document = await kit();
    const origin = served.gateway.logs.live.origin;
    const trust = trustFromKit(document, origin, { suite: native });
    assert.equal(trust.policy_source, 'operator');
    const vectors = document['vectors'] as readonly JsonObject[];
    assert.deepEqual(
      vectors.map(({ expected }) => expected),
      [true, false, false],
    );
    assert.equal((vectors[0]?.['receipt'] as JsonObject)['entry_id'], receipt['entry_id']);
    for (const { receipt: sample, tlog_proof, expected } of vectors) {
      const options = { suite: native, tlogProof: tlog_proof as string };
      assert.equal(verifyReceipt(sample as Json, trust, options).valid, expected);
    }
  });

  it('has vectors of COSE and AIR with the right verdicts; with another verdict the kit is refused', async () => {
    const receipt = await served.classify(served.live);
    await served.gateway.logs.live.whenPublished((receipt['index'] as number) + 1);
    const document = await kit();
    const trusts = (document['logs'] as readonly JsonObject[]).map(({ origin }) =>
      trustFromKit(document, origin as string, { suite: native }),
    );
    const vectors = document['export_vectors'] as readonly JsonObject[];
    const said = vectors.map(({ name, tampered = null, expected }) => [name, tampered, expected]);
    assert.deepEqual(said, [
      ['air', null, true],
      ['air', 'record.jurisdiction', false],
      ['cose statement', null, true],
      ['cose statement', 'signature', false],
      ['cose receipt', null, true],
      ['cose receipt', 'signature', false],
      ['cose receipt', 'entry.issued_at_ms', false],
    ]);
    assert.equal((vectors[0]?.['air'] as JsonObject)['entry_id'], receipt['entry_id']);
    const ofVectors = async (shown: JsonObject) =>
      (await checkKit(shown, trusts)).checks.filter(({ name }) => name === 'export_vector');
    for (const { outcome, detail } of await ofVectors(document))
      assert.equal(outcome, 'ok', detail);
    assert.equal((await ofVectors(document)).length, vectors.length);
    for (const [i, vector] of vectors.entries()) {
      const other = { ...vector, expected: vector['expected'] !== true };
      const outcomes = await ofVectors({ ...document, export_vectors: vectors.with(i, other) });
      assert.deepEqual(
        outcomes.flatMap(({ outcome }, at) => (outcome === 'failed' ? [at] : [])),
        [i],
      );
    }
  });

  it('names both logs with a checkpoint of each', async () => {
    const { logs } = await kit();
    const found = (logs as unknown as { origin: string; checkpoint: string }[]).map((log) => {
      const { origin } = parseCheckpoint(
        log.checkpoint.slice(0, log.checkpoint.indexOf('\n\n') + 1),
      );
      assert.equal(origin, log.origin);
      return origin;
    });
    const { live, sandbox } = served.gateway.logs;
    assert.deepEqual(found, [live.origin, sandbox.origin]);
  });

  it('is committed to by the entry whose receipt it contains', async () => {
    const { receipt, ...document } = await kit();
    const digest = hash('sha256', canonical(document), 'hex');
    assert.equal((receipt as JsonObject)['document_sha256'], digest);
    const trust = trustFromKit(document, served.gateway.logs.live.origin, { suite: native });
    const { valid, size } = verifyReceipt(receipt ?? null, trust, { suite: native });
    assert.ok(valid && size !== undefined);
  });

  it('is committed to once while it does not change, also with concurrent requests and after a restart', async () => {
    const first = (await served.get(PATH)).bytes;
    const many = await Promise.all(Array.from({ length: 8 }, () => served.get(PATH)));
    for (const { bytes } of many) assert.deepEqual(bytes, first);
    assert.equal(commitments(), 1);
    const { data } = served;
    await served.close(true);
    served = await serve({ DATA_DIR: data }, { clock });
    const { receipt: _, ...again } = await kit();
    const { receipt: __, ...before } = JSON.parse(first.toString()) as JsonObject;
    assert.deepEqual(again, before);
    assert.equal(commitments(), 1);
  });

  it('is renewed when a key changes, and after an hour', async () => {
    const kids = async (): Promise<number> =>
      ((await kit())['keys'] as unknown as { keys: JsonObject[] }).keys.filter(
        ({ purpose }) => purpose === undefined,
      ).length;
    assert.equal(await kids(), 2);
    await served.gateway.logs.sandbox.operator.rotateKey();
    assert.equal(await kids(), 3);
    assert.equal(commitments(), 2);
    clock.pass(3_000_000);
    await kit();
    assert.equal(commitments(), 2);
    clock.pass(700_000);
    await kit();
    assert.equal(commitments(), 3);
  });

  it('answers 304 to a client that has it', async () => {
    const etag = (await served.get(PATH)).headers.get('etag') ?? '';
    assert.equal((await served.get(PATH, undefined, { 'If-None-Match': etag })).status, 304);
  });
});
