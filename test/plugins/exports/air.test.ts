// GET /export/scitt/air/…: records, chains, statements and receipts, checked with third-party code: jose, cbor2 and
// node:crypto.

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { decode } from 'cbor2';
import { calculateJwkThumbprint, compactVerify, importJWK } from 'jose';
import type { JWK } from 'jose';
import { canonical } from '../../../log/index.ts';
import { codeOf } from '../../gateway/http/envelope.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import { rootFrom, sha256, sigStructure, taken } from './taken.ts';

describe('GET /export/scitt/air', () => {
  let running: Running;
  let keys: (JWK & { purpose?: string; origin: string })[];

  before(async () => {
    running = await run();
    keys = (await running.get('/crypto/jwks.json')).json.keys;
  });
  after(() => running.close());

  const classify = async (session_id: string | undefined, key = running.live) =>
    (
      await running.post(
        '/api/v1/classify',
        { message: `zebra ${String(session_id)}`, session_id },
        { key },
      )
    ).json;
  const air = (entry_id: string, query = '') =>
    running.get(`/export/scitt/air/${entry_id}.json${query}`);
  const batch = (session_id: string, query = '', asked: { key?: string } = { key: running.live }) =>
    running.get(`/export/scitt/air/session/${session_id}.json${query}`, asked);
  const airKey = (origin: string) =>
    keys.find((key) => key.purpose === 'air' && key.origin === origin)!;

  /** The four steps of air-1.0 on one record. */
  function checkIntegrity(record: Answer['json'], jwk: JWK, prev = Buffer.alloc(32)): Buffer {
    const { integrity, ...content } = record;
    const content_hash = sha256(canonical(content));
    assert.equal(integrity.content_hash, content_hash.toString('hex'));
    assert.equal(integrity.prev_chain_hash, prev.toString('hex'));
    const agent = Buffer.from(record.agent_id);
    const numbers = Buffer.alloc(12);
    numbers.writeBigUInt64BE(BigInt(record.action_timestamp_ms));
    numbers.writeUInt32BE(agent.length, 8);
    const chain_hash = sha256(content_hash, prev, numbers, agent);
    assert.equal(integrity.chain_hash, chain_hash.toString('hex'));
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    const signature = Buffer.from(integrity.signature, 'base64');
    assert.ok(verify('sha256', chain_hash, { key, dsaEncoding: 'ieee-p1363' }, signature));
    return chain_hash;
  }

  it('publishes a P-256 key for each log in the JWKS, named by its thumbprint, that jose imports', async () => {
    const { live, sandbox } = running.gateway.logs;
    const jwks = [airKey(live.origin), airKey(sandbox.origin)];
    assert.notEqual(jwks[0]!.x, jwks[1]!.x);
    for (const jwk of jwks) {
      assert.deepEqual([jwk.kty, jwk.crv, jwk.alg, jwk.use], ['EC', 'P-256', 'ES256', 'sig']);
      assert.equal(await calculateJwkThumbprint(jwk), jwk.kid);
      assert.ok(await importJWK(jwk, 'ES256'));
    }
  });

  it('makes a record of an entry that is valid by air-1.0, and commits to redacted values', async () => {
    const { entry_id, entry_hash, issued_at_ms, commitments } = await classify('single');
    const { status, json } = await air(entry_id);
    assert.equal(status, 200);
    const { record } = json;
    assert.equal(record.schema_version, 'air-1.0');
    assert.equal(record.record_id, entry_id);
    assert.equal(record.action_type, 'org.actlog.classify.result.v1');
    assert.equal(record.action_subtype, 'SAFE');
    assert.equal(record.outcome_state, 'completed');
    assert.equal(record.outcome_hash, entry_hash);
    assert.equal(record.action_timestamp_ms, issued_at_ms);
    assert.equal(record.input_hash, commitments.message);
    assert.equal(record.redaction_receipts[0].original_hash, commitments.message);
    assert.equal(Object.keys(record).length, 35, 'every member of air-1.0');
    checkIntegrity(record, airKey(json.origin));
    assert.deepEqual({ ...json.key }, { ...json.key, x: airKey(json.origin).x });
  });

  it('signs the chain hash so that jose verifies it as a JWS', async () => {
    const { entry_id } = await classify('jws');
    const { json } = await air(entry_id);
    const jwk = airKey(json.origin);
    // ES256 of a JWS signs `header.payload`; the COSE signature uses the same algorithm over other bytes.
    const key = await importJWK(jwk, 'ES256');
    await assert.rejects(compactVerify('e30.e30.AAAA', key));
    const cryptoKey = await crypto.subtle.importKey(
      'jwk',
      jwk,
      { name: 'ECDSA', namedCurve: 'P-256' },
      false,
      ['verify'],
    );
    const { chain_hash, signature } = json.record.integrity;
    const bytes = (text: string, form: 'hex' | 'base64') => Buffer.from(text, form);
    const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
    const signed = bytes(chain_hash, 'hex');
    assert.ok(await crypto.subtle.verify(algorithm, cryptoKey, bytes(signature, 'base64'), signed));
  });

  it('is a COSE_Sign1 with the receipt of the entry, by cbor2 and node:crypto alone', async () => {
    const { entry_id } = await classify('cose');
    const { json } = await air(entry_id);
    const bytes = Buffer.from(json.cose_sign1_b64, 'base64');
    const message = taken(bytes);
    assert.equal(message.protected.get(1), -7);
    assert.equal(message.protected.get(3), 'application/air+json');
    const claims = message.protected.get(15) as Map<number, unknown>;
    assert.equal(claims.get(1), 'http://test.example');
    assert.equal(claims.get(2), `urn:uuid:${String(entry_id)}`);
    const key = createPublicKey({ key: airKey(json.origin) as never, format: 'jwk' });
    const signed = sigStructure(message.protectedBytes, message.payload!);
    assert.ok(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, message.signature));
    const { integrity, ...content } = json.record;
    assert.equal(Buffer.from(message.payload!).toString(), canonical(content));
    const hashes = ['content_hash', 'prev_chain_hash', 'chain_hash'];
    for (const name of hashes) {
      assert.equal(
        Buffer.from(message.protected.get(name) as Uint8Array).toString('hex'),
        integrity[name],
      );
    }
    const [receipt] = message.unprotected.get(394) as Uint8Array[];
    await checkReceipt(receipt!, Buffer.from(json.entry));
    assert.equal(sha256('\0', json.entry).toString('hex'), json.record.outcome_hash);
  });

  /** RFC 9942 implemented separately: the path leads to a published root, which the COSE key has signed. */
  async function checkReceipt(bytes: Uint8Array, entry: Buffer): Promise<void> {
    const receipt = taken(bytes);
    assert.equal(receipt.protected.get(395), 1);
    assert.equal(receipt.payload, null);
    const proofs = receipt.unprotected.get(396) as Map<number, Uint8Array[]>;
    const [size, index, path] = decode<[number, number, Uint8Array[]]>(proofs.get(-1)![0]!);
    const root = rootFrom(sha256('\0', entry), index, size, path);
    const { live } = running.gateway.logs;
    assert.deepEqual(root, Buffer.from(live.rootAt(size)));
    assert.notEqual(live.checkpointAt(size), null);
    const { signer } = running.gateway.keys
      .all()
      .find(({ name, kind }) => name === 'cose' && kind === 'live')!;
    const key = createPublicKey({ key: { ...signer.jwk }, format: 'jwk' });
    assert.deepEqual(Buffer.from(receipt.unprotected.get('entry') as Uint8Array), entry);
    assert.equal(receipt.protected.get(1), -7);
    const signed = sigStructure(receipt.protectedBytes, root);
    assert.ok(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, receipt.signature));
  }

  it('has the same content as JSON', async () => {
    const { json } = await air((await classify('view')).entry_id);
    const { cose, cose_sign1_b64 } = json;
    const message = taken(Buffer.from(cose_sign1_b64, 'base64'));
    assert.equal(cose.tag, 18);
    assert.equal(
      Buffer.from(cose.payload_b64, 'base64').toString(),
      Buffer.from(message.payload!).toString(),
    );
    assert.deepEqual(Buffer.from(cose.signature_b64, 'base64'), Buffer.from(message.signature));
    assert.equal(cose.protected['1'], -7);
    assert.equal(cose.protected['15']['1'], 'http://test.example');
    assert.equal(cose.unprotected['394'].length, 1);
  });

  it('chains a session in the order of the log, with one record for each entry, complete by proof', async () => {
    const entries = [];
    for (let i = 0; i < 5; i += 1) {
      entries.push(await classify('chained'));
      await classify('between');
    }
    const { status, json, headers } = await batch('chained');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(json.count, 5);
    assert.deepEqual(
      json.records.map((item: Answer['json']) => item.record.record_id),
      entries.map(({ entry_id }) => entry_id),
    );
    let prev = Buffer.alloc(32);
    for (const [i, { record, entry }] of json.records.entries()) {
      assert.equal(record.integrity.sequence_number, i);
      assert.equal(record.agent_id, json.agent_id);
      prev = checkIntegrity(record, airKey(json.origin), prev) as Buffer<ArrayBuffer>;
      assert.equal(sha256('\0', entry).toString('hex'), record.outcome_hash);
    }
    const { head } = json.completeness_proof.proof;
    assert.equal(head.count, 5);
    assert.equal(head.last_index, entries[4].index);
  });

  it('gives an entry the same chain position alone and in its session', async () => {
    await classify('placed');
    const { entry_id } = await classify('placed');
    await classify('placed');
    const alone = (await air(entry_id)).json.record.integrity;
    const among = (await batch('placed')).json.records[1].record.integrity;
    assert.equal(alone.chain_hash, among.chain_hash);
    assert.equal(alone.sequence_number, 1);
  });

  it('adds inclusion proofs and statements on request', async () => {
    await classify('proved');
    await classify('proved');
    const { json } = await batch('proved', '?proofs=true');
    for (const item of json.records) {
      const message = taken(Buffer.from(item.cose_sign1_b64, 'base64'));
      const [receipt] = message.unprotected.get(394) as Uint8Array[];
      await checkReceipt(receipt!, Buffer.from(item.entry));
      assert.ok(item.inclusion_proof.length > 0);
    }
  });

  it('answers an unknown entry with 404 and an unknown session with count 0', async () => {
    assert.equal(
      codeOf(await air('01890a5d-ac96-774b-bcce-b302099a8057'), 404),
      'resource_missing',
    );
    assert.equal(codeOf(await air('nothing'), 404), 'resource_missing');
    const { status, json } = await batch('never');
    assert.equal(status, 200);
    assert.equal(json.count, 0);
    assert.deepEqual(json.records, []);
    assert.equal(json.completeness_proof.proof.type, 'never');
  });

  it('shows no disclosures and no other tenant’s session', async () => {
    const { entry_id } = await classify('secret');
    for (const answer of [await air(entry_id), await batch('secret', '?proofs=true')]) {
      assert.doesNotMatch(answer.text, /zebra/);
    }
    assert.equal((await batch('secret', '', {})).json.count, 0);
    assert.equal((await batch('secret', '', { key: running.sandbox })).json.count, 0);
  });

  it('separates the sandbox', async () => {
    const { entry_id } = await classify('apart', running.sandbox);
    assert.equal((await air(entry_id, '?log=live')).status, 404);
    const { json } = await air(entry_id, '?log=sandbox');
    assert.match(json.origin, /sandbox/);
    checkIntegrity(json.record, airKey(json.origin));
  });

  it('is a single record if an entry has no session', async () => {
    const { entry_id } = await classify(undefined);
    const { record } = (await air(entry_id)).json;
    assert.equal(record.agent_id, `entry:${String(entry_id)}`);
    assert.equal(record.integrity.sequence_number, 0);
  });

  it('makes a record of any entry, also of built-in types', async () => {
    const { live } = running.gateway.logs;
    for (let index = 0; index < Math.min(live.size(), 12); index += 1) {
      const { entry_id } = JSON.parse(live.entry(index) ?? '{}');
      const { status, json } = await air(entry_id);
      assert.equal(status, 200);
      checkIntegrity(json.record, airKey(live.origin));
    }
  });

  it('maps a payment with its redactions, and keeps its keys across a restart', async () => {
    const { json } = await running.post(
      '/tcb/bind-payment',
      { payment_hash: 'ab'.repeat(32), agent_id: 'agent-1', session_id: 'paid' },
      { key: running.live },
    );
    const { record } = (await air(json.entry_id)).json;
    assert.equal(record.action_type, 'payment_execution');
    assert.ok(record.redaction_receipts.length > 0);
    assert.ok(
      record.external_refs.some(({ ref_type }: Answer['json']) => ref_type === 'payment_hash'),
    );
    const { data } = running;
    await running.close(true);
    running = await run({ DATA_DIR: data });
    const again = (await running.get('/crypto/jwks.json')).json.keys;
    assert.deepEqual(again, keys);
  });
});
