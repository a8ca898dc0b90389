// Backprop over graphs of tools: the conserving and the plain mode, and the detection of cycles.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { backprop, backwards, cycleOf } from '../../../plugins/orn/backprop.ts';
import type { Carried, Mode, ToolEdge } from '../../../plugins/orn/backprop.ts';

const NODES = 9;

/** Acyclic: edges lead from lower to higher node numbers. */
const acyclic = fc.array(
  fc
    .tuple(fc.nat({ max: NODES - 1 }), fc.nat({ max: NODES - 1 }), fc.nat({ max: 1_000_000 }))
    .filter(([a, b]) => a !== b)
    .map(([a, b, weight]): ToolEdge => ({ from: Math.min(a, b), to: Math.max(a, b), weight })),
  { maxLength: 30 },
);
const any = fc.array(
  fc.record({
    from: fc.nat({ max: NODES - 1 }),
    to: fc.nat({ max: NODES - 1 }),
    weight: fc.nat({ max: 1_000_000 }),
  }),
  { maxLength: 14 },
);

function carry(edges: readonly ToolEdge[], sink: number, liability: bigint, mode: Mode): Carried {
  const order = backwards(NODES, edges);
  assert.ok(order);
  return backprop({ edges, order }, { sink, liability, mode });
}

const sum = (parts: readonly bigint[]): bigint => parts.reduce((a, b) => a + b, 0n);

describe('backprop', () => {
  const liability = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const sink = fc.nat({ max: NODES - 1 });

  it('conserves the liability to the micro-USD in the conserving mode', () => {
    fc.assert(
      fc.property(acyclic, sink, liability, (edges, at, amount) => {
        const { liability: carried, retained } = carry(edges, at, amount, 'conserving');
        assert.equal(sum(retained), amount);
        assert.equal(carried[at], amount);
        for (const [node, value] of carried.entries()) {
          assert.ok(value >= 0n && value <= amount);
          const fed = edges.some(({ to, weight }) => to === node && weight > 0);
          assert.equal(retained[node], fed ? 0n : value);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('follows the chain rule in the plain mode: the product of the weights, summed over all paths', () => {
    fc.assert(
      fc.property(acyclic, sink, (edges, at) => {
        const amount = 10n ** 15n;
        const paths = (node: number): number =>
          (node === at ? 1 : 0) +
          edges
            .filter(({ from }) => from === node)
            .reduce((total, { to, weight }) => total + (weight / 1e6) * paths(to), 0);
        const { liability: carried } = carry(edges, at, amount, 'plain');
        for (const [node, value] of carried.entries()) {
          const off = Math.abs(Number(value) - Number(amount) * paths(node));
          assert.ok(off <= 1e6 + Number(amount) * paths(node) * 1e-9, String(off));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('does not depend on the order of the edges if the weights divide the amount exactly', () => {
    const edges: ToolEdge[] = [
      { from: 0, to: 2, weight: 500_000 },
      { from: 1, to: 2, weight: 250_000 },
      { from: 2, to: 3, weight: 1_000_000 },
    ];
    const forth = carry(edges, 3, 90n, 'conserving');
    assert.deepEqual(carry(edges.toReversed(), 3, 90n, 'conserving'), forth);
    assert.deepEqual(forth.retained.slice(0, 4), [60n, 30n, 0n, 0n]);
  });

  it('finds a cycle if and only if there is no topological order', () => {
    fc.assert(
      fc.property(any, (edges) => {
        const cycle = cycleOf(NODES, edges);
        assert.equal(cycle.length === 0, backwards(NODES, edges) !== null);
        for (const [at, from] of cycle.entries()) {
          const to = cycle[(at + 1) % cycle.length]!;
          assert.ok(edges.some((edge) => edge.from === from && edge.to === to));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('orders each node after all nodes that its edges lead to', () => {
    fc.assert(
      fc.property(acyclic, (edges) => {
        const order = backwards(NODES, edges)!;
        assert.deepEqual([...order].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        for (const { from, to } of edges) assert.ok(order.indexOf(from) > order.indexOf(to));
      }),
    );
  });
});
