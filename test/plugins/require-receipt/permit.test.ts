// The rules for permits in gateway/API.md §8.2, each with a permit that breaks this rule only.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { toBase64Url, utf8 } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { formatTlogProof } from '../../../log/note/tlog-proof.ts';
import { fromBase64 } from '../../../log/index.ts';
import { actionOf, actionRefOf } from '../../../plugins/require-receipt/action.ts';
import {
  encodePresented,
  MAX_HEADER_CHARS,
  readHeader,
  receiptHeader,
} from '../../../plugins/require-receipt/header.ts';
import type { Presented } from '../../../plugins/require-receipt/header.ts';
import { verifyPermit } from '../../../plugins/require-receipt/permit.ts';
import type { PermitTrust, Refusal } from '../../../plugins/require-receipt/permit.ts';
import { keysFromJwks } from '../../../plugins/require-receipt/trusted-keys.ts';
import { TENANT } from '../../support/forge.ts';
import { altered, GateLog } from './permits.ts';
import type { Bent } from './permits.ts';

const log = new GateLog();
const action = actionOf({
  audience: 'https://shop.example',
  action_type: 'payment.release',
  method: 'POST',
  target: '/payments/7/release',
  fields: { amount: 12.5 },
});
const trust: PermitTrust = {
  origin: log.origin,
  vkey: log.vkey,
  tenants: [TENANT],
  ...keysFromJwks(log.jwks(), log.origin),
};

/** The reason for the refusal, or null if the permit is accepted. */
function said(
  presented: Presented,
  change: Partial<PermitTrust> = {},
  now_ms = log.ms,
): Refusal | null {
  const result = verifyPermit(presented, action, { ...trust, ...change }, now_ms);
  return result.ok ? null : result.refused;
}
const bent = (how: Bent): Refusal | null => said(log.permit(action, how));

