// payment_hash in its normal form, and the PAYMENT-RESPONSE header of x402 v2 as the package @x402/core writes and
// reads it. gateway/API.md §7.3.

import assert from 'node:assert/strict';
import { decodePaymentResponseHeader, encodePaymentResponseHeader } from '@x402/core/http';
import { ApiError } from '../../../plugins/contract/index.ts';
import { paymentOf, paymentOfResponse, requestedPayment } from '../../../plugins/pdtr/payment.ts';

/** The example of the HTTP transport, and its published digest. */
const HEADER =
  'eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MTIzNDU2Nzg5MGFiY2RlZjEyMzQ1Njc4OTBhYmNkZWYxMjM0NTY3' +
  'ODkwYWJjZGVmMTIzNDU2Nzg5MGFiY2RlZiIsIm5ldHdvcmsiOiJlaXAxNTU6ODQ1MzIiLCJwYXllciI6IjB4ODU3YjA2NTE5' +
  'RTkxZTNBNTQ1Mzg3OTFiRGJiMEUyMjM3M2UzNmI2NiJ9';
const DIGEST = 'd7596affa86b71264321b6de3a497c7cc170a9001a4d6ce9ffd9d034bdcdc808';
const HEX = 'ab'.repeat(32);

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

const refusal = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.param] : error;
  }
};

describe('payment_hash', () => {
  it('is 64 hex digits in lower case, from any prefix and case', () => {
    for (const spelling of [HEX, HEX.toUpperCase(), `0x${HEX}`, `sha256:${HEX.toUpperCase()}`]) {
      const { payment_hash, form, spelling: kept } = paymentOf(spelling);
      assert.deepEqual([payment_hash, form, kept], [HEX, 'hex', spelling]);
    }
  });

  it('is base58 or an opaque text, unchanged', () => {
    const solana =
      '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
    assert.deepEqual([paymentOf(solana).payment_hash, paymentOf(solana).form], [solana, 'base58']);
    for (const opaque of ['ach:us/2026-01-01', 'A'.repeat(15) + '=', 'z'.repeat(128)]) {
      assert.deepEqual(
        [paymentOf(opaque).payment_hash, paymentOf(opaque).form],
        [opaque, 'opaque'],
      );
    }
  });

  it('has no other form', () => {
    const wrong = ['', 'short', '0x' + 'a'.repeat(15), 'z'.repeat(129), `${HEX} `, 'é'.repeat(20)];
    for (const spelling of [
      ...wrong,
      `${HEX}\n`,
      '０'.repeat(64),
      'a b'.repeat(8),
      '\u0000'.repeat(16),
    ]) {
      assert.deepEqual(
        refusal(() => paymentOf(spelling)),
        ['invalid_payment_hash', 'payment_hash'],
      );
    }
  });
});

describe('payment_response', () => {
  it('has the published digest', () => {
    const payment = paymentOfResponse(HEADER, undefined);
    assert.equal(payment.payment_hash, DIGEST);
    const { transaction, network, payer } = decodePaymentResponseHeader(HEADER);
    assert.deepEqual(payment.settled, { transaction, network, payer });
  });

  it('is what @x402/core writes', () => {
    const settled = { success: true, transaction: `0x${HEX}`, network: 'eip155:8453' as const };
    const payment = paymentOfResponse(encodePaymentResponseHeader(settled), undefined);
    assert.deepEqual(payment.settled, {
      transaction: settled.transaction,
      network: settled.network,
    });
  });

  it('must agree with the payment_hash of the same request, which takes precedence', () => {
    assert.equal(paymentOfResponse(HEADER, `0x${DIGEST}`).payment_hash, DIGEST);
    const { transaction } = decodePaymentResponseHeader(HEADER);
    assert.equal(paymentOfResponse(HEADER, transaction).payment_hash, transaction.slice(2));
    assert.deepEqual(
      refusal(() => paymentOfResponse(HEADER, HEX)),
      ['invalid_payment_hash', 'payment_hash'],
    );
  });

  it('is refused if it reports no settlement or is malformed', () => {
    const good = { success: true, transaction: 'tx', network: 'eip155:1' };
    const wrong = [
      base64({ ...good, success: false }),
      base64({ ...good, success: 'true' }),
      base64({ ...good, transaction: '' }),
      base64({ success: true, transaction: 'tx' }),
      base64([good]),
      base64(null),
      Buffer.from('{"success":true,"success":true}').toString('base64'),
      Buffer.from([0xff, 0xfe]).toString('base64'),
      'not base64!',
      '',
    ];
    for (const header of wrong) {
      assert.deepEqual(
        refusal(() => paymentOfResponse(header, undefined)),
        ['parameter_invalid', 'payment_response'],
        header,
      );
    }
  });

  it('can replace the payment_hash', () => {
    assert.equal(requestedPayment({ payment_response: HEADER }).payment_hash, DIGEST);
  });
});
