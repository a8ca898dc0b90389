// Tests of plugins/contract/catalog.ts.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readCatalog, scale, SCALE_INPUT, scaleModelOf } from '../../plugins/contract/index.ts';
import type { ScaleModel } from '../../plugins/contract/index.ts';

const model: ScaleModel = {
  inputs: {
    acts: { default: 3, description: 'Acts.' },
    toll_usd: { default: 0.05, description: 'Price.' },
  },
  formulas: [
    { name: 'tolls', unit: 'USD', product: ['acts', 'toll_usd'] },
    { name: 'twice', unit: 'USD', sum: ['tolls', 'tolls'] },
  ],
};

describe('plugins/scale', () => {
  it('applies formulas to the defaults, and shows each result', () => {
    assert.deepEqual(scale(model, {}), {
      illustrative: true,
      inputs: { acts: 3, toll_usd: 0.05 },
      results: [
        { name: 'tolls', formula: 'tolls = acts × toll_usd', value: 0.15, unit: 'USD' },
        { name: 'twice', formula: 'twice = tolls + tolls', value: 0.3, unit: 'USD' },
      ],
    });
  });

  it('is exact where floating point is not', () => {
    fc.assert(
      fc.property(fc.nat(10 ** 9), fc.nat(10 ** 6), (acts, micro) => {
        const toll_usd = (micro / 1e6).toFixed(6);
        const [tolls] = scale(model, { acts: String(acts), toll_usd }).results;
        const exact = BigInt(acts) * BigInt(micro);
        const digits = String(exact).padStart(7, '0');
        assert.equal(tolls?.value, Number(`${digits.slice(0, -6)}.${digits.slice(-6)}`));
      }),
    );
  });

  it('accepts decimals in one spelling', () => {
    const input = new RegExp(SCALE_INPUT);
    for (const good of ['0', '0.05', '12', '999999999999.999999']) assert.match(good, input);
    for (const bad of ['', '-1', '01', '1.', '.5', '1e3', '1000000000000', '0.0000001']) {
      assert.doesNotMatch(bad, input);
    }
  });

  it('refuses a formula with an unknown name', () => {
    const broken = { ...model, formulas: [{ name: 'x', unit: 'USD', sum: ['y'] }] };
    assert.throws(() => scale(broken, {}), /names y/);
  });

  it('can apply the formulas of every catalog that has some', () => {
    for (const file of ['absence.json', 'astl.json', 'nap.json', 'orn.json', 'pdtr.json']) {
      const { results } = scale(scaleModelOf(readCatalog(file)), {});
      assert.ok(results.length > 0);
    }
  });
});
