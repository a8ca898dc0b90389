// The replay of a log that keeps the rules: the vectors, every rule at its limits, state and checkpoints.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { toHex, utf8 } from '../../../log/encoding/bytes.ts';
import { canonical } from '../../../log/encoding/canonical.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { LogError } from '../../../log/errors.ts';
import { encodeHead } from '../../../log/map/head.ts';
import { openCheckpoint } from '../../../log/note/checkpoint.ts';
import { Replay, Violation, readText } from '../../../log/replay/replay.ts';
import { readEntry } from '../../../log/verify/entry.ts';
import { vectors } from '../../support/absence-vectors.ts';
import { ACT, ENTITY, Forge, hex64, name43, seedKey, TENANT } from '../../support/forge.ts';

const replayed = (texts: readonly string[]): Replay => {
  const replay = new Replay({ suite: native });
  for (const text of texts) replay.add(text);
  return replay;
};

/** A log with everything that the rules allow, at their limits. */
function rich(): Forge {
  const log = new Forge().usual();
  const old = log.key;
  log.add('log.key.v1', { key: seedKey(0x44).jwk as unknown as JsonObject, status: 'active' });
  log.key = seedKey(0x44);
  log.add('log.key.v1', { key: old.jwk as unknown as JsonObject, status: 'retired' });
  log.add('log.key.v1', { key: old.jwk as unknown as JsonObject, status: 'revoked' });
  log.manifest({ heartbeat_interval_ms: 5000, min_detectable_gap_ms: 10_000 });
  const beat = { tenant_ref: TENANT, entity: ENTITY, surface: 'policy_bind', interval_ms: 5000 };
  const run_since_ms = log.ms + 1000;
  log.add('astl.heartbeat.v1', { ...beat, run_since_ms });
  log.add('astl.heartbeat.v1', { ...beat, run_since_ms, acts_total: 1 }, { after_ms: 5000 });
  log.add('astl.heartbeat.v1', { ...beat, run_since_ms: log.ms + 5001 }, { after_ms: 5001 });
  log.add('gate.decision.v1', {
    ...ACT,
    outcome: 'on hold',
    case_id: 'case-7:a',
    amount: [1, true, null, '-12.50'],
    detail: { code: 'A-1', per_surface: 2 },
    session_ref: name43(1).replace(/.$/, 'A'),
    payment_hash: hex64(1),
    action_ref: hex64(2),
    trigger_id: '01a0c450-6c00-7000-8000-000000000000',
    commitments: { message: hex64(3) },
    event_at_ms: log.ms + 1000 + 60_000,
    toll: 'hold',
    toll_micro_usd: 500_000,
    cleared_micro_usd: 0,
    submitter: { alg: 'EdDSA', key: 'a+/=', sig: 'b' },
  });
  log.add('gate.decision.v1', { outcome: 'DENY', case_id: 'case-7:a' }, { after_ms: 0 });
  log.add('gate.decision.v1', { ...ACT, event_at_ms: log.ms - 86_400_000 }, { after_ms: 0 });
  log.add('astl.entity.v1', { tenant_ref: TENANT, entity: ENTITY, action: 'release' });
  log.claim();
  log.mapHead().mapHead();
  log.add('log.closed.v1', { successor: 'log.example/log/live/2' });
  return log.mapHead();
}

