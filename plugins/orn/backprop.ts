// Coutility backprop: the liability of a result, carried back through the graph of the tools that made it.
// gateway/API.md §10.4. Pure; micro-USD are bigint, weights millionths from 0 to 1.

import { apportion, rounded } from './members.ts';

/** An edge from a tool to the one that uses its output, by their places; the weight is its sensitivity. */
export interface ToolEdge {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
}

/** `conserving`: what a node carries goes on to its inputs whole, by weight. `plain`: the chain rule, unnormalised. */
export const MODES = ['conserving', 'plain'] as const;
export type Mode = (typeof MODES)[number];

/** What each node carries, in micro-USD, by its place. */
export interface Carried {
  readonly liability: readonly bigint[];
  /** What it does not pass on, since it has no input of any weight; the sum is the liability where it conserves. */
  readonly retained: readonly bigint[];
}

const ONE = 1_000_000n;

/** The places of nodes in an order in which each stands after all that it flows to; null when there is a cycle. */
export function backwards(nodes: number, edges: readonly ToolEdge[]): number[] | null {
  const order = orderedOf(nodes, edges);
  return order.length === nodes ? order : null;
}

/** The nodes that lead into no cycle, each after all that it flows to. */
function orderedOf(nodes: number, edges: readonly ToolEdge[]): number[] {
  const outgoing = new Array<number>(nodes).fill(0);
  const inputs = Array.from({ length: nodes }, (): number[] => []);
  for (const { from, to } of edges) {
    outgoing[from] = (outgoing[from] ?? 0) + 1;
    inputs[to]?.push(from);
  }
  const order = outgoing.flatMap((count, node) => (count === 0 ? [node] : []));
  for (const node of order) {
    for (const input of inputs[node] ?? []) {
      const left = (outgoing[input] ?? 0) - 1;
      outgoing[input] = left;
      if (left === 0) order.push(input);
    }
  }
  return order;
}

/** The nodes of one cycle, in its direction; empty when there is none. */
export function cycleOf(nodes: number, edges: readonly ToolEdge[]): number[] {
  // Each node that is left over leads to another one that is: following them must come round.
  const left = new Set(leftOver(nodes, edges));
  const next = new Map<number, number>();
  for (const { from, to } of edges) if (left.has(from) && left.has(to)) next.set(from, to);
  const [start] = left;
  const seen = new Set<number>();
  for (let node = start; node !== undefined; node = next.get(node)) {
    if (seen.has(node)) return [...seen].slice([...seen].indexOf(node));
    seen.add(node);
  }
  return [];
}

/** The nodes that lead into a cycle. */
function leftOver(nodes: number, edges: readonly ToolEdge[]): number[] {
  const ordered = new Set(orderedOf(nodes, edges));
  return Array.from({ length: nodes }, (_, node) => node).filter((node) => !ordered.has(node));
}

/**
 * Carries `liability` from `sink` back, in `order`. Conserving, a node's micro-USD are parted among its inputs by
 * largest remainder, in the order of the edges. Plain, each node's sum is rounded to the micro-USD, halves up.
 */
export function backprop(
  graph: { readonly edges: readonly ToolEdge[]; readonly order: readonly number[] },
  { sink, liability, mode }: { sink: number; liability: bigint; mode: Mode },
): Carried {
  const { edges, order } = graph;
  const inputs = order.map((): ToolEdge[] => []);
  for (const edge of edges) if (edge.weight > 0) inputs[edge.to]?.push(edge);
  // Plain sums are of millionths of a micro-USD until their node is reached.
  const sums = order.map(() => 0n);
  const carried = order.map(() => 0n);
  const retained = order.map(() => 0n);
  sums[sink] = mode === 'plain' ? liability * ONE : liability;
  for (const node of order) {
    const sum = sums[node] ?? 0n;
    const value = mode === 'plain' ? rounded(sum, ONE) : sum;
    carried[node] = value;
    const into = inputs[node] ?? [];
    if (into.length === 0) {
      retained[node] = value;
      continue;
    }
    const weights = into.map(({ weight }) => BigInt(weight));
    const whole = weights.reduce((total, weight) => total + weight, 0n);
    const passed =
      mode === 'plain' ? weights.map((weight) => value * weight) : apportion(value, weights, whole);
    into.forEach(({ from }, at) => {
      sums[from] = (sums[from] ?? 0n) + (passed[at] ?? 0n);
    });
  }
  return { liability: carried, retained };
}
