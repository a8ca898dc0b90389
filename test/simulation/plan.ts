// What happens in one simulated run: the machine's habits and a list of steps, both drawn from the seed. A plan is data,
// so that a run can be repeated with fewer steps.

import type { MachineStep } from './machine.ts';
import { Random } from './world/random.ts';

/** One thing that a client, the operator, the disk or the clock does. `turns`: completions before the next step. */
export type Step = { readonly turns: number } & (
  | { readonly do: 'append'; readonly tenant: number; readonly cases: readonly number[] }
  /** With an idempotency key: repeated until it is known to be in the log. */
  | { readonly do: 'once'; readonly tenant: number; readonly cases: readonly number[] }
  /** Many entries at once, so that the tree gets full tiles. */
  | { readonly do: 'many'; readonly groups: number; readonly size: number }
  | { readonly do: 'tenant'; readonly tenant: number }
  | { readonly do: 'refused' }
  | { readonly do: 'claim'; readonly entity: number; readonly tenant: number }
  | {
      readonly do: 'manifest';
      readonly entity: number;
      readonly both: boolean;
      readonly interval_ms: number | null;
    }
  | {
      readonly do: 'beat';
      readonly entity: number;
      readonly surface: Surface;
      readonly interval_ms: number;
    }
  | { readonly do: 'act'; readonly entity: number; readonly surface: Surface }
  | {
      readonly do: 'ask';
      readonly entity: number;
      readonly surface: Surface;
      readonly at: number;
      readonly length_ms: number;
    }
  | { readonly do: 'publish' }
  | { readonly do: 'attach'; readonly row: number; readonly sync: boolean }
  | { readonly do: 'rotate' }
  | { readonly do: 'revoke' }
  | { readonly do: 'succeed' }
  | MachineStep
  | { readonly do: 'restart' }
  | { readonly do: 'batch fails'; readonly how: 'before' | 'after'; readonly letter: string | null }
  | { readonly do: 'bit flips'; readonly letter: string }
  | { readonly do: 'confirm clock' }
  | { readonly do: 'witness'; readonly nth: number; readonly up: boolean }
);

export type Surface = 'bind' | 'pay';

export interface Plan {
  readonly seed: string;
  readonly interval_ms: number;
  readonly idle_ms: number;
  /** Witnesses, of which `quorum` must cosign; 0 for a log without witnesses. */
  readonly witnesses: number;
  readonly quorum: number;
  /** What a lying disk keeps nothing of, whatever it was told to sync. */
  readonly lying: 'database' | 'files' | null;
  readonly steps: readonly Step[];
}

/** Each run has its own mix of steps: a run in which everything happens seldom meets anything rare twice. */
const WEIGHTS = {
  append: 30,
  once: 12,
  many: 2,
  tenant: 3,
  refused: 2,
  claim: 4,
  manifest: 5,
  beat: 12,
  act: 6,
  ask: 8,
  publish: 8,
  attach: 3,
  rotate: 3,
  revoke: 2,
  succeed: 1,
  pass: 10,
  restart: 3,
  crash: 8,
  'batch fails': 3,
  'sync fails': 2,
  'disk full': 2,
  'disk slow': 2,
  'disk well': 6,
  'bit flips': 0,
  clock: 2,
  'confirm clock': 2,
  witness: 4,
} as const satisfies Record<Step['do'], number>;

type Weights = Record<Step['do'], number>;

/** Steps that a run has or has not. */
const OPTIONAL = [
  'many',
  'refused',
  'claim',
  'manifest',
  'beat',
  'act',
  'ask',
  'attach',
  'rotate',
  'revoke',
  'succeed',
  'restart',
  'crash',
  'batch fails',
  'sync fails',
  'disk full',
  'disk slow',
  'clock',
  'witness',
] as const;

const LETTERS = ['a', 'c', 'e', 'h', 'k', 'l', 'm', 'p', 'r', 't'] as const;

