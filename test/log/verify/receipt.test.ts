// Receipts: the steps of gateway/API.md §1.1, each with a change that only this step refuses.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { concat, fromHex, toHex, utf8 } from '../../../log/encoding/bytes.ts';
import { canonical } from '../../../log/encoding/canonical.ts';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { leafHash } from '../../../log/merkle/hash.ts';
import { policyOf } from '../../../log/note/policy.ts';
import { formatTlogProof } from '../../../log/note/tlog-proof.ts';
import { formatVkey } from '../../../log/note/note.ts';
import { verifyReceipt } from '../../../log/verify.ts';
import type { CheckName, ReceiptOptions, ReceiptResult, Trust } from '../../../log/verify.ts';
import { ACT, CHECKPOINT_KEY, Forge, hex64, RECEIPT_KEY, seedKey } from '../../support/forge.ts';

const trust: Trust = {
  origin: 'log.example/log/live/1',
  vkey: formatVkey(native, 'log.example/log/live/1', 1, CHECKPOINT_KEY.publicKey),
  keys: [{ kid: RECEIPT_KEY.kid, jwk: RECEIPT_KEY.jwk }],
};

const salt = '00112233445566778899aabbccddeeff';
const said: Json = { text: 'what she said', score: 0.5 };
const commitment = toHex(native.sha256(concat(fromHex(salt), utf8(canonical(said)))));

const log = new Forge().usual();
const text = log.add('gate.decision.v1', { ...ACT, commitments: { message: commitment } });
log.mapHead();
const witness = seedKey(0x51);
const cosigned = log.note([{ name: 'w.example/one', key: witness, time_s: 1_790_000_100 }]);
const path = log.path(6);
const place = { origin: log.origin, index: 6, checkpoint: cosigned, inclusion_proof: path };

/** The receipt of an entry text with additional members. */
function receiptOf(
  entry: string,
  change: Readonly<Record<string, Json | undefined>> = {},
): JsonObject {
  const receipt = {
    ...(JSON.parse(entry) as JsonObject),
    entry_hash: toHex(leafHash(native, utf8(entry))),
    permalink: 'https://log.example/r/1',
    verify_url: 'https://log.example/verify?entry_id=1',
    ...change,
  };
  return JSON.parse(JSON.stringify(receipt)) as JsonObject;
}

const verify = (
  receipt: Json,
  change: Partial<Trust> = {},
  options: ReceiptOptions = {},
): ReceiptResult => verifyReceipt(receipt, { ...trust, ...change }, { suite: native, ...options });

const outcome = (result: ReceiptResult, name: CheckName): string | undefined =>
  result.checks.find((check) => check.name === name)?.outcome;

/** The failed checks, in order. */
const failed = (result: ReceiptResult): CheckName[] => {
  assert.equal(
    result.valid,
    result.checks.every(({ outcome: o }) => o !== 'failed'),
  );
  return result.checks.filter((check) => check.outcome === 'failed').map(({ name }) => name);
};

const policy = policyOf(native, 1, [formatVkey(native, 'w.example/one', 4, witness.publicKey)]);
const whole = receiptOf(text, { log: place, disclosures: { message: { salt, value: said } } });

