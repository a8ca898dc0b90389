// Tests of plugins/absence/witness.ts.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { verifyAbsence } from '../../../log/verify.ts';
import { ENTITY, problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Body, Surfaces } from '../astl/surfaces.ts';
import { settled } from '../../support/settled.ts';

describe('POST /api/v1/absence/witness', () => {
  let served: Surfaces;
  /** A window after the manifest in which nothing happens, and one with two acts. */
  let quiet: { from_ms: number; to_ms: number };
  let busy: { from_ms: number; to_ms: number };
  let manifest: string;

  before(async () => {
    served = await serveSurfaces();
    const { clock } = served.gateway;
    const { json } = await served.publish({ entity: ENTITY, preset: 'insurance' });
    manifest = json.surface_manifest_hash;
    clock.pass(1000);
    const start = clock.wall();
    clock.pass(1000);
    quiet = { from_ms: start, to_ms: clock.wall() };
    clock.pass(1000);
    const from_ms = clock.wall();
    await served.act('policy_bind');
    await served.act('policy_bind');
    clock.pass(100);
    busy = { from_ms, to_ms: clock.wall() };
    clock.pass(1000);
    // An answer may use any checkpoint after its window; from here on each of them covers the acts.
    await settled(served.log());
  });
  after(() => served.close());

  /** Asserts that both suites accept the document; returns the result. */
  const verified = (document: Body) => {
    const { question } = document;
    const options = { now_ms: served.gateway.clock.wall() };
    const result = verifyAbsence(document, question, served.trust(), { suite: native, ...options });
    const other = verifyAbsence(JSON.stringify(document), question, served.trust(), {
      suite: portable,
      ...options,
    });
    assert.deepEqual(other, result);
    assert.equal(result.verdict, document.verdict);
    return result;
  };
  const ask = async (body: object) => {
    const answer = await served.witness({ entity: ENTITY, surface: 'policy_bind', ...body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };

  it('proves absence before, between and after acts, and presence with every entry', async () => {
    const between = await ask(quiet);
    assert.deepEqual(Object.keys(between), ['ok', 'witness']);
    assert.equal(between.witness.verdict, 'ABSENT');
    assert.equal(verified(between.witness).proof, 'gap');
    const never = await ask({ ...quiet, surface: 'premium_commit' });
    assert.equal(verified(never.witness).verdict, 'ABSENT');
    assert.equal(never.witness.proof.type, 'never');
    const present = await ask(busy);
    assert.deepEqual(
      [verified(present.witness).verdict, verified(present.witness).entries],
      [...['PRESENT', 2]],
    );
    const to_ms = served.gateway.clock.wall();
    const after = await ask({ from_ms: to_ms - 500, to_ms });
    assert.equal(verified(after.witness).verdict, 'ABSENT');
    assert.equal(after.witness.proof.type, 'tail');
  });

  it('answers in ASCII, although the checkpoint in the document is not', async () => {
    const asked = { entity: ENTITY, surface: 'policy_bind', ...quiet };
    const answer = await served.witness(asked, {});
    assert.match(answer.text, /^[ -~]+$/);
    assert.match(answer.json.witness.checkpoint, /^\u2014 /m);
    const both = { entity: ENTITY, surfaces: ['policy_bind', 'premium_commit'], ...quiet };
    const { json } = await served.witness(both);
    assert.equal(json.witnesses.length, 2);
    for (const document of json.witnesses) verified(document);
  });

  it('states what was observed, by whom, and what it does not assert', async () => {
    const { witness } = await ask(quiet);
    const { statement, does_not_assert } = witness;
    assert.match(
      statement,
      /nothing was logged for surface policy_bind of entity did:example:acme/,
    );
    assert.ok(statement.includes(new Date(quiet.from_ms).toISOString()));
    assert.match(statement, /declared all along, and no heartbeats were promised/);
    assert.match(statement, /log time/);
    assert.match(statement, /witnessed: 0/);
    assert.match(statement, /map_verified: 0/);
    assert.match(does_not_assert.join('\n'), /^anything about acts .* in another log$/m);
    assert.match((await ask(busy)).witness.statement, /2 entries were logged/);
  });

  it('is a receipt: its entry commits to the document and is not on the chain itself', async () => {
    const before = await served.log().chain({
      ...{ key: ['surface', ENTITY, 'policy_bind'], from_ms: 0, to_ms: quiet.to_ms },
    });
    const { witness } = await ask(quiet);
    const { receipt } = witness;
    assert.equal(receipt.type, 'absence.witness.v1');
    assert.deepEqual(receipt.subject_key, ['surface', ENTITY, 'policy_bind']);
    assert.deepEqual([receipt.from_ms, receipt.to_ms], [quiet.from_ms, quiet.to_ms]);
    assert.equal(receipt.verdict, 'ABSENT');
    assert.equal('links' in receipt, false);
    assert.equal('toll' in receipt, false, 'a witness is not metered');
    assert.ok(
      'inclusion_proof' in receipt.log,
      'with Prefer: wait, the answer has the proof of the receipt',
    );
    const other = { ...witness, statement: 'all is well' };
    assert.throws(() => verified(other), /receipt is of another document/);
    const after = await served.log().chain({
      ...{ key: ['surface', ENTITY, 'policy_bind'], from_ms: 0, to_ms: quiet.to_ms },
    });
    assert.deepEqual(after, before);
  });

  it('is UNDECLARED without a manifest before the window, or with one that does not list the surface', async () => {
    const early = await ask({ ...quiet, from_ms: 0 });
    assert.equal(verified(early.witness).verdict, 'UNDECLARED');
    const unlisted = await ask({ ...quiet, surface: 'data_export' });
    assert.equal(verified(unlisted.witness).verdict, 'UNDECLARED');
    const stranger = await ask({ ...quiet, entity: 'nobody' });
    assert.equal(verified(stranger.witness).verdict, 'UNDECLARED');
    assert.match(
      stranger.witness.statement,
      /absence of acts is not_established \(field visibility\)/,
    );
  });

  it('is UNDECLARED from the end of a manifest to the next, and ABSENT over consecutive manifests', async () => {
    const { clock } = served.gateway;
    const hour = 3_600_000;
    const entity = 'ending';
    const until = clock.wall() + 10 * hour;
    await served.publish({ entity, surfaces: ['pay'], valid_until_ms: until });
    clock.pass(hour);
    const from_ms = clock.wall();
    clock.pass(20 * hour);
    const verdict = async (surface: string, from: number, to: number) => {
      const { witness } = await ask({ entity, surface, from_ms: from, to_ms: to });
      const { manifests = [] } = (witness.declared ?? {}) as { manifests?: readonly unknown[] };
      return [verified(witness).verdict, manifests.length];
    };
    assert.deepEqual(await verdict('pay', from_ms, from_ms), ['ABSENT', 1]);
    assert.deepEqual(await verdict('pay', from_ms, until), ['ABSENT', 1]);
    assert.deepEqual(await verdict('pay', from_ms, until + 1), ['UNDECLARED', 1]);
    await served.publish({ entity, surfaces: ['bind', 'pay'] });
    clock.pass(hour);
    const again = clock.wall();
    clock.pass(hour);
    assert.deepEqual(await verdict('pay', from_ms, clock.wall()), ['UNDECLARED', 2]);
    await served.publish({ entity, surfaces: ['pay'] });
    clock.pass(hour);
    assert.deepEqual(await verdict('pay', again, clock.wall()), ['ABSENT', 2]);
    assert.deepEqual(await verdict('bind', again, clock.wall()), ['UNDECLARED', 2]);
    const refused = await served.witness({
      ...{ entity, surface: 'pay', from_ms: again, to_ms: again - 1 },
    });
    assert.deepEqual(problem(refused), [400, 'parameter_invalid', 'from_ms']);
  });

  it('is UNDERSAMPLED while no run of heartbeats covers the window, and ABSENT when one does', async () => {
    const { clock } = served.gateway;
    const entity = 'beating';
    await served.publish({ entity, surfaces: ['pay'], heartbeat_interval_ms: 60_000 });
    clock.pass(100);
    const from_ms = clock.wall();
    for (let n = 0; n < 4; n++) {
      await served.beat({ entity, surface: 'pay' });
      clock.pass(30_000);
    }
    const to_ms = clock.wall();
    const covered = await ask({ entity, surface: 'pay', from_ms, to_ms });
    assert.equal(verified(covered.witness).verdict, 'ABSENT');
    assert.match(covered.witness.statement, /the heartbeats that its manifests promise cover/);
    clock.pass(300_000);
    await served.beat({ entity, surface: 'pay' });
    const late = await ask({ entity, surface: 'pay', from_ms, to_ms: to_ms + 240_000 });
    assert.equal(verified(late.witness).verdict, 'UNDERSAMPLED');
    const silent = await ask({
      entity,
      surface: 'pay',
      from_ms: from_ms + 200_000,
      to_ms: to_ms + 240_000,
    });
    assert.equal(verified(silent.witness).verdict, 'UNDERSAMPLED');
  });

  it('answers several surfaces with a document each, in the order of the request', async () => {
    const surfaces = ['premium_commit', 'policy_bind'];
    const answer = await served.witness({ entity: ENTITY, surfaces, ...busy });
    assert.deepEqual(Object.keys(answer.json), ['ok', 'witnesses']);
    const verdicts = answer.json.witnesses.map((document: Body) => verified(document).verdict);
    assert.deepEqual(verdicts, ['ABSENT', 'PRESENT']);
    const one = await served.witness({ entity: ENTITY, surfaces: ['policy_bind'], ...busy });
    assert.equal(one.json.witnesses.length, 1);
  });

  it('is a gate: ALLOW only when every surface is ABSENT', async () => {
    const gate = async (surfaces: string[], window: object) => {
      const { json } = await served.witness({ entity: ENTITY, surfaces, ...window, gate: true });
      return json;
    };
    const allow = await gate(['policy_bind', 'policy_renewal'], quiet);
    assert.deepEqual([allow.decision, allow.reasons], ['ALLOW', []]);
    assert.equal(allow.witnesses[0].receipt.decision, 'ALLOW');
    const acted = await gate(['policy_renewal', 'policy_bind'], busy);
    assert.deepEqual([acted.decision, acted.reasons], ['BLOCK', ['policy_bind is PRESENT']]);
    const undeclared = await gate(['policy_bind', 'data_export'], quiet);
    assert.deepEqual(
      [undeclared.decision, undeclared.reasons],
      ['BLOCK', ['data_export is UNDECLARED']],
    );
  });

  it('refuses a manifest hash that is unknown, of another entity, or not in force in the window', async () => {
    const asked = (surface_manifest_hash: string) =>
      served.witness({ entity: ENTITY, surface: 'policy_bind', ...quiet, surface_manifest_hash });
    assert.equal((await asked(manifest)).status, 200);
    const refused = [400, 'parameter_invalid', 'surface_manifest_hash'];
    assert.deepEqual(problem(await asked('0'.repeat(64))), refused);
    const { json: foreign } = await served.publish({
      entity: 'elsewhere',
      surfaces: ['policy_bind'],
    });
    assert.deepEqual(problem(await asked(foreign.surface_manifest_hash)), refused);
    const { json: newer } = await served.publish({ entity: ENTITY, surfaces: ['policy_bind'] });
    assert.deepEqual(problem(await asked(newer.surface_manifest_hash)), refused);
  });

  it('answers with Retry-After while the window is open, or waits for it', async () => {
    const { clock } = served.gateway;
    const ahead = { from_ms: clock.wall(), to_ms: clock.wall() + 20_000 };
    const asked = { entity: ENTITY, surface: 'policy_bind', ...ahead };
    const began = performance.now();
    const early = await served.witness(asked, {});
    const took_s = Math.ceil((performance.now() - began) / 1000);
    assert.deepEqual(problem(early), [409, 'window_not_closed', 'to_ms']);
    const retry = Number(early.headers.get('retry-after'));
    assert.ok(retry >= 20 - took_s && retry <= 22, String(retry));
    const far = await served.witness({ ...asked, to_ms: Number.MAX_SAFE_INTEGER }, {});
    assert.deepEqual(problem(far), [409, 'window_not_closed', 'to_ms']);
    assert.equal(far.headers.get('retry-after'), '86400');
    clock.pass(20_000);
    const now = await served.witness(asked);
    assert.equal(now.json.witness.verdict, 'ABSENT');
    const soon = { ...asked, to_ms: clock.wall() + 300 };
    const waited = await served.witness(soon, { Prefer: 'wait=5' });
    assert.equal(waited.status, 200);
    verified(waited.json.witness);
  });

  it('refuses a request without a question', async () => {
    const refused = async (body: object) => problem(await served.witness(body));
    const asked = { entity: ENTITY, ...quiet };
    assert.deepEqual(await refused(asked), [400, 'parameter_missing', 'surface']);
    assert.deepEqual(await refused({ ...asked, surface: 'a', surfaces: ['b'] }), [
      ...[400, 'parameter_invalid', 'surfaces'],
    ]);
    assert.deepEqual(await refused({ ...asked, surfaces: [] }), [
      ...[400, 'parameter_invalid', 'surfaces'],
    ]);
    assert.deepEqual(await refused({ ...asked, surface: 'a', from_ms: quiet.to_ms + 1 }), [
      ...[400, 'parameter_invalid', 'from_ms'],
    ]);
    assert.deepEqual(await refused({ ...asked, surface: 'A' }), [
      ...[400, 'parameter_invalid', 'surface'],
    ]);
  });

  it('is replayed byte for byte under its Idempotency-Key, also for callers without a key', async () => {
    const live = served.log('live');
    await live.whenPublished(live.size() + 1);
    for (const key of [served.gateway.sandbox, undefined]) {
      const headers = { 'Idempotency-Key': 'witness-once-1' };
      const body = { entity: ENTITY, surfaces: ['policy_bind', 'premium_commit'], ...busy };
      const post = () =>
        served.gateway.post('/api/v1/absence/witness', body, {
          headers,
          ...(key === undefined ? {} : { key }),
        });
      const first = await post();
      assert.equal(first.status, 200, first.text);
      await served.act('policy_bind');
      await served.head();
      const again = await post();
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.equal(again.text, first.text);
      const other = await served.gateway.post(
        '/api/v1/absence/witness',
        { ...body, gate: true },
        { headers, ...(key === undefined ? {} : { key }) },
      );
      assert.equal(other.status, 409);
    }
  });
});
