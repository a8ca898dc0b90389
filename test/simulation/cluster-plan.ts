// What happens in one simulated run of a cluster: its habits and a list of steps, both drawn from the seed.

import { Random } from './world/random.ts';

/** A node by its number, or the one that leads or follows at the moment. */
export type Who = number | 'leader' | 'follower';

/** The moments of the statements at which a node is struck. */
export type Moment = 'before' | 'after';

/**
 * What the leader has done just before the database ends, seen by no other node: it has made a key, or it has committed
 * rounds and cannot reach the next database.
 */
export type Behind = 'new key' | 'commits alone';

/** The statements at which a node can be struck. */
export const STATEMENTS = [
  'commit a round',
  'advance the register',
  'take the lease',
  'renew the lease',
  'write a snapshot',
  'put a secret',
  'give a round back',
  'clear a table',
] as const;

export type StatementName = (typeof STATEMENTS)[number];

/** One thing that a client, the operator, a disk, the network or the database does. `turns`: completions before the next. */
export type ClusterStep = { readonly turns: number } & (
  | { readonly do: 'append'; readonly at: number; readonly cases: readonly number[] }
  /** With an idempotency key: repeated, at whichever node, until it is acknowledged. */
  | { readonly do: 'once'; readonly at: number; readonly cases: readonly number[] }
  | { readonly do: 'many'; readonly at: number; readonly count: number }
  /** A row of the gateway's database. */
  | { readonly do: 'row'; readonly at: number; readonly row: number }
  | { readonly do: 'disclose'; readonly at: number; readonly key: number }
  | { readonly do: 'erase'; readonly at: number; readonly key: number }
  | { readonly do: 'read'; readonly at: number }
  | { readonly do: 'rotate' }
  | { readonly do: 'step down' }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'kill'; readonly who: Who; readonly power: boolean }
  | { readonly do: 'stop'; readonly who: Who }
  | { readonly do: 'start' }
  | { readonly do: 'wipe'; readonly who: Who }
  | { readonly do: 'pause'; readonly who: Who; readonly ms: number; readonly suspended: boolean }
  | {
      readonly do: 'strike';
      readonly statement: StatementName;
      readonly moment: Moment;
      readonly kill: boolean;
    }
  | { readonly do: 'cut'; readonly who: Who }
  /** Between a node and the database: packets are lost, or connections are refused. */
  | { readonly do: 'part'; readonly who: Who; readonly how: 'drop' | 'refuse' }
  /** Between the nodes. */
  | { readonly do: 'part nodes'; readonly who: Who }
  | { readonly do: 'slow network'; readonly factor: number }
  | { readonly do: 'join' }
  | { readonly do: 'disk full'; readonly who: Who }
  | { readonly do: 'disk well' }
  | { readonly do: 'clock'; readonly who: Who | 'database'; readonly ms: number }
  | { readonly do: 'database restarts'; readonly ms: number }
  /** The standby takes over; an asynchronous one lacks the commits of the last `lag_ms`. */
  | {
      readonly do: 'failover';
      readonly ms: number;
      readonly lag_ms: number;
      readonly behind?: Behind | null;
    }
  | { readonly do: 'heal' }
);

export interface ClusterPlan {
  readonly world: 'cluster';
  readonly seed: string;
  readonly nodes: number;
  readonly interval_ms: number;
  readonly idle_ms: number;
  readonly witnesses: number;
  readonly quorum: number;
  readonly snapshot_bytes: number;
  /** Milliseconds by which the wall clock of each node is off. */
  readonly skews_ms: readonly number[];
  readonly steps: readonly ClusterStep[];
}

type Weights = Record<ClusterStep['do'], number>;

const WEIGHTS: Weights = {
  append: 24,
  once: 16,
  many: 3,
  row: 6,
  disclose: 4,
  erase: 3,
  read: 8,
  rotate: 2,
  'step down': 2,
  pass: 16,
  kill: 6,
  stop: 2,
  start: 8,
  wipe: 2,
  pause: 4,
  strike: 8,
  cut: 4,
  part: 4,
  'part nodes': 2,
  'slow network': 2,
  join: 6,
  'disk full': 2,
  'disk well': 4,
  clock: 2,
  'database restarts': 2,
  failover: 1,
  heal: 0,
};

