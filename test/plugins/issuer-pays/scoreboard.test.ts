// The scoreboard: nine rankings with method and date, the grade of the operator itself, and the sample of an entry.

import assert from 'node:assert/strict';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import { settled } from '../../support/settled.ts';

const PATH = '/standards/issuer-pays-scoreboard.json';

interface Ranking {
  readonly id: string;
  readonly name: string;
  readonly method: string;
  readonly as_of: string;
  readonly evidence: string;
  readonly entries: readonly {
    grade: string;
    self_assigned: boolean;
    met: boolean | null;
    detail: string;
  }[];
}

interface Met {
  readonly met: boolean | null;
}

describe('plugins/issuer-pays', () => {
  let running: Running;
  let entry_id = '';
  before(async () => {
    running = await run();
    const { json } = await running.post(
      '/api/v1/classify',
      { message: 'hello', session_id: 'one' },
      { key: running.live },
    );
    entry_id = json.entry_id as string;
    await settled(running.gateway.logs.live);
  });
  after(() => running.close());

  it('ranks by nine criteria, each with a method, a date and evidence that can be fetched', async () => {
    const { json } = await running.get(PATH);
    const rankings = json.rankings as readonly Ranking[];
    assert.equal(rankings.length, 9);
    assert.equal(json.rankings_count, 9);
    assert.equal(new Set(rankings.map(({ id }) => id)).size, 9);
    for (const { method, as_of, evidence } of rankings) {
      assert.ok(method.length > 20);
      assert.match(as_of, /^\d{4}-\d{2}-\d{2}$/);
      const { status } = await running.get(evidence.replace('http://test.example', ''));
      assert.equal(status, 200, evidence);
    }
  });

  it('computes the grade of the operator from the criteria shown, and marks it as self-assigned', async () => {
    const { json } = await running.get(PATH);
    const { operator } = json;
    const { live_sample, grade } = operator;
    assert.deepEqual(
      [operator.claimed_grade, operator.grade_basis, operator.self_assigned],
      ['A', 'self-assigned', true],
    );
    assert.equal(live_sample.entry_id, entry_id);
    assert.equal(live_sample.met, live_sample.criteria.filter(({ met }: Met) => met).length);
    assert.equal(grade, live_sample.met >= 7 ? 'A' : 'B');
    for (const { id, entries } of json.rankings as readonly Ranking[]) {
      const { met, detail } = live_sample.criteria.find((one: Ranking) => one.id === id);
      assert.deepEqual(
        entries.map((row) => [row.grade, row.self_assigned, row.met, row.detail]),
        [[grade, true, met, detail]],
      );
    }
    assert.equal(json.sample, undefined);
  });

  it('shows the grade of the live sample, even if the operator claims a better one', async () => {
    // An entry on no chain, without witnesses, meets six of the nine criteria.
    const { json: bare } = await running.post(
      '/api/v1/classify',
      { message: 'on no chain' },
      { key: running.live },
    );
    await settled(running.gateway.logs.live);
    const { json } = await running.get(`${PATH}?entry_id=${entry_id}`);
    const { operator, rankings, sample } = json;
    assert.equal(operator.live_sample.entry_id, bare.entry_id);
    assert.ok(operator.live_sample.met < 7);
    assert.deepEqual([operator.claimed_grade, operator.grade], ['A', 'B']);
    for (const { entries } of rankings as readonly Ranking[]) assert.equal(entries[0]?.grade, 'B');
    assert.equal(sample.entry_id, entry_id, 'the sample is the requested entry');
  });

  it('says "not rated" while the live log has no entry of a tenant', async () => {
    const fresh = await run();
    try {
      const { json } = await fresh.get(PATH);
      assert.deepEqual([json.operator.grade, json.operator.live_sample], ['not rated', null]);
      const { text } = await fresh.get(`${PATH}?format=txt`);
      assert.match(text, /Operator's grade: not rated/);
    } finally {
      await fresh.close();
    }
  });

  it('applies the criteria to an entry named by its id or its hash', async () => {
    const { json } = await running.get(`${PATH}?entry_id=${entry_id}`);
    const { criteria, met, of, found, verify_url } = json.sample;
    assert.equal(found, true);
    assert.equal(of, 9);
    const outcome = Object.fromEntries(
      criteria.map(({ id, met: is }: { id: string; met: boolean | null }) => [id, is]),
    ) as Record<string, boolean | null>;
    const { append_only } = outcome;
    assert.deepEqual(outcome, {
      offline_verification: true,
      log_inclusion: true,
      append_only,
      key_history: true,
      witness_cosigning: false,
      data_minimisation: true,
      chain_completeness: true,
      time_order: true,
      independence: false,
    });
    assert.notEqual(append_only, false);
    assert.equal(met, criteria.filter(({ met: is }: { met: boolean | null }) => is).length);
    assert.equal(verify_url, `http://test.example/verify?entry_id=${entry_id}`);
    const { receipt } = (await running.get(`/receipt/lookup?entry_id=${entry_id}`)).json;
    const byHash = await running.get(`${PATH}?entry_id=${receipt.entry_hash as string}`);
    assert.equal(byHash.json.sample.met, met);
  });

  it('proves that the newest tree extends the previous one, once there are two', async () => {
    for (let tries = 0; tries < 20; tries += 1) {
      await running.post('/api/v1/classify', { message: 'more' }, { key: running.live });
      await settled(running.gateway.logs.live);
      const { json } = await running.get(`${PATH}?entry_id=${entry_id}`);
      const criterion = json.sample.criteria.find(({ id }: Ranking) => id === 'append_only');
      if (criterion.met === null) continue;
      assert.equal(criterion.met, true);
      assert.match(criterion.detail as string, /is a prefix of size/);
      assert.equal(json.sample.grade, 'A', 'met seven of nine criteria');
      return;
    }
    assert.fail('no second checkpoint was published');
  });

  it('says that the log has no such entry, and does not look for sandbox entries in the live log', async () => {
    const { json } = await running.get(`${PATH}?entry_id=nothing`);
    assert.deepEqual(json.sample, { entry_id: 'nothing', found: false });
    const tried = await running.post(
      '/api/v1/classify',
      { message: 'try' },
      { key: running.sandbox },
    );
    const id = tried.json.entry_id as string;
    const live = await running.get(`${PATH}?entry_id=${id}&log=live`);
    assert.equal(live.json.sample.found, false);
    const asked = await running.get(`${PATH}?entry_id=${id}&log=sandbox`);
    assert.equal(asked.json.sample.found, true);
  });

  it('has the same content as text', async () => {
    const { text, headers } = await running.get(`${PATH}?format=txt&entry_id=${entry_id}`);
    assert.match(headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(text, /Operator's grade: [AB] \(self-assigned; it claims A\)/);
    assert.match(text, /Live sample [0-9a-f-]{36}: [67] of 9 criteria met/);
    assert.equal(text.match(/Method: /g)?.length, 9);
    assert.match(text, /NOT MET independence/);
  });

  it('refuses another format', async () => {
    const { status, json } = await running.get(`${PATH}?format=html`);
    assert.equal(status, 400);
    assert.equal(json.error.code, 'invalid_format');
    assert.equal(json.error.param, 'format');
  });
});
