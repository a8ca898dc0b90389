// Coutility backprop: propagates the liability of a result back through the graph of the tools that made it.
// gateway/API.md §10.4. Pure; micro-USD are bigint, weights millionths from 0 to 1.

import { apportion, rounded } from './members.ts';

/** An edge from a tool to the one that uses its output, by their indexes. The weight is the sensitivity. */
export interface ToolEdge {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
}

/** `conserving`: a node's whole amount goes to its inputs, by weight. `plain`: the chain rule, unnormalised. */
export const MODES = ['conserving', 'plain'] as const;
export type Mode = (typeof MODES)[number];

/** The amount of each node in micro-USD, by its index. */
export interface Carried {
  readonly liability: readonly bigint[];
  /** The part that a node without weighted inputs keeps. In the mode `conserving` these sum to the liability. */
  readonly retained: readonly bigint[];
}

const ONE = 1_000_000n;

/** The indexes of the nodes, each after all nodes that it leads to; null if the graph has a cycle. */
export function backwards(nodes: number, edges: readonly ToolEdge[]): number[] | null {
  const order = orderedOf(nodes, edges);
  return order.length === nodes ? order : null;
}

/** The nodes that do not lead into a cycle, each after all nodes that it leads to. */
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

/** The nodes of one cycle, in its direction; empty if there is none. */
export function cycleOf(nodes: number, edges: readonly ToolEdge[]): number[] {
  // Each remaining node leads to another remaining node, so following the edges must reach a node twice.
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
 * Propagates `liability` back from `sink`, in `order`. In the mode `conserving`, a node's micro-USD are divided among
 * its inputs by largest remainder, in the order of the edges. In the mode `plain`, each node's sum is rounded to the
 * micro-USD, halves up.
 */
export function backprop(
  graph: { readonly edges: readonly ToolEdge[]; readonly order: readonly number[] },
  { sink, liability, mode }: { sink: number; liability: bigint; mode: Mode },
): Carried {
  const { edges, order } = graph;
  const inputs = order.map((): ToolEdge[] => []);
  for (const edge of edges) if (edge.weight > 0) inputs[edge.to]?.push(edge);
  // In the mode `plain`, sums count millionths of a micro-USD until their node is reached.
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
