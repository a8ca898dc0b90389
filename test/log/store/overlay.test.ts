// Rounds in flight over a store, compared with a model that copies everything.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Overlay } from '../../../log/write/rows.ts';

type Model = Map<string, number | null>;

const KEYS = ['a', 'b', 'c'];

describe('overlay', () => {
  it('returns the newest writes, reverts groups, and removes durable rounds', () => {
    const write = fc.tuple(fc.constantFrom(...KEYS), fc.oneof(fc.nat(99), fc.constant(null)));
    const group = fc.record({ writes: fc.array(write, { maxLength: 5 }), refused: fc.boolean() });
    const step = fc.oneof(
      { weight: 5, arbitrary: group },
      { weight: 2, arbitrary: fc.constant('round' as const) },
      { weight: 2, arbitrary: fc.constant('settle' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const overlay = new Overlay<number>();
        const store: Model = new Map();
        let newest: Model = new Map();
        const rounds: { id: number; own: Model }[] = [{ id: 1, own: new Map() }];
        const settle = (): void => {
          const { id, own } = rounds.shift()!;
          assert.deepEqual(new Map(overlay.written(id)), own);
          for (const [key, value] of own) store.set(key, value);
          overlay.settle(id);
          assert.deepEqual([...overlay.written(id)], []);
        };
        for (const one of steps) {
          const current = rounds.at(-1)!;
          if (one === 'round') rounds.push({ id: current.id + 1, own: new Map() });
          else if (one === 'settle') {
            if (rounds.length > 1) settle();
          } else {
            const before = { newest: new Map(newest), own: new Map(current.own) };
            overlay.begin();
            for (const [key, value] of one.writes) {
              overlay.set(key, value, current.id);
              newest.set(key, value);
              current.own.set(key, value);
            }
            if (one.refused) {
              overlay.rollback();
              newest = before.newest;
              current.own = before.own;
            }
          }
          for (const key of KEYS) {
            const read = overlay.get(key);
            const through = read === undefined ? store.get(key) : read;
            assert.equal(through ?? null, newest.get(key) ?? null);
          }
        }
        while (rounds.length > 0) settle();
        for (const key of KEYS) assert.equal(overlay.get(key), undefined, 'nothing remains');
      }),
      { numRuns: 500 },
    );
  });

  it('distinguishes a deleted key from one that no round wrote', () => {
    const overlay = new Overlay<number>();
    overlay.set('a', null, 1);
    assert.equal(overlay.get('a'), null);
    assert.equal(overlay.get('b'), undefined);
    overlay.clear();
    assert.equal(overlay.get('a'), undefined);
  });
});
