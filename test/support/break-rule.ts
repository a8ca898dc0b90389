// Breaks the rules of a log one at a time, and records which test file breaks which rule.

import assert from 'node:assert/strict';
import { native } from '../../log/crypto/native.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { RULES } from '../../log/rules/violation.ts';
import { Replay, Violation } from '../../log/replay/replay.ts';
import type { Rule } from '../../log/replay/replay.ts';
import { ACT, Forge, name43, seedKey } from './forge.ts';

/** Writes entries, the last of which breaks a rule. */
export type Break = (log: Forge) => void;

/** A rule, a description of the breach, and the entries that break it after the six of the usual log. */
export type Case = readonly [Rule, string, Break];

/** The test file in test/log/replay that breaks a rule; the compiler checks that no rule is left out. */
const FILE_OF: Readonly<Record<Rule, string>> = {
  entry_size: 'text-rules',
  entry_json: 'text-rules',
  entry_canonical: 'text-rules',
  signature_form: 'text-rules',
  member_forbidden: 'member-rules',
  type_form: 'member-rules',
  origin: 'member-rules',
  sandbox: 'member-rules',
  index: 'member-rules',
  entry_id: 'member-rules',
  entry_id_order: 'member-rules',
  issued_at_ms: 'member-rules',
  time_order: 'member-rules',
  time_after_map_head: 'member-rules',
  kid: 'key-rules',
  signature: 'text-rules',
  tenant_ref: 'member-rules',
  tenant_unknown: 'member-rules',
  commitments: 'member-rules',
  event_at_ms: 'member-rules',
  toll: 'member-rules',
  submitter: 'member-rules',
  builtin_members: 'type-rules',
  log_open: 'life-rules',
  predecessor: 'life-rules',
  successor: 'life-rules',
  log_closed: 'life-rules',
  type_undeclared: 'type-rules',
  type_declared_twice: 'type-rules',
  type_schema: 'type-rules',
  type_template: 'type-rules',
  schema: 'type-rules',
  clear_text: 'type-rules',
  key_status: 'key-rules',
  key_rotation: 'key-rules',
  tenant_declared_twice: 'member-rules',
  reserved_members: 'chain-rules',
  links: 'chain-rules',
  entity_claim: 'chain-rules',
  entity_owner: 'chain-rules',
  manifest: 'chain-rules',
  heartbeat: 'chain-rules',
  prev_map_head: 'chain-rules',
  map_root: 'chain-rules',
  checkpoint_origin: 'replay',
  checkpoint_root: 'replay',
  checkpoint_map_head: 'replay',
};

/** A second tenant. */
export const OTHER = name43(2).slice(0, 22);

/** An act with these members added to the usual ones. */
export const act =
  (members: JsonObject): Break =>
  (log) => {
    log.add('gate.decision.v1', { ...ACT, ...members });
  };

/** An act whose complete statement is changed before it is signed. */
export const bent =
  (statement: Readonly<Record<string, Json | undefined>>): Break =>
  (log) => {
    log.add('gate.decision.v1', ACT, { statement });
  };

/** An act whose text is changed after it is signed. */
export const garbled =
  (text: (text: string) => string): Break =>
  (log) => {
    log.add('gate.decision.v1', ACT, { text });
  };

/** Declares the status of the key with this seed. */
export function keyEntry(log: Forge, byte: number, status: string): void {
  log.add('log.key.v1', { key: seedKey(byte).jwk as unknown as JsonObject, status });
}

/** Rotates to a new key and retires the old one. */
export function rotate(log: Forge, byte: number): void {
  const old = log.key;
  keyEntry(log, byte, 'active');
  log.key = seedKey(byte);
  log.add('log.key.v1', { key: old.jwk as unknown as JsonObject, status: 'retired' });
}

/** Replays all entries: the last one must break the rule and not change the state. */
export function refuses(log: Forge, rule: Rule, replay = new Replay({ suite: native })): void {
  const last = log.texts.at(-1) ?? '';
  for (const text of log.texts.slice(0, -1)) replay.add(text);
  const before = replay.state();
  assert.throws(
    () => replay.add(last),
    (error) => {
      assert.ok(error instanceof Violation, String(error));
      assert.equal(error.rule, rule, error.message);
      assert.equal(error.index, log.size - 1);
      return true;
    },
  );
  assert.deepEqual(replay.state(), before, 'a refused entry does not change the state');
}

/** The tests of one file: each case, and that the file breaks every rule assigned to it. */
export function breaksRules(
  file: string,
  cases: readonly Case[],
  elsewhere: readonly Rule[] = [],
): void {
  for (const [rule, how, change] of cases) {
    it(`${rule}: ${how}`, () => {
      const log = new Forge().usual();
      change(log);
      refuses(log, rule);
    });
  }

  it('breaks every rule assigned to this file', () => {
    const broken = new Set([...cases.map(([rule]) => rule), ...elsewhere]);
    assert.deepEqual(
      RULES.filter((rule) => FILE_OF[rule] === file && !broken.has(rule)),
      [],
    );
  });
}