/** Steps that a run has or has not. */
const OPTIONAL = [
  'many',
  'row',
  'disclose',
  'erase',
  'rotate',
  'step down',
  'kill',
  'stop',
  'wipe',
  'pause',
  'strike',
  'cut',
  'part',
  'part nodes',
  'slow network',
  'disk full',
  'clock',
  'database restarts',
  'failover',
] as const;

/** The plan of a seed. */
export function clusterPlanOf(seed: string): ClusterPlan {
  const random = new Random(`${seed} cluster plan`);
  const weights: Weights = { ...WEIGHTS };
  for (const name of OPTIONAL) {
    if (random.chance(0.45)) weights[name] = 0;
    else if (random.chance(0.15)) weights[name] *= 4;
  }
  // An asynchronous standby loses commits; after that the operator heals.
  const lossy = random.chance(0.25);
  if (lossy) {
    weights.failover = 3;
    weights.heal = 4;
  }
  const nodes = random.chance(0.4) ? 2 : 3;
  const witnesses = random.chance(0.7) ? 0 : random.between(1, 2);
  const count = random.between(10, random.chance(0.2) ? 60 : 30);
  const steps: ClusterStep[] = [];
  while (steps.length < count) steps.push(step(random, random.weighted(weights), lossy));
  return {
    world: 'cluster',
    seed,
    nodes,
    interval_ms: random.pick([20, 100, 1000]),
    idle_ms: random.pick([2000, 60_000]),
    witnesses,
    quorum: witnesses === 0 ? 0 : random.between(1, witnesses),
    snapshot_bytes: random.pick([4000, 20_000, 1_000_000]),
    skews_ms: Array.from({ length: 3 }, () =>
      random.chance(0.5) ? 0 : random.between(-2000, 2000),
    ),
    steps,
  };
}

function who(random: Random): Who {
  return random.chance(0.5) ? 'leader' : random.chance(0.5) ? 'follower' : random.int(3);
}

function step(random: Random, name: ClusterStep['do'], lossy: boolean): ClusterStep {
  const turns = random.chance(0.3) ? 0 : random.chance(0.6) ? random.int(20) : random.int(200);
  const at = random.int(3);
  const cases = (): number[] => Array.from({ length: random.between(1, 3) }, () => random.int(6));
  switch (name) {
    case 'append':
    case 'once':
      return { do: name, at, cases: cases(), turns };
    case 'many':
      return { do: name, at, count: random.between(3, 20), turns };
    case 'row':
      return { do: name, at, row: random.int(3), turns };
    case 'disclose':
    case 'erase':
      return { do: name, at, key: random.int(3), turns };
    case 'read':
      return { do: name, at, turns };
    case 'pass':
      return { do: name, ms: random.between(1, random.pick([20, 300, 4000])), turns: 0 };
    case 'kill':
      return { do: name, who: who(random), power: random.chance(0.5), turns };
    case 'stop':
    case 'wipe':
    case 'cut':
    case 'part nodes':
    case 'disk full':
      return { do: name, who: who(random), turns };
    case 'pause': {
      const ms = random.between(10, random.pick([500, 4000, 9000]));
      return { do: name, who: who(random), ms, suspended: random.chance(0.3), turns };
    }
    case 'strike': {
      const statement = random.chance(0.6) ? 'commit a round' : random.pick(STATEMENTS);
      const moment = random.pick(['before', 'after'] as const);
      return { do: name, statement, moment, kill: random.chance(0.4), turns };
    }
    case 'part':
      return { do: name, who: who(random), how: random.pick(['drop', 'refuse'] as const), turns };
    case 'slow network':
      return { do: name, factor: random.pick([5, 30]), turns };
    case 'clock': {
      const ms = random.pick([-5000, -200, 300, 6000]);
      const whose = random.chance(0.3) ? 'database' : who(random);
      return { do: name, who: whose, ms, turns };
    }
    case 'database restarts':
      return { do: name, ms: random.between(10, random.pick([500, 5000])), turns };
    case 'failover': {
      const ms = random.between(10, random.pick([500, 4000]));
      if (!lossy) return { do: name, ms, lag_ms: 0, turns };
      const behind = random.pick([null, 'new key', 'commits alone'] as const);
      return { do: name, ms, lag_ms: random.between(1, 1500), behind, turns };
    }
    default:
      return { do: name, turns };
  }
}
