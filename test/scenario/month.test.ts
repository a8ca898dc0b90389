// A month of one carrier, two insured entities, one agent and one auditor, on a clock that starts 40 days ago: what the
// carrier is invoiced adds up with the log, and monitor and fsck accept the log at the end. gateway/API.md §8 to §10.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOG_KINDS } from '../../log/index.ts';
import { fsck } from '../../log/operate.ts';
import { trustFromKit } from '../../log/verify.ts';
import { checkDocument } from '../../plugins/verifiers.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { commandVerbs } from '../../gateway/host/commands.ts';
import { Clock, ok, run } from '../gateway/running.ts';
import type { Answer, Running } from '../gateway/running.ts';
import { POLICY } from '../plugins/gate/asking.ts';
import { readingsOf } from '../plugins/foundry/readings.ts';
import { actlog } from '../support/actlog.ts';
import type { Body } from '../support/body.ts';
import { recognised } from '../support/recognised.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 40;
const SURFACE = 'policy_bind';
const VIOLATION = 'We do not hire people over 50.';

describe('a month of a carrier, its insured, an agent and an auditor', function () {
  this.timeout(120_000);
  let running: Running;
  let began_ms: number;
  let carrier: string;
  let operator: string;
  let finding_id: string;
  before(async () => {
    const clock = new Clock();
    clock.jump(-DAYS * DAY_MS);
    running = await run({}, { clock });
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
  /** Lets the clock reach a day of the month. */
  const toDay = (day: number): void => {
    const { clock } = running;
    clock.pass(Math.max(0, began_ms + day * DAY_MS - clock.wall()));
  };
  const act = (entity: string | undefined, message = 'Schedule the interview for Monday') =>
    post('/api/v1/classify', {
      ...{ message, session_id: 'interviews' },
      ...(entity === undefined ? {} : { entity, surface: SURFACE }),
    });
  const invoiceOf = async (month: string): Promise<Body> =>
    ok(await running.get(`/api/v1/clearing/invoices/${month}`, { key: carrier }));
  const decision = async (slug: string): Promise<unknown[]> => {
    const path = `/carrier/v1/insured/${slug}/compliance`;
    const { decision: said, reasons } = ok(await running.get(path, { key: carrier }));
    return [said, reasons];
  };

  it('day 1: declares two entities and enrolls whom it insures', async () => {
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
    await done('/api/v1/execute-gate/policy', POLICY, operator);
  });

  it('day 2: the agent acts for both, and must say for which', async () => {
    toDay(2);
    assert.deepEqual(code(await act(undefined)), [400, 'parameter_missing']);
    for (const entity of ['acme', 'beta']) ok(await act(entity));
    assert.deepEqual(await decision('acme-staffing'), ['ALLOW', []]);
    assert.deepEqual(await decision('beta-lending'), ['ALLOW', []]);
  });

  it('day 5: a violation of one insured blocks this one and no other', async () => {
    toDay(5);
    const finding = ok(await act('acme', VIOLATION));
    assert.equal(finding.classification, 'VIOLATION');
    finding_id = finding.receipt?.entry_id ?? finding.entry_id;
    ok(await act('beta'));
    assert.deepEqual(await decision('acme-staffing'), ['BLOCK', ['open_violation']]);
    assert.deepEqual(await decision('beta-lending'), ['ALLOW', []]);
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
    const { outcome, hold_id } = await done('/api/v1/execute-gate', asked);
    assert.equal(outcome, 'HOLD');
    const path = `/api/v1/execute-gate/holds/${String(hold_id)}`;
    const released = await done(path, { action: 'release', reason: 'checked' }, operator);
    assert.equal(released.outcome, 'PERMIT');
  });

  it('day 12: a session is silent, as far as its proof reaches', async () => {
    toDay(12);
    const body = { session_id: 'interviews', context: 'no interview was held' };
    const { silence, receipt } = await done('/silence-receipt', body);
    assert.ok(silence.covered_to_ms <= silence.window_to_ms);
    assert.notEqual(silence.coverage, 'COVERED');
    const headers = { Prefer: 'wait=20' };
    const later = await running.get(`/silence-receipt/${String(receipt.entry_id)}`, { headers });
    const { covered_to_ms, window_to_ms, coverage } = ok(later).silence;
    assert.equal(covered_to_ms, window_to_ms);
    assert.equal(coverage, 'UNDERSAMPLED', 'heartbeats were promised and none came');
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
    const { entry_id } = witness.receipt;
    const again = ok(await running.get(`${path}?entry_id=${String(entry_id)}`));
    assert.deepEqual([again.valid, again.entry.verdict], [true, 'ABSENT']);
  });

  it('day 21: the article 73 clock of an incident runs until it is reported', async () => {
    toDay(21);
    const seal = (body: object) =>
      done('/compliance/eu-ai-act/article-12/seal', { session_id: 'interviews', ...body });
    const incident = await seal({
      ...{ event_type: 'incident', metadata: { incident_kind: 'serious_incident' } },
    });
    const clocks = async (): Promise<Body> =>
      ok(
        await running.get('/compliance/eu-ai-act/article-73?session_id=interviews', {
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

  it('day 31: a human resolves the finding, and a fresh act lets the insured bind again', async () => {
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

  it('owes what the log says, to the micro-USD', async () => {
    const { tenant_id } = ok(await running.get('/api/v1/me', { key: carrier }));
    assert.equal(tenant_id, 'insurer');
    const log = running.gateway.logs.live;
    const owed = new Map<string, { tolls: bigint; fees: bigint }>();
    let tenant_ref = '';
    for (let index = 0; index < log.size(); index += 1) {
      const entry = JSON.parse(log.entry(index) ?? '{}');
      if (entry.type === 'astl.manifest.v1') tenant_ref = entry.tenant_ref;
      const month = new Date(entry.issued_at_ms).toISOString().slice(0, 7);
      const name = `${String(entry.tenant_ref)} ${month}`;
      const { tolls, fees } = owed.get(name) ?? { tolls: 0n, fees: 0n };
      owed.set(name, {
        tolls: tolls + BigInt(entry.toll_micro_usd ?? 0),
        fees: fees + BigInt(entry.owed_fee_micro_usd ?? 0),
      });
    }
    const months = [...owed.keys()]
      .filter((name) => name.startsWith(`${tenant_ref} `))
      .map((name) => name.slice(-7));
    assert.ok(months.length >= 2);
    let fees_micro_usd = 0n;
    for (const month of months) {
      const invoice = await invoiceOf(month);
      const { tolls, fees } = owed.get(`${tenant_ref} ${month}`) ?? { tolls: 0n, fees: 0n };
      const said = [invoice.tolls_micro_usd, invoice.fees_micro_usd, invoice.net_micro_usd];
      assert.deepEqual(said.map(String), [tolls, fees, tolls + fees].map(String), month);
      assert.equal(invoice.credits_micro_usd, '0');
      fees_micro_usd += fees;
    }
    assert.equal(fees_micro_usd, 1_500_000n, 'the fee of the obligation');
    assert.equal((await invoiceOf(months.at(-1) ?? '')).status, 'open', 'the month goes on');
  });

  it('closes its weeks, and proves the net of each to the carrier', async () => {
    const closed = (await commandVerbs(running.gateway)['clearing close']?.({})) as Body;
    assert.ok(closed.closed.live.length >= 4);
    const week = String(closed.closed.live[1]);
    const proof = ok(await running.get(`/api/v1/clearing/slots/${week}/proof`, { key: carrier }));
    assert.ok(proof.root ?? proof.slot);
  });

  it('gives the carrier an invoice that anybody verifies offline', async () => {
    const month = new Date(began_ms).toISOString().slice(0, 7);
    const invoice = await invoiceOf(month);
    assert.equal(invoice.status, 'closed');
    assert.ok(invoice.slots.length >= 1);
    const kit = ok(await running.get('/export/offline-verify-kit.json'));
    const trust = trustFromKit(kit, running.gateway.logs.live.origin);
    const finding = await checkDocument(recognised(JSON.stringify(invoice)), trust);
    assert.equal(finding.valid, true, finding.summary);
    assert.match(finding.summary, new RegExp(`${String(invoice.net_micro_usd)} micro-USD$`));
  });

  it('ends with logs that a monitor and fsck accept', async () => {
    toDay(DAYS);
    ok(await act('beta'));
    for (const kind of LOG_KINDS) {
      const log = running.gateway.logs[kind];
      await log.whenPublished(log.size() + 1);
    }
    const state = await mkdtemp(join(tmpdir(), 'actlog-month-'));
    try {
      const {
        code: exit,
        stdout,
        stderr,
      } = await actlog([...['monitor', running.url, '--state', state, '--once']]);
      assert.equal(exit, 0, stdout + stderr);
    } finally {
      await rm(state, { recursive: true });
    }
    await running.close(true);
    const types = await broughtTypes({ PLUGINS: [] });
    for (const kind of LOG_KINDS) {
      const { differences } = await fsck({ folder: join(running.data, kind, '1'), types });
      assert.deepEqual(differences, [], kind);
    }
  });
});
