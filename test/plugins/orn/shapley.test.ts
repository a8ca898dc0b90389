// The axioms of Shapley (1953), exactly and to the micro-USD; samples stay within their bound for games with known
// values.
// Shapley 1953.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { apportion, rounded } from '../../../plugins/orn/members.ts';
import { ONE, rangeOf, valuesOf, worthOf } from '../../../plugins/orn/game.ts';
import type { Game } from '../../../plugins/orn/game.ts';
import {
  exactShapley,
  permutationsFor,
  sampledShapley,
  Sums,
} from '../../../plugins/orn/shapley.ts';
import type { Shapley } from '../../../plugins/orn/shapley.ts';

const AMOUNT = 100_000_007n;

const integer = fc.integer({ min: -(10 ** 12), max: 10 ** 12 });
const table = fc
  .integer({ min: 1, max: 6 })
  .chain((agents) =>
    fc
      .array(integer, { minLength: 2 ** agents, maxLength: 2 ** agents })
      .map((values): Game & { type: 'table' } => ({ type: 'table', agents, values })),
  );

/** The definition: the mean of the marginal contributions over all permutations. */
function byDefinition(game: Game): Shapley {
  const values = valuesOf(game);
  const credits = new Array<bigint>(game.agents).fill(0n);
  let divisor = 0n;
  const walk = (mask: number, path: readonly number[]): void => {
    if (path.length === game.agents) {
      divisor += 1n;
      let before = 0;
      for (const agent of path) {
        const after = before | (1 << agent);
        credits[agent]! += BigInt(values[after]!) - BigInt(values[before]!);
        before = after;
      }
    }
    for (let agent = 0; agent < game.agents; agent += 1) {
      if ((mask & (1 << agent)) === 0) walk(mask | (1 << agent), [...path, agent]);
    }
  };
  walk(0, []);
  return { credits, divisor };
}

const sum = (parts: readonly bigint[]): bigint => parts.reduce((a, b) => a + b, 0n);

function parted(game: Game): bigint[] {
  const { credits, divisor } = exactShapley(game);
  return apportion(AMOUNT, credits, BigInt(worthOf(game)) * divisor);
}

/** The table with two agents exchanged. */
function exchanged(mask: number, a: number, b: number): number {
  const [hasA, hasB] = [(mask >> a) & 1, (mask >> b) & 1];
  return (mask & ~((1 << a) | (1 << b))) | (hasA << b) | (hasB << a);
}