describe('receipt', () => {
  it('passes every check with a proof, in both suites and as text', () => {
    for (const options of [{}, { suite: native }]) {
      for (const receipt of [whole, JSON.stringify(whole, null, 1)]) {
        const result = verifyReceipt(receipt, { ...trust, policy }, options);
        assert.deepEqual(
          result.checks.map(({ name, ok }) => [name, ok]),
          [
            ['document_form', true],
            ['entry_hash', true],
            ['origin', true],
            ['checkpoint', true],
            ['inclusion', true],
            ['cosignatures', true],
            ['signature', true],
            ['disclosures', true],
          ],
        );
        assert.equal(result.valid, true);
        const { signature, ...statement } = JSON.parse(text) as JsonObject;
        assert.deepEqual(result.statement, statement);
        assert.equal(typeof signature, 'string');
        const { entry_id, index, origin, size } = result;
        assert.deepEqual(
          { entry_id, index, origin, size },
          { entry_id: statement['entry_id'], index: 6, origin: log.origin, size: 8 },
        );
      }
    }
  });

  it('is valid without a proof; the checks of the proof are not_shown', () => {
    const result = verify(receiptOf(text));
    assert.equal(result.valid, true);
    assert.equal('size' in result, false);
    for (const name of ['checkpoint', 'inclusion', 'cosignatures', 'disclosures'] as const) {
      assert.equal(outcome(result, name), 'not_shown');
      assert.equal(result.checks.find((check) => check.name === name)?.ok, false);
    }
  });

  it('accepts a separate tlog-proof', () => {
    const proof = {
      index: 6,
      path: path.map((node) => new Uint8Array(Buffer.from(node, 'base64'))),
      checkpoint: cosigned,
    };
    const tlogProof = formatTlogProof(proof);
    const result = verify(receiptOf(text), {}, { tlogProof });
    assert.deepEqual([result.valid, result.size], [true, 8]);
    const both = verify(whole, {}, { tlogProof });
    assert.deepEqual([both.valid, both.size], [true, 8]);
    const other = formatTlogProof({ ...proof, index: 5 });
    assert.deepEqual(failed(verify(receiptOf(text), {}, { tlogProof: other })), ['inclusion']);
    const noPath = receiptOf(text, { log: { origin: log.origin, index: 6, checkpoint: cosigned } });
    assert.equal(outcome(verify(noPath), 'inclusion'), 'not_shown');
    assert.deepEqual(failed(verify(noPath, {}, { tlogProof })), []);
    assert.deepEqual(failed(verify(whole, {}, { tlogProof: 'x' })), ['checkpoint', 'inclusion']);
  });

  const cases: readonly (readonly [string, Json, readonly CheckName[]])[] = [
    ['no JSON', '{', ['document_form']],
    ['no object', '[]', ['document_form']],
    ['a duplicate member', JSON.stringify(whole).replace('{', '{"index":6,'), ['document_form']],
    ['a fraction in the statement', { ...whole, index: 6.5 }, ['document_form']],
    ['no signature', receiptOf(text, { signature: undefined }), ['document_form']],
    ['a log with another member', { ...whole, log: { ...place, note: 1 } }, ['document_form']],
    ['a permalink that is no text', { ...whole, permalink: 1 }, ['document_form']],
    ['an unknown member', { ...whole, note: 1 }, ['entry_hash', 'inclusion', 'signature']],
    ['a changed member', { ...whole, outcome: 'DENY' }, ['entry_hash', 'inclusion', 'signature']],
    ['another entry_hash', { ...whole, entry_hash: hex64(1) }, ['entry_hash']],
    ['no entry_hash', receiptOf(text, { entry_hash: undefined }), ['entry_hash']],
    ['another index in log', { ...whole, log: { ...place, index: 5 } }, ['origin']],
    ['another origin in log', { ...whole, log: { ...place, origin: 'x' } }, ['origin']],
    [
      'another path',
      { ...whole, log: { ...place, inclusion_proof: path.slice(1) } },
      ['inclusion'],
    ],
    [
      'a path without a checkpoint',
      { ...whole, log: { origin: log.origin, index: 6, inclusion_proof: path } },
      ['inclusion'],
    ],
    [
      'a checkpoint of another key',
      { ...whole, log: { ...place, checkpoint: cosigned.replace(/(\/1 \w{9})./, '$1A') } },
      ['checkpoint', 'inclusion'],
    ],
    [
      'another salt',
      { ...whole, disclosures: { message: { salt: salt.replace('00', '01'), value: said } } },
      ['disclosures'],
    ],
    [
      'another value',
      { ...whole, disclosures: { message: { salt, value: 'x' } } },
      ['disclosures'],
    ],
    [
      'a disclosure of nothing',
      { ...whole, disclosures: { other: { salt, value: said } } },
      ['disclosures'],
    ],
    [
      'a disclosure called __proto__',
      JSON.stringify(whole).replace('"message":{', '"__proto__":{'),
      ['disclosures'],
    ],
    [
      'disclosures without commitments',
      receiptOf(log.texts[4]!, { disclosures: {} }),
      ['disclosures'],
    ],
  ];
  for (const [title, receipt, names] of cases) {
    it(`fails with ${title}`, () => {
      assert.deepEqual(failed(verify(receipt)), names);
    });
  }

  it('fails with a signature by another key', () => {
    const forged = new Forge().usual().add('gate.decision.v1', ACT, {
      key: seedKey(0x44),
      statement: { kid: RECEIPT_KEY.kid },
    });
    assert.deepEqual(failed(verify(receiptOf(forged))), ['signature']);
  });

  it('must be of the trusted log, and have its value of sandbox', () => {
    assert.deepEqual(failed(verify(receiptOf(text), { origin: 'log.example/log/live/2' })), [
      'origin',
    ]);
    const other = new Forge('log.example/log/sandbox/1').open();
    const sandbox = { origin: other.origin };
    assert.deepEqual(failed(verify(receiptOf(other.texts[0]!), sandbox)), []);
    const lying = new Forge('log.example/log/sandbox/1').open(
      {},
      { statement: { sandbox: false } },
    );
    assert.deepEqual(failed(verify(receiptOf(lying.texts[0]!), sandbox)), ['origin']);
  });

  it('is valid with a retired key, and with a revoked key only if it is proved to be before the revocation', () => {
    const key = trust.keys[0]!;
    const by = (change: object): Partial<Trust> => ({ keys: [{ ...key, ...change }] });
    assert.deepEqual(failed(verify(whole, by({ status: 'retired' }))), []);
    assert.deepEqual(failed(verify(whole, by({ status: 'revoked', revoked_index: 7 }))), []);
    assert.deepEqual(failed(verify(whole, by({ status: 'revoked', revoked_index: 6 }))), [
      'signature',
    ]);
    const bare = receiptOf(text);
    assert.deepEqual(failed(verify(bare, by({ status: 'revoked', revoked_index: 7 }))), [
      'signature',
    ]);
    assert.deepEqual(failed(verify(bare, { keys: [] })), ['signature']);
  });

  it('must satisfy the policy, if there is one and the receipt has a checkpoint', () => {
    assert.deepEqual(failed(verify(whole, { policy })), []);
    const alone = { ...whole, log: { ...place, checkpoint: log.note() } };
    assert.deepEqual(failed(verify(alone, { policy })), ['cosignatures']);
    assert.equal(outcome(verify(alone), 'cosignatures'), 'not_shown');
    assert.equal(outcome(verify(receiptOf(text), { policy }), 'cosignatures'), 'not_shown');
  });
});
