// The invoice of a month: its sums, when the log commits to it, and its offline verification.
// gateway/API.md §10.10.

import assert from 'node:assert/strict';
import { native, RightEdge, toHex } from '../../../log/index.ts';
import type { Draft, JsonObject } from '../../../log/index.ts';
import { fromHex, trustFromKit } from '../../../log/verify.ts';
import { monthOf, monthWindow } from '../../../plugins/clear/index.ts';
import { accountOf, INVOICE_ENTRY } from '../../../plugins/clearing/entries.ts';
import { weekOf, windowOf } from '../../../plugins/contract/weeks.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import type { Finding } from '../../../plugins/verifiers.ts';
import { adminCall } from '../../support/admin-call.ts';
import type { Body } from '../../support/body.ts';
import { recognised } from '../../support/recognised.ts';
import { Clock, ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

const HOUR_MS = 3_600_000;
const WEEK_MS = 168 * HOUR_MS;
const HASH = 'ab'.repeat(32);
const PATH = '/api/v1/clearing/invoices';

describe('the invoice of a month', function () {
  this.timeout(60_000);
  const clock = new Clock();
  let running: Running;
  let month: string;
  let invoice: Body;
  before(async () => {
    // The end of a month whose last week extends into the next one.
    let { to_ms } = monthWindow(monthOf(clock.wall()));
    while (windowOf(weekOf(to_ms)).to_ms === to_ms) to_ms = monthWindow(monthOf(to_ms + 1)).to_ms;
    clock.pass(to_ms - 3 * WEEK_MS - clock.wall());
    month = monthOf(to_ms);
    running = await run({}, { clock });
    await grant('clearing_quarterly');
  });
  after(() => running.close());

  const call = (verb: string, args = {}) =>
    adminCall(running.data, verb, args, { LOG_ORIGIN: 'test.example', THREADS: 'off' });
  const grant = (sku: string) => call('clearing grant', { tenant: 'first', kind: 'live', sku });
  const asked = (path = month, key = running.live): Promise<Answer> =>
    running.get(`${PATH}/${path}`, { key });
  const key = () => ({ key: running.live });
  const classify = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i += 1) {
      ok(await running.post('/api/v1/classify', { message: 'Schedule the interview' }, key()));
    }
  };
  /** A settled payment of this amount in USDC, for which basis points are owed. */
  const pay = async (digit: string, amount_atomic: number): Promise<void> => {
    const payment = { action_type: 'pay', agent_id: 'agent:1', amount_atomic, currency: 'USDC' };
    const payment_hash = `0x${digit.repeat(64)}`;
    ok(await running.post('/api/v1/bind-payment', { ...payment, payment_hash }, key()));
  };
  /** Acts that cost 500 USD each, more than the credits. */
  const matters = async (times: number): Promise<void> => {
    const { tenant_ref } = running.gateway.tenants.inLog('first', 'live');
    const act: Draft = {
      type: 'pdtr.decision_not_supplied.v1',
      tenant_ref,
      members: { outcome: 'NOT_SUPPLIED', action_ref: '0'.repeat(64) },
      toll: { id: 'matter_spoliation', micro_usd: 500_000_000 },
    };
    const log = running.gateway.logs.live;
    await Promise.all(Array.from({ length: times }, () => log.append([act])));
  };
  const obligation = async (): Promise<string> => {
    const armed = { template_id: 'incident_sealed', enabled_exposure_usd: '1000' };
    const { trigger_id } = ok(await running.post('/signal/trigger/publish', armed, key()));
    const firing = { trigger_id, reading: { metric: 'incident', value: 1 } };
    const fired = ok(await running.post('/api/v1/foundry/trigger/fire', firing, key()));
    return fired.receipt.entry_id as string;
  };
  /** The sums of the tenant in a month, computed from the entries of the log. */
  function added(of: string): { acts: number; tolls: bigint; owed: bigint; root: string } {
    const log = running.gateway.logs.live;
    const { tenant_ref } = running.gateway.tenants.inLog('first', 'live');
    const edge = new RightEdge();
    let [tolls, owed] = [0n, 0n];
    for (let index = 0; index < log.size(); index += 1) {
      const entry = JSON.parse(log.entry(index) ?? '{}');
      if (entry.tenant_ref !== tenant_ref || entry.toll === undefined) continue;
      if (monthOf(entry.issued_at_ms as number) !== of) continue;
      tolls += BigInt(entry.toll_micro_usd as number);
      owed += BigInt((entry.owed_fee_micro_usd as number | undefined) ?? 0);
      edge.append(log.leafHash(index));
    }
    return { acts: edge.size, tolls, owed, root: toHex(edge.root()) };
  }
  const committed = (): number => {
    const log = running.gateway.logs.live;
    const entries = Array.from({ length: log.size() }, (_, index) => log.entry(index) ?? '');
    return entries.filter((entry) => entry.includes('"type":"clearing.invoice.v1"')).length;
  };
  async function verified(document: Body): Promise<Finding> {
    const kit = ok(await running.get('/export/offline-verify-kit.json')) as JsonObject;
    const trust = trustFromKit(kit, running.gateway.logs.live.origin, { suite: native });
    const shown = recognised(JSON.stringify(document));
    assert.equal(shown.kind, 'invoice');
    return checkDocument(shown, trust, { suite: native });
  }
  const detail = ({ checks }: Finding, of: string): string =>
    checks.find(({ name }) => name === of)?.detail ?? '';
  const failed = ({ checks }: Finding): string[] =>
    checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);

  it('is open before the month is over, and the log commits to nothing', async () => {
    await classify(2);
    const open = ok(await asked());
    assert.deepEqual([open.status, open.acts, open.tolls_micro_usd], ['open', 2, '100000']);
    assert.deepEqual([open.credits_micro_usd, open.net_micro_usd], ['100000', '0']);
    assert.ok(!('receipt' in open));
    await assert.rejects(verified(open), { name: 'Unanswerable' });
    const next = monthOf(monthWindow(month).to_ms + 1);
    for (const [of, code] of [
      [next, 'resource_missing'],
      ['2020-01', 'resource_missing'],
      ['2020-13', 'parameter_invalid'],
    ] as const) {
      assert.equal((await asked(of)).json.error.code, code, of);
    }
    assert.equal(committed(), 0);
  });

  it('equals the sums of the log to the micro-USD after the month', async () => {
    await pay('a', 5_000_000_007);
    clock.pass(WEEK_MS);
    await matters(25);
    const fired = await obligation();
    clock.pass(2 * WEEK_MS - HOUR_MS);
    await classify(3);
    const slice = running.gateway.logs.live.size();
    clock.pass(monthWindow(month).to_ms + 1000 - clock.wall());
    await classify(4);
    invoice = ok(await asked());
    const { acts, tolls, owed, root } = added(month);
    assert.ok(acts > 30 && slice > acts);
    assert.deepEqual(
      [invoice.status, invoice.acts, invoice.tolls_micro_usd],
      ['closed', acts, String(tolls)],
    );
    const credits = 10_000_000_000n;
    const basis_points = (5_000_000_007n * 2n) / 10_000n;
    assert.equal(owed, 1_500_000n);
    assert.deepEqual(
      invoice.fees.map(({ fee, micro_usd }: Body) => [fee, micro_usd]),
      [
        ['basis_points', String(basis_points)],
        ['obligation', String(owed)],
      ],
    );
    assert.equal(invoice.credits_micro_usd, String(credits));
    assert.equal(invoice.net_micro_usd, String(tolls - credits + basis_points + owed));
    assert.deepEqual(
      invoice.obligations.map(({ entry_id, micro_usd }: Body) => [entry_id, micro_usd]),
      [[fired, '1500000']],
    );
    assert.deepEqual(invoice.logs, [{ origin: 'test.example/log/live/1', acts, acts_root: root }]);
    const { tolls_micro_usd, fees_micro_usd } = ok(
      await running.get(`/api/v1/clear/usage?month=${month}`, key()),
    );
    assert.deepEqual(
      [tolls_micro_usd, fees_micro_usd],
      [invoice.tolls_micro_usd, invoice.fees_micro_usd],
    );
  });

  it('is committed to once, for the tenant alone', async () => {
    const again = await Promise.all([asked(), asked(), asked()]);
    const ids = again.map((answer) => ok(answer).receipt.entry_id as string);
    assert.deepEqual(new Set(ids), new Set([invoice.receipt.entry_id]));
    assert.equal(committed(), 1);
    const { account, links } = invoice.receipt;
    assert.equal(account, Buffer.from(invoice.tenant_ref, 'base64url').toString('hex'));
    assert.deepEqual(links[0].key, ['clearing.invoice', account]);
    assert.equal((await running.get(`${PATH}/${month}`)).status, 401);
    assert.equal((await asked(month, running.sandbox)).status, 404);
    const other = { tenant: 'other', kind: 'live' } as const;
    const { key: another } = await running.gateway.tenants.issue(other);
    assert.equal((await asked(month, another)).status, 404);
  });

  it('is valid offline, with its acts, and with the slots after they are closed', async () => {
    const early = await verified(invoice);
    assert.equal(early.valid, true, early.summary);
    assert.match(detail(early, 'acts'), /^all \d+ acts are shown, and their tolls and obligations/);
    clock.pass(2 * WEEK_MS);
    await call('clearing close');
    invoice = ok(await asked());
    const { valid, summary, checks, facts } = await verified(invoice);
    assert.equal(valid, true, summary);
    const all = String(invoice.weeks.length);
    // The month ends within a week; the other acts of that week are of the next month.
    const slots = checks.find(({ name }) => name === 'slots')?.detail ?? '';
    assert.match(slots, new RegExp(`^${all} of ${all} weeks have a slot that agrees, [1-9]`));
    const { acts, net_micro_usd } = invoice;
    assert.deepEqual([facts['acts'], facts['net_micro_usd']], [acts, net_micro_usd]);
    const next = ok(await asked(monthOf(monthWindow(month).to_ms + 1)));
    assert.equal(next.weeks[0].week, invoice.weeks.at(-1).week);
    const last = invoice.slots.at(-1).leaf;
    assert.equal(last.acts, Number(invoice.weeks.at(-1).acts) + Number(next.weeks[0].acts));
  });

  it('names the check that fails after a change', async () => {
    const changes: [string[], (body: Body) => unknown][] = [
      [['document'], (body) => (body.added = 1)],
      [['document', 'sums', 'acts'], (body) => (body.tolls[0].micro_usd = '1')],
      [['document', 'sums'], (body) => (body.acts = 1)],
      [['document', 'sums'], (body) => (body.net_usd = '0.000000')],
      [['document', 'sums'], (body) => (body.to_ms = Number(body.to_ms) + 1)],
      [['document', 'sums', 'slots'], (body) => (body.weeks[1].acts = 'x')],
      [['document', 'acts'], (body) => (body.logs[0].acts_root = '0'.repeat(64))],
      [['signature'], (body) => (body.signature = 'x')],
      [['receipt', 'document'], (body) => (body.receipt.net_micro_usd = '0')],
      [['acts'], (body) => body.acts_shown.push(body.acts_shown[0])],
      [['acts'], (body) => (body.acts_shown[0].index = 1)],
      [['acts'], (body) => (body.checkpoint = 'none')],
      [['slots'], (body) => (body.slots[0].leaf.acts = 99)],
      [['slots'], (body) => (body.slots[1] = body.slots[0])],
    ];
    for (const [names, change] of changes) {
      const body = structuredClone(invoice);
      change(body);
      const finding = await verified(body);
      assert.deepEqual(failed(finding), names, `${change.toString()}: ${finding.summary}`);
    }
  });

  it('lists every act with its amount, page by page', async () => {
    const data: Body[] = [];
    for (let cursor = ''; ;) {
      const page = ok(await asked(`${month}/acts?limit=10${cursor}`));
      data.push(...page.data);
      if (page.has_more !== true) break;
      cursor = `&cursor=${String(page.next_cursor)}`;
    }
    assert.equal(data.length, invoice.acts);
    const edge = new RightEdge();
    for (const { entry_hash } of data) edge.append(fromHex(entry_hash as string, 32));
    assert.equal(toHex(edge.root()), invoice.logs[0].acts_root);
    let due = 0n;
    for (const { net_micro_usd } of data) due += BigInt(net_micro_usd as string);
    assert.equal(String(due), invoice.net_micro_usd);
  });

  it('is also a page', async () => {
    const page = await asked(`${month}?format=html`);
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    assert.ok(page.text.includes(invoice.net_usd as string));
    // A saved copy contains its style sheet.
    assert.match(page.text, /<style>[^<]{1000,}<\/style>/);
    assert.equal((await asked(`${month}?format=pdf`)).status, 400);
  });

  it('shows the first hundred acts of a month that has more', async () => {
    clock.pass(5 * WEEK_MS);
    const of = monthOf(clock.wall());
    await matters(120);
    clock.pass(monthWindow(of).to_ms + 1000 - clock.wall());
    const document = ok(await asked(of));
    assert.deepEqual([document.acts, document.acts_shown.length], [120, 100]);
    const finding = await verified(document);
    assert.equal(finding.valid, true, finding.summary);
    assert.match(detail(finding, 'acts'), /^100 of 120 acts are shown/);
    assert.equal(document.receipt.links[0].seq, 1, 'the chain has every invoice of the tenant');
  });

  it('has an entry for tenants whose tenant_ref begins with - or _ as well', async () => {
    const { live } = running.gateway.logs;
    const sums = { tolls_micro_usd: '0', credits_micro_usd: '0', fees_micro_usd: '0' };
    const document = { month: '2000-01', acts: 1, ...sums, net_micro_usd: '0' };
    const { tenant_ref } = ok(await running.get('/api/v1/me', key()));
    for (const other of [`-${'A'.repeat(21)}`, `_${'A'.repeat(21)}`]) {
      const members = { ...document, account: accountOf(other), document_sha256: HASH };
      const [entry] = await live.append([{ type: INVOICE_ENTRY, members, tenant_ref }]);
      assert.match(JSON.stringify(entry?.statement['account']), /^"f[8c]0{30}"$/);
    }
  });
});