describe("Shapley's value", () => {
  it('is the mean of the marginal contributions over all permutations', () => {
    fc.assert(
      fc.property(table, (game) => {
        assert.deepEqual(exactShapley(game), byDefinition(game));
      }),
      { numRuns: 60 },
    );
  });

  it('sums to the worth of all agents, and the parts sum to the amount', () => {
    fc.assert(
      fc.property(table, (game) => {
        const { credits, divisor } = exactShapley(game);
        assert.equal(sum(credits), BigInt(worthOf(game)) * divisor);
        fc.pre(worthOf(game) !== 0);
        assert.equal(sum(parted(game)), AMOUNT);
      }),
    );
  });

  it('is the same for symmetric agents, and their parts differ by at most a micro-USD', () => {
    fc.assert(
      fc.property(table, fc.nat(), fc.nat(), (drawn, first, second) => {
        const { agents, values } = drawn;
        const [a, b] = [first % agents, second % agents];
        const even = values.map((value, mask) => value + values[exchanged(mask, a, b)]!);
        const game: Game = { type: 'table', agents, values: even };
        const { credits } = exactShapley(game);
        assert.equal(credits[a], credits[b]);
        fc.pre(worthOf(game) !== 0);
        const parts = parted(game);
        const apart = parts[a]! - parts[b]!;
        assert.ok(apart >= -1n && apart <= 1n);
      }),
    );
  });

  it('gives a dummy nothing, not even from rounding', () => {
    fc.assert(
      fc.property(table, fc.nat(), (drawn, at) => {
        const { agents, values } = drawn;
        const dummy = at % agents;
        const game: Game = {
          ...{ type: 'table', agents },
          values: values.map((_, mask) => values[mask & ~(1 << dummy)]!),
        };
        assert.equal(exactShapley(game).credits[dummy], 0n);
        fc.pre(worthOf(game) !== 0);
        assert.equal(parted(game)[dummy], 0n);
      }),
    );
  });

  it('is additive over games', () => {
    const pair = fc.integer({ min: 1, max: 6 }).chain((agents) => {
      const values = fc.array(integer, { minLength: 2 ** agents, maxLength: 2 ** agents });
      return fc.tuple(fc.constant(agents), values, values);
    });
    fc.assert(
      fc.property(pair, ([agents, one, two]) => {
        const of = (values: number[]): readonly bigint[] =>
          exactShapley({ type: 'table', agents, values }).credits;
        const [a, b] = [of(one), of(two)];
        assert.deepEqual(
          of(one.map((value, mask) => value + two[mask]!)),
          a.map((credit, at) => credit + b[at]!),
        );
      }),
    );
  });

  it('of a game of any kind is that of the equivalent table', () => {
    const weights = fc.array(fc.nat({ max: 10 ** 9 }), { minLength: 5, maxLength: 5 });
    const edges = fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 4 }), integer), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(weights, edges, fc.integer({ min: 1, max: 10 ** 9 }), (w, links, quota) => {
        const members = (mask: number): number[] => [0, 1, 2, 3, 4].filter((i) => mask & (1 << i));
        const worth: Record<string, (mask: number) => number> = {
          additive: (mask) => members(mask).reduce((total, i) => total + w[i]!, 0),
          max: (mask) => Math.max(0, ...members(mask).map((i) => w[i]!)),
          min: (mask) => (mask === 0 ? 0 : Math.min(...members(mask).map((i) => w[i]!))),
          threshold: (mask) => (worth['additive']!(mask) >= quota ? ONE : 0),
          edges: (mask) =>
            links
              .filter(([from, to]) => mask & (1 << from) && mask & (1 << to))
              .reduce((total, [, , weight]) => total + weight, 0),
        };
        const agents = 5;
        const games: Game[] = [
          { type: 'additive', agents, weights: w },
          { type: 'max', agents, weights: w },
          { type: 'min', agents, weights: w },
          { type: 'threshold', agents, weights: w, quota },
          { type: 'edges', agents, edges: links },
        ];
        for (const game of games) {
          const values = Array.from({ length: 32 }, (_, mask) => worth[game.type]!(mask));
          assert.deepEqual([...valuesOf(game)], values, game.type);
          const marginal = (at: number, mask: number): number =>
            values[mask | (1 << at)]! - values[mask]!;
          for (let at = 0; at < agents; at += 1) {
            const all = values.map((_, mask) => mask).filter((mask) => !(mask & (1 << at)));
            const range = all.map((mask) => marginal(at, mask));
            assert.ok(Math.max(...range) - Math.min(...range) <= rangeOf(game), game.type);
          }
        }
      }),
    );
  });
});

