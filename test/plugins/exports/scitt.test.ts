// SCRAPI: keys, registration of third parties' statements, receipts; checked by cbor2 and node:crypto.

import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { decode, encode, Tag } from 'cbor2';
import { native } from '../../../log/index.ts';
import { trustFromKit } from '../../../log/verify.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import { run } from '../../gateway/running.ts';
import type { Body, Running } from '../../gateway/running.ts';
import { recognised } from '../../support/recognised.ts';
import { rootFrom, sha256, sigStructure, taken } from './taken.ts';

interface Bytes {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

describe('SCRAPI', () => {
  let running: Running;
  const issuer = 'https://vendor.example/Releases';
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  before(async () => {
    running = await run();
    const answer = await know(publicKey);
    assert.equal(answer.status, 200, answer.text);
    assert.doesNotMatch(running.gateway.logs.live.entry(answer.json.receipt.index)!, /vendor/);
  });
  after(() => running.close());

  const know = (key: KeyObject, more: object = {}, apiKey = running.live) =>
    running.post(
      '/api/v1/scitt/issuers',
      { issuer, key: key.export({ format: 'jwk' }), ...more },
      { key: apiKey },
    );

  async function fetchBytes(path: string, init: RequestInit = {}): Promise<Bytes> {
    const answer = await fetch(running.url + path, { redirect: 'manual', ...init });
    const bytes = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, headers: answer.headers, bytes };
  }

  const register = (
    body: Uint8Array,
    type = 'application/cose',
    key: string | null = running.live,
  ) =>
    fetchBytes('/entries', {
      method: 'POST',
      headers: { 'Content-Type': type, ...(key === null ? {} : { 'X-API-Key': key }) },
      body: Buffer.from(body),
    });

  interface Parts {
    readonly headers?: readonly (readonly [number, unknown])[];
    readonly payload?: Uint8Array | null;
    readonly key?: KeyObject;
  }

  /** The bytes of a COSE_Sign1 by cbor2, which does not encode a Buffer as bytes. */
  function message(
    protectedBytes: Uint8Array,
    unprotected: Map<number, unknown>,
    payload: Uint8Array | null,
    signature: Uint8Array,
  ): Buffer {
    const content = payload === null ? null : new Uint8Array(payload);
    const parts = [new Uint8Array(protectedBytes), unprotected, content, new Uint8Array(signature)];
    return Buffer.from(encode(new Tag(18, parts), { cde: true }));
  }

  /** A statement written by cbor2. */
  function statement(text: string, { headers, payload, key }: Parts = {}): Buffer {
    const claims = new Map([
      [1, issuer],
      [2, 'urn:release:1'],
    ]);
    const all = headers ?? [
      [1, -7],
      [15, claims],
    ];
    const protectedBytes = encode(new Map(all), { cde: true });
    const content = payload === undefined ? Buffer.from(text) : payload;
    const signed = sigStructure(protectedBytes, content ?? Buffer.from(text));
    const signature = sign('sha256', signed, { key: key ?? privateKey, dsaEncoding: 'ieee-p1363' });
    return message(protectedBytes, new Map(), content, signature);
  }

  const problem = ({ bytes, headers, status }: Bytes) => {
    assert.equal(headers.get('content-type'), 'application/concise-problem-details+cbor');
    const map = decode<Map<number | string, string>>(bytes, { preferMap: true });
    return { status, title: map.get(-1), detail: map.get(-2), param: map.get('param') };
  };

  /** The COSE_Key of a receipt, from /.well-known/scitt-keys/{kid}. */
  async function keyOf(kid: Uint8Array): Promise<KeyObject> {
    const path = `/.well-known/scitt-keys/${Buffer.from(kid).toString('base64url')}`;
    const { status, headers, bytes } = await fetchBytes(path);
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/cbor');
    const key = decode<Map<number, Uint8Array>>(bytes, { preferMap: true });
    assert.deepEqual(key.get(2), kid);
    const [x, y] = [-2, -3].map((label) => Buffer.from(key.get(label)!).toString('base64url'));
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y } as never, format: 'jwk' });
  }

  const es256 = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const });

  async function checkReceipt(bytes: Uint8Array) {
    const receipt = taken(bytes);
    const entry = receipt.unprotected.get('entry') as Uint8Array;
    const proofs = receipt.unprotected.get(396) as Map<number, Uint8Array[]>;
    const [size, index, path] = decode<[number, number, Uint8Array[]]>(proofs.get(-1)![0]!);
    const root = rootFrom(sha256('\0', entry), index, size, path);
    const key = await keyOf(receipt.protected.get(4) as Uint8Array);
    const signed = sigStructure(receipt.protectedBytes, root);
    assert.equal(receipt.protected.get(1), -7);
    assert.equal(receipt.protected.get(16), 'application/vnd.actlog.receipt+cose');
    assert.ok(verify('sha256', signed, es256(key), receipt.signature));
    return { entry: JSON.parse(Buffer.from(entry).toString()), size, index };
  }

  it('registers a statement of a known issuer and answers with a receipt that anyone checks', async () => {
    const bytes = statement('release one');
    const answer = await register(bytes);
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get('content-type'), 'application/cose');
    const { entry } = await checkReceipt(answer.bytes);
    assert.equal(entry.type, 'exports.statement.v1');
    assert.equal(entry.statement_sha256, sha256(bytes).toString('hex'));
    assert.equal(entry.payload_sha256, sha256('release one').toString('hex'));
    assert.equal(entry.issuer_sha256, sha256(issuer).toString('hex'));
    assert.equal(answer.headers.get('location'), `/entries/${String(entry.entry_id)}`);
    const again = await fetchBytes(`/entries/${String(entry.entry_id)}`);
    assert.equal(again.status, 200);
    assert.equal((await checkReceipt(again.bytes)).entry.entry_id, entry.entry_id);
  });

  it('registers a statement once, with any unprotected header and concurrent requests', async () => {
    const plain = statement('release two');
    // ECDSA signatures differ each time; a statement is the same only with the same signature.
    const { protectedBytes, payload, signature } = taken(plain);
    const dressed = message(protectedBytes, new Map([[394, ['x']]]), payload, signature);
    const answers = await Promise.all(
      [plain, dressed, plain, dressed].map((body) => register(body)),
    );
    const entries = [];
    for (const { status, bytes } of answers) {
      assert.equal(status, 201);
      entries.push((await checkReceipt(bytes)).entry.entry_id);
    }
    assert.equal(new Set(entries).size, 1);
  });

  it('reports what is wrong with a statement in the form of RFC 9290', async () => {
    const claims = (iss: unknown, sub: unknown) =>
      new Map(Object.entries({ 1: iss, 2: sub }).map(([label, value]) => [Number(label), value]));
    const good = claims(issuer, 'x');
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    for (const [body, title, param] of [
      [
        statement('x', {
          headers: [
            [1, -37],
            [15, good],
          ],
        }),
        'Bad Signature Algorithm',
        'alg',
      ],
      [statement('x', { payload: null }), 'Payload Missing', 'payload'],
      [statement('x', { headers: [[1, -7]] }), 'Rejected', 'cwt_claims'],
      [
        statement('x', {
          headers: [
            [1, -7],
            [15, claims(7, 'x')],
          ],
        }),
        'Rejected',
        'iss',
      ],
      [
        statement('x', {
          headers: [
            [1, -7],
            [15, claims(issuer, '')],
          ],
        }),
        'Rejected',
        'sub',
      ],
      [
        statement('x', {
          headers: [
            [1, -7],
            [2, [1]],
            [15, good],
          ],
        }),
        'Rejected',
        'crit',
      ],
      [
        statement('x', {
          headers: [
            [1, -7],
            [15, claims('other', 'x')],
          ],
        }),
        'Rejected',
        'iss',
      ],
      [statement('x', { key: other }), 'Rejected', 'signature'],
      [Buffer.from('d28440', 'hex'), 'Rejected', 'body'],
      [Buffer.from('text'), 'Rejected', 'body'],
    ] as const) {
      const found = problem(await register(body));
      assert.deepEqual([found.status, found.title, found.param], [400, title, param], found.detail);
    }
    assert.equal(problem(await register(statement('x'), 'application/json')).status, 415);
    assert.equal(problem(await register(Buffer.alloc(0))).status, 400);
    assert.equal(problem(await register(Buffer.alloc(300_000))).status, 413);
    assert.equal(problem(await register(statement('x'), 'application/cose', null)).status, 401);
    assert.equal(problem(await fetchBytes('/entries/nothing')).status, 404);
    assert.equal(problem(await fetchBytes('/.well-known/scitt-keys/nothing')).status, 404);
  });

  it('separates tenants, and live and sandbox', async () => {
    const answer = await register(statement('elsewhere'), 'application/cose', running.sandbox);
    assert.equal(problem(answer).param, 'iss');
  });

  it('refuses a revoked key, and still shows what it registered', async () => {
    const pair = generateKeyPairSync('ed25519');
    const name = 'https://revoked.example';
    const claims = new Map([
      [1, name],
      [2, 's'],
    ]);
    const make = (text: string): Buffer => {
      const protectedBytes = encode(
        new Map<number, unknown>([
          [1, -8],
          [15, claims],
        ]),
        { cde: true },
      );
      const payload = Buffer.from(text);
      const signature = sign(null, sigStructure(protectedBytes, payload), pair.privateKey);
      return message(protectedBytes, new Map(), payload, signature);
    };
    const key = pair.publicKey;
    assert.equal((await know(key, { issuer: name })).status, 200);
    const { entry } = await checkReceipt((await register(make('before'))).bytes);
    assert.equal(entry.algorithm, 'EdDSA');
    assert.equal((await know(key, { issuer: name, status: 'revoked' })).status, 200);
    assert.equal(problem(await register(make('after'))).param, 'iss');
    assert.equal((await fetchBytes(`/entries/${String(entry.entry_id)}`)).status, 200);
  });

  it('refuses a private key and needs an API key', async () => {
    const jwk = privateKey.export({ format: 'jwk' });
    const body = { issuer, key: jwk };
    const refused = await running.post('/api/v1/scitt/issuers', body, { key: running.live });
    assert.equal(refused.status, 400);
    assert.equal(refused.json.error.param, 'key');
    const body2 = { issuer, key: publicKey.export({ format: 'jwk' }) };
    assert.equal((await running.post('/api/v1/scitt/issuers', body2)).status, 401);
  });

  it('lists the keys of both logs as a COSE_KeySet', async () => {
    const { bytes } = await fetchBytes('/.well-known/scitt-keys');
    const keys = decode<Map<number, unknown>[]>(bytes, { preferMap: true });
    assert.deepEqual(keys.map((key) => key.get(3)).sort(), [-7, -7, -7, -7]);
    assert.equal(
      new Set(keys.map((key) => Buffer.from(key.get(2) as Uint8Array).toString('hex'))).size,
      4,
    );
  });

  it('names each key in the kit and in the JWKS as in messages', async () => {
    const { bytes } = await fetchBytes('/.well-known/scitt-keys');
    const kids = decode<Map<number, Uint8Array>[]>(bytes, { preferMap: true }).map((key) =>
      Buffer.from(key.get(2)!).toString('base64url'),
    );
    const { cose_keys } = (await running.get('/export/offline-verify-kit.json')).json;
    assert.deepEqual(cose_keys.keys.map(({ kid }: Body) => kid).sort(), kids.toSorted());
    const { keys } = (await running.get('/.well-known/jwks.json')).json;
    for (const kid of kids) assert.ok(keys.some((key: Body) => key.kid === kid));
  });

  it('accepts and sends the media types of RFC 9943', async () => {
    const type = 'application/scitt-statement+cose';
    const { headers } = await register(statement('typed'), type);
    const path = headers.get('location') ?? '';
    const receipt = 'application/scitt-receipt+cose';
    const typed = await fetchBytes(path, { headers: { Accept: receipt } });
    assert.equal(typed.headers.get('content-type'), receipt);
    assert.equal((await fetchBytes(path)).headers.get('content-type'), 'application/cose');
  });

  it('has the configuration of earlier drafts', async () => {
    const { bytes } = await fetchBytes('/.well-known/transparency-configuration');
    const map = decode<Map<string, unknown>>(bytes, { preferMap: true });
    assert.equal(map.get('issuer'), 'http://test.example');
    assert.equal(map.get('registration_endpoint'), 'http://test.example/entries');
  });

  it('proves that a published tree is consistent with an older one', async () => {
    const { live } = running.gateway.logs;
    const from = live.published().size;
    const { size: to } = await live.whenPublished(live.size() + 1);
    const answer = await fetchBytes(`/export/scitt/consistency?from=${from}&to=${to}`);
    assert.equal(answer.status, 200);
    const receipt = taken(answer.bytes);
    const proofs = receipt.unprotected.get(396) as Map<number, Uint8Array[]>;
    const [size1, size2, path] = decode<[number, number, Uint8Array[]]>(proofs.get(-2)![0]!);
    assert.deepEqual([size1, size2], [from, to]);
    assert.ok(path.length > 0);
    const key = await keyOf(receipt.protected.get(4) as Uint8Array);
    const root = live.rootAt(to);
    const signed = sigStructure(receipt.protectedBytes, root);
    assert.ok(verify('sha256', signed, es256(key), receipt.signature));
    assert.equal(
      problem(await fetchBytes(`/export/scitt/consistency?from=${to}&to=${to}`)).status,
      400,
    );
    assert.equal(problem(await fetchBytes('/export/scitt/consistency?from=1')).param, 'from');
  });
});

