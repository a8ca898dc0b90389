// The report about the Article 12 events of a session: what is evidenced by which entries, sealed once, and proven
// complete. gateway/API.md §2.2, §12.1.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { HtmlValidate } from 'html-validate';
import { canonical } from '../../../log/index.ts';
import { readCatalog } from '../../../plugins/contract/index.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';
import { callerOf, REPORT } from './article-12-caller.ts';
import type { Caller } from './article-12-caller.ts';

describe('Article 12', () => {
  let running: Running;
  let caller: Caller;
  before(async () => {
    running = await run();
    caller = callerOf(running);
  });
  after(() => running.close());
  const statusOf = (document: Body, id: string): string =>
    document.checklist.find((item: Body) => item.id === id).status;

  describe('a report', () => {
    it('reports nothing as met for a session without entries', async () => {
      const document = await caller.report('empty');
      assert.equal(document.entries, 0);
      assert.deepEqual(document.period.from, null);
      for (const { id, status, evidence } of document.checklist) {
        assert.ok(['not_evidenced', 'not_applicable'].includes(status), id);
        assert.equal(evidence.count, 0);
      }
      assert.equal(document.completeness_proof.verdict, 'ABSENT');
      assert.equal(document.entries_root, createHash('sha256').digest('hex'));
    });

    it('contains each item of the articles, in their order', async () => {
      const { checklist } = await caller.report('empty');
      assert.deepEqual(
        checklist.map(({ id }: Body) => id),
        [
          ...['12(1)', '12(2)(a)', '12(2)(b)', '12(2)(c)'],
          ...['12(3)(a)', '12(3)(b)', '12(3)(c)', '12(3)(d)'],
          ...['14', '15', '19(1)/26(6)', '72', '73'],
        ],
      );
    });

    it('names the entries behind each status', async () => {
      const decision = await caller.classify('rich');
      const change = await caller.seal({ session_id: 'rich', event_type: 'model_change' });
      const watch = await caller.seal({ session_id: 'rich', event_type: 'monitoring' });
      const human = await caller.seal({
        session_id: 'rich',
        event_type: 'human_verification',
        metadata: { annex_iii_point: '1(a)', natural_persons: ['a'] },
      });
      await caller.seal({ session_id: 'rich', event_type: 'use_start' });
      const document = await caller.report('rich');
      assert.deepEqual(document.classification_counts, {
        SAFE: 1,
        VIOLATION: 0,
        CRISIS: 0,
        ERROR: 0,
      });
      assert.equal(document.event_counts.total, 5);
      const evidence = (id: string) =>
        document.checklist.find((item: Body) => item.id === id).evidence.entry_ids;
      const expected: [string, string, string[]][] = [
        ['12(2)(a)', 'met', [decision.entry_id, change.entry_id]],
        ['12(2)(b)', 'met', [decision.entry_id, watch.entry_id]],
        ['12(3)(b)', 'not_evidenced', []],
        ['12(3)(d)', 'met', [human.entry_id]],
        ['14', 'met', [human.entry_id]],
        ['72', 'partial', [watch.entry_id]],
        ['73', 'not_evidenced', []],
      ];
      for (const [id, status, ids] of expected) {
        assert.equal(statusOf(document, id), status, id);
        assert.deepEqual(evidence(id), ids, id);
      }
      assert.equal(statusOf(document, '12(3)(a)'), 'partial');
      assert.equal(statusOf(document, '19(1)/26(6)'), 'partial');
    });

    it('computes the deadlines of an incident, and distinguishes a timely report from a late one', async () => {
      const metadata = { incident_kind: 'widespread_infringement' };
      const first = await caller.seal({ session_id: 'inc', event_type: 'incident', metadata });
      const open = await caller.report('inc');
      assert.equal(statusOf(open, '73'), 'partial');
      const [incident] = open.incidents;
      const day = 86_400_000;
      const at = first.receipt.issued_at_ms;
      assert.equal(incident.applies, 'due_2d');
      assert.deepEqual(
        ['due_2d', 'due_10d', 'due_15d'].map((id) => Date.parse(incident.clocks[id]) - at),
        [2 * day, 10 * day, 15 * day],
      );
      const told = await caller.seal({
        session_id: 'inc',
        event_type: 'incident_reported',
        decision_entry_id: first.entry_id,
      });
      const closed = await caller.report('inc');
      assert.equal(statusOf(closed, '73'), 'met');
      assert.equal(closed.incidents[0].reported_entry_id, told.entry_id);
    });

    it('is sealed once while nothing changes, and again after a change', async () => {
      await caller.classify('once');
      const [first, second] = [await caller.report('once'), await caller.report('once')];
      assert.equal(second.receipt.entry_id, first.receipt.entry_id);
      assert.equal(second.sealed_at, first.sealed_at);
      await caller.classify('elsewhere');
      assert.equal((await caller.report('once')).receipt.entry_id, first.receipt.entry_id);
      await caller.classify('once');
      const third = await caller.report('once');
      assert.notEqual(third.receipt.entry_id, first.receipt.entry_id);
      assert.equal(third.entries, 2);
    });

    it('is sealed once for concurrent requests', async () => {
      await caller.classify('crowd');
      const answers = await Promise.all(Array.from({ length: 12 }, () => caller.report('crowd')));
      assert.equal(new Set(answers.map(({ receipt }) => receipt.entry_id)).size, 1);
    });

    it('is what its entry commits to, and proves that it is complete', async () => {
      await caller.classify('whole');
      await caller.seal({ session_id: 'whole' });
      const { completeness_proof, checkpoint, signature, receipt, ...document } =
        await caller.report('whole');
      const statement = JSON.parse(caller.entry(receipt.index));
      assert.equal(
        createHash('sha256').update(canonical(document)).digest('hex'),
        statement.document_sha256,
      );
      assert.equal(statement.links, undefined, 'the entry is not on the chain that it is about');
      assert.equal(signature, receipt.signature);
      assert.equal(checkpoint, completeness_proof.checkpoint);
      assert.equal(completeness_proof.entries.length, 2);
      assert.equal(receipt.log.checkpoint.split('\n')[0], statement.origin);
    });

    it('fits its published schema', async () => {
      const ajv = new Ajv2020({ strict: true, strictTypes: false });
      formats.default(ajv);
      const validate = ajv.compile(
        readCatalog('compliance/article-12-report.schema.json') as object,
      );
      for (const session of ['empty', 'rich', 'inc']) {
        assert.equal(validate(await caller.report(session)), true, JSON.stringify(validate.errors));
      }
      assert.equal(validate({ ...(await caller.report('rich')), more: 1 }), false);
    });

    it('has the same content as text and as a page', async () => {
      const text = await caller.ask('rich', 'txt');
      assert.match(text.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8/);
      assert.match(text.text, /^\[MET\] 14 Human oversight$/m);
      assert.match(text.text, /^\[NOT EVIDENCED\] 73 /m);
      const page = await caller.ask('rich', 'html');
      assert.match(page.headers.get('content-type') ?? '', /^text\/html; charset=utf-8/);
      assert.match(page.text, /<td class="met">MET<\/td>/);
      // A saved copy contains its style sheet, and the policy of the served page allows it.
      const style = /<style>([^<]+)<\/style>/.exec(page.text)?.[1] ?? '';
      assert.ok(style.length > 100);
      assert.doesNotMatch(page.text, /<link/);
      const allowed = `style-src 'self' 'sha256-${hash('sha256', style, 'base64')}'`;
      assert.ok((page.headers.get('content-security-policy') ?? '').includes(allowed));
    });

    it('escapes hostile text, and is valid HTML without inline script or style', async () => {
      const session = `</bdi><script>alert("x")</script>\n[MET] 15 forged\u202e\u0000 & 'more'`;
      await caller.seal({ session_id: session, event_type: '<img src=x onerror=alert(1)>' });
      const page = (await caller.ask(session, 'html')).text;
      assert.doesNotMatch(page, /<script|style=|onerror=|<img/);
      assert.equal(page.split('<style').length, 2);
      assert.match(page, /&lt;script&gt;/);
      const validated = await new HtmlValidate({
        extends: ['html-validate:standard'],
      }).validateString(page);
      assert.deepEqual(
        validated.results.flatMap(({ messages }) => messages),
        [],
      );
      assert.doesNotMatch((await caller.ask(session, 'txt')).text, /^\[MET\] 15 forged/m);
    });

    it('has three formats', async () => {
      for (const format of ['xml', '', 'JSON']) {
        const answer: Answer = await caller.ask('rich', format);
        assert.equal(codeOf(answer, 400), 'invalid_format');
        assert.equal(answer.json.error.param, 'format');
      }
    });

    it('is of the caller’s own tenant and log', async () => {
      await caller.classify('private');
      assert.equal((await caller.ask('private', 'json', '')).json.entries, 0);
      const sandbox = (await caller.ask('private', 'json', running.sandbox)).json;
      assert.equal(sandbox.entries, 0);
      assert.equal(sandbox.sandbox, true);
      assert.equal(sandbox.receipt.sandbox, true);
    });
  });

  it('shows the last entries of a long session, and proves how many there are', async () => {
    const one = { type: 'compliance.event.v1', members: {} as Body };
    const { session_ref, receipt } = await caller.seal({ session_id: 'long' });
    const { tenant_ref } = receipt;
    const draft = { ...one, tenant_ref, members: { session_ref, event_type: 'monitoring' } };
    for (let i = 0; i < 5; i += 1) {
      await running.gateway.logs.live.append(Array.from({ length: 60 }, () => draft));
    }
    const document = await caller.report('long');
    assert.equal(document.entries, 301);
    assert.equal(document.event_counts.by_event_type.monitoring, 300);
    const { proof, entries = [] } = document.completeness_proof;
    assert.ok(entries.length <= 100);
    assert.equal(proof.type, 'tail');
    assert.equal(proof.head.count, 301);
    const [item] = document.checklist;
    assert.equal(item.evidence.count, 301);
    assert.equal(item.evidence.entry_ids.length, 20);
  });
});

describe('Article 12 where a write needs a key', () => {
  it('refuses a report without a key', async () => {
    const running = await run({ ANONYMOUS_WRITES: 'deny' });
    try {
      assert.equal(codeOf(await running.get(REPORT), 401), 'api_key_missing');
      assert.equal((await running.get(REPORT, { key: running.live })).status, 200);
    } finally {
      await running.close();
    }
  });
});
