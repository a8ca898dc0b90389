// Bodies that a bind refuses, hostile texts that it accepts, and that neither enters the log. gateway/API.md §4.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { problem } from '../astl/surfaces.ts';
import { ACT, assertUnwritten, fresh, servePayments } from './payments.ts';
import type { Payments } from './payments.ts';

describe('bind-payment: refusals', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  it('keeps what callers wrote out of the log', async () => {
    const hidden = 'zebra crossing at noon';
    await served.bound({
      ...{ payment_hash: fresh(), session_id: hidden, domain: hidden, scope: hidden },
      ...{ action_type: hidden, agent_id: hidden, currency: hidden, settlement_rail: hidden },
    });
    for (const kind of ['live', 'sandbox'] as const) assertUnwritten(served.log(kind));
  });

  it('refuses malformed bodies with the error envelope', async () => {
    const long = 'x'.repeat(513);
    const wrong: readonly (readonly [object, string, string])[] = [
      [{}, 'parameter_missing', 'payment_hash'],
      [{ payment_hash: 5 }, 'parameter_invalid', 'payment_hash'],
      [{ payment_hash: 'short' }, 'invalid_payment_hash', 'payment_hash'],
      [{ payment_hash: long }, 'parameter_invalid', 'payment_hash'],
      [{ payment_response: 'e30=' }, 'parameter_invalid', 'payment_response'],
      ...['action_type', 'agent_id', 'currency', 'domain', 'entry_id', 'scope', 'session_id']
        .concat(['settlement_rail', 'action_ref'])
        .flatMap((name) =>
          [long, 5, null, {}].map(
            (value) => [{ [name]: value }, 'parameter_invalid', name] as const,
          ),
        ),
      ...['amount_atomic', 'seq', 'timestamp_ms', 'event_at_ms'].flatMap((name) =>
        [1.5, -1, 2 ** 53, name === 'amount_atomic' ? '9'.repeat(79) : '1', null].map(
          (value) => [{ [name]: value }, 'parameter_invalid', name] as const,
        ),
      ),
      ...['', '01', '-1', '1.0', '1e3', ' 1', '0x1'].map(
        (amount_atomic) => [{ amount_atomic }, 'parameter_invalid', 'amount_atomic'] as const,
      ),
      [{ terminal: 1 }, 'parameter_invalid', 'terminal'],
      [{ entity: 'Acme' }, 'parameter_invalid', 'entity'],
      [{ entity: 'payer', surface: 'A' }, 'parameter_invalid', 'surface'],
      [{ event_at_ms: 1 }, 'parameter_invalid', 'event_at_ms'],
    ];
    for (const [body, code, param] of wrong) {
      const payment = 'payment_response' in body || Object.keys(body).length === 0;
      const answer = await served.bind(payment ? body : { payment_hash: fresh(), ...body });
      assert.deepEqual(problem(answer), [400, code, param], JSON.stringify(body));
    }
    const text = `{"payment_hash":"${fresh()}","scope":"\\ud800"}`;
    const surrogate = await served.gateway.ask('POST', '/v1/bind-payment', {
      body: text,
      headers: { 'Content-Type': 'application/json' },
    });
    assert.equal(surrogate.status, 400);
  });

  it('treats hostile text as text', async () => {
    for (const text of ['\u0000', '\u202e', '__proto__', '𝕫', '\u{10ffff}', "';--", '\ufeff']) {
      const settlement = await served.bound({
        payment_hash: fresh(),
        ...ACT,
        scope: text,
        session_id: text,
      });
      assert.equal((settlement['preimage'] as JsonObject)['scope'], text);
    }
  });
});
