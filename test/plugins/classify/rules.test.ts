// From a request to the logged statement: no text of the caller is in clear. gateway/API.md §1.2, §6.

import assert from 'node:assert/strict';
import { openEgress } from '../../../gateway/egress/egress.ts';
import { ApiError } from '../../../plugins/contract/index.ts';
import type { Caller, SequencePoint } from '../../../plugins/contract/index.ts';
import type { Classified, Engine } from '../../../plugins/classify/engine/index.ts';
import { classifierOf, type Judged } from '../../../plugins/classify/classifier.ts';
import { checkWebhookUrl, judge, resultDraft } from '../../../plugins/classify/rules.ts';

/** An engine with a given verdict, so that only the logged statement is tested. */
const verdict = (more: Partial<Classified> = {}): Engine => ({
  id: 'engine',
  version: '1.2.3',
  weights_sha256: 'ab'.repeat(32),
  domains: ['hiring', 'general'],
  classify: (text, domain) => ({
    classification: text === '' ? 'ERROR' : 'SAFE',
    violation_milli: 1,
    crisis_milli: 2,
    score_milli: 998,
    rule_ids: [],
    domain: domain === 'hiring' ? 'hiring' : 'general',
    language_unsupported: false,
    explain: { words: 'private words' },
    ...more,
  }),
});

const caller = { sessionRef: (id: string) => `ref-of-${id}` } as Caller;
const limits = {
  message_bytes: 100,
  string_chars: 512,
  metadata_bytes: 1000,
  page_default: 20,
  page_max: 100,
};
const toll = { id: 'classify', micro_usd: 50_000 };
const egress = openEgress({
  allow_http: false,
  thread: false,
  networks: [],
  timeout_ms: 1000,
  connections: 1,
});
const draft = (given: object, engine = verdict()) => {
  const request = { message: 'the text', ...given };
  const judged = judge(request, classifierOf({}, engine, fetch), limits) as Judged;
  return resultDraft(request, caller, judged, toll);
};

describe('what is logged of a classification', () => {
  it('names the classifier and the scores, and only commits to the message', () => {
    assert.deepEqual(draft({ session_id: 's' }), {
      type: 'classify.result.v1',
      members: {
        classification: 'SAFE',
        classifier: { id: 'engine', version: '1.2.3', weights_sha256: 'ab'.repeat(32) },
        domain: 'hiring',
        score_milli: 998,
        violation_milli: 1,
        crisis_milli: 2,
        rule_ids: [],
        language_unsupported: false,
        session_ref: 'ref-of-s',
      },
      private: { message: 'the text' },
      toll,
    });
  });

  it('keeps every text of the caller out of the members', () => {
    const request = {
      message: 'm-text',
      domain: 'd-text',
      session_id: 's-text',
      webhook_url: 'https://w-text.example/',
    };
    const members = JSON.stringify(
      draft(request, verdict({ classification: 'VIOLATION' })).members,
    );
    for (const text of ['m-text', 'd-text', 'w-text', 'private words'])
      assert.equal(members.includes(text), false, text);
  });

  it('commits to a domain that no catalog lists, and uses general', () => {
    const { members, private: hidden } = draft({ domain: 'my own' });
    assert.equal((members as Record<string, unknown>)['domain'], 'general');
    assert.equal(hidden?.['domain'], 'my own');
    assert.equal(draft({ domain: 'general' }).private?.['domain'], undefined);
  });

  it('commits to the explanation of every outcome but SAFE', () => {
    const found = draft({}, verdict({ classification: 'CRISIS' }));
    assert.deepEqual(found.private?.['explanation'], { words: 'private words' });
    assert.equal(draft({}).private?.['explanation'], undefined);
  });

  it('names the model of the domain if only its score decided', () => {
    const found = (more: object) => {
      const { members } = draft({}, verdict({ classification: 'VIOLATION', ...more }));
      assert.ok(typeof members === 'object');
      return members['rule_ids'];
    };
    assert.deepEqual(found({}), ['hiring.model']);
    assert.deepEqual(found({ rule_ids: ['hiring.age'] }), ['hiring.age']);
    assert.deepEqual(found({ classification: 'SAFE' }), []);
  });

  it('is charged, except for an ERROR', () => {
    assert.equal(draft({}, verdict()).toll, toll);
    assert.equal(draft({}, verdict({ classification: 'ERROR' })).toll, undefined);
  });

  it('is ERROR for a message over the limit in bytes, which the engine never gets', () => {
    const seen: string[] = [];
    const engine = verdict();
    const spying = {
      ...engine,
      classify: (text: string, domain: string) => (seen.push(text), engine.classify(text, domain)),
    };
    for (const [message, shown] of [
      ['a'.repeat(100), true],
      ['a'.repeat(101), false],
      ['é'.repeat(50), true],
      ['é'.repeat(51), false],
    ] as const) {
      const { members, private: hidden } = draft({ message }, spying);
      assert.equal(
        (members as Record<string, unknown>)['classification'],
        shown ? 'SAFE' : 'ERROR',
      );
      assert.equal(seen.at(-1), shown ? message : '');
      assert.equal(hidden?.['message'], message);
    }
  });

  it('copies entity and event time, and states whether the surface is declared', () => {
    const { members, event_at_ms } = draft({
      entity: 'acme:bot',
      surface: 'tool_invoke',
      event_at_ms: 5,
    });
    assert.ok(typeof members === 'function');
    const nothing = { owner: () => null, manifest: () => null, heartbeat: () => null };
    const at = { surfaces: nothing, issued_at_ms: 7 } as unknown as SequencePoint;
    const { entity, surface, surface_declared } = members(at);
    assert.deepEqual([entity, surface, surface_declared], ['acme:bot', 'tool_invoke', false]);
    assert.equal(event_at_ms, 5);
  });
});

describe('webhook_url', () => {
  it('may be an address that the server may post to', () => {
    for (const url of ['https://example.org/hook?x=1', 'HTTPS://example.org:8443/'])
      checkWebhookUrl(url, egress);
  });

  for (const url of [
    '',
    'x',
    'http://example.org/',
    'ftp://example.org',
    'https://',
    'https://u:p@example.org/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'javascript:alert(1)',
  ]) {
    it(`must not be ${JSON.stringify(url)}`, () => {
      assert.throws(
        () => checkWebhookUrl(url, egress),
        (error: unknown) =>
          error instanceof ApiError &&
          error.code === 'invalid_webhook_url' &&
          error.param === 'webhook_url',
      );
    });
  }
});
