// Article 12 events: which texts are in the log, and which decision an event names. gateway/API.md §2.2, §12.1.

import assert from 'node:assert/strict';
import { codeOf } from '../../gateway/http/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import { callerOf, REPORT, SEAL } from './article-12-caller.ts';
import type { Caller } from './article-12-caller.ts';

describe('Article 12', () => {
  let running: Running;
  let caller: Caller;
  before(async () => {
    running = await run();
    caller = callerOf(running);
  });
  after(() => running.close());

  describe('an event', () => {
    it('may be empty, and then belongs to the default session', async () => {
      const event = await caller.seal({});
      assert.equal(event.event_type, 'other');
      assert.equal(event.receipt.toll, 'seal');
      const { json } = await running.get(REPORT, { key: running.live });
      assert.equal(json.session_id, 'default');
      assert.equal(json.session_ref, event.session_ref);
      assert.equal(json.event_counts.by_event_type.other, 1);
    });

    it('is logged without the text of its caller', async () => {
      const event = await caller.seal({
        event_type: 'zebra event',
        session_id: 'zebra session',
        decision_entry_id: 'zebra decision',
        metadata: { natural_persons: ['zebra person'], annex_iii_point: 'zebra point', model: '' },
      });
      const text = caller.entry(event.receipt.index);
      assert.doesNotMatch(text, /zebra/);
      assert.deepEqual(event.metadata_names, ['natural_persons']);
      assert.equal(event.annex_iii_point, undefined);
      assert.deepEqual(Object.keys(event.receipt.disclosures).sort(), [
        'decision_entry_id',
        'event_type',
        'metadata',
      ]);
    });

    it('shows terms of the catalog, and the decision that it names', async () => {
      const decision = await caller.classify('linked');
      const metadata = { annex_iii_point: '1(a)', incident_kind: 'death' };
      for (const name of [
        decision.entry_id,
        decision.entry_hash,
        `sha256:${decision.entry_hash}`,
      ]) {
        const event = await caller.seal({
          event_type: 'incident',
          decision_entry_id: name,
          metadata,
        });
        assert.equal(event.decision_entry_id, decision.entry_id);
        assert.equal(event.decision_linked, true);
        assert.equal(event.event_type, 'incident');
        assert.deepEqual([event.annex_iii_point, event.incident_kind], ['1.a', 'death']);
      }
      const foreign = await caller.seal({ decision_entry_id: decision.entry_id }, running.sandbox);
      assert.equal(foreign.decision_linked, false);
    });

    it('refuses members of other types, and metadata that is too large', async () => {
      for (const [param, value] of [
        ['session_id', 7],
        ['event_type', ''],
        ['decision_entry_id', 'x'.repeat(600)],
        ['metadata', 'text'],
        ['event_at_ms', 1.5],
        ['metadata', { text: 'x'.repeat(70_000) }],
      ] as const) {
        const answer = await running.post(SEAL, { [param]: value }, { key: running.live });
        assert.equal(codeOf(answer, 400), 'parameter_invalid', param);
        assert.equal(answer.json.error.param, param);
      }
      assert.equal(codeOf(await running.ask('POST', SEAL), 400), 'body_required');
    });
  });
});
