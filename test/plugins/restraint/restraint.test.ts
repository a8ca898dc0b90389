// Restraints, atoms, counterfactual replays and spoliation seals over HTTP. gateway/API.md §7.7, §7.9.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { checkInclusion } from '../../../log/merkle/check.ts';
import { fromBase64, fromHex } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { verifyCheckpoint } from '../../../log/verify.ts';
import { ApiError, definePlugin } from '../../../plugins/contract/index.ts';
import type { PluginHost } from '../../../plugins/contract/index.ts';
import restraint, { restraintReceiptRef } from '../../../plugins/restraint/index.ts';
import type { RestraintApi } from '../../../plugins/restraint/index.ts';
import type { Answer } from '../../gateway/running.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';

const REFRAINED = { action_not_taken: 'premium refund', decision_reason: 'under review' };

let api: RestraintApi;
let host: PluginHost;

/** Re-evaluates classifications, as the plugin that made them would. */
const judge = definePlugin({
  contract: 1,
  name: 'judge',
  title: 'Judge',
  requires: ['restraint'],
  types: [],
  routes(own) {
    host = own;
    api = host.use(restraint);
    api.evaluates('classify.result.v1', {
      original: (statement) => statement['classification'] as string,
      evaluate({ changes }) {
        if (typeof changes['message'] === 'string') return 'VIOLATION';
        throw new ApiError('parameter_missing', 'changes.message is missing', {
          param: 'changes.message',
        });
      },
    });
    return [];
  },
});

