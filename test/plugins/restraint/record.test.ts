// Tests of plugins/restraint/record.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { canonical } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import type { SequencePoint } from '../../../plugins/contract/index.ts';
import { CAUSES, restraintDraft, restraintReceiptRef } from '../../../plugins/restraint/index.ts';

interface Vector {
  readonly name: string;
  readonly preimage: Parameters<typeof restraintReceiptRef>[0];
  readonly canonical: string;
  readonly restraint_receipt_ref: string;
}

const { restraint_receipt_ref: vectors } = JSON.parse(
  readFileSync(new URL('../../vectors/action-ref.json', import.meta.url), 'utf8'),
) as { restraint_receipt_ref: readonly Vector[] };

const ACTION = 'ab'.repeat(32);
const DECISION = '01890000-0000-7000-8000-000000000001';
const OWN = '01890000-0000-7000-8000-000000000002';

const at = (group: readonly { type: string; entry_id: string }[] = []): SequencePoint =>
  ({
    index: 7,
    entry_id: OWN,
    issued_at_ms: 1000,
    group,
    rows: { get: () => undefined },
    surfaces: { owner: () => null, manifest: () => null, heartbeat: () => null },
  }) as unknown as SequencePoint;

const membersOf = (
  restraint: Partial<Parameters<typeof restraintDraft>[0]>,
  point = at(),
): JsonObject => {
  const { members } = restraintDraft({
    cause: CAUSES.DENY,
    action_ref: ACTION,
    timestamp_ms: 900,
    private: { action_not_taken: 'x', decision_reason: 'y' },
    ...restraint,
  });
  assert.equal(typeof members, 'function');
  return typeof members === 'function' ? members(point) : members;
};

describe('restraintReceiptRef', () => {
  for (const { name, preimage, canonical: text, restraint_receipt_ref } of vectors) {
    it(`matches the vector ${name}`, () => {
      assert.equal(canonical(preimage), text);
      assert.equal(restraintReceiptRef(preimage), restraint_receipt_ref);
    });
  }
});

describe('restraintDraft', () => {
  it('names the preceding decision of its group', () => {
    const group = [{ type: 'gate.decision.v3', entry_id: DECISION }];
    const members = membersOf({ decision: 'gate.decision.v3' }, at(group));
    assert.equal(members['decision_id'], DECISION);
    assert.equal(members['deontic_modality'], 'FORBIDDEN');
    assert.equal(members['surface'], undefined);
  });

  it('is its own decision if none precedes it, and is then the attempt on its surface', () => {
    const members = membersOf({ cause: CAUSES.HOLD, entity: 'acme', surface: 'pay' });
    assert.equal(members['decision_id'], OWN);
    assert.deepEqual(
      [members['verdict'], members['deontic_modality'], members['surface_declared']],
      ['deferred', 'OMISSIBLE', false],
    );
  });

  it('refuses a surface beside a decision, and a decision that does not exist', () => {
    assert.throws(() => membersOf({ decision: 'gate.decision.v3', entity: 'a', surface: 'pay' }));
    assert.throws(() => membersOf({ decision: 'gate.decision.v3' }));
  });
});
