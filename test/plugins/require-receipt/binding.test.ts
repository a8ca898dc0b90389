// A permit of the middleware is bound to the act, its target and its body; service and agent compute the same
// binding.

import assert from 'node:assert/strict';
import Koa from 'koa';
import {
  actionOf,
  gateRequestFor,
  requireReceipt,
} from '../../../plugins/require-receipt/middleware.ts';
import { listening } from '../../support/listening.ts';
import { expressService, REFUND } from './services.ts';
import type { Service } from './services.ts';
import { AUDIENCE, BODY, Keys, log, post } from './refunds.ts';

describe('actlog/require-receipt: binding', () => {
  let keys: Keys;
  let service: Service;
  before(async () => {
    keys = await Keys.serve();
    service = await expressService(keys.options());
  });
  after(async () => {
    await service.close();
    await keys.close();
  });

  it('describes the act in the challenge, and the agent can check the description', async () => {
    const { json } = await post(`${service.url}/refunds`, BODY);
    const made = { audience: AUDIENCE, method: 'post', target: '/refunds' };
    const { gate_request } = json.required;
    assert.deepEqual(gateRequestFor(json, made), gate_request);
    const whole = { ...made, action_type: 'payment.refund', fields: BODY };
    assert.deepEqual(gateRequestFor(json, whole), gate_request);
    for (const change of [
      { audience: 'https://other.example' },
      { method: 'PUT' },
      { target: '/refunds?all=1' },
      { action_type: 'payment.release' },
      { fields: { ...BODY, amount: 13 } },
    ]) {
      assert.throws(() => gateRequestFor(json, { ...whole, ...change }), /another act/);
    }
    const { required } = json;
    const action_hash = `sha256:${'0'.repeat(64)}`;
    assert.throws(() => gateRequestFor({ required: { ...required, action_hash } }, made), /not of/);
    const added = { ...required.canonical_action, more: 1 };
    const lied = { required: { ...required, canonical_action: added } };
    assert.throws(() => gateRequestFor(lied, made), /not of/);
    for (const none of [null, {}, { required: 7 }, { required: {} }]) {
      assert.throws(() => gateRequestFor(none, made), Error);
    }
  });

  it('refuses to bind a body that was not parsed', async () => {
    const url = `${service.url}/unparsed`;
    assert.equal((await post(url, BODY)).status, 500);
    assert.equal((await post(url, undefined)).status, 428);
  });

  it('refuses to bind the empty object that a parser leaves for a body of another type', async () => {
    const receipts = requireReceipt({ ...keys.options(), jwks: log.jwks() });
    const refund = receipts.protect(REFUND);
    const app = new Koa();
    app.silent = true;
    app.use(async (ctx, next) => {
      const form = ctx.is('multipart') === false ? {} : new FormData();
      (ctx.request as { body?: unknown }).body = form;
      await next();
    });
    app.use(refund.koa());
    const served = await listening(app.callback());
    const ask = async (body: BodyInit | undefined, type?: string): Promise<number> => {
      const headers = type === undefined ? {} : { 'Content-Type': type };
      const asked = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
      return (await fetch(`${served.url}/refunds`, asked)).status;
    };
    try {
      const form = new FormData();
      form.set('amount', '12');
      const statuses = [await ask('amount 12', 'text/plain'), await ask(form)];
      assert.deepEqual(
        statuses,
        [500, 500],
        'otherwise a permit for one body would be a permit for any',
      );
      assert.deepEqual([await ask(undefined), await ask('{}', 'application/json')], [428, 428]);
    } finally {
      await served.close();
    }
  });

  it('binds the configured members of the body only', async () => {
    const receipts = requireReceipt({ ...keys.options(), jwks: log.jwks() });
    const refund = receipts.protect(REFUND).fetch(
      () => Response.json({ ok: true }),
      async (request) => ({ order: ((await request.json()) as { order: string }).order }),
    );
    const ask = (body: object, receipt: string): Promise<Response> =>
      refund(
        new Request('https://service.example/refunds', {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'X-Receipt': receipt },
        }),
      );
    const audience = AUDIENCE;
    const request = { audience, action_type: 'payment.refund', method: 'POST', target: '/refunds' };
    const receipt = log.header(actionOf({ ...request, fields: { order: 'A-7' } }));
    assert.equal((await ask({ order: 'A-8' }, receipt)).status, 428);
    assert.equal((await ask({ order: 'A-7', note: 'x' }, receipt)).status, 200);
  });
});
