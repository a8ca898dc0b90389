// plugins/exports/verify.ts, log/cose/finding.ts: exports are verified with the kit. A change to any part that a
// claim depends on is detected and named; other changes have no effect.

import assert from 'node:assert/strict';
import { native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { trustFromKit } from '../../../log/verify.ts';
import type { Trust } from '../../../log/verify.ts';
import { checkDocument, originOfDocument } from '../../../plugins/verifiers.ts';
import type { Finding } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

type Json = Answer['json'];

/** The text with another first character. */
const otherFirst = (text: string): string => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;

describe('actlog verify of exports', () => {
  let running: Running;
  let kit: JsonObject;
  let trust: Trust;
  let single: Json;
  let session: Json;

  before(async () => {
    running = await run();
    const { live: key } = running;
    let entry_id = '';
    for (const message of ['one', 'two', 'three']) {
      const body = { message, session_id: 's' };
      entry_id = (await running.post('/api/v1/classify', body, { key })).json.entry_id;
    }
    single = (await running.get(`/export/scitt/air/${entry_id}.json`)).json;
    session = (await running.get('/export/scitt/air/session/s.json', { key })).json;
    kit = (await running.get('/export/offline-verify-kit.json')).json;
    trust = trustFromKit(kit, running.gateway.logs.live.origin, { suite: native });
  });
  after(() => running.close());

  function verified(value: unknown): Promise<Finding> {
    const bytes = value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value));
    return checkDocument(recognised(bytes), trust, { suite: native, kit });
  }

  const failing = async (value: unknown): Promise<string | undefined> =>
    (await verified(value)).checks.find(({ outcome }) => outcome === 'failed')?.name;

  const changed = (document: Json, change: (copy: Json) => void): Json => {
    const copy = structuredClone(document);
    change(copy);
    return copy;
  };

  it('checks exports of an entry and of a session, and finds their log', async () => {
    for (const document of [single, session]) {
      const outcome = await verified(document);
      assert.equal(outcome.valid, true, outcome.summary);
      assert.equal(
        originOfDocument(recognised(Buffer.from(JSON.stringify(document)))),
        trust.origin,
      );
    }
  });

  it('checks the statement as a file, and finds its log', async () => {
    const bytes = Buffer.from(single.cose_sign1_b64, 'base64');
    const outcome = await verified(bytes);
    assert.equal(outcome.valid, true, outcome.summary);
    assert.deepEqual(
      outcome.checks.map(({ name }) => name),
      ['cose_form', 'cose_signature', 'cose_receipt'],
    );
    assert.equal(originOfDocument(recognised(bytes)), trust.origin);
  });

  it('refuses a change of any bit of the statement', async () => {
    const bytes = Buffer.from(single.cose_sign1_b64, 'base64');
    for (let at = 1; at < bytes.length; at += 41) {
      const other = Buffer.from(bytes);
      other[at] = (other[at] ?? 0) ^ 4;
      assert.equal((await verified(other)).valid, false, String(at));
    }
  });

  it('checks a receipt as a file with the entry that it carries, and refuses a change of any bit', async () => {
    const answer = await fetch(`${running.url}/entries/${String(single.entry_id)}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const outcome = await verified(bytes);
    assert.equal(outcome.valid, true, outcome.summary);
    assert.equal(originOfDocument(recognised(bytes)), trust.origin);
    for (let at = 1; at < bytes.length; at += 37) {
      const other = Buffer.from(bytes);
      other[at] = (other[at] ?? 0) ^ 4;
      assert.equal((await verified(other)).valid, false, String(at));
    }
  });

  /** Changes to members that both exports have. */
  const about = [
    ...[null, {}].map((key) => ['export', (d: Json) => (d.key = key)] as const),
    ...['kid', 'kty', 'crv', 'x', 'y', 'alg', 'use', 'more'].map(
      (name) => ['export', (d: Json) => (d.key[name] = 'other')] as const,
    ),
    ['export', (d: Json) => (d.origin = 'elsewhere')],
    ['export', (d: Json) => (d.spec = 'air-2.0')],
  ] as const;

  it('names the check that a changed record fails', async () => {
    const hex = '0'.repeat(64);
    for (const [name, change] of [
      ['receipt', (d: Json) => (d.receipt.signature = otherFirst(d.receipt.signature))],
      ['receipt', (d: Json) => (d.entry = session.records[0].entry)],
      ['record', (d: Json) => (d.record.outcome_state = 'failed')],
      ['record', (d: Json) => (d.record.redaction_receipts = [])],
      ['record', (d: Json) => (d.record.more = 1)],
      ['record', (d: Json) => (d.record.integrity.sequence_number = 1)],
      ['content_hash', (d: Json) => (d.record.jurisdiction = 'DE')],
      ['content_hash', (d: Json) => (d.record.integrity.content_hash = hex)],
      ['chain_hash', (d: Json) => (d.record.integrity.prev_chain_hash = hex)],
      ['chain_hash', (d: Json) => (d.record.integrity.chain_hash = hex)],
      ['air_signature', (d: Json) => (d.record.integrity.signature = 'A'.repeat(86) + '==')],
      ['cose_signature', (d: Json) => (d.cose_sign1_b64 = 'AAAA')],
      ...about,
      ['export', (d: Json) => (d.entry_id = session.records[0].record.record_id)],
      ['cose_view', (d: Json) => (d.cose.protected['1'] = -19)],
    ] as const) {
      assert.equal(await failing(changed(single, change)), name, change.toString());
    }
  });

  it('names the check that a changed session fails', async () => {
    for (const [name, change] of [
      ['completeness', (d: Json) => d.records.pop()],
      ['completeness', (d: Json) => (d.count = 2)],
      ['completeness', (d: Json) => (d.completeness_proof.proof.head.count = 2)],
      ['chain', (d: Json) => d.records.reverse()],
      ['chain', (d: Json) => (d.records[1] = d.records[0])],
      [
        'entry',
        (d: Json) => (d.records[1].entry = String(d.records[1].entry).replace('SAFE', 'VIOLATION')),
      ],
      ['content_hash', (d: Json) => (d.records[2].record.jurisdiction = 'DE')],
      ...about,
      ['export', (d: Json) => (d.checkpoint = single.receipt.log.checkpoint.replace('\n', ' \n'))],
      ['export', (d: Json) => (d.size = 1)],
      ['export', (d: Json) => (d.agent_id = 'session:x')],
    ] as const) {
      assert.equal(await failing(changed(session, change)), name, change.toString());
    }
  });

  it('gives the same result if members change that no claim depends on', async () => {
    const loose = changed(single, (d: Json) => {
      d.receipt.permalink = 'https://elsewhere.example/';
      d.more = 1;
    });
    assert.deepEqual(await verified(loose), await verified(single));
    const open = changed(session, (d: Json) => (d.more = 1));
    assert.deepEqual(await verified(open), await verified(session));
  });

  it('names the session', async () => {
    const { summary, facts } = await verified(session);
    assert.ok(summary.includes(`records of session ${String(session.session_ref)}`), summary);
    assert.equal(facts['session_ref'], session.session_ref);
  });

  it('accepts an export from before the revocation of its key, by the index that its receipt proves', async () => {
    const shown = recognised(Buffer.from(JSON.stringify(single)));
    assert.ok(shown.kind === 'air');
    for (const [behind, valid] of [
      [1, true],
      [0, false],
    ] as const) {
      const revoked_index = Number(single.receipt.index) + behind;
      const keys = trust.keys.map((key) => ({ ...key, status: 'revoked' as const, revoked_index }));
      assert.equal((await checkDocument(shown, { ...trust, keys }, { kit })).valid, valid);
    }
  });

  it('trusts only AIR keys for records, and only those of the kit', async () => {
    const other = structuredClone(kit) as Json;
    other.keys.keys = other.keys.keys.filter((jwk: Json) => jwk.purpose === undefined);
    other.cose_keys.keys = [];
    const shown = recognised(Buffer.from(JSON.stringify(single)));
    assert.ok(shown.kind === 'air');
    const { checks } = await checkDocument(shown, trust, { kit: other });
    const bad = checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
    assert.deepEqual(bad, ['air_signature', 'export', 'cose_signature', 'cose_receipt']);
    const broken = structuredClone(kit) as Json;
    for (const jwk of broken.keys.keys) if (jwk.purpose === 'air') jwk.x = 'AAAA';
    const { valid, summary } = await checkDocument(shown, trust, { kit: broken });
    assert.equal(valid, false);
    assert.match(summary, /the AIR key of the kit is invalid/);
  });
});
