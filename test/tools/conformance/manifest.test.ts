// The rules of RR-1 for a manifest of guarded actions, each broken once.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { faultOf } from '../../../tools/conformance/manifest.ts';

describe('a manifest', () => {
  const action: JsonObject = {
    id: 'refund',
    match: { protocol: 'http', method: 'POST', path: '/refunds' },
    action_type: 'payment.refund',
    risk: 'high',
    receipt_required: true,
    assurance_class: 'software',
  };
  const manifest = (actions: readonly JsonObject[], change: JsonObject = {}): JsonObject => ({
    '@version': 'EP-ACTION-RISK-MANIFEST-v0.1',
    service: { name: 'Refunds' },
    receipt_required: {
      status: 428,
      challenge_header: 'Receipt-Required',
      proof_header: 'X-Receipt',
    },
    actions,
    ...change,
  });

  it('is valid by the rules of its version', () => {
    assert.equal(faultOf(manifest([action])), null);
    const read = { id: 'list', match: { protocol: 'mcp', tool: 'list' }, receipt_required: false };
    assert.equal(faultOf(manifest([read, action])), null);
    assert.equal(
      faultOf(manifest([{ ...action, risk: 'critical', assurance_class: 'quorum' }])),
      null,
    );
  });

  it('is not valid if one of them is broken', () => {
    const { risk: _, ...riskless } = action;
    const { assurance_class: _class, ...unassured } = action;
    const { action_type: _type, ...untyped } = action;
    const bad: readonly JsonObject[] = [
      manifest([]),
      manifest([action], { '@version': 'EP-ACTION-RISK-MANIFEST-v0.2' }),
      manifest([action, action]),
      manifest([riskless]),
      manifest([unassured]),
      manifest([untyped]),
      manifest([{ ...action, risk: 'low' }]),
      manifest([{ ...action, risk: 'critical' }]),
      manifest([{ ...action, receipt_required: 'yes' }]),
      manifest([{ ...action, receipt_required: false }]),
      manifest([{ ...action, match: { protocol: 'http', method: 'POST' } }]),
      manifest([{ ...action, id: 7 }]),
    ];
    for (const [i, document] of bad.entries()) assert.notEqual(faultOf(document), null, String(i));
    assert.notEqual(faultOf(undefined), null);
    assert.notEqual(faultOf([]), null);
  });
});
