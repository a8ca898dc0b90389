// One set of rules for Article 12: other plugins get the same result as the report of the session. The deadlines of Article
// 73 have a route of their own. gateway/API.md §12.1.

import assert from 'node:assert/strict';
import { commandVerbs } from '../../../gateway/host/commands.ts';
import compliance from '../../../plugins/compliance/index.ts';
import { definePlugin } from '../../../plugins/contract/index.ts';
import type { PluginHost } from '../../../plugins/contract/index.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
import { callerOf } from './article-12-caller.ts';
import type { Caller } from './article-12-caller.ts';

const DAY_MS = 86_400_000;

describe('what a session evidences', () => {
  let running: Running;
  let caller: Caller;
  let host: PluginHost;
  before(async () => {
    const probe = definePlugin({
      ...{ contract: 2, name: 'probe', title: 'Probe', requires: ['compliance'], types: [] },
      setup(given) {
        host = given;
        return {};
      },
    });
    running = await run({}, { plugins: [probe] });
    caller = callerOf(running);
  });
  after(() => running.close());

  it('gives other plugins the result of the rules of the report', async () => {
    const { entry_id } = await caller.classify('shared');
    await caller.seal({ session_id: 'shared', event_type: 'model_change' });
    await caller.seal({ session_id: 'shared', event_type: 'human_verification' });
    const report = await caller.report('shared');
    const signals = new Map([
      ['watched', ['type:classify.result']],
      ['12(1)', ['event:incident']],
    ]);
    const { assess } = host.use(compliance);
    const found = await assess(host.log('live'), report.session_ref, running.clock.wall(), signals);
    assert.deepEqual(found.items, report.checklist);
    assert.deepEqual([found.entries, found.entries_root], [report.entries, report.entries_root]);
    assert.deepEqual([found.status('watched'), found.status('12(1)')], ['met', 'not_evidenced']);
    assert.deepEqual(found.evidence('watched').entry_ids, [entry_id]);
  });

  it('is the same for every version of a type, and separate for its actions', async () => {
    const session_id = 'held';
    const gate = '/api/v1/execute-gate';
    const key = running.live;
    ok(await running.post(`${gate}/policy`, { rules: [{ id: 'all', effect: 'hold' }] }, { key }));
    const oversight = async (): Promise<unknown> =>
      (await caller.report(session_id)).checklist.find(({ id }: Body) => id === '14')?.status;
    const hold = async (): Promise<string> => {
      const act = { action_type: 'wire.send', agent_id: 'agent:one', session_id };
      return ok(await running.post(gate, act, { key })).hold_id as string;
    };
    await hold();
    assert.equal(await oversight(), 'partial');
    running.clock.pass(8 * DAY_MS);
    await commandVerbs(running.gateway)['gate expire']?.({});
    assert.equal(await oversight(), 'partial', 'an expired hold is not an act of a human');
    const human = { action: 'release', reason: 'checked' };
    ok(await running.post(`${gate}/holds/${await hold()}`, human, { key }));
    assert.equal(await oversight(), 'met');
  });

  describe('GET /compliance/eu-ai-act/article-73', () => {
    const clocks = async (query: string): Promise<Body> =>
      ok(await running.get(`/compliance/eu-ai-act/article-73?${query}`, { key: running.live }));

    it('lists each incident with its deadline, its report, and whether it is overdue', async () => {
      const session_id = 'incidents';
      const incident = (incident_kind?: string) =>
        caller.seal({
          ...{ session_id, event_type: 'incident' },
          ...(incident_kind === undefined ? {} : { metadata: { incident_kind } }),
        });
      const death = await incident('death');
      const outage = await incident('critical_infrastructure');
      const unsaid = await incident();
      await caller.seal({
        ...{ session_id, event_type: 'incident_reported' },
        decision_entry_id: outage.entry_id,
      });
      running.clock.pass(3 * DAY_MS);
      const answer = await clocks(`session_id=${session_id}`);
      assert.deepEqual([answer.incident_count, answer.overdue_count], [3, 1]);
      assert.deepEqual(
        answer.data.map((one: Body) => [one.entry_id, one.applies, one.state]),
        [
          [death.entry_id, 'due_10d', 'open'],
          [outage.entry_id, 'due_2d', 'reported'],
          [unsaid.entry_id, null, 'overdue'],
        ],
      );
      const [first] = answer.data;
      assert.equal(first.due_ms, Number(death.receipt.issued_at_ms) + 10 * DAY_MS);
      assert.equal(first.remaining_ms, first.due_ms - answer.now_ms);
      const open = await clocks(`session_id=${session_id}&open=true`);
      assert.deepEqual(
        open.data.map((one: Body) => one.entry_id),
        [death.entry_id, unsaid.entry_id],
      );
      const first_page = await clocks(`session_id=${session_id}&open=true&limit=1`);
      assert.deepEqual([first_page.has_more, first_page.incident_count], [true, 3]);
      // Between the pages, a report is logged for the incident that the cursor names.
      await caller.seal({
        ...{ session_id, event_type: 'incident_reported' },
        decision_entry_id: death.entry_id,
      });
      const rest = await clocks(
        `session_id=${session_id}&open=true&cursor=${String(first_page.next_cursor)}`,
      );
      assert.deepEqual(
        [rest.data.map((one: Body) => one.entry_id), rest.has_more],
        [[unsaid.entry_id], false],
      );
    });

    it('lists none for a session without incidents, and accepts only true and false as flags', async () => {
      assert.deepEqual((await clocks('session_id=none')).data, []);
      const refused = await running.get('/compliance/eu-ai-act/article-73?open=maybe');
      assert.equal(codeOf(refused, 400), 'parameter_invalid');
    });
  });
});
