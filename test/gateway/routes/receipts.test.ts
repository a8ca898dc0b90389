// Tests of gateway/routes/receipts.ts.

import assert from 'node:assert/strict';
import { native } from '../../../log/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { verifyReceipt } from '../../../log/verify.ts';
import { problem, serve } from './served.ts';
import type { Served } from './served.ts';

const MESSAGE = 'Schedule the interview for Monday';

describe('gateway/routes/receipts', () => {
  let served: Served;
  let live: JsonObject;
  let sandbox: JsonObject;

  before(async () => {
    served = await serve();
    live = await served.classify(served.live, { message: MESSAGE });
    sandbox = await served.classify(served.sandbox, { message: MESSAGE });
  });

  after(() => served.close());

  const id = (receipt: JsonObject): string => receipt['entry_id'] as string;
  const find = (name: string, key?: string, more = '') =>
    served.get(`/receipt/lookup?entry_id=${name}${more}`, key);

  const shown = (document: JsonObject): JsonObject => document['receipt'] as JsonObject;

  describe('lookup', () => {
    it('finds a receipt by its id and by its hash, and runs every check', async () => {
      for (const name of [id(live), live['entry_hash'] as string]) {
        const answer = (await find(name)).json();
        assert.equal(answer['found'], true);
        assert.equal(answer['entry_id'], id(live));
        assert.equal(answer['verify_url'], live['verify_url']);
        assert.deepEqual(answer['checks'], {
          signature_valid: true,
          key_status: 'active',
          inclusion_valid: true,
          checkpoint_valid: true,
        });
      }
    });

    it('returns what an offline verifier needs', async () => {
      const { receipt, proof } = (await find(id(live))).json();
      const { tlog_proof, checkpoint } = proof as { tlog_proof: string; checkpoint: string };
      assert.ok(tlog_proof.endsWith(checkpoint));
      const { origin, vkey } = served.gateway.logs.live;
      const keys = served.gateway.logs.live.receiptKeys().map(({ kid, jwk }) => ({ kid, jwk }));
      const trust = { origin, vkey, keys };
      const result = verifyReceipt(receipt ?? null, trust, {
        suite: native,
        tlogProof: tlog_proof,
      });
      assert.deepEqual([result.valid, result.index], [true, live['index']]);
      assert.ok(result.size !== undefined, 'the inclusion proof was checked');
    });

    it('returns the statement that the submitter got', async () => {
      const { disclosures: _, ...rest } = live;
      assert.deepEqual(shown((await find(id(live))).json()), rest);
    });

    it('answers found: false for every unknown id', async () => {
      for (const name of ['0'.repeat(64), id(live).toUpperCase(), 'x', '../../etc', '%00']) {
        const answer = await find(name);
        const entry_id = decodeURIComponent(name);
        assert.deepEqual(answer.json(), { found: false, entry_id });
      }
    });

    it('needs an entry_id', async () => {
      const missing = await served.get('/receipt/lookup');
      const expected = { status: 400, code: 'parameter_missing', param: 'entry_id' };
      assert.deepEqual(problem(missing), expected);
      const long = await find('x'.repeat(513));
      assert.deepEqual(problem(long), { ...expected, code: 'parameter_invalid' });
    });

    it('separates live and sandbox', async () => {
      assert.equal((await find(id(sandbox), undefined, '&log=live')).json()['found'], false);
      assert.equal(
        (await find(id(sandbox))).json()['found'],
        true,
        'without a key both logs are searched',
      );
      assert.equal((await find(id(sandbox), served.live)).json()['found'], false);
      assert.equal((await find(id(live), served.sandbox)).json()['found'], false);
      assert.equal((await find(id(live), undefined, '&log=sandbox')).json()['found'], false);
      assert.equal((await find(id(sandbox), undefined, '&log=sandbox')).json()['found'], true);
      assert.equal((await find(id(sandbox), served.sandbox)).json()['found'], true);
      assert.equal((await find(id(live), served.sandbox, '&log=live')).json()['found'], true);
    });

    it('shows disclosures only to the tenant that made the entry', async () => {
      const { tenants } = served.gateway;
      const own = (await find(id(live), served.live)).json();
      const { message } = shown(own)['disclosures'] as { message: { value: string } };
      assert.equal(message.value, MESSAGE);
      assert.deepEqual(shown(own)['disclosures'], live['disclosures']);
      const other = (await tenants.issue({ tenant: 'other', kind: 'live' })).key;
      const operator = { tenant: 'ops', kind: 'live', role: 'operator' } as const;
      for (const key of [undefined, other, (await tenants.issue(operator)).key]) {
        const seen = (await find(id(live), key)).bytes.toString();
        assert.ok(!seen.includes('disclosures') && !seen.includes(MESSAGE));
      }
      const crossed = await find(id(live), served.sandbox, '&log=live');
      assert.equal('disclosures' in shown(crossed.json()), false, 'a sandbox key of the tenant');
    });

    it('refuses an invalid key although none is needed', async () => {
      const answer = await find(id(live), `svc_live_${'0'.repeat(32)}`);
      assert.deepEqual(problem(answer), { status: 401, code: 'api_key_invalid' });
    });
  });

  describe('permalink', () => {
    it('needs no key and contains the proof', async () => {
      for (const receipt of [live, sandbox]) {
        const answer = await served.get(receipt['permalink'] as string);
        const log = served.gateway.logs[receipt['sandbox'] === true ? 'sandbox' : 'live'];
        const keys = log.receiptKeys().map(({ kid, jwk }) => ({ kid, jwk }));
        const trust = { origin: log.origin, vkey: log.vkey, keys };
        const { valid, entry_id, size } = verifyReceipt(answer.json(), trust, { suite: native });
        assert.deepEqual([valid, entry_id], [true, id(receipt)]);
        assert.ok(size !== undefined);
      }
    });

    it('names the log in its address', () => {
      assert.equal(live['permalink'], `http://test.example/r/${id(live)}`);
      assert.equal(sandbox['permalink'], `http://test.example/r/${id(sandbox)}?log=sandbox`);
    });

    it('is 404 for an unknown entry', async () => {
      const expected = { status: 404, code: 'resource_missing', param: 'entry_id' };
      assert.deepEqual(problem(await served.get(`/r/${id(sandbox)}?log=live`)), expected);
      assert.deepEqual(problem(await served.get('/r/nothing')), expected);
    });

    it('shows on its page and in the lists of the log what the entry states, without the message', async () => {
      const sentence = /The classifier \S+ classified a message in the domain hiring as SAFE\./;
      const accept = { Accept: 'text/html' };
      const page = (await served.get(`/r/${id(live)}`, served.live, accept)).bytes.toString();
      assert.match(page, new RegExp(`<p class="large">${sentence.source}</p>`));
      assert.match(page, new RegExp(`name="description" content="${sentence.source}"`));
      const list = (await served.get(`/log?index=${live['index'] as number}`)).bytes.toString();
      assert.match(list, new RegExp(`<div>${sentence.source} <a class="hint"`));
    });

    it('shows disclosures to their tenant only', async () => {
      const own = (await served.get(`/r/${id(live)}`, served.live)).json();
      assert.deepEqual(own['disclosures'], live['disclosures']);
      assert.equal('disclosures' in (await served.get(`/r/${id(live)}`)).json(), false);
    });
  });

  // The last test, because it retires the key of the receipts above.
  describe('keys that ended', () => {
    it('describes retired and revoked keys, and says that older entries stay valid', async () => {
      const log = served.gateway.logs.live;
      const kid = live['kid'] as string;
      const status = async (): Promise<unknown> => (await find(id(live))).json()['checks'];
      const good = { signature_valid: true, inclusion_valid: true, checkpoint_valid: true };
      await log.operator.rotateKey();
      assert.deepEqual(await status(), { ...good, key_status: 'retired' });
      await log.operator.revokeKey(kid);
      assert.deepEqual(await status(), { ...good, key_status: 'revoked' });
    });
  });
});
