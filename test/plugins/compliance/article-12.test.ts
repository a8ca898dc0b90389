// Article 12 events and the report over them: what is evidenced, by which entries, sealed once, and proven whole.
// behaviour.md §2.2, §12.1.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { HtmlValidate } from 'html-validate';
import { canonical } from '../../../log/index.ts';
import { readCatalog } from '../../../plugins/catalog.ts';
import { codeOf } from '../../gateway/middleware/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';

const SEAL = '/compliance/eu-ai-act/article-12/seal';
const REPORT = '/compliance/eu-ai-act/article-12';

describe('Article 12', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  const seal = async (body: object, key = running.live): Promise<Body> => {
    const answer = await running.post(SEAL, body, { key });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const classify = async (session_id: string, message = 'Schedule the interview for Monday') =>
    (await running.post('/api/v1/classify', { message, session_id }, { key: running.live })).json;
  const ask = (session_id: string, format?: string, key: string | undefined = running.live) => {
    const query = new URLSearchParams({ session_id, ...(format === undefined ? {} : { format }) });
    return running.get(`${REPORT}?${query.toString()}`, key === '' ? {} : { key });
  };
  const report = async (session_id: string): Promise<Body> => {
    const answer = await ask(session_id);
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const statusOf = (document: Body, id: string): string =>
    document.checklist.find((item: Body) => item.id === id).status;
  const entry = (index: number): string => running.gateway.logs.live.entry(index) ?? '';

  describe('an event', () => {
    it('may be empty, and is then one of the default session', async () => {
      const event = await seal({});
      assert.equal(event.event_type, 'other');
      assert.equal(event.receipt.toll, 'seal');
      const { json } = await running.get(REPORT, { key: running.live });
      assert.equal(json.session_id, 'default');
      assert.equal(json.session_ref, event.session_ref);
      assert.equal(json.event_counts.by_event_type.other, 1);
    });

    it('enters the log without what its caller wrote', async () => {
      const event = await seal({
        event_type: 'zebra event',
        session_id: 'zebra session',
        decision_entry_id: 'zebra decision',
        metadata: { natural_persons: ['zebra person'], annex_iii_point: 'zebra point', model: '' },
      });
      const text = entry(event.receipt.index);
      assert.doesNotMatch(text, /zebra/);
      assert.deepEqual(event.metadata_names, ['natural_persons']);
      assert.equal(event.annex_iii_point, undefined);
      assert.deepEqual(Object.keys(event.receipt.disclosures).sort(), [
        'decision_entry_id',
        'event_type',
        'metadata',
      ]);
    });

    it('shows words of the catalog, and the decision that it names', async () => {
      const decision = await classify('linked');
      const metadata = { annex_iii_point: '1(a)', incident_kind: 'death' };
      for (const name of [
        decision.entry_id,
        decision.entry_hash,
        `sha256:${decision.entry_hash}`,
      ]) {
        const event = await seal({ event_type: 'incident', decision_entry_id: name, metadata });
        assert.equal(event.decision_entry_id, decision.entry_id);
        assert.equal(event.decision_linked, true);
        assert.equal(event.event_type, 'incident');
        assert.deepEqual([event.annex_iii_point, event.incident_kind], ['1.a', 'death']);
      }
      const foreign = await seal({ decision_entry_id: decision.entry_id }, running.sandbox);
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

  describe('a report', () => {
    it('calls nothing met in a session without entries', async () => {
      const document = await report('empty');
      assert.equal(document.entries, 0);
      assert.deepEqual(document.period.from, null);
      for (const { id, status, evidence } of document.checklist) {
        assert.ok(['not_evidenced', 'not_applicable'].includes(status), id);
        assert.equal(evidence.count, 0);
      }
      assert.equal(document.completeness_proof.verdict, 'ABSENT');
      assert.equal(document.entries_root, createHash('sha256').digest('hex'));
    });

    it('has each item of the articles, in their order', async () => {
      const { checklist } = await report('empty');
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
      const decision = await classify('rich');
      const change = await seal({ session_id: 'rich', event_type: 'model_change' });
      const watch = await seal({ session_id: 'rich', event_type: 'monitoring' });
      const human = await seal({
        session_id: 'rich',
        event_type: 'human_verification',
        metadata: { annex_iii_point: '1(a)', natural_persons: ['a'] },
      });
      await seal({ session_id: 'rich', event_type: 'use_start' });
      const document = await report('rich');
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

    it('runs the clocks of an incident, and knows a report in time from a late one', async () => {
      const metadata = { incident_kind: 'widespread_infringement' };
      const first = await seal({ session_id: 'inc', event_type: 'incident', metadata });
      const open = await report('inc');
      assert.equal(statusOf(open, '73'), 'partial');
      const [incident] = open.incidents;
      const day = 86_400_000;
      const at = first.receipt.issued_at_ms;
      assert.equal(incident.applies, 'due_2d');
      assert.deepEqual(
        ['due_2d', 'due_10d', 'due_15d'].map((id) => Date.parse(incident.clocks[id]) - at),
        [2 * day, 10 * day, 15 * day],
      );
      const told = await seal({
        session_id: 'inc',
        event_type: 'incident_reported',
        decision_entry_id: first.entry_id,
      });
      const closed = await report('inc');
      assert.equal(statusOf(closed, '73'), 'met');
      assert.equal(closed.incidents[0].reported_entry_id, told.entry_id);
    });

    it('is sealed once while nothing changes, and anew when something does', async () => {
      await classify('once');
      const [first, second] = [await report('once'), await report('once')];
      assert.equal(second.receipt.entry_id, first.receipt.entry_id);
      assert.equal(second.sealed_at, first.sealed_at);
      await classify('elsewhere');
      assert.equal((await report('once')).receipt.entry_id, first.receipt.entry_id);
      await classify('once');
      const third = await report('once');
      assert.notEqual(third.receipt.entry_id, first.receipt.entry_id);
      assert.equal(third.entries, 2);
    });

    it('is sealed once for many who ask at a time', async () => {
      await classify('crowd');
      const answers = await Promise.all(Array.from({ length: 12 }, () => report('crowd')));
      assert.equal(new Set(answers.map(({ receipt }) => receipt.entry_id)).size, 1);
    });

    it('is what its entry commits to, and proves that nothing is left out', async () => {
      await classify('whole');
      await seal({ session_id: 'whole' });
      const { completeness_proof, checkpoint, signature, receipt, ...document } =
        await report('whole');
      const statement = JSON.parse(entry(receipt.index));
      assert.equal(
        createHash('sha256').update(canonical(document)).digest('hex'),
        statement.document_sha256,
      );
      assert.equal(statement.links, undefined, 'it is not on the chain that it speaks of');
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
        assert.equal(validate(await report(session)), true, JSON.stringify(validate.errors));
      }
      assert.equal(validate({ ...(await report('rich')), more: 1 }), false);
    });

    it('says the same as text and as a page', async () => {
      const text = await ask('rich', 'txt');
      assert.match(text.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8/);
      assert.match(text.text, /^\[MET\] 14 Human oversight$/m);
      assert.match(text.text, /^\[NOT EVIDENCED\] 73 /m);
      const page = await ask('rich', 'html');
      assert.match(page.headers.get('content-type') ?? '', /^text\/html; charset=utf-8/);
      assert.match(page.text, /<td class="met">MET<\/td>/);
      const style = /<link rel="stylesheet" href="([^"]+)">/.exec(page.text)?.[1] ?? '';
      assert.match((await running.get(style)).headers.get('content-type') ?? '', /^text\/css/);
    });

    it('escapes what is hostile, and is valid HTML without script or style of its own', async () => {
      const session = `</bdi><script>alert("x")</script>\n[MET] 15 forged\u202e\u0000 & 'more'`;
      await seal({ session_id: session, event_type: '<img src=x onerror=alert(1)>' });
      const page = (await ask(session, 'html')).text;
      assert.doesNotMatch(page, /<script|<style|style=|onerror=|<img/);
      assert.match(page, /&lt;script&gt;/);
      const validated = await new HtmlValidate({
        extends: ['html-validate:standard'],
      }).validateString(page);
      assert.deepEqual(
        validated.results.flatMap(({ messages }) => messages),
        [],
      );
      assert.doesNotMatch((await ask(session, 'txt')).text, /^\[MET\] 15 forged/m);
    });

    it('knows three formats', async () => {
      for (const format of ['xml', '', 'JSON']) {
        const answer: Answer = await ask('rich', format);
        assert.equal(codeOf(answer, 400), 'invalid_format');
        assert.equal(answer.json.error.param, 'format');
      }
    });

    it('is of the caller’s own tenant and log', async () => {
      await classify('private');
      assert.equal((await ask('private', 'json', '')).json.entries, 0);
      const sandbox = (await ask('private', 'json', running.sandbox)).json;
      assert.equal(sandbox.entries, 0);
      assert.equal(sandbox.sandbox, true);
      assert.equal(sandbox.receipt.sandbox, true);
    });
  });

  it('shows the last entries of a long session, and proves how many there are', async () => {
    const key = running.live;
    const one = { type: 'compliance.event.v1', members: {} as Body };
    const { session_ref, receipt } = await seal({ session_id: 'long' }, key);
    const { tenant_ref } = receipt;
    const draft = { ...one, tenant_ref, members: { session_ref, event_type: 'monitoring' } };
    for (let i = 0; i < 5; i += 1) {
      await running.gateway.logs.live.append(Array.from({ length: 60 }, () => draft));
    }
    const document = await report('long');
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
  it('makes no report without one', async () => {
    const running = await run({ ANONYMOUS_WRITES: 'deny' });
    try {
      assert.equal(codeOf(await running.get(REPORT), 401), 'api_key_missing');
      assert.equal((await running.get(REPORT, { key: running.live })).status, 200);
    } finally {
      await running.close();
    }
  });
});
