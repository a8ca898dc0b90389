// A month of one carrier, two insured entities, one agent and one auditor through every layer, with a clock that
// starts on 2 March 2026. At the end the invoices of the carrier agree with the log, and monitor and fsck accept the
// log. gateway/API.md §6 to §12.

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { LOG_KINDS } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import { trustFromKit } from '../../log/verify.ts';
import { receiptHeader } from '../../plugins/require-receipt/header.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { checkDocument } from '../../plugins/verifiers.ts';
import { commandVerbs } from '../../gateway/host/commands.ts';
import { Clock, ok, run } from '../gateway/running.ts';
import type { Answer, Running } from '../gateway/running.ts';
import { readingsOf } from '../plugins/foundry/readings.ts';
import type { Body } from '../support/body.ts';
import { recognised } from '../support/recognised.ts';
import {
  accepted,
  assertOwed,
  DAY_MS,
  DAYS,
  FIRST_DAY_MS,
  HOUR_MS,
  layersIn,
  MONTH,
  VIOLATION,
  microSum,
  MONTH_POLICY,
} from './accounts.ts';

const GATE = '/api/v1/execute-gate';
const SESSION = 'interviews';
const SURFACE = 'policy_bind';

describe('a month of a carrier, its insured, an agent and an auditor', function () {
  this.timeout(120_000);
  let running: Running;
  let began_ms: number;
  let carrier: string;
  let operator: string;
  let finding_id: string;
  before(async () => {
    const clock = new Clock();
    clock.jump(FIRST_DAY_MS - Date.now());
    running = await run({ MANDATES_INCLUDED: '2' }, { clock });
    began_ms = clock.wall();
    const { tenants } = running.gateway;
    const issued = { tenant: 'insurer', kind: 'live' } as const;
    carrier = (await tenants.issue({ ...issued, role: 'carrier' })).key;
    operator = (await tenants.issue({ ...issued, role: 'operator' })).key;
  });
  after(() => running.close());

  const post = (path: string, body: object, key = carrier, wait = false): Promise<Answer> =>
    running.post(path, body, { key, ...(wait ? { headers: { Prefer: 'wait=20' } } : {}) });
  const done = async (path: string, body: object, key = carrier, wait = false): Promise<Body> =>
    ok(await post(path, body, key, wait));
  const code = ({ status, json }: Answer): unknown[] => [status, json.error?.code];
  /** Advances the clock to a day of the month. */
  const toDay = (day: number): void => {
    const { clock } = running;
    clock.pass(Math.max(0, began_ms + day * DAY_MS - clock.wall()));
  };
  const act = (entity: string | undefined, message = 'Schedule the interview for Monday') =>
    post('/api/v1/classify', {
      ...{ message, session_id: SESSION },
      ...(entity === undefined ? {} : { entity, surface: SURFACE }),
    });
  const invoiceOf = async (month: string): Promise<Body> =>
    ok(await running.get(`/api/v1/clearing/invoices/${month}`, { key: carrier }));
  /** The finding of the offline verifier for a document, with the kit that the auditor fetched. */
  const checked = async (document: Body) => {
    const kit = ok(await running.get('/export/offline-verify-kit.json'));
    const trust = trustFromKit(kit, running.gateway.logs.live.origin);
    return checkDocument(recognised(JSON.stringify(document)), trust, { kit });
  };
  const holds = async (document: Body) => {
    const finding = await checked(document);
    assert.equal(finding.valid, true, finding.summary);
    return finding;
  };
  const decision = async (slug: string): Promise<unknown[]> => {
    const path = `/carrier/v1/insured/${slug}/compliance`;
    const { decision: said, reasons } = ok(await running.get(path, { key: carrier }));
    return [said, reasons];
  };

  it('day 1: the carrier declares two entities and enrolls its insured', async () => {
    for (const entity of ['acme', 'beta']) {
      const heartbeat_interval_ms = 2 * DAY_MS;
      await done('/api/v1/astl/publish', { entity, surfaces: [SURFACE], heartbeat_interval_ms });
      const company = entity === 'acme' ? 'Acme Staffing' : 'Beta Lending';
      const mandate = await done('/carrier/v1/enroll', { company, entity });
      const { mandate_id, acceptance_code, slug } = mandate;
      assert.ok(slug.startsWith(entity));
      const issued = { tenant: entity, kind: 'live', role: 'insured' } as const;
      const { key } = await running.gateway.tenants.issue(issued);
      await done('/carrier/v1/mandates/accept', { mandate_id, acceptance_code }, key);
      const { data } = ok(await running.get('/carrier/v1/insured', { key }));
      assert.deepEqual(
        data.map((one: Body) => [one.mandate_id, one.entity]),
        [[mandate_id, entity]],
      );
    }
    await done(`${GATE}/policy`, MONTH_POLICY, operator);
    // The platform fee includes two mandates here; the third one is charged.
    const third = await done('/carrier/v1/enroll', { company: 'Gamma Hire' });
    assert.match(third.entity, /^insured:[0-9a-f]{32}$/);
    assert.deepEqual([third.receipt.toll, third.receipt.toll_micro_usd], ['mandate_overage', 3e6]);
  });

  it('day 1: a broker is tracked, and an issuer is listed next to the rankings', async () => {
    const { slug } = await done('/api/v1/relay/enroll', { partner: 'Acme Brokers' });
    const link = `${running.url}/go/${String(slug)}/verify`;
    assert.equal((await fetch(link, { redirect: 'manual' })).status, 302);
    const { partners, visits_by_target } = ok(await running.get('/api/v1/relay/network'));
    assert.deepEqual([partners, visits_by_target.verify], [1, 1]);

    await done('/api/v1/issuer-pays/listings', { issuer: 'Acme', domain: 'acme.example' });
    const board = ok(await running.get('/standards/issuer-pays-scoreboard.json'));
    assert.deepEqual(
      [board.rankings.length, board.listings.map((one: Body) => [one.domain, one.grade])],
      [9, [['acme.example', null]]],
    );
    const { claimed_grade, grade, live_sample } = board.operator;
    assert.ok(
      [claimed_grade, live_sample.grade].sort().at(-1) === grade,
      'the worse of the two grades',
    );
  });

  it('day 2: the agent acts for both entities, and must name one of them', async () => {
    toDay(2);
    assert.deepEqual(code(await act(undefined)), [400, 'parameter_missing']);
    for (const entity of ['acme', 'beta']) ok(await act(entity));
    assert.deepEqual(await decision('acme-staffing'), ['ALLOW', []]);
    assert.deepEqual(await decision('beta-lending'), ['ALLOW', []]);
  });

  it('day 3: the auditor finds the surfaces that were declared', async () => {
    toDay(3);
    const found = ok(await running.get('/api/v1/astl/lookup?entity=acme'));
    assert.deepEqual([found.found, found.manifest.surfaces], [true, [SURFACE]]);
    const hash = String(found.surface_manifest_hash);
    const checked = ok(await running.get(`/api/v1/astl/verify?surface_manifest_hash=${hash}`));
    assert.deepEqual([checked.valid, checked.in_force], [true, true]);
  });

  it('day 4: the agents of an orchestration share earnings and liability', async () => {
    toDay(4);
    const graph = {
      nodes: [{ id: 'plan' }, { id: 'screen' }, { id: 'bind' }],
      edges: [
        { from: 'plan', to: 'screen', weight: 1 },
        { from: 'screen', to: 'bind', weight: 1 },
      ],
    };
    const { graph_id } = await done('/api/v1/orn/register', graph);
    const asked = { orchestration_id: 'hiring-7', graph_id, amount_usd: '10' };
    const { slices } = await done('/api/v1/orn/sharp', asked);
    assert.equal(microSum(slices.map((one: Body) => one.amount_usd)), 10_000_000n);
    const back = { graph_id, sink: 'bind', liability_usd: '7' };
    const { nodes, receipt } = await done('/api/v1/orn/backprop', back);
    assert.equal(receipt.graph_id, graph_id);
    assert.equal(microSum(nodes.map((one: Body) => one.retained_usd)), 7_000_000n);
    const { parties } = await done('/api/v1/orn/declare', {
      ...{ peril: 'outage', intentional: true, reasonable: true },
      parties: [
        { id: 'acme', saved_value_usd: '100', sacrificed_usd: '30' },
        { id: 'beta', saved_value_usd: '50', sacrificed_usd: '0' },
      ],
    });
    assert.equal(microSum(parties.map((one: Body) => one.net_usd)), 0n);

    const at = `${String(running.clock.wall())}000000`;
    const span = {
      ...{ traceId: '5b8efff798038103d269b633813fc60c', spanId: '00000000000000a1' },
      ...{ name: 'chat', startTimeUnixNano: at, endTimeUnixNano: at },
      attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }],
    };
    const traces = {
      resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: [span] }] }],
    };
    const { partialSuccess } = await done('/v1/traces?entity=beta', traces);
    assert.equal(partialSuccess, undefined, 'no span of the agent is refused');
  });

  it('day 5: a violation of one insured blocks only this one', async () => {
    toDay(5);
    const finding = ok(await act('acme', VIOLATION));
    assert.equal(finding.classification, 'VIOLATION');
    finding_id = finding.receipt?.entry_id ?? finding.entry_id;
    ok(await act('beta'));
    assert.deepEqual(await decision('acme-staffing'), ['BLOCK', ['open_violation']]);
    assert.deepEqual(await decision('beta-lending'), ['ALLOW', []]);
  });

  it('day 6: an act not done is recorded, and priced as a negative act', async () => {
    toDay(6);
    const withheld = {
      ...{ action_not_taken: 'a rejection', decision_reason: 'no reviewer', session_id: SESSION },
      ...{ entity: 'beta', opportunity_context: { expected: 'a rejection' } },
    };
    const { restraint } = await done('/api/v1/restraint', withheld);
    assert.equal(restraint.deontic_modality, 'OMISSIBLE');
    const { ccr_id } = await done('/tcb/restraint-atom', withheld);
    assert.ok(ccr_id);
    const denied = { action_type: 'data.export', agent_id: 'agent:payer', entity: null };
    const { outcome, decision_entry_id } = await done(GATE, denied);
    assert.equal(outcome, 'DENY');
    const changes = { action_type: 'data.read' };
    const replay = await done('/tcb/counterfactual-replay', {
      ...{ entry_id: decision_entry_id, changes },
    });
    assert.deepEqual(
      [replay.original, replay.counterfactual, replay.changed],
      ['DENY', 'PERMIT', true],
    );
    const { skus } = ok(await running.get('/api/v1/nap/usage', { key: carrier }));
    assert.deepEqual(
      skus.map((one: Body) => [one.sku, one.acts]),
      [
        ['ccr', 1],
        ['hold', 1],
        ['restraint', 2],
        ['spoliation_seal', 0],
      ],
    );
  });

  it('day 7: a seal keeps the private texts of a matter until a human releases it', async () => {
    toDay(7);
    const { entry_id } = ok(await act('beta', 'Keep the notes of this interview'));
    const sealed = { trigger_event: 'a claim was announced', session_ids: [SESSION] };
    const { seal_id, preserved } = await done('/api/v1/spoliation-seal', sealed);
    assert.ok(preserved.some((one: Body) => one.entry_id === entry_id));
    const erase = () =>
      running.ask('DELETE', `/api/v1/disclosures/${String(entry_id)}`, { key: carrier });
    assert.deepEqual(code(await erase()), [409, 'retention_hold']);
    const over = { seal_id, reason: 'the claim was withdrawn' };
    await done('/api/v1/spoliation-seal/release', over, operator);
    assert.deepEqual(ok(await erase()).erased, ['message']);
    const looked = ok(
      await running.get(`/receipt/lookup?entry_id=${String(entry_id)}`, { key: carrier }),
    );
    assert.equal(looked.checks.signature_valid, true, 'the entry does not contain the erased text');
    assert.equal(looked.receipt.disclosures.message.erased, true);
  });

  it('day 8: a disputed oracle fires nothing until it is resolved; then the obligation is owed', async () => {
    toDay(8);
    const { trigger_id } = await done('/signal/trigger/publish', {
      ...{ template_id: 'incident_sealed', enabled_exposure_usd: '1000' },
    });
    const readings = readingsOf('1', '2', '30');
    const aggregate = await done('/api/v1/oracle/aggregate', { feed_id: 'claims', readings });
    const { aggregate_entry_id, state } = aggregate;
    assert.equal(state, 'DISPUTED');
    const fire = () => post('/api/v1/foundry/trigger/fire', { trigger_id, aggregate_entry_id });
    assert.deepEqual(code(await fire()), [409, 'oracle_disputed']);
    const resolver = 'The panel of day 8';
    await done('/api/v1/oracle/resolve', { aggregate_entry_id, value: '2', resolver }, operator);
    const fired = ok(await fire());
    assert.deepEqual([fired.state, fired.settlement.fee_usd], ['FIRED', '1.5']);
    assert.equal(ok(await fire()).receipt.entry_hash, fired.receipt.entry_hash, 'it fires once');
  });

  it('day 9: a payment over the limit is held, released by a human, and permitted', async () => {
    toDay(9);
    const asked = {
      ...{ action_type: 'payment.release', agent_id: 'agent:payer', amount_atomic: 500 },
      ...{ currency: 'USDC', entity: 'beta', surface: SURFACE },
    };
    const { outcome, hold_id, preimage } = await done(GATE, asked);
    assert.equal(outcome, 'HOLD');
    const path = `${GATE}/holds/${String(hold_id)}`;
    const released = await done(path, { action: 'release', reason: 'checked' }, operator);
    assert.equal(released.outcome, 'PERMIT');
    const used = { ...preimage, receipt: released.decision_entry_id };
    const refused = await post(`${GATE}/permits/use`, used);
    assert.deepEqual(code(refused), [403, 'permit_secret_invalid']);
    const { use_secret } = released.permit;
    await done(`${GATE}/permits/use`, { ...used, use_secret });
    const again = await post(`${GATE}/permits/use`, { ...used, use_secret });
    assert.deepEqual(code(again), [409, 'permit_used']);

    const twin = await done('/tcb/bind-payment', {
      ...{ payment_hash: 'ab'.repeat(32), entry_id: released.decision_entry_id, entity: 'beta' },
      ...{ action_type: 'payment.release', agent_id: 'agent:payer', currency: 'USDC' },
      ...{ scope: preimage.scope, timestamp_ms: preimage.timestamp_ms, amount_atomic: 500 },
    });
    assert.equal(twin.action_ref, released.action_ref, 'the payment is of the permitted act');
    const shown = ok(await running.get(`/tcb/twin/${String(twin.entry_id)}`));
    assert.deepEqual([shown.valid, shown.decision_linked], [true, true]);
    // 2 basis points of the cleared amount, 5,000 USDC.
    const large = { payment_hash: 'cd'.repeat(32), amount_atomic: '5000000000', entity: 'beta' };
    await done('/api/v1/bind-payment', { ...large, currency: 'USDC', session_id: SESSION });
  });

  it('day 10: an irreversible act requires a receipt, which can be used once', async () => {
    toDay(10);
    const path = '/api/v1/require-receipt/act';
    const body = { reference: 'order-4711' };
    const challenged = await post(path, body);
    assert.deepEqual(code(challenged), [428, 'receipt_required']);
    assert.match(challenged.headers.get('receipt-required') ?? '', /^action="/);
    const wanted = { ...challenged.json.required.gate_request, agent_id: 'agent:shop' };
    const permit = await done(GATE, { ...wanted, entity: null }, carrier, true);
    const headers = { 'X-Receipt': receiptHeader(permit as JsonObject) };
    const acted = ok(await running.post(path, body, { key: carrier, headers }));
    assert.equal(acted.act.permit_id, permit.permit.permit_id);
    const twice = await running.post(path, body, { key: carrier, headers });
    assert.deepEqual(code(twice), [409, 'permit_used']);
  });

  it('day 11: the foundry seals, attests, places binds on hold and runs from act to settlement', async () => {
    toDay(11);
    const completion = await done('/api/v1/inference/chat/completions', {
      ...{ model: 'svc-seal-1', session_id: 'chat' },
      messages: [
        { role: 'user', content: 'Is the applicant shortlisted?' },
        { role: 'assistant', content: 'A person will decide that.' },
      ],
    });
    assert.equal(completion.proof.session_size, 1);

    const { trigger_id } = await done('/signal/trigger/publish', {
      ...{ template_id: 'bind_gate_hold', enabled_exposure_usd: '1000' },
      bind_hold: { entity: 'beta' },
    });
    const fire = { trigger_id, reading: { metric: 'bind_hold', value: 1 } };
    const { settlement } = await done('/api/v1/foundry/trigger/fire', fire);
    assert.deepEqual([settlement.effect, settlement.fee_usd], ['bind_held', '5']);
    const bind = async (entity: string): Promise<unknown[]> => {
      const asked = { action_type: 'data.read', agent_id: 'agent:bind', entity };
      const { decision: said, reasons } = await done(`${GATE}/bind`, asked);
      return [said, reasons];
    };
    assert.deepEqual(await bind('beta'), ['BLOCK', ['bind_held']]);
    assert.deepEqual(await bind('acme'), ['ALLOW', ['rule:reads']]);
    const released = { trigger_id, reason: 'reviewed' };
    await done('/api/v1/foundry/trigger/release', released);
    assert.deepEqual(await bind('beta'), ['ALLOW', ['rule:reads']]);

    const ran = await done('/api/v1/foundry/pipeline/run', {
      ...{ message: 'The incident report is sealed', entity: 'beta', readings: readingsOf('1') },
      ...{ template_id: 'incident_sealed', enabled_exposure_usd: '2000' },
      custody: { event_type: 'tokenize', asset_id: 'note-7', quantity: '10' },
    });
    assert.deepEqual([ran.ok, ran.outcome, ran.receipts[0].entity], [true, 'PASS', 'beta']);
    const stopped = await done('/api/v1/foundry/pipeline/run', {
      ...{ message: VIOLATION, entity: null, readings: readingsOf('1') },
      template_id: 'incident_sealed',
    });
    assert.deepEqual([stopped.ok, stopped.outcome, stopped.receipts.length], [false, 'BLOCK', 1]);
    const burn = { event_type: 'burn', asset_id: 'note-7', quantity: '4' };
    const { parity } = await done('/api/v1/custody/attest', burn);
    assert.deepEqual(parity, { supply_before: '10', supply_after: '6', holds: true });
  });

  it('day 12: a session is silent up to the end of its proof', async () => {
    toDay(12);
    const body = { session_id: SESSION, context: 'no interview was held' };
    const { silence, receipt } = await done('/silence-receipt', body);
    assert.ok(silence.covered_to_ms <= silence.window_to_ms);
    assert.notEqual(silence.coverage, 'COVERED');
    const headers = { Prefer: 'wait=20' };
    const later = await running.get(`/silence-receipt/${String(receipt.entry_id)}`, { headers });
    const { covered_to_ms, window_to_ms, coverage } = ok(later).silence;
    assert.equal(covered_to_ms, window_to_ms);
    assert.equal(coverage, 'UNDERSAMPLED', 'heartbeats were declared but none came');
  });

  it('day 13: another tenant has many findings of one rule', async () => {
    toDay(13);
    const issued = { tenant: 'staffing', kind: 'live', role: 'carrier' } as const;
    const { key } = await running.gateway.tenants.issue(issued);
    for (let n = 0; n < 10; n++)
      ok(await running.post('/api/v1/classify', { message: VIOLATION }, { key }));
    const { data } = ok(await running.get('/signal/patterns.json'));
    assert.deepEqual(data, [], 'the week is not over');
  });

  it('day 20: the auditor checks an absence that heartbeats cover, without a key', async () => {
    toDay(14);
    const from_ms = running.clock.wall() + HOUR_MS;
    for (const day of [14, 15, 16, 17, 18, 19, 20]) {
      toDay(day);
      await done('/api/v1/astl/heartbeat', { entity: 'acme', surface: SURFACE });
    }
    const asked = { entity: 'acme', surface: SURFACE, from_ms, to_ms: running.clock.wall() };
    const { witness } = await done('/api/v1/absence/witness', asked, carrier, true);
    assert.equal(witness.verdict, 'ABSENT');
    const path = '/standards/absence-ledger/verify';
    const { question } = witness;
    const checked = ok(await running.post(path, { document: witness, question }));
    assert.deepEqual([checked.valid, checked.verdict], [true, 'ABSENT']);
    assert.equal(checked.heartbeat_interval_ms, 2 * DAY_MS);
    const inside = { ...question, from_ms: from_ms + DAY_MS, to_ms: from_ms + DAY_MS };
    const narrow = ok(await running.post(path, { document: witness, question: inside }));
    assert.deepEqual(
      [narrow.valid, narrow.verdict, narrow.covers],
      [true, 'ABSENT', { from_ms, to_ms: asked.to_ms }],
    );
    const before = { ...question, from_ms: from_ms - DAY_MS };
    const wider = ok(await running.post(path, { document: witness, question: before }));
    assert.deepEqual([wider.valid, wider.verdict], [null, null]);
    const kit = ok(await running.get('/export/offline-verify-kit.json'));
    const trust = trustFromKit(kit, running.gateway.logs.live.origin);
    const shown = recognised(JSON.stringify({ ok: true, witness }));
    const offline = await checkDocument(shown, trust, { question: inside });
    assert.equal(offline.valid, true, offline.summary);
    await assert.rejects(
      async () => checkDocument(shown, trust, { question: before }),
      /does not answer this question/,
    );
    const { entry_id } = witness.receipt;
    const again = ok(await running.get(`${path}?entry_id=${String(entry_id)}`));
    assert.deepEqual([again.valid, again.entry.verdict], [true, 'ABSENT']);
  });

  it('day 20: the pattern feed counts rules over all tenants, and names none', async () => {
    const { data } = ok(await running.get('/signal/patterns.json'));
    const [row] = data.filter(({ week }: Body) => week === '2026-W11');
    assert.deepEqual([row.domain, row.acts >= 10], ['hiring', true]);
    assert.deepEqual(
      data.filter(({ acts }: Body) => acts < 10),
      [],
      'no sum below ten acts is shown',
    );
  });

  it('day 20: credits that the carrier bought pay its tolls from then on', async () => {
    const grant = { tenant: 'insurer', kind: 'live', sku: 'clearing_quarterly', order: 'pi_1' };
    await commandVerbs(running.gateway)['clearing grant']?.(grant);
    const { left_usd } = ok(await running.get('/api/v1/clearing/credits', { key: carrier }));
    assert.equal(Number(left_usd), 10_000);
    const ceiling = { tenant: 'insurer', kind: 'live', acts: 1000 };
    await commandVerbs(running.gateway)['clear ceiling']?.(ceiling);
    const { ceiling: shown } = ok(await running.get('/api/v1/clear/usage', { key: carrier }));
    assert.equal(shown.acts, 1000);
    ok(await act('beta'));
  });

  it('day 21 to 30: the Article 73 clock of an incident runs until the incident is reported', async () => {
    toDay(21);
    const seal = (body: object) =>
      done('/compliance/eu-ai-act/article-12/seal', { session_id: SESSION, ...body });
    const incident = await seal({
      ...{ event_type: 'incident', metadata: { incident_kind: 'serious_incident' } },
    });
    const clocks = async (): Promise<Body> =>
      ok(
        await running.get(`/compliance/eu-ai-act/article-73?session_id=${SESSION}`, {
          key: carrier,
        }),
      );
    toDay(30);
    assert.deepEqual(
      (await clocks()).data.map((one: Body) => [one.entry_id, one.applies, one.state]),
      [[incident.entry_id, 'due_15d', 'open']],
    );
    await seal({ event_type: 'incident_reported', decision_entry_id: incident.entry_id });
    assert.equal((await clocks()).data[0].state, 'reported');
  });

  it('day 30: reports and exports state what the entries of the month evidence', async () => {
    toDay(30);
    await done('/compliance/eu-ai-act/article-12/seal', {
      ...{ session_id: SESSION, event_type: 'human_verification' },
    });
    const get = async (path: string): Promise<Body> =>
      ok(await running.get(path, { key: carrier }));
    const report = await get(`/compliance/eu-ai-act/article-12?session_id=${SESSION}`);
    const system = await get('/compliance/eu-ai-act/article-12/systems/acme');
    const naic = await get(`/compliance/naic/exhibit-pack/${SESSION}`);
    for (const document of [report, system, naic]) await holds(document);
    assert.equal(report.classification_counts.VIOLATION, 1);

    const pack = await done('/api/v1/conformity/generate', {
      ...{ category_id: 'employment', session_id: SESSION },
    });
    const statuses = (items: Body[]) => items.map(({ id, status }) => [id, status]);
    assert.deepEqual(statuses(pack.pack.article_12.items), statuses(report.checklist));
    const evidenced = pack.pack.risk_controls.filter(({ status }: Body) => status === 'met');
    assert.deepEqual(
      evidenced.map(({ control }: Body) => control),
      [
        'human review before a rejection takes effect',
        'restraint receipts for decisions not taken',
      ],
    );
    const again = await get(`/api/v1/conformity/packs/${String(pack.pack_entry_id)}`);
    assert.deepEqual(again.pack, pack.pack);

    const air = await get(`/export/scitt/air/session/${SESSION}.json?proofs=true`);
    assert.equal(air.count, report.entries);
    await holds(air);
    const one = ok(await running.get(`/export/scitt/air/${finding_id}.json`));
    await holds(one);
    const { publicKey } = generateKeyPairSync('ed25519');
    const issuer = 'https://vendor.example/releases';
    await done('/api/v1/scitt/issuers', { issuer, key: publicKey.export({ format: 'jwk' }) });

    const sha256 = createHash('sha256').update(JSON.stringify(report)).digest('hex');
    const anchor = await done('/api/v1/anchors', {
      ...{ sha256, entity: 'acme' },
      media_type: 'application/json',
    });
    const anchored = ok(await running.get(`/api/v1/anchors?digest=${sha256}`)).data;
    assert.deepEqual(
      anchored.map((one: Body) => one.entry_id),
      [anchor.receipt.entry_id],
    );
  });

  it('day 31: a human resolves the finding, and after a new act the insured can bind again', async () => {
    toDay(31);
    const body = { outcome: 'remediated', reason: 'the agent was retrained' };
    const resolved = await done(`/carrier/v1/findings/${finding_id}/resolve`, body, operator);
    const path = '/carrier/v1/insured/acme-staffing/compliance';
    const { resolutions, mandate_accepted } = ok(await running.get(path, { key: carrier }));
    assert.deepEqual(
      [mandate_accepted, resolutions.map((one: Body) => one.entry_id)],
      [true, [resolved.entry_id]],
    );
    assert.deepEqual(await decision('acme-staffing'), ['BLOCK', ['evidence_missing']]);
    ok(await act('acme'));
    assert.deepEqual(await decision('acme-staffing'), ['ALLOW', []]);
  });

  it('owes what the entries of the log say, to the micro-USD', async () => {
    const { tenant_id } = ok(await running.get('/api/v1/me', { key: carrier }));
    assert.equal(tenant_id, 'insurer');
    const log = running.gateway.logs.live;
    await assertOwed(log, invoiceOf);
    const { fees, tolls } = await invoiceOf(MONTH);
    assert.deepEqual(
      fees.map((one: Body) => [one.fee, one.acts, one.micro_usd]),
      [
        ['basis_points', 2, '1000000'],
        ['obligation', 3, '9500000'],
      ],
    );
    const overage = tolls.find((one: Body) => one.toll === 'mandate_overage');
    assert.deepEqual([overage.acts, overage.micro_usd], [1, '3000000']);
    assert.equal(
      (await invoiceOf('2026-04')).status,
      'open',
      'the invoice of the current month is still open',
    );
  });

  it('closes its weeks, and proves the net of each to the carrier', async () => {
    const closed = (await commandVerbs(running.gateway)['clearing close']?.({})) as Body;
    assert.deepEqual(closed.closed.live.slice(0, 2), ['2026-W10', '2026-W11']);
    for (const week of ['2026-W10', '2026-W11', '2026-W12']) {
      const path = `/api/v1/clearing/slots/${week}/proof`;
      await holds(ok(await running.get(path, { key: carrier })));
    }
    const latest = ok(await running.get('/api/v1/clearing/network/latest.json'));
    assert.equal(latest.window.week, closed.closed.live.at(-1));
  });

  it('gives the carrier an invoice that is valid offline', async () => {
    const invoice = await invoiceOf(MONTH);
    assert.equal(invoice.status, 'closed');
    assert.deepEqual(
      invoice.slots.map((slot: Body) => slot.slot.week),
      invoice.weeks.map((one: Body) => one.week),
    );
    const finding = await holds(invoice);
    assert.match(finding.summary, new RegExp(`${String(invoice.net_micro_usd)} micro-USD$`));
    const forged = { ...invoice, net_micro_usd: String(BigInt(invoice.net_micro_usd) - 1n) };
    assert.equal((await checked(forged)).valid, false);
  });

  it('has entries of every layer that appends', async () => {
    const log = running.gateway.logs.live;
    const types = layersIn(log);
    const appending = PLUGINS.filter(({ types: brought }) => brought.length > 0);
    const silent = appending.map(({ name }) => name).filter((name) => !types.has(name));
    assert.deepEqual(silent, []);
    // The others append nothing and read the entries of other layers.
    const reading = ['/api/v1/stack/catalog', '/signal/signal-catalog.json', '/api/v1/nap/catalog'];
    for (const path of reading) ok(await running.get(path));
  });

  it('ends with logs that a monitor and fsck accept', async () => {
    toDay(DAYS);
    ok(await act('beta'));
    for (const kind of LOG_KINDS) {
      const log = running.gateway.logs[kind];
      await log.whenPublished(log.size() + 1);
    }
    await accepted(running);
  });
});
