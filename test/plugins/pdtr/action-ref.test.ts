// action_ref in every profile: vectors, refusals, and that different acts differ. gateway/API.md §7.1, §7.6.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { LogError, parseJson } from '../../../log/index.ts';
import { ApiError } from '../../../plugins/contract/index.ts';
import { actionRef, actionRefs, PROFILES } from '../../../plugins/pdtr/index.ts';
import type { ActionTuple, Profile } from '../../../plugins/pdtr/index.ts';
import { verifyActionRef } from '../../../plugins/pdtr/verify-action-ref.ts';

interface Vectors {
  readonly vectors: readonly {
    readonly name: string;
    readonly profile: Profile;
    readonly preimage: object;
    readonly canonical: string;
    readonly action_ref: string;
  }[];
  readonly negative: readonly {
    readonly name: string;
    readonly preimage?: object;
    readonly preimage_text?: string;
    readonly must_not_equal?: string;
    readonly error?: string;
  }[];
}

const { vectors, negative } = JSON.parse(
  readFileSync(new URL('../../vectors/action-ref.json', import.meta.url), 'utf8'),
) as Vectors;

const TUPLE: ActionTuple = {
  ...{ agent_id: 'a', action_type: 'b', scope: 'c' },
  ...{ timestamp_ms: 1_747_728_000_000, seq: 0, terminal: true },
};

describe('action_ref', () => {
  for (const { name, profile, preimage, canonical, action_ref } of vectors) {
    it(`verifies ${name} with ${profile}`, () => {
      const result = verifyActionRef({ preimage, action_ref });
      assert.equal(result.valid, true);
      assert.equal(result.match_profile, profile);
      assert.equal(result.computed?.[profile], action_ref);
      assert.equal(result.canonical, canonical);
      assert.deepEqual(result.ignored_fields, []);
      assert.deepEqual(result.errors, []);
    });

    it(`rejects a changed ${name}`, () => {
      const last = action_ref.endsWith('0') ? '1' : '0';
      const result = verifyActionRef({ preimage, action_ref: action_ref.slice(0, -1) + last });
      assert.equal(result.valid, false);
      assert.equal(result.match_profile, null);
      assert.deepEqual(
        result.errors.map(({ code }) => code),
        ['action_ref_mismatch'],
      );
    });
  }

  for (const { name, preimage, preimage_text, must_not_equal, error } of negative) {
    it(`refuses ${name}`, () => {
      let code: string | undefined;
      try {
        const text = preimage_text ?? JSON.stringify(preimage);
        const given = parseJson(text, { fractions: true }) as object;
        const result = verifyActionRef({ preimage: given, action_ref: must_not_equal ?? '' });
        assert.notEqual(result.valid, true);
        code = result.errors[0]?.code;
      } catch (thrown) {
        // The parser refuses an integer that a double would change.
        if (thrown instanceof LogError) code = 'invalid_json';
        else if (thrown instanceof ApiError) code = thrown.code;
        else throw thrown;
      }
      const parsed = preimage_text === undefined ? [] : ['invalid_json'];
      const expected = must_not_equal === undefined ? [error, ...parsed] : ['action_ref_mismatch'];
      assert.ok(expected.includes(code), code);
    });
  }

  it('has six fields, with and without the sha256: prefix', () => {
    const claim = actionRef('x402-settlement-binding-v0', TUPLE)?.slice('sha256:'.length) ?? '';
    const { seq, terminal, ...rest } = TUPLE;
    const { valid, match_profile } = verifyActionRef({
      preimage: { ...rest, seq, terminal },
      action_ref: claim,
    });
    assert.deepEqual([valid, match_profile], [true, 'x402-settlement-binding-v0']);
  });

  it('matches no textual profile outside ASCII or after the year 9999', () => {
    for (const tuple of [
      { ...TUPLE, agent_id: 'é' },
      { ...TUPLE, timestamp_ms: 253_402_300_800_000 },
      { ...TUPLE, timestamp_ms: Number.MAX_SAFE_INTEGER },
    ]) {
      const refs = actionRefs(tuple);
      assert.equal(refs['action-ref-v1'], null);
      assert.equal(refs['action-ref-v2'], null);
      assert.match(refs['action-ref-v1-ms'] ?? '', /^[0-9a-f]{64}$/);
    }
  });

  it('differs for every two acts, without normalisation of text', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 8 });
    const tuple = fc.record({ agent_id: text, action_type: text, scope: text });
    fc.assert(
      fc.property(tuple, tuple, (one, other) => {
        const a = actionRef('action-ref-v1-ms', { ...TUPLE, ...one });
        const b = actionRef('action-ref-v1-ms', { ...TUPLE, ...other });
        assert.equal(a === b, JSON.stringify(one) === JSON.stringify(other));
      }),
    );
    const composed = actionRef('action-ref-v1-ms', { ...TUPLE, scope: '\u00e9' });
    assert.notEqual(composed, actionRef('action-ref-v1-ms', { ...TUPLE, scope: 'e\u0301' }));
  });
});