describe('a permit', () => {
  it('is accepted with its members if every rule is met', () => {
    const presented = log.permit(action);
    const result = verifyPermit(presented, action, trust, log.ms);
    assert.ok(result.ok);
    const { permit } = result;
    assert.equal(permit.id, `${log.origin}#${presented.receipt['entry_id'] as string}`);
    assert.equal(permit.preimage.agent_id, 'agent-7');
    assert.equal(permit.tenant_ref, TENANT);
    assert.equal(permit.expires_at_ms, (presented.receipt['issued_at_ms'] as number) + 900_000);
    assert.equal(permit.statement['outcome'], 'PERMIT');
    assert.ok(!('signature' in permit.statement));
  });

  it('must be a decision of the gate with the outcome PERMIT', () => {
    for (const outcome of ['HOLD', 'DENY', 'SILENCE', 'permit']) {
      assert.equal(bent({ outcome }), 'not_a_permit', outcome);
    }
    assert.equal(bent({ type: 'gate.permit_use.v1' }), 'not_a_permit');
    assert.equal(bent({ type: 'gate.decision.v1' }), null, 'of an earlier release');
  });

  it('must have the type and hash of this action, and an action_ref of both', () => {
    assert.equal(bent({ preimage: { action_type: 'payment.cancel' } }), 'action_mismatch');
    assert.equal(bent({ preimage: { scope: `sha256:${'0'.repeat(64)}` } }), 'action_mismatch');
    const { receipt, preimage } = log.permit(action);
    assert.ok(preimage);
    const lied = { receipt, preimage: { ...preimage, agent_id: 'somebody' } };
    assert.equal(said(lied), 'action_mismatch');
    assert.equal(said({ receipt, preimage: null }), 'preimage_missing');
  });

  it('must be of the pinned log, and of a sandbox log only if that is pinned', () => {
    const sandbox = new GateLog('sandbox');
    const presented = sandbox.permit(action);
    assert.equal(said(presented), 'sandbox_receipt');
    const pinned = { ...trust, ...keysFromJwks(sandbox.jwks(), sandbox.origin) };
    const there = { ...pinned, origin: sandbox.origin, vkey: sandbox.vkey };
    assert.equal(said(presented, there, sandbox.ms), null);
    assert.equal(said(log.permit(action), there), 'log_unknown');
    const renamed = altered(presented, { origin: log.origin, sandbox: false });
    assert.notEqual(said(renamed), null);
  });

  it('must be of a trusted tenant', () => {
    const presented = log.permit(action);
    assert.equal(said(presented, { tenants: ['AAAAAAAAAAAAAAAAAAAAAA'] }), 'tenant_not_accepted');
    assert.equal(said(presented, { tenants: 'any' }), null);
  });

  it('must be at most 900 seconds old', () => {
    const presented = log.permit(action);
    const issued = presented.receipt['issued_at_ms'] as number;
    assert.equal(said(presented, {}, issued + 900_000), null);
    assert.equal(said(presented, {}, issued + 900_001), 'receipt_expired');
    assert.equal(said(presented, {}, issued - 60_000), null, 'within the allowed clock skew');
    assert.equal(said(presented, {}, issued - 60_001), 'receipt_from_future');
  });

  it('ends at its permit_expires_at_ms', () => {
    const ends = log.ms + 5000;
    const presented = log.permit(action, { statement: { permit_expires_at_ms: ends } });
    assert.equal(said(presented, {}, ends), null);
    assert.equal(said(presented, {}, ends + 1), 'receipt_expired');
  });

  it('must be signed by a key in force', () => {
    const presented = log.permit(action);
    const of = (more: JsonObject): Refusal | null =>
      said(presented, keysFromJwks(log.jwks(more), log.origin));
    const seconds = Math.floor((presented.receipt['issued_at_ms'] as number) / 1000);
    assert.equal(
      of({ revoked_at: seconds + 600 }),
      'key_not_in_force',
      'also if it was signed before the revocation',
    );
    assert.equal(of({ revoked_index: 10_000 }), 'key_not_in_force');
    assert.equal(of({ exp: seconds + 60 }), null, 'retired since');
    assert.equal(of({ exp: seconds - 1 }), 'key_not_in_force', 'retired before');
    assert.equal(of({ kid: 'A'.repeat(43) }), 'key_unknown');
    assert.equal(of({ origin: 'other.example/log/live/1' }), 'key_unknown');
    assert.equal(of({ use: 'enc' }), 'key_unknown');
  });

  it('must be proved to be in the log', () => {
    assert.equal(bent({ unproven: true }), 'proof_missing');
    const { receipt, preimage } = log.permit(action);
    const other = log.permit(action).receipt['log'] as JsonObject;
    const place = receipt['log'] as JsonObject;
    const swapped = { ...place, inclusion_proof: other['inclusion_proof'] ?? null };
    assert.equal(said({ receipt: { ...receipt, log: swapped }, preimage }), 'proof_invalid');
    const { vkey } = new GateLog('sandbox');
    assert.equal(said({ receipt, preimage }, { vkey }), 'proof_invalid', 'another checkpoint key');
    const { log: _, ...bare } = receipt;
    const path = (place['inclusion_proof'] as string[]).map((node) => fromBase64(node));
    const tlog_proof = formatTlogProof({
      index: place['index'] as number,
      path,
      checkpoint: place['checkpoint'] as string,
    });
    assert.equal(
      said({ receipt: bare, preimage, tlog_proof }),
      null,
      'proved by a separate tlog-proof',
    );
  });

  it('is refused if any signed byte is changed', () => {
    const presented = log.permit(action);
    const derived = ['entry_hash', 'permalink', 'verify_url', 'log'];
    for (const [name, value] of Object.entries(presented.receipt)) {
      if (derived.includes(name)) continue;
      const other =
        typeof value === 'number'
          ? value - 1
          : typeof value === 'boolean'
            ? !value
            : `${JSON.stringify(value)}x`;
      assert.notEqual(said(altered(presented, { [name]: other })), null, name);
    }
    assert.notEqual(said(altered(presented, { added: 'x' })), null);
  });
});

