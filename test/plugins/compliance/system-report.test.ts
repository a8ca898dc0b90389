// The Article 12 report of a system in a period: the entries that name its entity, proven complete.
// gateway/API.md §12.1, §12.4.

import assert from 'node:assert/strict';
import { native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { trustFromKit } from '../../../log/verify.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import type { Finding } from '../../../plugins/verifiers.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { Clock, ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
import { recognised } from '../../support/recognised.ts';
import { callerOf } from './article-12-caller.ts';
import type { Caller } from './article-12-caller.ts';

const PATH = '/compliance/eu-ai-act/article-12/systems';
const HOUR_MS = 3_600_000;

describe('the Article 12 report of a system', function () {
  this.timeout(60_000);
  let running: Running;
  let caller: Caller;
  /** Log times between the hours in which the system acted. */
  const hours: number[] = [];
  before(async () => {
    // The verifier uses the clock of the machine, so no entry may be later.
    const clock = new Clock();
    clock.jump(-24 * HOUR_MS);
    running = await run({}, { clock });
    caller = callerOf(running);
    const surfaces = { entity: 'screener', surfaces: ['candidate_screen'] };
    ok(await running.post('/api/v1/astl/publish', surfaces, { key: running.live }));
  });
  after(() => running.close());

  const ask = (query = '', entity = 'screener', key = running.live): Promise<Answer> =>
    running.get(`${PATH}/${entity}?${query}`, { key });
  const period = (from: number, to: number): string =>
    `from_ms=${String(hours[from])}&to_ms=${String(hours[to])}`;
  const passHour = (): void => {
    hours.push(running.clock.wall());
    running.clock.pass(HOUR_MS);
  };
  const event = (event_type: string, session_id: string): Promise<Body> =>
    caller.seal({ event_type, session_id, entity: 'screener' });
  async function verified(document: Body): Promise<Finding> {
    const kit = ok(await running.get('/export/offline-verify-kit.json')) as JsonObject;
    const trust = trustFromKit(kit, running.gateway.logs.live.origin, { suite: native });
    const shown = recognised(JSON.stringify(document));
    assert.equal(shown.kind, 'sealed');
    return checkDocument(shown, trust, { suite: native });
  }
  const failed = ({ checks }: Finding): string[] =>
    checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  const detail = ({ checks }: Finding): string =>
    checks.find(({ name }) => name === 'completeness')?.detail ?? '';

  it('contains the entries that name the entity, over all sessions, and no others', async () => {
    passHour();
    const one = await event('human_verification', 'a');
    await caller.seal({ event_type: 'monitoring', session_id: 'a' });
    passHour();
    const two = await event('model_change', 'b');
    passHour();
    await event('use_start', 'c');
    passHour();
    const report = ok(await ask(period(0, 2)));
    const item = (id: string) => report.checklist.find((found: Body) => found.id === id);
    assert.deepEqual(
      [report.schema, report.entity, report.entries],
      ['svc-article-12-system-report-v1', 'screener', 2],
    );
    assert.deepEqual(report.event_counts.by_event_type, { human_verification: 1, model_change: 1 });
    assert.deepEqual([item('14').status, item('14').evidence.entry_ids], ['met', [one.entry_id]]);
    assert.deepEqual(item('12(2)(a)').evidence.entry_ids, [two.entry_id]);
    assert.deepEqual([report.period.from_ms, report.period.until_ms], [hours[0], hours[2]]);
    assert.equal(ok(await ask()).event_counts.by_event_type.use_start, 1, 'the whole time');
    const later = ok(await ask(period(1, 2)));
    assert.deepEqual([later.entries, later.checklist[4].evidence.count], [1, 0]);
    const none = ok(await ask(`from_ms=1&to_ms=2`));
    assert.deepEqual([none.entries, none.checklist[0].status], [0, 'not_evidenced']);
    for (const document of [report, later, none, ok(await ask())]) {
      const { valid, summary } = await verified(document);
      assert.ok(valid, summary);
    }
  });

  it('is sealed once while nothing changes', async () => {
    const [first, second] = [ok(await ask(period(0, 2))), ok(await ask(period(0, 2)))];
    assert.equal(second.receipt.entry_id, first.receipt.entry_id);
    const other = ok(await ask(period(0, 1)));
    assert.notEqual(other.receipt.entry_id, first.receipt.entry_id);
    assert.deepEqual(first.receipt.subject_key, ['entity', 'screener']);
  });

  it('names the check that fails after a change', async () => {
    const report = ok(await ask(period(1, 3)));
    const changes: [string[], (body: Body) => unknown][] = [
      [['document'], (body) => (body.added = 1)],
      [['document', 'completeness'], (body) => (body.entries = 1)],
      [['document', 'completeness'], (body) => (body.entity = 'other')],
      [['completeness'], (body) => body.completeness_proof.entries.pop()],
      [['completeness'], (body) => (body.completeness_proof.question.from_ms = 0)],
    ];
    for (const [names, change] of changes) {
      const body = structuredClone(report);
      change(body);
      assert.deepEqual(failed(await verified(body)), names, change.toString());
    }
    const wide = ok(await ask());
    const swapped = {
      ...report,
      completeness_proof: wide.completeness_proof,
      checkpoint: wide.checkpoint,
    };
    assert.deepEqual(failed(await verified(swapped)), ['completeness'], 'another period');
  });

  it('counts a period with more entries than it shows, by the seq of its first entry', async () => {
    passHour();
    const began = hours.length - 1;
    for (let i = 0; i < 104; i += 1) await event('use_end', 'many');
    passHour();
    await event('use_start', 'many');
    passHour();
    const report = ok(await ask(period(began, began + 1)));
    assert.equal(report.entries, 104);
    assert.equal(report.opening_proof.entries.length, 1);
    const finding = await verified(report);
    assert.ok(finding.valid, finding.summary);
    assert.equal(detail(finding), 'the period has 104 entries, the last 100 shown');
    const { opening_proof: _, ...without } = report;
    assert.deepEqual(failed(await verified(without)), ['completeness']);
    const earlier = ok(await ask(period(0, 1)));
    const opening_proof = earlier.completeness_proof;
    assert.deepEqual(failed(await verified({ ...report, opening_proof })), ['completeness']);
  });

  it('is valid and unchanged if it is requested again later', async () => {
    const open = `from_ms=${String(hours[1])}`;
    const first = ok(await ask(open));
    passHour();
    await caller.seal({ event_type: 'monitoring', session_id: 'elsewhere' });
    const second = ok(await ask(open));
    assert.equal(second.receipt.entry_id, first.receipt.entry_id);
    assert.ok(second.opening_proof.question.to_ms > first.opening_proof.question.to_ms);
    const finding = await verified(second);
    assert.ok(finding.valid, finding.summary);
  });

  it('is for the owner of the entity', async () => {
    const other = { tenant: 'other', kind: 'live' } as const;
    const { key } = await running.gateway.tenants.issue(other);
    assert.equal(codeOf(await ask('', 'screener', key), 403), 'tenant_forbidden');
    assert.equal(codeOf(await ask('', 'nobody'), 404), 'resource_missing');
    assert.equal(codeOf(await running.get(`${PATH}/screener`), 401), 'api_key_missing');
    const stranger = { event_type: 'monitoring', entity: 'screener' };
    const refused = await running.post('/compliance/eu-ai-act/article-12/seal', stranger, { key });
    assert.equal(refused.status, 403, refused.text);
    for (const query of ['from_ms=5&to_ms=4', 'from_ms=x', 'format=pdf']) {
      assert.equal((await ask(query)).status, 400, query);
    }
  });

  it('is also text and a page', async () => {
    const text = (await ask(`${period(0, 2)}&format=txt`)).text;
    assert.match(text, /^entity: +screener$/m);
    assert.doesNotMatch(text, /undefined|spoliation hold/);
    const page = await ask(`${period(0, 2)}&format=html`);
    assert.match(page.text, /<dt>Entity<\/dt><dd><code>screener<\/code>/);
    assert.doesNotMatch(page.text, /undefined/);
  });
});