describe('verifyActionRef', () => {
  const preimage = { agent_id: 'a', action_type: 'b', scope: 'c', timestamp_ms: 1 };
  const codeOf = (request: Parameters<typeof verifyActionRef>[0]): unknown => {
    try {
      verifyActionRef(request);
      return null;
    } catch (error) {
      return error instanceof ApiError ? [error.code, error.param] : error;
    }
  };

  it('accepts members in the request and in the preimage if they agree', () => {
    const alone = verifyActionRef({ preimage });
    const both = verifyActionRef({ preimage, agent_id: 'a', timestamp_ms: 1 });
    const flat = verifyActionRef({ agent_id: 'a', action_type: 'b', scope: 'c', timestamp_ms: 1 });
    assert.deepEqual(both.computed, alone.computed);
    assert.deepEqual(flat.computed, alone.computed);
    assert.equal(alone.valid, null);
    assert.deepEqual(codeOf({ preimage, agent_id: 'x' }), ['preimage_conflict', 'agent_id']);
    assert.deepEqual(codeOf({ preimage: { ...preimage, agentId: 'x' } }), [
      ...['preimage_conflict', 'preimage.agentId'],
    ]);
  });

  it('accepts seq and terminal among the members, as a bind does', () => {
    const flat = { agent_id: 'a', action_type: 'b', scope: 'c', timestamp_ms: 1 };
    const open = { seq: 2, terminal: false };
    const { computed } = verifyActionRef({ preimage: { ...flat, ...open } });
    const claimed = computed?.['x402-settlement-binding-v0'] ?? '';
    assert.equal(verifyActionRef({ ...flat, ...open, action_ref: claimed }).valid, true);
    assert.equal(verifyActionRef({ ...flat, action_ref: claimed }).valid, false);
    const preimage = { ...flat, seq: 1 };
    assert.deepEqual(codeOf({ preimage, seq: 2 }), ['preimage_conflict', 'seq']);
  });

  it('refuses two timestamps, and timestamps in another format', () => {
    const { timestamp_ms, ...rest } = preimage;
    const timestamp = new Date(timestamp_ms).toISOString();
    assert.deepEqual(codeOf({ preimage: { ...preimage, timestamp } }), [
      ...['ambiguous_timestamp', 'timestamp'],
    ]);
    for (const text of ['2025-02-30T00:00:00.000Z', '2025-01-01T24:00:00.000Z', '', '1', 5, null]) {
      assert.deepEqual(codeOf({ preimage: { ...rest, timestamp: text } }), [
        ...['parameter_invalid', 'preimage.timestamp'],
      ]);
    }
    assert.equal(verifyActionRef({ preimage: { ...rest, timestamp } }).ok, true);
  });

  it('refuses members of a wrong type', () => {
    const wrong = { agent_id: 5, scope: null, timestamp_ms: 2 ** 53, seq: -1, terminal: 'yes' };
    for (const [name, value] of Object.entries(wrong)) {
      const given = { ...preimage, [name]: value };
      assert.deepEqual(codeOf({ preimage: given }), ['parameter_invalid', `preimage.${name}`]);
    }
  });

  it('lists missing and ignored members', () => {
    const empty = verifyActionRef({});
    assert.deepEqual([empty.ok, empty.valid, empty.computed], [false, null, null]);
    assert.deepEqual(
      empty.errors.map(({ param }) => param),
      ['agent_id', 'action_type', 'scope', 'timestamp_ms'],
    );
    const given = JSON.parse(
      '{"agent_id":"a","action_type":"b","scope":"c","timestamp_ms":1,"__proto__":{},"memo":"x"}',
    ) as object;
    const { ignored_fields, computed } = verifyActionRef({ preimage: given });
    assert.deepEqual(ignored_fields, ['__proto__', 'memo']);
    assert.deepEqual(computed, verifyActionRef({ preimage }).computed);
    assert.equal(PROFILES.length, Object.keys(computed ?? {}).length);
  });
});