/** The plan of a seed. */
export function planOf(seed: string): Plan {
  const random = new Random(`${seed} plan`);
  const weights: Weights = { ...WEIGHTS };
  for (const name of OPTIONAL) {
    if (random.chance(0.4)) weights[name] = 0;
    else if (random.chance(0.15)) weights[name] *= 4;
  }
  const damage = random.chance(0.12);
  const lying = !damage && random.chance(0.08) ? random.pick(['database', 'files'] as const) : null;
  if (damage) weights['bit flips'] = 4;
  if (lying !== null) weights.crash = 12;
  const witnesses = random.chance(0.5) ? 0 : random.between(1, 3);
  const count = random.between(15, random.chance(0.2) ? 90 : 45);
  const steps: Step[] = [
    { do: 'tenant', tenant: 0, turns: random.chance(0.2) ? random.int(60) : 200 },
  ];
  while (steps.length < count) {
    const drawn = step(random, random.weighted(weights));
    steps.push(drawn);
    if (drawn.do !== 'batch fails' || drawn.letter !== 'a') continue;
    // An entry is written behind the write that fails.
    steps.push(
      { do: 'attach', row: 0, sync: true, turns: 0 },
      { do: 'append', tenant: 0, cases: [0], turns: 2 },
    );
  }
  return {
    seed,
    interval_ms: random.pick([5, 20, 100, 1000]),
    idle_ms: random.pick([200, 2000, 60_000]),
    witnesses,
    quorum: witnesses === 0 ? 0 : random.between(1, witnesses),
    lying,
    steps,
  };
}

function step(random: Random, name: Step['do']): Step {
  const turns = random.chance(0.3) ? 0 : random.chance(0.6) ? random.int(8) : random.int(80);
  const tenant = random.int(3);
  const entity = random.int(3);
  const surface = random.pick(['bind', 'pay'] as const);
  const cases = (): number[] => Array.from({ length: random.between(1, 4) }, () => random.int(6));
  switch (name) {
    case 'append':
    case 'once':
      return { do: name, tenant, cases: cases(), turns };
    case 'many':
      return { do: name, groups: random.between(2, 60), size: random.between(1, 4), turns };
    case 'tenant':
      return { do: name, tenant, turns };
    case 'claim':
      return { do: name, entity, tenant, turns };
    case 'manifest': {
      const interval_ms = random.pick([null, 8, 20, 200]);
      return { do: name, entity, both: random.chance(0.8), interval_ms, turns };
    }
    case 'beat':
      return { do: name, entity, surface, interval_ms: random.pick([3, 8, 20, 200]), turns };
    case 'act':
      return { do: name, entity, surface, turns };
    case 'ask': {
      const length_ms = random.int(random.pick([6, 30, 200]));
      return { do: name, entity, surface, at: random.int(1000) / 1000, length_ms, turns };
    }
    case 'attach':
      return { do: name, row: random.int(3), sync: random.chance(0.3), turns };
    case 'pass':
      return { do: name, ms: random.between(1, random.pick([10, 100, 3000])), turns: 0 };
    case 'crash':
      return {
        do: name,
        power: random.chance(0.6),
        turns: random.int(random.pick([20, 150, 300])),
      };
    case 'batch fails': {
      const how = random.pick(['before', 'after'] as const);
      return { do: name, how, letter: random.pick([null, 'e', 'p', 'a']), turns };
    }
    case 'disk slow':
      return { do: name, factor: random.pick([3, 20, 100]), turns };
    case 'bit flips':
      return { do: name, letter: random.pick(LETTERS), turns };
    case 'clock': {
      const ms = random.pick([-30_000, -500, 700, 45_000, -3_600_000, 3_600_000]);
      return { do: name, ms, turns };
    }
    case 'witness':
      return { do: name, nth: random.int(3), up: random.chance(0.6), turns };
    default:
      return { do: name, turns };
  }
}
