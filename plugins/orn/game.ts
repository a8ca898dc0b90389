// Cooperative games: the value of each coalition of agents. Values are safe integers that count millionths, so that
// every sum is exact. gateway/API.md §10.4. Also runs in the worker thread, so it must not import request types.

/** The value 1, in millionths. */
export const ONE = 1_000_000;

/** A link between two agents, by their indexes, which may be equal. */
export type Link = readonly [from: number, to: number, weight: number];

/** A game. Agent i is bit i of a coalition's mask. */
export type Game =
  | { readonly type: 'table'; readonly agents: number; readonly values: readonly number[] }
  /** The value is the sum, the largest or the smallest of the coalition's weights; 0 for the empty coalition. */
  | {
      readonly type: 'additive' | 'max' | 'min';
      readonly agents: number;
      readonly weights: readonly number[];
    }
  /** The value is 1 if the sum of the weights reaches the quota, else 0. */
  | {
      readonly type: 'threshold';
      readonly agents: number;
      readonly weights: readonly number[];
      readonly quota: number;
    }
  /** The value is the sum of the links with both ends in the coalition. */
  | { readonly type: 'edges'; readonly agents: number; readonly edges: readonly Link[] };

/** A coalition to which agents are added one by one. */
interface Walk {
  /** Adds an agent that is not in the coalition. Returns its marginal contribution. */
  add(agent: number): number;
  /** Empties the coalition. */
  reset(): void;
}

/** Starts a walk through a game with the empty coalition. */
export function walkOf(game: Game): Walk {
  switch (game.type) {
    case 'table':
      return tableWalk(game.values);
    case 'additive':
      return { add: (agent) => game.weights[agent] ?? 0, reset: () => undefined };
    case 'max':
      return extremeWalk(game.weights, Math.max);
    case 'min':
      return extremeWalk(game.weights, Math.min);
    case 'threshold':
      return thresholdWalk(game.weights, game.quota);
    case 'edges':
      return edgesWalk(game.agents, game.edges);
  }
}

/** The value of every coalition, by mask; `values[0]` is that of the empty one. For games with few agents. */
export function valuesOf(game: Game): Float64Array {
  if (game.type === 'table') return Float64Array.from(game.values);
  const values = new Float64Array(2 ** game.agents);
  if (game.type === 'edges') {
    const between = matrixOf(game.agents, game.edges);
    for (let mask = 1; mask < values.length; mask += 1) {
      const agent = lowest(mask);
      const others = mask & (mask - 1);
      let worth = (values[others] ?? 0) + (between[agent * game.agents + agent] ?? 0);
      for (let rest = others; rest !== 0; rest &= rest - 1) {
        worth += between[agent * game.agents + lowest(rest)] ?? 0;
      }
      values[mask] = worth;
    }
    return values;
  }
  const walk = walkOf(game);
  for (let mask = 1; mask < values.length; mask += 1) {
    walk.reset();
    let worth = 0;
    for (let rest = mask; rest !== 0; rest &= rest - 1) worth += walk.add(lowest(rest));
    values[mask] = worth;
  }
  return values;
}

/** The matrix of the weights between agents, by rows; the diagonal has the links of an agent with itself. */
function matrixOf(agents: number, edges: readonly Link[]): Float64Array {
  const between = new Float64Array(agents * agents);
  const add = (row: number, column: number, weight: number): void => {
    const at = row * agents + column;
    between[at] = (between[at] ?? 0) + weight;
  };
  for (const [from, to, weight] of edges) {
    add(from, to, weight);
    if (from !== to) add(to, from, weight);
  }
  return between;
}

/** The index of the lowest set bit. */
export const lowest = (mask: number): number => 31 - Math.clz32(mask & -mask);

/** The value of the coalition of all agents minus that of the empty one. */
export function worthOf(game: Game): number {
  const walk = walkOf(game);
  let worth = 0;
  for (let agent = 0; agent < game.agents; agent += 1) worth += walk.add(agent);
  return worth;
}

/**
 * An upper bound for the range of one agent's marginal contributions over all coalitions: the r of Hoeffding's bound.
 * It holds for every game of the type and need not be tight.
 */
export function rangeOf(game: Game): number {
  switch (game.type) {
    case 'table':
      throw new Error('a table is never sampled');
    case 'additive':
      return 0;
    case 'max':
    case 'min':
      return game.weights.reduce((a, b) => Math.max(a, b), 0);
    case 'threshold':
      return ONE;
    case 'edges': {
      const reach = new Array<number>(game.agents).fill(0);
      for (const [from, to, weight] of game.edges) {
        if (from === to) continue;
        reach[from] = (reach[from] ?? 0) + Math.abs(weight);
        reach[to] = (reach[to] ?? 0) + Math.abs(weight);
      }
      return reach.reduce((a, b) => Math.max(a, b), 0);
    }
  }
}

function tableWalk(values: readonly number[]): Walk {
  let mask = 0;
  return {
    add(agent) {
      const before = values[mask] ?? 0;
      mask |= 1 << agent;
      return (values[mask] ?? 0) - before;
    },
    reset: () => void (mask = 0),
  };
}

function extremeWalk(weights: readonly number[], extreme: (a: number, b: number) => number): Walk {
  let reached: number | null = null;
  return {
    add(agent) {
      const weight = weights[agent] ?? 0;
      const before = reached ?? 0;
      reached = reached === null ? weight : extreme(reached, weight);
      return reached - before;
    },
    reset: () => void (reached = null),
  };
}

function thresholdWalk(weights: readonly number[], quota: number): Walk {
  let sum = 0;
  return {
    add(agent) {
      const before = sum;
      sum += weights[agent] ?? 0;
      return before < quota && sum >= quota ? ONE : 0;
    },
    reset: () => void (sum = 0),
  };
}

function edgesWalk(agents: number, edges: readonly Link[]): Walk {
  const neighbours = Array.from({ length: agents }, (): [number, number][] => []);
  const loops = new Float64Array(agents);
  for (const [from, to, weight] of edges) {
    if (from === to) {
      loops[from] = (loops[from] ?? 0) + weight;
      continue;
    }
    neighbours[from]?.push([to, weight]);
    neighbours[to]?.push([from, weight]);
  }
  const inside = new Uint8Array(agents);
  return {
    add(agent) {
      inside[agent] = 1;
      let worth = loops[agent] ?? 0;
      for (const [other, weight] of neighbours[agent] ?? [])
        if (inside[other] === 1) worth += weight;
      return worth;
    },
    reset: () => void inside.fill(0),
  };
}
