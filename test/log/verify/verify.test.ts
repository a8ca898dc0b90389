// The other functions of the verifier: checkpoints, tlog-proofs, consistency, entries with a proof, and trust from a
// kit.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { fromBase64, toHex } from '../../../log/encoding/bytes.ts';
import type { Json, JsonObject } from '../../../log/encoding/json.ts';
import { formatTlogProof } from '../../../log/note/tlog-proof.ts';
import {
  LogError,
  openEntry,
  trustedKeyOf,
  trustFromKit,
  verifyAbsence,
  verifyCheckpoint,
  verifyConsistency,
  verifyTlogProof,
} from '../../../log/verify.ts';
import type { Question } from '../../../log/verify.ts';
import { vectors, vectorTrust } from '../../support/absence-vectors.ts';
import { START_MS } from '../../support/forge.ts';

const suite = { suite: native };
const [older = '', newer = ''] = vectors.checkpoints;

const code =
  (wanted: string) =>
  (error: unknown): boolean =>
    error instanceof LogError && error.code === wanted;

describe('verifyCheckpoint', () => {
  it('accepts both notes of the vectors', () => {
    for (const note of vectors.checkpoints) {
      const { size, root, witnessed, map_verified } = verifyCheckpoint(note, vectorTrust, suite);
      assert.equal(toHex(root), vectors.roots[size - 1]);
      assert.deepEqual([witnessed, map_verified], [2, 1]);
    }
  });

  it('refuses a note without enough witnesses', () => {
    const note = newer
      .split('\n')
      .filter((line) => !line.includes('witness.example/two'))
      .join('\n');
    assert.throws(() => verifyCheckpoint(note, vectorTrust, suite), code('note_invalid'));
  });
});

describe('verifyConsistency', () => {
  const path = vectors.consistency.path as Json;

  it('accepts the proof of the vectors, also in the portable suite', () => {
    const { from, to } = verifyConsistency(older, newer, path, vectorTrust);
    assert.deepEqual([from.size, to.size], [11, 20]);
  });

  it('refuses it in reverse, shortened, or in another form', () => {
    const bad: readonly [string, string, Json, string][] = [
      [newer, older, path, 'proof_invalid'],
      [older, newer, vectors.consistency.path.slice(1), 'proof_invalid'],
      [older, newer, { path }, 'document_invalid'],
      [older, newer, ['x'], 'document_invalid'],
    ];
    for (const [from, to, proof, wanted] of bad) {
      assert.throws(() => verifyConsistency(from, to, proof, vectorTrust, suite), code(wanted));
    }
  });
});

describe('verifyTlogProof and openEntry', () => {
  const opened = vectors.documents[0]!.doc['map_head'] as JsonObject;
  const path = (opened['path'] as string[]).map((node) => fromBase64(node, 32));
  const text = vectors.entries[19]!;
  const proof = formatTlogProof({ index: 19, path, checkpoint: newer });
  const tree = verifyCheckpoint(newer, vectorTrust, suite);

  it('accept an entry of the vectors', () => {
    assert.deepEqual(verifyTlogProof(proof, text, vectorTrust, suite).index, 19);
    const entry = openEntry(opened, tree, vectorTrust);
    assert.deepEqual(
      [entry.index, entry.type, entry.ms],
      [19, 'log.map_head.v1', START_MS + 504_500],
    );
  });

  it('refuse another entry, path or index', () => {
    const other = vectors.entries[18]!;
    assert.throws(() => verifyTlogProof(proof, other, vectorTrust, suite), code('proof_invalid'));
    const short = formatTlogProof({ index: 19, path: path.slice(1), checkpoint: newer });
    assert.throws(() => verifyTlogProof(short, text, vectorTrust, suite), code('proof_invalid'));
    assert.throws(() => openEntry({ ...opened, index: 18 }, tree, vectorTrust, suite), LogError);
    assert.throws(() => openEntry({ ...opened, entry: other }, tree, vectorTrust, suite), LogError);
  });
});

describe('trustedKeyOf', () => {
  const { kid, ...jwk } = vectors.jwk;
  const key = { kid, jwk, since_index: 0, since_ms: 1 };

  it('keeps the index of a revocation, and none for a retirement', () => {
    const ended = { ...key, ended_index: 7, ended_ms: 2 };
    const revoked = { ...ended, revoked_index: 9, revoked_ms: 3 };
    assert.deepEqual(trustedKeyOf({ ...key, status: 'active' }), { kid, jwk, status: 'active' });
    assert.deepEqual(trustedKeyOf({ ...ended, status: 'retired' }), {
      kid,
      jwk,
      status: 'retired',
    });
    assert.deepEqual(trustedKeyOf({ ...revoked, status: 'revoked' }), {
      kid,
      jwk,
      status: 'revoked',
      revoked_index: 9,
    });
  });
});

describe('trustFromKit', () => {
  const { kid, ...jwk } = vectors.jwk;
  const lines = vectors.witnesses.map(({ vkey }, i) => `witness w${String(i)} ${vkey}`);
  const policy = [...lines, 'group both 2 w0 w1', 'quorum both', ''].join('\n');
  const kit = {
    schema: 'svc-offline-verify-kit-v1',
    keys: { keys: [{ ...jwk, kid, use: 'sig', alg: 'EdDSA', nbf: 1, origin: vectors.origin }] },
    logs: [{ origin: vectors.origin, vkey: vectors.vkey, checkpoint: newer }],
    witnesses: [],
    policy,
  };
  const keyed = (change: JsonObject): JsonObject => ({
    ...kit,
    keys: { keys: [{ ...kit.keys.keys[0]!, ...change }] },
  });

  it('suffices to check the vectors, and says whose policy it contains', () => {
    const trust = trustFromKit(JSON.stringify(kit), vectors.origin);
    assert.equal(trust.policy_source, 'operator');
    for (const { doc, result } of vectors.documents) {
      assert.deepEqual(
        verifyAbsence(doc, doc.question as unknown as Question, trust, suite),
        result,
      );
    }
  });

  it('reads the status of a key', () => {
    const keyOf = (change: JsonObject): unknown =>
      trustFromKit(keyed(change), vectors.origin, suite).keys[0];
    assert.deepEqual(keyOf({}), { kid, jwk, status: 'active' });
    assert.deepEqual(keyOf({ exp: 2 }), { kid, jwk, status: 'retired' });
    assert.deepEqual(keyOf({ exp: 2, revoked_at: 3, revoked_index: 4 }), {
      kid,
      jwk,
      status: 'revoked',
      revoked_at_ms: 3000,
      revoked_index: 4,
    });
  });

  it('keeps the keys of other logs separate', () => {
    const other = keyed({ origin: 'log.example/log/sandbox/1' });
    assert.deepEqual(trustFromKit(other, vectors.origin, suite).keys, []);
  });

  it('works without a policy', () => {
    assert.equal(trustFromKit({ ...kit, policy: null }, vectors.origin, suite).policy, undefined);
  });

  it('refuses anything but a kit of the log', () => {
    const bad: readonly (readonly [Json, string])[] = [
      ['{', 'json_invalid'],
      [[], 'document_invalid'],
      [{ ...kit, schema: 'x' }, 'document_invalid'],
      [{ ...kit, logs: [] }, 'document_invalid'],
      [{ ...kit, keys: { keys: [null] } }, 'document_invalid'],
      [keyed({ x: 'AA' }), 'key_invalid'],
      [{ ...kit, policy: 'quorum both' }, 'policy_invalid'],
    ];
    for (const [value, wanted] of bad) {
      assert.throws(() => trustFromKit(value, vectors.origin, suite), code(wanted));
    }
  });
});
