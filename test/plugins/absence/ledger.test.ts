// Tests of plugins/absence/ledger.ts.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { formatVkey } from '../../../log/note/note.ts';
import { seedKey } from '../../support/forge.ts';
import { ENTITY, problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Body, Surfaces } from '../astl/surfaces.ts';

/** Signature type of a witness (C2SP tlog-cosignature). */
const COSIGNATURE = 4;

describe('the absence ledger', () => {
  let served: Surfaces;
  let window: { from_ms: number; to_ms: number };
  let witness: Body;

  before(async () => {
    served = await serveSurfaces();
    const { clock } = served.gateway;
    await served.publish({ entity: ENTITY, surfaces: ['a', 'b', 'c'] });
    clock.pass(100);
    const from_ms = clock.wall();
    await served.act('b');
    clock.pass(100);
    window = { from_ms, to_ms: clock.wall() };
    for (const surface of ['a', 'b', 'c']) {
      const { json } = await served.witness({ entity: ENTITY, surface, ...window });
      witness = json.witness;
    }
  });
  after(() => served.close());

  it("lists a tenant's own witnesses, newest first, page by page", async () => {
    const get = (query: string, key = served.gateway.sandbox) =>
      served.gateway.get(`/api/v1/absence/ledger${query}`, { key });
    const { json: first } = await get('?limit=2');
    const surfaces = (page: Body) => page.witnesses.map((row: Body) => row.subject_key[2]);
    assert.deepEqual(surfaces(first), ['c', 'b']);
    assert.deepEqual(
      first.data.map(({ verdict }: Body) => verdict),
      ['ABSENT', 'PRESENT'],
    );
    const { json: second } = await get(`?limit=2&cursor=${String(first.next_cursor)}`);
    assert.deepEqual(surfaces(second), ['a']);
    assert.equal(second.next_cursor, null);
    assert.equal(first.data[0].document_sha256, witness.receipt.document_sha256);
    assert.equal(first.data[0].permalink, witness.receipt.permalink);
    assert.deepEqual((await get('', served.other)).json, {
      ...{ data: [], has_more: false, next_cursor: null, witnesses: [] },
    });
    assert.equal((await served.gateway.get('/api/v1/absence/ledger')).status, 401);
    assert.deepEqual(problem(await get('?limit=0')), [400, 'parameter_invalid', 'limit']);
    assert.deepEqual(problem(await get('?cursor=AAAA')), [400, 'parameter_invalid', 'cursor']);
  });

  const verify = async (body: object) =>
    served.gateway.post('/standards/absence-ledger/verify', body);
  const outcomes = (json: Body): Record<string, string> =>
    Object.fromEntries(json.checks.map(({ name, outcome }: Body) => [name, outcome]));

  it('verifies a document against the question of the caller', async () => {
    const { json } = await verify({ document: witness, question: witness.question });
    assert.equal(json.valid, true);
    assert.deepEqual([json.verdict, json.witnessed, json.map_verified], ['ABSENT', 0, 0]);
    assert.equal(json.origin, served.log().origin);
    assert.equal(json.policy_source, 'none');
    const notShown = Object.entries(outcomes(json)).filter(([, outcome]) => outcome !== 'ok');
    assert.deepEqual(notShown, [
      ['step 5', 'not_shown'], // it shows no entries, and no manifest promises heartbeats
      ['step 7', 'not_shown'],
    ]);
    const text = await verify({ document: JSON.stringify(witness), question: witness.question });
    assert.equal(text.json.valid, true);
  });

  it('verifies the document of a witness entry by its id', async () => {
    const { entry_id, document_sha256 } = witness.receipt;
    const path = '/standards/absence-ledger/verify';
    const ask = (id: string) => served.gateway.get(`${path}?entry_id=${id}`);
    const { status, json, text } = await ask(entry_id);
    assert.equal(status, 200, text);
    assert.deepEqual([json.valid, json.verdict], [true, 'ABSENT']);
    assert.deepEqual(json.entry, {
      ...{ entry_id, verdict: 'ABSENT', document_sha256 },
      document: 'renewed',
    });
    assert.equal(outcomes(json)['step 8'], 'ok');
    const act = await served.act('b');
    assert.deepEqual(problem(await ask(act.json.entry_id)), [404, 'resource_missing', 'entry_id']);
    assert.deepEqual(problem(await ask('unknown')), [404, 'resource_missing', 'entry_id']);
    assert.ok((await served.gateway.get(path)).json.steps.length > 0);
  });

  it('distinguishes a watched absence from one without a declaration', async () => {
    const { clock } = served.gateway;
    const entity = 'watched';
    await served.publish({ entity, surfaces: ['a'], heartbeat_interval_ms: 60_000 });
    clock.pass(100);
    const from_ms = clock.wall();
    await served.beat({ entity, surface: 'a' });
    clock.pass(100);
    const asked = { entity, surface: 'a', from_ms, to_ms: clock.wall() };
    const { json: answer } = await served.witness(asked);
    const documents = [answer.witness, witness];
    const verified = documents.map((document) =>
      verify({ document, question: document.question }).then(({ json }) => json),
    );
    assert.deepEqual(
      (await Promise.all(verified)).map((one) => [one.verdict, one.heartbeat_interval_ms]),
      [
        ['ABSENT', 60_000],
        ['ABSENT', null],
      ],
    );
  });

  it('does not report a document as invalid that answers another question', async () => {
    const { from_ms, to_ms, key } = witness.question as {
      readonly from_ms: number;
      readonly to_ms: number;
      readonly key: readonly string[];
    };
    for (const question of [
      { key, from_ms: from_ms - 1, to_ms },
      { key, from_ms, to_ms: to_ms + 1 },
      { key: [...key.slice(0, 2), 'other'], from_ms, to_ms },
    ]) {
      const { status, json } = await verify({ document: witness, question });
      assert.deepEqual([status, json.valid, json.verdict, json.covers], [200, null, null, null]);
      assert.equal(json.heartbeat_interval_ms, null);
      const seen = outcomes(json);
      assert.deepEqual(
        [seen['document'], seen['step 0'], seen['step 1'], seen['step 8']],
        ['ok', 'failed', 'ok', 'ok'],
      );
      const forged = await verify({ document: { ...witness, verdict: 'PRESENT' }, question });
      assert.equal(
        forged.json.valid,
        false,
        'a document that is not valid has the verdict invalid',
      );
    }
  });

  it('answers about a part of the window, and reports the window of the document', async () => {
    const { key, from_ms, to_ms } = witness.question;
    const whole = await verify({ document: witness, question: witness.question });
    assert.equal(whole.json.covers, null);
    const question = { key, from_ms: to_ms, to_ms };
    const { json } = await verify({ document: witness, question });
    assert.deepEqual(
      [json.valid, json.verdict, json.entries, json.covers],
      [true, 'ABSENT', 0, { from_ms, to_ms }],
    );
  });

  it('answers about a part without entries by a document that has some', async () => {
    const { clock } = served.gateway;
    const entity = 'partly-quiet';
    await served.publish({ entity, surfaces: ['a'], heartbeat_interval_ms: 60_000 });
    clock.pass(100);
    const from_ms = clock.wall();
    await served.beat({ entity, surface: 'a' });
    clock.pass(1000);
    const quiet_ms = clock.wall();
    clock.pass(1000);
    const acted = await served.act('a', entity);
    assert.equal(acted.status, 200, acted.text);
    clock.pass(1000);
    const window = { from_ms, to_ms: clock.wall() };
    const { json: answer } = await served.witness({ entity, surface: 'a', ...window });
    assert.equal(answer.witness.verdict, 'PRESENT');
    const { key } = answer.witness.question;
    const about = async (to_ms: number) => {
      const { json } = await verify({
        document: answer.witness,
        question: { key, from_ms, to_ms },
      });
      return [json.valid, json.verdict, json.entries, json.heartbeat_interval_ms];
    };
    assert.deepEqual(await about(quiet_ms), [true, 'ABSENT', 0, 60_000]);
    assert.deepEqual(await about(window.to_ms - 1), [true, 'PRESENT', 1, 60_000]);
  });

  it('refuses changed, foreign and malformed documents', async () => {
    const { question } = witness;
    const failed = async (document: unknown) => {
      const { status, json } = await verify({ document, question });
      assert.deepEqual([status, json.valid], [200, false]);
      return json.checks.find(({ outcome }: Body) => outcome === 'failed').name;
    };
    assert.equal(await failed({ ...witness, verdict: 'PRESENT' }), 'step 8');
    assert.equal(await failed({ ...witness, more: true }), 'step 5');
    assert.equal(await failed({ ...witness, extra: 1 }), 'document');
    assert.equal(await failed({ ...witness, statement: 'else' }), 'receipt');
    assert.equal(await failed({ ...witness, checkpoint: 'elsewhere\n1\n\n' }), 'step 1');
    assert.equal(await failed('no document'), 'document');
    assert.equal(await failed(null), 'document');
  });

  it('reports no step as ok that did not run', async () => {
    const { question } = witness;
    const other = { ...question, to_ms: question.to_ms - 1 };
    const elsewhere = { ...witness, checkpoint: 'elsewhere\n1\n\n' };
    const bare = { ...witness, verdict: 'UNDECLARED', declared: undefined, receipt: undefined };
    for (const [document, asked, ran] of [
      ['not json', question, ['document failed']],
      [[], question, ['document failed']],
      ['{"a":1,"a":2}', question, ['document failed']],
      [elsewhere, other, ['document ok', 'step 0 ok', 'step 1 failed']],
      [elsewhere, question, ['document ok', 'step 0 ok', 'step 1 failed']],
      [
        bare,
        question,
        ['document', 'step 0', 'step 1', 'step 2', 'step 3', 'step 4', 'step 8'].map(
          (name) => `${name} ok`,
        ),
      ],
    ] as const) {
      const { json } = await verify({ document, question: asked });
      const seen = Object.entries(outcomes(json)).filter(([, one]) => !one.startsWith('not_'));
      assert.deepEqual(
        seen.map(([name, outcome]) => `${name} ${outcome}`),
        ran,
      );
    }
    const { json } = await verify({ document: elsewhere, question });
    const failed = json.checks.find(({ outcome }: Body) => outcome === 'failed');
    assert.equal(failed.detail, 'the checkpoint is not of a log of this service');
  });

  it('counts the witnesses of a given policy, and refuses a malformed one', async () => {
    const { question } = witness;
    const asked = { document: witness, question };
    const vkey = served.trust().vkey;
    const none = `log ${vkey}\nquorum none\n`;
    assert.equal((await verify({ ...asked, policy: none })).json.valid, true);
    const { publicKey } = seedKey(0x51);
    const key = formatVkey(native, 'witness.example/w1', COSIGNATURE, publicKey);
    const { json } = await verify({ ...asked, policy: `witness w1 ${key}\nquorum w1\n` });
    assert.deepEqual([json.valid, json.policy_source], [false, 'caller']);
    assert.equal(outcomes(json)['step 3'], 'failed');
    assert.deepEqual(problem(await verify({ ...asked, policy: 'quorum many' })), [
      ...[400, 'parameter_invalid', 'policy'],
    ]);
  });

  it('explains on GET what is checked', async () => {
    const { status, json } = await served.gateway.get('/standards/absence-ledger/verify');
    assert.equal(status, 200);
    assert.equal(json.steps.length, 11);
    assert.match(json.verify.url, /\/standards\/absence-ledger\/verify$/);
  });
});
