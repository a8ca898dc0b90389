// The decision of a session, from the row of the gate. gateway/API.md §7.5.

import assert from 'node:assert/strict';
import { bindDrafts } from '../../../plugins/pdtr/bind.ts';
import type { Binding } from '../../../plugins/pdtr/bind.ts';
import { decisionOfSession, NO_DECISION, sessionDecision } from '../../../plugins/pdtr/decision.ts';
import { sessionDecisionRow } from '../../../plugins/pdtr/index.ts';
import type { SessionDecision } from '../../../plugins/pdtr/index.ts';
import type { Json, SequencePoint } from '../../../plugins/contract/index.ts';

const SESSION = '-'.repeat(43);
const DECIDED: SessionDecision = {
  ...{ entry_id: '01890000-0000-7000-8000-000000000001', type: 'gate.decision.v3' },
  ...{ outcome: 'DENY', surface: true },
};
const rows = new Map<string, Json>([[sessionDecisionRow(SESSION), DECIDED as unknown as Json]]);

const BINDING = {
  request: { entity: 'acme', surface: 'pay' },
  tenant_ref: 't'.repeat(22),
  session_ref: SESSION,
  payment: { payment_hash: 'a'.repeat(64), form: 'hex', spelling: 'a'.repeat(64) },
  act: {
    tuple: {
      ...{ agent_id: 'a', action_type: 'b', scope: 'c' },
      ...{ timestamp_ms: 1, seq: 0, terminal: true },
    },
    defaulted: [],
    action_ref: 'b'.repeat(64),
    settlement_action_ref: `sha256:${'c'.repeat(64)}`,
    ...{ claimed: null, profile: null, verified: true },
  },
  listed: { rails: new Set(), currencies: new Map() },
  earlier: [],
  toll: { id: 'pdtr_bind', micro_usd: 1 },
} as unknown as Binding;

describe('the decision behind a payment', () => {
  it('is the newest of the session, unchanged, with the surface that it names', () => {
    const decision = decisionOfSession(sessionDecision(rows, SESSION));
    assert.deepEqual(
      [decision.source, decision.linked, decision.outcome],
      ['session', true, 'DENY'],
    );
    const drafts = bindDrafts(BINDING, decision);
    assert.equal(drafts.length, 1);
    const members = drafts[0]?.members;
    assert.ok(typeof members === 'function');
    const placed = members({
      group: [],
      rows: { get: () => undefined },
      surfaces: { owner: () => null, manifest: () => null, heartbeat: () => null },
    } as unknown as SequencePoint);
    assert.equal(placed['decision_entry_id'], DECIDED.entry_id);
    assert.equal(placed['decision_outcome'], 'DENY');
    assert.equal(placed['surface'], undefined);
  });

  it('is recorded as absent if the session has none', () => {
    assert.equal(decisionOfSession(sessionDecision(rows, 'x'.repeat(43))), NO_DECISION);
    const [note, twin] = bindDrafts(BINDING, NO_DECISION);
    assert.equal(note?.type, 'pdtr.decision_not_supplied.v1');
    assert.equal(twin?.type, 'pdtr.twin.v2');
    assert.doesNotMatch(JSON.stringify(note), /ALLOW|PERMIT/);
  });
});
