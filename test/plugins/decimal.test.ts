// Exact decimals. gateway/API.md §1.3, log/FORMAT.md §2.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  ApiError,
  AtomicAmount,
  AtomicInput,
  atomicOf,
  DECIMAL,
  decimalText,
  divided,
  exact,
  exactOf,
  microUsdOf,
  quotient,
  usdText,
} from '../../plugins/contract/index.ts';

const GRAMMAR = new RegExp(DECIMAL, 'u');

describe('exact decimals', () => {
  it('reads and writes every decimal of the grammar without loss', () => {
    const whole = fc.bigInt({ min: 0n, max: 10n ** 31n - 1n });
    const fraction = fc.bigInt({ min: 0n, max: 10n ** 18n - 1n });
    fc.assert(
      fc.property(fc.boolean(), whole, fraction, (negative, left, right) => {
        const digits = String(right).padStart(18, '0').replace(/0+$/, '');
        const text = `${negative ? '-' : ''}${String(left)}${digits === '' ? '' : `.${digits}`}`;
        const expected = text === '-0' ? '0' : text;
        assert.match(text, GRAMMAR);
        assert.equal(decimalText(exact(text)), expected);
      }),
    );
  });

  it('reads a JSON number by its shortest decimal form', () => {
    const of = (value: number): string => decimalText(exactOf(value, 'value'));
    assert.equal(of(0.1), '0.1');
    assert.equal(of(-0), '0');
    assert.equal(of(1e-7), '0.0000001');
    assert.equal(of(-1.5e-7), '-0.00000015');
    assert.equal(of(1e21), '1000000000000000000000');
    assert.equal(of(1.25e21), '1250000000000000000000');
    fc.assert(
      fc.property(fc.double({ min: -1e15, max: 1e15, noNaN: true }), (value) => {
        fc.pre(value === 0 || Math.abs(value) > 1e-2);
        assert.equal(Number(of(value)), value === 0 ? 0 : value);
      }),
    );
  });

  it('refuses values outside the grammar', () => {
    const bad = ['NaN', 'Infinity', '', '1.', '.5', '01', '1e3', '+1', ' 1', '0x1', '1,5'];
    for (const input of [...bad, 1e40, 1e-30, 5e-324, Number.MAX_VALUE]) {
      assert.throws(
        () => exactOf(input, 'v'),
        (error) => {
          return (
            error instanceof ApiError && error.code === 'parameter_invalid' && error.param === 'v'
          );
        },
      );
    }
  });

  it('rounds half away from zero', () => {
    assert.deepEqual([divided(5n, 2n), divided(-5n, 2n), divided(4n, 3n)], [3n, -3n, 1n]);
    assert.equal(decimalText(quotient(exact('2'), exact('3'))), '0.666666666666666667');
  });

  it('stores money as micro-USD, and refuses finer, negative or too large amounts', () => {
    assert.equal(microUsdOf('12.345678', 'usd', 10n ** 12n), 12_345_678n);
    assert.equal(microUsdOf(0.1, 'usd', 10n ** 12n), 100_000n);
    assert.equal(usdText(12_500_000n), '12.5');
    for (const input of ['-1', '0.0000001', '1000001']) {
      assert.throws(() => microUsdOf(input, 'usd', 10n ** 12n), ApiError);
    }
  });

  it('gives one form of an amount in atomic units for all spellings', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 78n - 1n });
    const patternOf = (schema: object): RegExp =>
      new RegExp((schema as { readonly pattern: string }).pattern, 'u');
    fc.assert(
      fc.property(digits, (amount) => {
        const large = amount > BigInt(Number.MAX_SAFE_INTEGER);
        const stated = atomicOf(String(amount));
        assert.match(String(amount), patternOf(AtomicInput));
        assert.equal(stated, large ? String(amount) : Number(amount));
        if (large) assert.match(String(stated), patternOf(AtomicAmount));
        else assert.equal(atomicOf(Number(amount)), stated);
      }),
    );
    assert.equal(atomicOf('9007199254740991'), Number.MAX_SAFE_INTEGER);
    assert.equal(atomicOf('9007199254740992'), '9007199254740992');
    for (const text of ['', '01', '-1', '+1', '1.0', '1e3', '9'.repeat(79)]) {
      assert.doesNotMatch(text, patternOf(AtomicInput));
    }
  });
});