describe('restraint', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces([judge]);
  });
  after(() => served.close());

  const post = (
    path: string,
    body: object,
    key: string | null = served.gateway.sandbox,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> =>
    served.gateway.post(path, body, { headers, ...(key === null ? {} : { key }) });
  const refrain = (body: object, key?: string | null): Promise<Answer> =>
    post('/api/v1/restraint', { ...REFRAINED, ...body }, key);

  it('logs an act that was not done', async () => {
    const { status, json } = await refrain({ session_id: 'talk' });
    assert.equal(status, 200);
    const { ok, restraint: shown, receipt } = json;
    assert.equal(ok, true);
    assert.equal(receipt.type, 'restraint.record.v1');
    assert.deepEqual(
      [shown.deontic_modality, shown.strength, shown.verdict],
      ['OMISSIBLE', 'asserted', 'denied'],
    );
    assert.equal(
      shown.commit_anchor,
      `${String(receipt.origin)}#${String(receipt.index)}:${String(receipt.entry_hash)}`,
    );
    assert.equal(shown.verify_url, receipt.verify_url);
    assert.equal(shown.decision_id, receipt.entry_id, 'there is no other decision');
    assert.equal(shown.restraint_receipt_ref, restraintReceiptRef(shown));
    assert.ok(shown.does_not_assert.length > 0);
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['restraint', 150_000]);
    assert.deepEqual(
      receipt.links.map(({ key }: { key: readonly string[] }) => key[0]),
      ['session', 'action'],
    );
    assert.equal(receipt.disclosures.decision_reason.value, 'under review');
  });

  it('is a duty only if the context says so, and evidenced only with a proof', async () => {
    const of = async (body: object): Promise<unknown[]> => {
      const { deontic_modality, strength } = (await refrain(body)).json.restraint;
      return [deontic_modality, strength];
    };
    const duty = { opportunity_context: { deontic_modality: 'OBLIGATORY_REFRAIN' } };
    assert.deepEqual(await of(duty), ['OBLIGATORY_REFRAIN', 'asserted']);
    const forbidden = { opportunity_context: { deontic_modality: 'FORBIDDEN' } };
    assert.deepEqual(await of(forbidden), ['OMISSIBLE', 'asserted'], 'only a gate can forbid');
    assert.deepEqual(await of({ capability_proof: { token: 'x' } }), ['OMISSIBLE', 'evidenced']);
  });

  it('is an attempt on its surface', async () => {
    await served.publish({ entity: 'refrainer', surfaces: ['offer_extend'] });
    const { json } = await refrain({ entity: 'refrainer', surface: 'offer_extend' });
    assert.equal(json.restraint.surface_declared, true);
    const keys = json.receipt.links.map(({ key }: { key: readonly string[] }) => key[0]);
    assert.ok(keys.includes('surface'));
    const alone = await refrain({});
    assert.equal(alone.json.restraint.entity, 'refrainer', 'the only entity of the tenant');
    const undeclared = await refrain({ entity: 'refrainer', surface: 'other' });
    assert.equal(undeclared.json.restraint.surface_declared, false);
    const foreign = await refrain({ entity: 'refrainer' }, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'entity']);
    const nobody = await refrain({ surface: 'pay' }, null);
    assert.deepEqual(problem(nobody), [400, 'parameter_missing', 'entity']);
  });

  it('adds the act that would have happened to an atom, for one toll', async () => {
    const context = { opportunity_context: { would_have_happened: 'zebra refund' } };
    const { status, json } = await post('/tcb/restraint-atom', { ...REFRAINED, ...context });
    assert.equal(status, 200);
    const { ccr_id, verify_url, counterfactual, receipt, restraint_receipt } = json;
    assert.equal(ccr_id, receipt.entry_id);
    assert.equal(verify_url, receipt.verify_url);
    assert.deepEqual(
      [counterfactual.original, counterfactual.counterfactual, counterfactual.changed],
      ['NOT_EXECUTED', 'EXECUTED', true],
    );
    assert.equal(receipt.subject_entry_id, restraint_receipt.entry_id);
    assert.equal(receipt.disclosures.would_have_happened.value, 'zebra refund');
    assert.deepEqual([restraint_receipt.toll, receipt.toll], ['restraint', undefined]);
    const { json: bare } = await post('/tcb/restraint-atom', REFRAINED);
    assert.equal(bare.counterfactual.counterfactual, 'UNDETERMINED');
  });

  it('re-evaluates decisions of the caller with the rules of their plugin', async () => {
    const { json: decided } = await post('/api/v1/classify', { message: 'Schedule the interview' });
    const replay = (body: object, key?: string): Promise<Answer> =>
      post('/tcb/counterfactual-replay', body, key);
    const entry_id = decided.entry_id as string;
    const { status, json } = await replay({ entry_id, changes: { message: 'zebra' } });
    assert.equal(status, 200);
    assert.deepEqual(
      [json.original, json.counterfactual, json.changed],
      [decided.classification, 'VIOLATION', true],
    );
    assert.deepEqual([json.receipt.toll, json.receipt.toll_micro_usd], ['ccr', 1_000_000]);
    assert.equal(json.ccr_id, json.receipt.entry_id);
    const empty = await replay({ entry_id, changes: {} });
    assert.deepEqual(problem(empty), [400, 'parameter_missing', 'changes.message']);
    const foreign = await replay({ entry_id, changes: {} }, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'entry_id']);
    const live = await replay({ entry_id, changes: {} }, served.gateway.live);
    assert.deepEqual(problem(live), [404, 'resource_missing', 'entry_id']);
    const unknown = await replay({ entry_id: 'none', changes: {} });
    assert.deepEqual(problem(unknown), [404, 'resource_missing', 'entry_id']);
    const ccr = await replay({ entry_id: json.ccr_id, changes: {} });
    assert.deepEqual(problem(ccr), [400, 'parameter_invalid', 'entry_id']);
  });

  it('re-evaluates a restraint from the recorded request', async () => {
    const { json } = await refrain({});
    const replay = async (changes: object): Promise<unknown[]> => {
      const body = { entry_id: json.receipt.entry_id, changes };
      const answer = await post('/tcb/counterfactual-replay', body);
      return [answer.json.original, answer.json.counterfactual, answer.json.changed];
    };
    assert.deepEqual(await replay({ capability_proof: {} }), [
      ...['OMISSIBLE_ASSERTED', 'OMISSIBLE_EVIDENCED', true],
    ]);
    assert.deepEqual(await replay({ opportunity_context: 5 }), [
      ...['OMISSIBLE_ASSERTED', 'OMISSIBLE_ASSERTED', false],
    ]);
  });

  it('seals the entries of a session with proofs, and places them on hold', async () => {
    const first = (await refrain({ session_id: 'matter' })).json.receipt as JsonObject;
    const second = (await refrain({ session_id: 'matter' })).json.receipt as JsonObject;
    const apart = (await refrain({ session_id: 'other' })).json.receipt as JsonObject;
    assert.equal(await api.holdOver('sandbox', first), null);
    const body = {
      ...{ trigger_event: 'zebra notice', trigger_date: '2026-08-01' },
      ...{ session_ids: ['matter'], systems: ['zebra mail'] },
    };
    const { status, json } = await post('/api/v1/spoliation-seal', body);
    assert.equal(status, 200);
    assert.equal(json.seal.preserved_count, 2);
    assert.deepEqual(
      json.preserved.map(({ entry_id }: { entry_id: string }) => entry_id),
      [first['entry_id'], second['entry_id']],
    );
    const { size, root } = verifyCheckpoint(json.checkpoint, served.trust());
    assert.equal(size, json.seal.checkpoint_size);
    for (const { index, entry_hash, inclusion_proof } of json.preserved) {
      const path = inclusion_proof.map((hash: string) => fromBase64(hash));
      checkInclusion(native, { index, size, leafHash: fromHex(entry_hash), path, root });
    }
    assert.deepEqual(
      [json.receipt.toll, json.receipt.toll_micro_usd],
      ['spoliation_seal', 500_000],
    );
    assert.equal(json.seal.retention_hold, true);
    assert.ok(json.does_not_assert.length > 0);
    assert.equal((await api.holdOver('sandbox', first))?.entry_id, json.seal_id);
    assert.equal(await api.holdOver('sandbox', apart), null);
    assert.equal(await api.holdOver('live', first), null);
    const theirs = (await refrain({ session_id: 'matter' }, served.other)).json
      .receipt as JsonObject;
    assert.equal(
      await api.holdOver('sandbox', theirs),
      null,
      'the session of another tenant is a different one',
    );
  });

  it('seals many sessions, with any first character of their names', async () => {
    const session_ids = Array.from({ length: 100 }, (_, i) => `s${String(i)}`);
    const { status, json } = await post('/api/v1/spoliation-seal', {
      trigger_event: 'x',
      session_ids,
    });
    assert.equal(status, 200);
    assert.equal(json.seal.subject_sessions.length, 100);
  });

  it('places a window of all entries on hold if the request names no session', async () => {
    const key = served.other;
    const { json: acted } = await refrain({ session_id: 'later' }, key);
    const now = acted.receipt.issued_at_ms as number;
    const past = { trigger_event: 'x', from_ms: 0, to_ms: now - 1 };
    const { json: before } = await post('/api/v1/spoliation-seal', past, key);
    assert.equal(before.seal.preserved_count, 0, 'the tenant has no entity');
    assert.equal(await api.holdOver('sandbox', acted.receipt), null);
    const { json } = await post('/api/v1/spoliation-seal', { trigger_event: 'x' }, key);
    assert.equal((await api.holdOver('sandbox', acted.receipt))?.entry_id, json.seal_id);
    const turned = await post('/api/v1/spoliation-seal', { ...past, from_ms: now });
    assert.deepEqual(problem(turned), [400, 'parameter_invalid', 'from_ms']);
  });

  it('replays each answer by Idempotency-Key, seals with their proofs', async () => {
    for (const [path, body, alias] of [
      ['/api/v1/restraint', REFRAINED, '/v1/restraint'],
      ['/tcb/restraint-atom', REFRAINED, '/tcb/restraint-atom'],
      ['/api/v1/spoliation-seal', { trigger_event: 'x', session_ids: ['talk'] }, undefined],
    ] as const) {
      const headers = { 'Idempotency-Key': 'restraint-once' };
      const first = await post(path, body, undefined, headers);
      const again = await post(alias ?? path, body, undefined, headers);
      assert.equal(again.headers.get('idempotent-replayed'), 'true', path);
      assert.equal(again.text, first.text, path);
    }
  });

  it('refuses malformed bodies with the error envelope', async () => {
    const long = 'x'.repeat(513);
    for (const [body, code, param] of [
      [{ action_not_taken: undefined }, 'parameter_missing', 'action_not_taken'],
      [{ decision_reason: undefined }, 'parameter_missing', 'decision_reason'],
      [{ action_not_taken: '' }, 'parameter_invalid', 'action_not_taken'],
      [{ action_not_taken: long }, 'parameter_invalid', 'action_not_taken'],
      [{ decision_reason: 5 }, 'parameter_invalid', 'decision_reason'],
      [{ capability_proof: 'x' }, 'parameter_invalid', 'capability_proof'],
      [{ capability_proof: { x: 'y'.repeat(70_000) } }, 'parameter_invalid', 'capability_proof'],
      [{ opportunity_context: [] }, 'parameter_invalid', 'opportunity_context'],
      [{ agent_id: long }, 'parameter_invalid', 'agent_id'],
      [{ timestamp_ms: 1.5 }, 'parameter_invalid', 'timestamp_ms'],
      [{ timestamp_ms: 2 ** 53 }, 'parameter_invalid', 'timestamp_ms'],
      [{ session_id: null }, 'parameter_invalid', 'session_id'],
      [{ event_at_ms: 1 }, 'parameter_invalid', 'event_at_ms'],
    ] as const) {
      for (const path of ['/api/v1/restraint', '/tcb/restraint-atom']) {
        const answer = await post(path, { ...REFRAINED, ...body });
        assert.deepEqual(problem(answer), [400, code, param], JSON.stringify(body).slice(0, 80));
      }
    }
    for (const [body, param] of [
      [{ trigger_event: '' }, 'trigger_event'],
      [{ trigger_event: 'x', trigger_date: '2026-02-30' }, 'trigger_date'],
      [{ trigger_event: 'x', session_ids: 'a' }, 'session_ids'],
      [{ trigger_event: 'x', session_ids: Array.from({ length: 101 }, () => 'a') }, 'session_ids'],
      [{ trigger_event: 'x', to_ms: 2 ** 53 }, 'to_ms'],
    ] as const) {
      const answer = await post('/api/v1/spoliation-seal', body);
      assert.deepEqual(problem(answer), [400, 'parameter_invalid', param]);
    }
  });

  it('accepts fractions and hostile text in members that it commits to', async () => {
    for (const text of ['\u0000', '\u202e', '__proto__', '\u{10ffff}']) {
      const answer = await refrain({
        ...{ action_not_taken: text, session_id: text },
        ...{ capability_proof: { p: 0.5, [text]: text }, opportunity_context: { [text]: [1.25] } },
      });
      assert.equal(answer.status, 200, answer.text);
    }
  });

  it('keeps what callers wrote out of the log', async () => {
    const hidden = 'zebra crossing';
    await refrain({
      ...{ action_not_taken: hidden, decision_reason: hidden, agent_id: hidden, scope: hidden },
      ...{ capability_proof: { zebra: hidden }, opportunity_context: { zebra: hidden } },
    });
    const log = served.log();
    for (let index = 0; index < log.size(); index++) {
      assert.doesNotMatch(log.entry(index) ?? '', /zebra/i);
    }
  });
});
