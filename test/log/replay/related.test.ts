// The earlier entries that a violation names as contradicted; without them it would prove only half. log/FORMAT.md §7

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { fromUtf8, utf8 } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { decodeState, encodeState, Replay, Violation } from '../../../log/replay/replay.ts';
import { keyEntry, OTHER, rotate } from '../../support/break-rule.ts';
import type { Break } from '../../support/break-rule.ts';
import { ACT, ENTITY, Forge, seedKey, TENANT } from '../../support/forge.ts';

/** The usual log: 0 open, 1 tenant, 2 type, 3 claim, 4 act, 5 map head. */
const cases: readonly (readonly [string, readonly number[], Break])[] = [
  [
    'log_closed',
    [6],
    (log) => {
      log.add('log.closed.v1', { successor: null });
      log.mapHead();
      log.add('gate.decision.v1', ACT);
    },
  ],
  ['log_open', [0], (log) => log.open()],
  ['tenant_declared_twice', [1], (log) => log.tenant()],
  ['type_declared_twice', [2], (log) => log.declare('gate.decision.v1', { type: 'object' })],
  ['entity_claim', [3], (log) => log.claim()],
  [
    'entity_owner',
    [3],
    (log) => {
      log.tenant(OTHER);
      log.add('gate.decision.v1', { ...ACT, tenant_ref: OTHER });
    },
  ],
  [
    'key_status',
    [7],
    (log) => {
      rotate(log, 0x51);
      keyEntry(log, 0x42, 'active');
    },
  ],
  [
    'key_rotation',
    [6],
    (log) => {
      keyEntry(log, 0x51, 'active');
      log.key = seedKey(0x51);
      log.mapHead();
    },
  ],
  [
    'heartbeat',
    [3, 6],
    (log) => {
      const beat = { tenant_ref: TENANT, entity: ENTITY, surface: 'policy_bind', interval_ms: 60 };
      log.add('astl.heartbeat.v1', { ...beat, run_since_ms: log.ms + 1000 });
      log.add('astl.heartbeat.v1', { ...beat, run_since_ms: log.ms });
    },
  ],
  ['prev_map_head', [5], (log) => log.mapHead({ statement: { prev_map_head: null } })],
];

function violationOf(log: Forge, replay: Replay): Violation {
  for (const text of log.texts.slice(replay.size, -1)) replay.add(text);
  try {
    replay.add(log.texts.at(-1) ?? '');
  } catch (error) {
    assert.ok(error instanceof Violation, String(error));
    return error;
  }
  return assert.fail('the entry breaks a rule');
}

/** The state of a replay as an earlier version wrote it, without these indexes. */
function older(state: Uint8Array): Uint8Array {
  const { header, heads } = decodeState(state);
  const log = JSON.parse(JSON.stringify(header['log'])) as JsonObject;
  const { opening: _, closing: __, tenants, surfaces, ...rest } = log;
  const { owners, ...others } = surfaces as JsonObject;
  const before = {
    ...rest,
    tenants: (tenants as [string, number][]).map(([ref]) => ref),
    surfaces: { ...others, owners: (owners as [string, string][]).map((row) => row.slice(0, 2)) },
  };
  return encodeState({ ...header, log: before }, heads.slice());
}

describe('the entries that a violation contradicts', () => {
  for (const [rule, related, change] of cases) {
    it(`${rule}: ${String(related)}`, () => {
      const log = new Forge().usual();
      change(log);
      const violation = violationOf(log, new Replay({ suite: native }));
      assert.equal(violation.rule, rule);
      assert.deepEqual(violation.related, related);
    });
  }

  it('are the same after a resume, and unknown after a resume from an older version', () => {
    const log = new Forge().usual();
    const replay = new Replay({ suite: native });
    for (const text of log.texts) replay.add(text);
    const state = replay.state();
    log.claim();
    const again = Replay.resume(state, { suite: native });
    assert.deepEqual(violationOf(log, again).related, [3]);
    const old = Replay.resume(older(state), { suite: native });
    const violation = violationOf(log, old);
    assert.deepEqual([violation.rule, violation.related], ['entity_claim', []]);
    assert.deepEqual(utf8(fromUtf8(old.state().slice(0, 16))), utf8('actlog replay 1\n'));
  });
});
