// The middleware in external services with Express, Koa and fetch, which need only the JWKS of actlog.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { parseChallenge } from '../../../plugins/require-receipt/middleware.ts';
import { encodePresented } from '../../../plugins/require-receipt/header.ts';
import { TENANT } from '../../support/forge.ts';
import { altered, GateLog } from './permits.ts';
import { expressService, fetchService, koaService } from './services.ts';
import type { Service } from './services.ts';
import { asked, BODY, Keys, log, post } from './refunds.ts';

describe('actlog/require-receipt', () => {
  let keys: Keys;
  const services = new Map<string, Service>();
  before(async () => {
    keys = await Keys.serve();
    services.set('express', await expressService(keys.options()));
    services.set('koa', await koaService(keys.options()));
    services.set('fetch', await fetchService(keys.options()));
  });
  after(async () => {
    for (const service of services.values()) await service.close();
    await keys.close();
  });

  for (const name of ['express', 'koa', 'fetch']) {
    const service = (): Service => {
      const found = services.get(name);
      assert.ok(found);
      return found;
    };

    it(`challenges with 428 in ${name}`, async () => {
      const { status, headers, json } = await post(`${service().url}/refunds`, BODY);
      assert.equal(status, 428);
      assert.equal(headers.get('cache-control'), 'no-store');
      const { required, error } = json;
      assert.deepEqual(parseChallenge(headers.get('receipt-required') ?? ''), {
        action: 'payment.refund',
        action_hash: required.action_hash,
        manifest: '/.well-known/agent-actions.json',
        proof: 'X-Receipt',
        profile: 'actlog-permit-v1',
        assurance: 'software',
        max_age: '900',
      });
      assert.deepEqual(
        [error.type, error.code, error.request_id],
        ['invalid_request_error', 'receipt_required', headers.get('x-request-id')],
      );
      assert.match(error.request_id, /^req_[0-9A-Za-z]{24}$/);
      assert.deepEqual(required.acceptable_issuers, [
        { origin: log.origin, tenant_refs: [TENANT] },
      ]);
      assert.deepEqual(required.gate_request, {
        action_type: 'payment.refund',
        scope: required.action_hash,
      });
    });

    it(`acts once for a permit in ${name}`, async () => {
      const url = `${service().url}/refunds`;
      const before = service().done();
      const permit = log.permit(await asked(service()));
      const receipt = encodePresented(permit);
      const otherBody = await post(url, { ...BODY, amount: 1200.5 }, receipt);
      assert.equal(otherBody.status, 428, 'the body is bound');
      assert.equal(otherBody.json.required.refused, 'action_mismatch');
      const otherTarget = await post(`${url}?really=1`, BODY, receipt);
      assert.equal(otherTarget.status, 428, 'the query is bound');
      const first = await post(url, BODY, receipt);
      assert.equal(first.status, 200, JSON.stringify(first.json));
      assert.equal(first.json.under, permit.receipt['entry_id']);
      const again = await post(url, BODY, receipt);
      assert.deepEqual([again.status, again.json.error.code], [409, 'permit_used']);
      assert.equal(service().done(), before + 1);
    });

    it(`acts for exactly one of many concurrent requests with the same permit in ${name}`, async () => {
      const receipt = log.header(await asked(service()));
      const told = await Promise.all(
        Array.from({ length: 20 }, () => post(`${service().url}/refunds`, BODY, receipt)),
      );
      const statuses = told.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 200).length, 1);
      assert.equal(statuses.filter((status) => status === 409).length, 19);
    });

    it(`refuses receipts that are not permits in ${name}`, async () => {
      const action = await asked(service());
      const good = log.permit(action);
      const id = (good.receipt['entry_id'] as string).replace(/.$/, (last) =>
        last === '0' ? '1' : '0',
      );
      const cases = {
        receipt_malformed: 'not a receipt',
        signature_invalid: encodePresented(altered(good, { entry_id: id })),
        not_a_permit: log.header(action, { outcome: 'DENY' }),
        sandbox_receipt: new GateLog('sandbox').header(action),
        action_mismatch: log.header({ ...action, action_type: 'payment.release' }),
        proof_missing: log.header(action, { unproven: true }),
      };
      for (const [refused, receipt] of Object.entries(cases)) {
        const { status, json } = await post(`${service().url}/refunds`, BODY, receipt);
        assert.equal(status, 428, refused);
        assert.equal(json.required.refused, refused);
      }
      const still = await post(`${service().url}/refunds`, BODY, encodePresented(good));
      assert.equal(still.status, 200, 'the refusals did not use the permit');
    });

    it(`publishes its manifest in ${name}`, async () => {
      const response = await fetch(`${service().url}/.well-known/agent-actions.json`);
      const manifest = (await response.json()) as { actions: JsonObject[]; service: JsonObject };
      assert.equal(manifest.service['name'], 'Refunds');
      assert.deepEqual(manifest.actions[0]?.['match'], {
        protocol: 'http',
        method: 'POST',
        path: '/refunds',
      });
    });
  }
});
