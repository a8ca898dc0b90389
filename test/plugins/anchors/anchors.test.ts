// Anchors in a whole gateway: which digests an entry contains, what it only commits to, what is refused, the list, and the
// lookup of a digest. gateway/API.md §12.5.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { canonical } from '../../../log/index.ts';
import type { JsonObject } from '../../../plugins/contract/index.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import type { Body } from '../../support/body.ts';

const sha256 = (text: string | Uint8Array): string =>
  createHash('sha256').update(text).digest('hex');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The example in the protocol of DSSE 1.0.2, which also gives its encoding. */
const HELLO = {
  payload: base64('hello world'),
  payloadType: 'http://example.com/HelloWorld',
  signatures: [{ keyid: 'one', sig: 'QUJD' }],
};
const HELLO_PAE = 'DSSEv1 29 http://example.com/HelloWorld 11 hello world';

const STATEMENT = {
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name: 'quagga.tar.gz', digest: { sha256: 'cd'.repeat(32) }, uri: 'pkg:zebra' }],
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: { buildType: 'zebra', extra: 1.5 },
};
const enveloped = (payload: string, more: object = {}): JsonObject => ({
  ...{ payload: base64(payload), payloadType: 'application/vnd.in-toto+json' },
  ...{ signatures: [{ sig: 'QUJD' }], ...more },
});