describe('an action', () => {
  it('is a different one if service, method, path, query or body differ', () => {
    const request = {
      audience: 's',
      action_type: 'a',
      method: 'POST',
      target: '/x?y=1',
      fields: { n: 1 },
    };
    const { action_hash } = actionOf(request);
    for (const change of [
      { audience: 't' },
      { method: 'PUT' },
      { target: '/x?y=2' },
      { fields: { n: 2 } },
      { fields: null },
      { action_type: 'b' },
    ]) {
      assert.notEqual(actionOf({ ...request, ...change }).action_hash, action_hash);
    }
    const { fields: _, ...bodyless } = request;
    assert.notEqual(actionOf(bodyless).action_hash, action_hash);
    assert.equal(actionOf({ ...request, method: 'post' }).action_hash, action_hash);
  });
});

describe('X-Receipt', () => {
  const presented = log.permit(action);
  const value = encodePresented(presented);

  it('can be read back from base64url and base64, with or without padding', () => {
    assert.deepEqual(readHeader(value), presented);
    const padded = value.padEnd(Math.ceil(value.length / 4) * 4, '=');
    assert.deepEqual(readHeader(` ${padded.replaceAll('-', '+').replaceAll('_', '/')}`), presented);
  });

  it('may be a receipt alone, whose disclosures contain the preimage', () => {
    const { receipt, preimage } = presented;
    const told = { preimage: { salt: '00'.repeat(16), value: { ...preimage } } };
    const alone = toBase64Url(utf8(JSON.stringify({ ...receipt, disclosures: told })));
    assert.deepEqual(readHeader(alone)?.preimage, preimage);
    assert.equal(readHeader(toBase64Url(utf8(JSON.stringify(receipt))))?.preimage, null);
  });

  it('contains no disclosure but the preimage', () => {
    const { receipt, preimage } = presented;
    const disclosures = {
      preimage: { salt: '00'.repeat(16), value: { ...preimage } },
      message: { salt: '00'.repeat(16), value: 'what nobody else should read' },
    };
    const header = receiptHeader({ ok: true, receipt: { ...receipt, disclosures } });
    assert.deepEqual(readHeader(header), presented);
    assert.throws(() => receiptHeader({ receipt }), /preimage/);
  });

  it('is refused if it is too long, not base64, not JSON or nested too deep', () => {
    const encode = (text: string): string => toBase64Url(utf8(text));
    const { receipt, preimage } = presented;
    for (const bad of [
      'A'.repeat(MAX_HEADER_CHARS + 1),
      '%%%',
      'A',
      `${value}!`,
      `${value}, ${value}`,
      encode('{'),
      encode('[]'),
      encode('null'),
      encode('"x"'),
      encode('{"receipt":1}'),
      encode('{"receipt":{},"receipt":{}}'),
      encode('{"a":'.repeat(5000) + '1' + '}'.repeat(5000)),
      encode('['.repeat(30_000)),
      encode(JSON.stringify({ receipt, preimage: { ...preimage, more: 1 } })),
      encode(JSON.stringify({ receipt, preimage: 'x' })),
      encode(JSON.stringify({ receipt, tlog_proof: 7 })),
      toBase64Url(Uint8Array.of(0xff, 0xfe)),
    ]) {
      assert.equal(readHeader(bad), null, bad.slice(0, 60));
    }
  });

  it('with any content never makes the check throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const hostile = JSON.stringify({ receipt: { ...presented.receipt, links: a, log: b } });
        const read = readHeader(toBase64Url(utf8(hostile)));
        if (read !== null) assert.notEqual(said({ ...read, preimage: presented.preimage }), null);
      }),
      { numRuns: 50 },
    );
  });

  it('has the action_ref of the published profile', () => {
    // Vector of action-ref-v1-ms.
    const ref = '10d8a38c01d8672176aa6e5209a368fde3e1831640d69e15283142b35880c2c1';
    const preimage = {
      action_type: 'sanctions_screen',
      agent_id: 'did:web:agent-7.example.com',
      scope: 'counterparty-due-diligence',
      timestamp_ms: 1747728000000,
    };
    assert.equal(actionRefOf(preimage), ref);
  });
});