describe('replay', () => {
  it('accepts the log of the vectors, entry by entry, with both checkpoints', () => {
    const replay = new Replay({ suite: native, origin: vectors.origin });
    const checkpoints = vectors.checkpoints.map((note) =>
      openCheckpoint(native, note, { origin: vectors.origin, vkey: vectors.vkey }),
    );
    for (const [i, text] of vectors.entries.entries()) {
      const { index, leafHash } = replay.add(text);
      assert.equal(index, i);
      assert.equal(toHex(leafHash), vectors.leaf_hashes[i]);
      assert.equal(toHex(replay.root()), vectors.roots[i]);
      for (const checkpoint of checkpoints) {
        if (checkpoint.size === replay.size) replay.checkCheckpoint(checkpoint);
      }
    }
    const head = replay.headOf(['surface', ENTITY, 'policy_bind']);
    assert.equal(head && toHex(encodeHead(head)), vectors.head_record.bytes);
    assert.equal(replay.headOf(['surface', ENTITY, 'nothing']), null);
    assert.deepEqual(replay.mapHead, { index: 19, issued_at_ms: 1_790_000_504_500 });
  });

  it('accepts entries at the limits of the rules, and agrees with the definitions', () => {
    const log = rich();
    const replay = replayed(log.texts);
    assert.equal(toHex(replay.root()), toHex(log.root()));
    assert.equal(toHex(replay.mapRoot()), toHex(log.mapRoot()));
    assert.equal(replay.closed, true);
    assert.deepEqual([...replay.kinds()], [['gate.case', 1]]);
    assert.equal(replay.headOf(['gate.case', 'case-7:a'])?.count, 2);
    assert.deepEqual(
      replay.keys().map((key) => [key.status, key.since_index, key.ended_index, key.revoked_index]),
      [
        ['revoked', 0, 7, 8],
        ['active', 6, undefined, undefined],
      ],
    );
  });

  it('accepts any schema of JSON Schema 2020-12', () => {
    const log = new Forge().usual();
    log.declare('ext.note.v1', {
      $id: 'https://example.org/note',
      properties: { when: { format: 'date-time' } },
      required: ['when', 'who'],
      prefixItems: [{}],
      minimum: 3,
    });
    log.declare('ext.note.v2', { $id: 'https://example.org/note', type: ['object', 'null'] });
    log.add('ext.note.v1', { when: 'yesterday', who: 7 });
    assert.equal(replayed(log.texts).size, 9);
  });

  it('accepts a sandbox log', () => {
    assert.equal(replayed(new Forge('log.example/log/sandbox/1').usual().texts).size, 6);
  });

  it('continues from its state at every size as if it had not stopped', () => {
    const { texts } = rich();
    let replay = new Replay({ suite: native });
    for (const text of texts) {
      replay = Replay.resume(replay.state(), { suite: native });
      replay.add(text);
    }
    assert.deepEqual(replay.state(), replayed(texts).state());
  });

  it('refuses a state that is damaged, of another version or of another log', () => {
    const state = replayed(new Forge().usual().texts).state();
    const corrupt = (error: unknown): boolean =>
      error instanceof LogError && error.code === 'store_corrupt';
    for (const at of [0, 20, state.length - 100, state.length - 1]) {
      const damaged = state.slice();
      damaged[at]! ^= 1;
      assert.throws(() => Replay.resume(damaged, { suite: native }), corrupt);
    }
    assert.throws(() => Replay.resume(new Uint8Array(0), { suite: native }), corrupt);
    const origin = 'log.example/log/live/2';
    assert.throws(() => Replay.resume(state, { suite: native, origin }), corrupt);
  });

  it('returns deferred signatures once, each with the key and message to verify it', () => {
    const { texts } = new Forge().usual();
    const replay = new Replay({ suite: native, verifySignatures: 'deferred' });
    for (const text of texts) replay.add(text);
    assert.throws(() => replay.state());
    const jobs = replay.takeJobs();
    assert.deepEqual(
      jobs.map(({ index }) => index),
      [...texts.keys()],
    );
    for (const { publicKey, message, signature } of jobs) {
      assert.equal(native.verify(publicKey, message, signature), true);
    }
    assert.equal(replay.takeJobs().length, 0);
    assert.equal(Replay.badSignature(jobs[3]!.index).index, 3);
  });

  it('names the entry before if the two together prove a violation', () => {
    const log = new Forge().usual();
    log.add('gate.decision.v1', ACT);
    log.add('gate.decision.v1', ACT, { after_ms: -1 });
    const replay = replayed(log.texts.slice(0, -1));
    assert.throws(
      () => replay.add(log.texts[7]!),
      (error) => {
        assert.ok(error instanceof Violation);
        assert.deepEqual(error.related, [6]);
        return true;
      },
    );
  });

  describe('checkpoints', () => {
    const log = new Forge().usual();
    const { origin } = log;
    const broken = (rule: string) => (error: unknown) =>
      error instanceof Violation && error.rule === rule;

    it('checkpoint_root: another root at the size', () => {
      const checkpoint = { origin, size: 6, root: log.root(5) };
      assert.throws(() => {
        replayed(log.texts).checkCheckpoint(checkpoint);
      }, broken('checkpoint_root'));
    });

    it('checkpoint_origin: of another log', () => {
      const checkpoint = { origin: 'log.example/log/live/2', size: 6, root: log.root() };
      assert.throws(() => {
        replayed(log.texts).checkCheckpoint(checkpoint);
      }, broken('checkpoint_origin'));
    });

    it('checkpoint_map_head: without a map head at its end', () => {
      const replay = replayed(log.texts.slice(0, 5));
      const checkpoint = { origin, size: 5, root: log.root(5) };
      assert.throws(() => {
        replay.checkCheckpoint(checkpoint);
      }, broken('checkpoint_map_head'));
    });

    it('can be checked at their own size only', () => {
      const replay = replayed(log.texts);
      assert.throws(
        () => {
          replay.checkCheckpoint({ origin, size: 5, root: log.root(5) });
        },
        (error) => error instanceof LogError && error.code === 'out_of_range',
      );
      replay.checkCheckpoint({ origin, size: 6, root: log.root() });
    });
  });

  it('reads an entry by the fast path exactly as by the slow one', () => {
    const name = fc.constantFrom(
      'a',
      '1',
      '10',
      '9',
      '__proto__',
      'signature',
      'ö',
      '\u{1f600}',
      '\ufb33',
      'type',
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.integer(),
        fc.string({ unit: 'grapheme' }),
        fc.boolean(),
        tie('list'),
        tie('object'),
      ),
      list: fc.array(tie('any'), { maxLength: 3 }),
      object: fc.dictionary(name, tie('any'), { maxKeys: 4 }),
    })).object;
    const signature = 'A'.repeat(86) + '==';
    fc.assert(
      fc.property(value, fc.boolean(), (object, nested) => {
        const inner = nested ? { inner: { signature } } : {};
        const text = canonical({ ...(object as JsonObject), ...inner, signature });
        assert.deepEqual(plain(readText(native, text)), plain(readEntry(native, text)));
      }),
      { numRuns: 500 },
    );
  });
});

/** Buffers and arrays of the same bytes become equal. */
function plain(parts: ReturnType<typeof readEntry>): unknown {
  return {
    ...parts,
    message: toHex(parts.message),
    leafHash: toHex(parts.leafHash),
    size: utf8(parts.text).length,
  };
}