describe('COSE_RECEIPT_ALG', () => {
  it('changes the algorithm at the next start, and older signatures stay valid', async () => {
    const first = await run();
    const receiptOf = async (running: Running, entry_id: string) => {
      const answer = await fetch(`${running.url}/entries/${entry_id}`);
      return new Uint8Array(await answer.arrayBuffer());
    };
    const asked = { key: first.live, headers: { Prefer: 'wait=10' } };
    const { entry_id } = (await first.post('/api/v1/classify', { message: 'one' }, asked)).json;
    const old = await receiptOf(first, entry_id);
    await first.close(true);
    const second = await run({ DATA_DIR: first.data, COSE_RECEIPT_ALG: 'Ed25519' });
    try {
      const now = await receiptOf(second, entry_id);
      const algorithms = [old, now].map((bytes) => taken(bytes).protected.get(1));
      assert.deepEqual(algorithms, [-7, -19]);
      const kit = (await second.get('/export/offline-verify-kit.json')).json;
      const trust = trustFromKit(kit, second.gateway.logs.live.origin, { suite: native });
      for (const bytes of [old, now]) {
        const { valid, checks } = await checkDocument(recognised(bytes), trust, { kit });
        assert.equal(valid, true, JSON.stringify(checks));
      }
    } finally {
      await second.close();
    }
  });
});