describe('plugins/anchors', () => {
  let running: Running;
  before(async () => {
    running = await run();
  });
  after(() => running.close());

  const anchor = async (body: object): Promise<Body> =>
    ok(await running.post('/api/v1/anchors', body, { key: running.live }));
  const list = async (query: Readonly<Record<string, string>>): Promise<Body> =>
    ok(await running.get(`/api/v1/anchors?${new URLSearchParams(query).toString()}`));
  const textOf = (receipt: Body): string =>
    running.gateway.logs.live.entry(receipt.index as number) ?? '';

  it('contains the digests of the signed bytes, of the payload and of the envelope', async () => {
    const text = JSON.stringify(HELLO, null, 2);
    const asText = await anchor({ dsse: text });
    assert.equal(asText.digest, sha256(HELLO_PAE));
    assert.equal(asText.payload_sha256, sha256('hello world'));
    assert.equal(asText.envelope_sha256, sha256(text));
    assert.equal(asText.form, 'text');
    assert.equal(asText.signatures, 1);
    const asObject = await anchor({ dsse: HELLO });
    assert.equal(asObject.digest, asText.digest);
    assert.equal(asObject.envelope_sha256, sha256(canonical(HELLO)));
    assert.equal(asObject.form, 'jcs');
    assert.equal(asObject.receipt.disclosures.payload_type.value, HELLO.payloadType);
    assert.deepEqual(asObject.receipt.does_not_assert, asObject.does_not_assert);
  });

  it('accepts URL-safe base64 without padding, and ignores further members', async () => {
    const bytes = Buffer.from([0xfb, 0xff, 0xfe, 0x01]);
    const standard = { ...HELLO, payload: bytes.toString('base64') };
    const urlSafe = { ...HELLO, payload: bytes.toString('base64url'), extension: { a: [1] } };
    const [one, other] = [await anchor({ dsse: standard }), await anchor({ dsse: urlSafe })];
    assert.equal(one.payload_sha256, sha256(bytes));
    assert.equal(other.digest, one.digest);
    assert.notEqual(other.envelope_sha256, one.envelope_sha256);
  });

  it('reads in-toto statements, and stores nothing of them in clear', async () => {
    const text = JSON.stringify(STATEMENT);
    const { receipt, payload_sha256 } = await anchor({ dsse: enveloped(text) });
    const bare = await anchor({ statement: text });
    const asObject = await anchor({ statement: STATEMENT });
    assert.equal(payload_sha256, bare.digest);
    assert.equal(bare.digest, sha256(text));
    assert.equal(asObject.digest, sha256(canonical(STATEMENT)));
    for (const { disclosures, ...of } of [receipt, bare.receipt, asObject.receipt]) {
      assert.doesNotMatch(textOf(of), /zebra|quagga|slsa|in-toto\.io/i);
      assert.equal(disclosures.predicate_type.value, STATEMENT.predicateType);
      assert.equal(disclosures.statement_type.value, STATEMENT._type);
      assert.deepEqual(disclosures.subjects.value, [
        { name: 'quagga.tar.gz', digest: { sha256: 'cd'.repeat(32) } },
      ]);
      assert.match(String(of.commitments.subjects), /^[0-9a-f]{64}$/);
    }
  });

  it('accepts the hash of a C2PA claim, and any SHA-256 with its media type', async () => {
    const claim_sha256 = sha256('claim');
    const manifest = 'urn:c2pa:00000000-0000-0000-0000-000000000001:zebra';
    const claim = await anchor({
      c2pa: { claim_sha256, box: 'c2pa.claim.v2', alg: 'sha256', manifest },
      session_id: 'photos',
    });
    assert.equal(claim.kind, 'c2pa_claim');
    assert.equal(claim.digest, claim_sha256);
    const { claim_box, claim_alg, session_ref, disclosures } = claim.receipt;
    assert.deepEqual([claim_box, claim_alg], ['c2pa.claim.v2', 'sha256']);
    assert.match(String(session_ref), /^[A-Za-z0-9_-]{43}$/);
    assert.equal(disclosures.manifest.value, manifest);
    assert.doesNotMatch(textOf(claim.receipt), /zebra/);
    const upper = `sha256:${'AB'.repeat(32)}`;
    const any = await anchor({ sha256: upper, media_type: 'application/zebra+json' });
    assert.equal(any.digest, 'ab'.repeat(32));
    assert.equal(any.receipt.disclosures.media_type.value, 'application/zebra+json');
    assert.doesNotMatch(textOf(any.receipt), /zebra/);
  });

  it('lists every anchor of a digest of any kind, page by page', async () => {
    const text = JSON.stringify({ ...STATEMENT, predicate: { listed: true } });
    const sent = [{ statement: text }, { dsse: enveloped(text) }, { dsse: enveloped(text) }];
    const ids: string[] = [];
    for (const body of sent) ids.push((await anchor(body)).receipt.entry_id as string);
    const digest = sha256(text);
    const whole = await list({ digest });
    assert.deepEqual(
      whole.data.map((row: Body) => row.entry_id as string),
      ids,
    );
    assert.deepEqual(
      whole.data.map((row: Body) => row.kind as string),
      ['statement', 'dsse', 'dsse'],
    );
    const first = await list({ digest: `sha256:${digest.toUpperCase()}`, limit: '2' });
    assert.equal(first.has_more, true);
    const rest = await list({ digest, limit: '2', cursor: first.next_cursor as string });
    assert.deepEqual([...first.data, ...rest.data], whole.data);
    const all = await list({ limit: '100' });
    assert.ok(all.data.length > 3);
    assert.deepEqual((await list({ digest: '00'.repeat(32) })).data, []);
    // Both envelopes are on one chain, and the log proves that it is complete.
    const { lookup_url, receipt } = await anchor({ dsse: enveloped(text) });
    await running.gateway.logs.live.whenPublished((receipt.index as number) + 1);
    const path = (lookup_url as string).replace('http://test.example', '');
    const proof = ok(await running.get(path));
    assert.equal(proof.entries.length, 3);
  });

  it('answers a repeated request with the same receipt', async () => {
    const headers = { 'Idempotency-Key': 'anchor-0001' };
    const body = { sha256: sha256('once'), media_type: 'text/plain' };
    const send = () => running.post('/api/v1/anchors', body, { key: running.live, headers });
    const [first, again] = [await send(), await send()];
    assert.equal(again.text, first.text);
    assert.equal((await list({ digest: body.sha256 })).data.length, 1);
  });

  it('refuses a malformed request, and names the member', async () => {
    const text = JSON.stringify(STATEMENT);
    const sha = 'ab'.repeat(32);
    const refused: readonly (readonly [object, string])[] = [
      [{ dsse: { ...HELLO, payload: 'a' } }, 'dsse.payload'],
      [{ dsse: { ...HELLO, payload: 'ab+_' } }, 'dsse.payload'],
      [{ dsse: { ...HELLO, payload: 7 } }, 'dsse.payload'],
      [{ dsse: { ...HELLO, payloadType: '' } }, 'dsse.payloadType'],
      [{ dsse: { ...HELLO, signatures: [] } }, 'dsse.signatures'],
      [{ dsse: { ...HELLO, signatures: [{}] } }, 'dsse.signatures.0.sig'],
      [{ dsse: { ...HELLO, signatures: [null] } }, 'dsse.signatures.0.sig'],
      [{ dsse: '{"payload": "", "payload": ""}' }, 'dsse'],
      [{ dsse: enveloped('{}') }, 'dsse.payload'],
      [{ dsse: enveloped('no json') }, 'dsse.payload'],
      [{ dsse: { ...enveloped(''), payload: '/w==' } }, 'dsse.payload'],
      [{ dsse: enveloped(JSON.stringify({ ...STATEMENT, subject: [{}] })) }, 'dsse.payload'],
      [{ statement: { ...STATEMENT, _type: 'https://example.com/' } }, 'statement'],
      [{ statement: { ...STATEMENT, predicateType: 1 } }, 'statement'],
      [{ statement: text, media_type: 'text/plain' }, 'media_type'],
      [{ c2pa: { claim_sha256: 'zz' } }, 'c2pa.claim_sha256'],
      [{ sha256: sha.slice(1), media_type: 'text/plain' }, 'sha256'],
      [{ sha256: sha, media_type: 'zebra' }, 'media_type'],
    ];
    for (const [body, param] of refused) {
      const { status, json } = await running.post('/api/v1/anchors', body, { key: running.live });
      assert.equal(status, 400, JSON.stringify(body));
      assert.equal(json.error.param, param, JSON.stringify(json));
    }
    for (const body of [{}, { sha256: sha }, { statement: text, dsse: HELLO }]) {
      const { status } = await running.post('/api/v1/anchors', body, { key: running.live });
      assert.equal(status, 400, JSON.stringify(body));
    }
    assert.equal((await running.post('/api/v1/anchors', { statement: text })).status, 401);
  });
});