describe('a sample of permutations', () => {
  const n = 24;
  const places = Array.from({ length: n }, (_, at) => at);

  /** Games, and the value of each agent as a share of the worth of all. */
  const known: Record<string, { game: Game; share: (agent: number) => number }> = {
    airport: {
      game: { type: 'max', agents: n, weights: places.map((at) => (at + 1) * ONE) },
      // An agent that needs k units shares the cost of each unit with the other agents that need it.
      share: (agent) =>
        places.slice(0, agent + 1).reduce((total, unit) => total + 1 / (n - unit), 0) / n,
    },
    majority: {
      game: {
        ...{ type: 'threshold', agents: n, quota: 13 * ONE },
        weights: places.map(() => ONE),
      },
      share: () => 1 / n,
    },
    unanimity: {
      game: {
        ...{ type: 'threshold', agents: n, quota: 3 * ONE },
        weights: places.map((at) => (at < 3 ? ONE : 0)),
      },
      share: (agent) => (agent < 3 ? 1 / 3 : 0),
    },
    'a wheel of links': {
      game: {
        ...{ type: 'edges', agents: n },
        edges: places.slice(1).map((at) => [0, at, at * ONE] as const),
      },
      share: (agent) => (agent === 0 ? 1 / 2 : agent / (n * (n - 1))),
    },
  };

  for (const [name, { game, share }] of Object.entries(known)) {
    it(`stays within its bound: ${name}`, () => {
      const epsilon = 0.02;
      const permutations = permutationsFor(game, { epsilon, delta: 0.01 });
      const { credits, divisor } = sampledShapley(game, 20_260_209, permutations);
      const worth = BigInt(worthOf(game)) * divisor;
      assert.equal(sum(credits), worth);
      for (const agent of places) {
        const off = Number(credits[agent]! * 10n ** 9n) / Number(worth) / 1e9 - share(agent);
        assert.ok(Math.abs(off) < epsilon, `agent ${String(agent)} is off by ${String(off)}`);
      }
    });
  }

  it('stays within its bound: the glove game with one left and four right gloves', () => {
    const values = Array.from({ length: 32 }, (_, mask) => (mask & 1 && mask > 1 ? ONE : 0));
    const game: Game = { type: 'table', agents: 5, values };
    const { credits, divisor } = sampledShapley(game, 1, 8000);
    const share = (agent: number): number => Number(credits[agent]) / Number(divisor) / ONE;
    assert.ok(Math.abs(share(0) - 4 / 5) < 0.02, String(share(0)));
    for (const right of [1, 2, 3, 4]) assert.ok(Math.abs(share(right) - 1 / 20) < 0.02);
  });

  it('depends on the seed only', () => {
    const { game } = known['airport']!;
    const drawn = (seed: number) => sampledShapley(game, seed, 50).credits;
    assert.deepEqual(drawn(5), drawn(5));
    assert.notDeepEqual(drawn(5), drawn(6));
  });

  it('needs four times the permutations for half the error, and one permutation if contributions do not vary', () => {
    const { game } = known['airport']!;
    const few = permutationsFor(game, { epsilon: 0.1, delta: 0.05 });
    const many = permutationsFor(game, { epsilon: 0.05, delta: 0.05 });
    assert.equal(few, Math.ceil(Math.log((2 * n) / 0.05) / 0.02));
    assert.ok(Math.abs(many - 4 * few) <= 4);
    const additive: Game = { type: 'additive', agents: n, weights: places.map(() => ONE) };
    assert.equal(permutationsFor(additive, { epsilon: 0.1, delta: 0.05 }), 1);
  });
});

describe('largest remainder', () => {
  const weights = fc.array(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), { minLength: 1 });

  it('allocates the whole amount, each part within a unit of its exact share', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 16n }), weights, (amount, drawn) => {
        const whole = sum(drawn);
        fc.pre(whole !== 0n);
        const parts = apportion(amount, drawn, whole);
        assert.equal(sum(parts), amount);
        for (const [at, part] of parts.entries()) {
          const off = part * whole - amount * drawn[at]!;
          assert.ok((off < 0n ? -off : off) < (whole < 0n ? -whole : whole));
        }
      }),
    );
  });

  it('gives the units left over to the largest remainders, and of equal ones to the earlier', () => {
    assert.deepEqual(apportion(100n, [1n, 1n, 1n], 3n), [34n, 33n, 33n]);
    assert.deepEqual(apportion(10n, [1n, 5n, 4n, 5n], 15n), [1n, 3n, 3n, 3n]);
    assert.deepEqual(apportion(1n, [0n, 1n, 0n, 1n], 2n), [0n, 1n, 0n, 0n]);
    assert.throws(() => apportion(1n, [1n, -1n], 0n));
  });

  it('rounds halves away from zero', () => {
    const cases: [bigint, bigint, bigint][] = [
      [5n, 2n, 3n],
      [-5n, 2n, -3n],
      [5n, -2n, -3n],
      [4n, 3n, 1n],
      [0n, 7n, 0n],
    ];
    for (const [value, by, expected] of cases) assert.equal(rounded(value, by), expected);
  });
});

describe('sums', () => {
  it('are exact beyond the safe integers', () => {
    const value = fc.maxSafeInteger();
    fc.assert(
      fc.property(fc.array(value, { maxLength: 50 }), (values) => {
        const sums = new Sums(2);
        for (const one of values) sums.add(1, one);
        assert.equal(sums.get(1), sum(values.map(BigInt)));
        assert.equal(sums.get(0), 0n);
      }),
    );
  });
});
