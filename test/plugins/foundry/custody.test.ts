// Custody attestations: the chained books of an asset. gateway/API.md §14.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EVENT_TYPES, parityOf } from '../../../plugins/foundry/custody.ts';
import type { Answer } from '../../gateway/running.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';

describe('the books of an asset', () => {
  it('are balanced after any events, and never negative', () => {
    const event = fc.record({
      event_type: fc.constantFrom(...EVENT_TYPES),
      quantity: fc.bigInt({ min: -20n, max: 20n }),
      holder: fc.nat({ max: 2 }),
      counterparty: fc.nat({ max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const balances = [0n, 0n, 0n];
        let supply: bigint | null = null;
        for (const { event_type, quantity: drawn, holder, counterparty } of events) {
          const corporate = event_type === 'corporate_action';
          const quantity = corporate || drawn > 0n ? drawn : 1n - drawn;
          if (event_type === 'custody_transfer' && holder === counterparty) continue;
          const books = {
            supply,
            holder: balances[holder]!,
            counterparty: balances[counterparty]!,
          };
          const parity = parityOf(books, { event_type, quantity });
          assert.equal(parity.supply_before, supply ?? 0n);
          if (parity.breach !== null) {
            assert.equal(parity.supply_after, parity.supply_before, 'a breach transfers nothing');
            continue;
          }
          supply = parity.supply_after;
          balances[holder] = parity.holder_after;
          if (event_type === 'custody_transfer') balances[counterparty] = parity.counterparty_after;
          const sum = balances.reduce((a, b) => a + b, 0n);
          assert.equal(sum, supply);
          assert.ok(balances.every((balance) => balance >= 0n));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('custody', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  const attest = (body: object, key?: string): Promise<Answer> =>
    served.gateway.post(
      '/api/v1/custody/attest',
      { asset_id: 'fund-7', event_type: 'mint', quantity: '1', ...body },
      { key: key ?? served.gateway.sandbox },
    );
  const parity = async (body: object, key?: string): Promise<unknown[]> => {
    const { status, json, text } = await attest(body, key);
    assert.equal(status, 200, text);
    const { supply_before, supply_after, holds, breach } = json.parity;
    return [supply_before, supply_after, holds, ...(breach === undefined ? [] : [breach])];
  };

  it('chains the events of an asset, each with the supply before and after', async () => {
    const [holder, counterparty] = ['Custodian One', 'Custodian Two'];
    assert.deepEqual(await parity({}), ['0', '0', false, 'not_tokenized']);
    const opened = { event_type: 'tokenize', quantity: '100.50', holder };
    assert.deepEqual(await parity(opened), ['0', '100.5', true]);
    assert.deepEqual(await parity(opened), ['100.5', '100.5', false, 'already_tokenized']);
    assert.deepEqual(await parity({ quantity: '0.5', holder }), ['100.5', '101', true]);
    const move = { event_type: 'custody_transfer', quantity: '100', holder, counterparty };
    assert.deepEqual(await parity(move), ['101', '101', true]);
    assert.deepEqual(await parity(move), ['101', '101', false, 'holder_balance_exceeded']);
    const burn = { event_type: 'burn', quantity: '101.01', holder: counterparty };
    assert.deepEqual(await parity(burn), ['101', '101', false, 'supply_exceeded']);
    assert.deepEqual(await parity({ ...burn, quantity: '60' }), ['101', '41', true]);
    const action = { event_type: 'corporate_action', quantity: '-1', holder };
    assert.deepEqual(await parity(action), ['41', '40', true]);
    const { json } = await attest({ holder, quantity: '1', reference: 'Order 7' });
    assert.equal(json.chain_seq, 9);
    const { receipt } = json;
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['custody_attest', 500_000]);
    assert.ok('holder' in receipt.commitments && 'reference' in receipt.commitments);
    assert.ok(!JSON.stringify({ ...receipt, disclosures: {} }).includes('Custodian'));
  });

  it('belongs to its tenant: the same id of another tenant is another asset', async () => {
    const asset_id = 'shared-name';
    await attest({ asset_id, event_type: 'tokenize', quantity: '5' });
    assert.deepEqual(await parity({ asset_id }, served.other), ['0', '0', false, 'not_tokenized']);
    const words = { asset_id: 'Class A / Müller', event_type: 'tokenize' };
    const { json } = await attest(words);
    assert.match(json.asset_ref, /^asset:[A-Za-z0-9_-]{22}:sha256:[0-9a-f]{64}$/);
    assert.equal(json.receipt.disclosures.asset_id.value, 'Class A / Müller');
  });

  it('keeps the books correct under concurrency', async () => {
    const asset_id = 'many';
    await attest({ asset_id, event_type: 'tokenize', quantity: '10' });
    const burns = Array.from({ length: 15 }, () =>
      attest({ asset_id, event_type: 'burn', quantity: '1' }),
    );
    const answers = await Promise.all(burns);
    assert.equal(answers.filter(({ json }) => json.parity.holds === true).length, 10);
  });

  it('accepts amounts that fit a statement, and no larger ones', async () => {
    const asset_id = 'huge';
    const quantity = '9'.repeat(31);
    assert.deepEqual(await parity({ asset_id, event_type: 'tokenize', quantity }), [
      ...['0', quantity, true],
    ]);
    assert.equal((await parity({ asset_id, quantity }))[3], 'supply_exceeded');
  });

  it('refuses an invalid event', async () => {
    const of = async (body: object) => problem(await attest(body));
    const invalid = (param: string) => [400, 'parameter_invalid', param];
    assert.deepEqual(await of({ event_type: 'lend' }), invalid('event_type'));
    assert.deepEqual(await of({ quantity: 'NaN' }), invalid('quantity'));
    assert.deepEqual(await of({ quantity: '-1' }), invalid('quantity'));
    assert.deepEqual(await of({ quantity: '0' }), invalid('quantity'));
    assert.deepEqual(await of({ asset_id: '' }), invalid('asset_id'));
    const move = { event_type: 'custody_transfer', holder: 'A' };
    assert.deepEqual(await of(move), [400, 'parameter_missing', 'counterparty']);
    assert.deepEqual(await of({ ...move, counterparty: 'A' }), invalid('counterparty'));
  });
});
