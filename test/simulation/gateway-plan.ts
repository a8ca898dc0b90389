// What happens in one simulated run of a gateway: what tenants ask of it, what its operator does, and what fails. Like a
// plan of the log (plan.ts), it is data, so that a run can be repeated with fewer steps.

import type { MachineStep } from './machine.ts';
import { Random } from './world/random.ts';

/** The databases of a gateway, by their folders below the data folder. */
export const DATABASES = ['gateway', 'private', 'live/1/db', 'sandbox/1/db'] as const;

/** What a request may suffer: its answer does not reach the client. */
interface Sent {
  readonly tenant: number;
  /** With an Idempotency-Key: repeated until its answer is known. */
  readonly once: boolean;
  readonly lost: boolean;
}

/** One thing that happens. `turns`: completions before the next step. A number that names a thing counts round. */
export type GatewayStep = { readonly turns: number } & (
  | (Sent & {
      readonly do: 'classify';
      readonly session: number;
      readonly surface: Surface | null;
      /** Whether the message cannot be read and names an address, which is told so. */
      readonly hook: boolean;
    })
  | (Sent & { readonly do: 'policy'; readonly policy: number })
  | (Sent & { readonly do: 'gate'; readonly act: number; readonly shown: boolean })
  | (Sent & { readonly do: 'bind'; readonly payment: number; readonly seq: number })
  | (Sent & { readonly do: 'manifest'; readonly interval_ms: number | null })
  | (Sent & { readonly do: 'beat'; readonly surface: Surface })
  | (Sent & { readonly do: 'silence'; readonly session: number })
  | (Sent & { readonly do: 'enroll' })
  | { readonly do: 'subscribe'; readonly tenant: number }
  /** Uses up a permit, once or twice at the same time. */
  | (Sent & { readonly do: 'use'; readonly permit: number; readonly twice: boolean })
  | (Sent & {
      readonly do: 'resolve';
      readonly hold: number;
      readonly release: boolean;
      readonly twice: boolean;
    })
  | (Sent & { readonly do: 'absence'; readonly surface: Surface; readonly length_ms: number })
  | { readonly do: 'repeat'; readonly nth: number }
  | { readonly do: 'erase'; readonly entry: number; readonly lost: boolean }
  | { readonly do: 'look'; readonly entry: number }
  | { readonly do: 'usage'; readonly tenant: number }
  | { readonly do: 'visit'; readonly partner: number }
  | { readonly do: 'issue key'; readonly tenant: number }
  | { readonly do: 'rotate key'; readonly key: number; readonly grace_ms: number }
  | { readonly do: 'revoke key'; readonly key: number }
  | { readonly do: 'old key'; readonly key: number }
  | MachineStep
  | { readonly do: 'restart' }
  | {
      readonly do: 'batch fails';
      readonly how: 'before' | 'after';
      readonly database: (typeof DATABASES)[number];
    }
);

export type Surface = 'bind' | 'pay';

export interface GatewayPlan {
  readonly world: 'gateway';
  readonly seed: string;
  readonly interval_ms: number;
  /** Whether the run begins with the first start of a new data folder, or behind one that nothing disturbed. */
  readonly first: boolean;
  readonly steps: readonly GatewayStep[];
}

type Weights = Record<GatewayStep['do'], number>;

const WEIGHTS: Weights = {
  classify: 10,
  policy: 4,
  gate: 16,
  bind: 8,
  manifest: 2,
  beat: 5,
  silence: 2,
  enroll: 1,
  subscribe: 2,
  use: 12,
  resolve: 6,
  absence: 4,
  repeat: 8,
  erase: 6,
  look: 5,
  usage: 2,
  visit: 5,
  'issue key': 1,
  'rotate key': 3,
  'revoke key': 3,
  'old key': 3,
  pass: 5,
  restart: 2,
  crash: 8,
  'batch fails': 3,
  'sync fails': 1,
  'disk full': 1,
  'disk slow': 1,
  'disk well': 4,
  clock: 1,
};

/** Steps that a run has or has not. */
const OPTIONAL = [
  ...(['classify', 'gate', 'bind', 'beat', 'silence', 'enroll', 'use', 'resolve'] as const),
  ...(['absence', 'erase', 'visit', 'rotate key', 'revoke key', 'restart', 'crash'] as const),
  ...(['batch fails', 'sync fails', 'disk full', 'disk slow', 'clock'] as const),
];

/** The plan of a seed. */
export function gatewayPlanOf(seed: string): GatewayPlan {
  const random = new Random(`${seed} gateway plan`);
  const weights: Weights = { ...WEIGHTS };
  for (const name of OPTIONAL) {
    if (random.chance(0.35)) weights[name] = 0;
    else if (random.chance(0.25)) weights[name] *= 4;
  }
  const count = random.between(10, random.chance(0.2) ? 60 : 30);
  const begun = { tenant: 0, once: true, lost: false, turns: 60 };
  const steps: GatewayStep[] = [{ do: 'policy', policy: random.int(3), ...begun }];
  if (random.chance(0.4)) steps.push({ do: 'manifest', interval_ms: 20, ...begun });
  if (weights.visit > 0) steps.push({ do: 'enroll', ...begun });
  while (steps.length < count) steps.push(step(random, random.weighted(weights)));
  return {
    world: 'gateway',
    seed,
    interval_ms: random.pick([20, 100, 1000]),
    first: random.chance(0.15),
    steps,
  };
}

function step(random: Random, name: GatewayStep['do']): GatewayStep {
  const turns = random.chance(0.3) ? 0 : random.chance(0.6) ? random.int(8) : random.int(60);
  const tenant = random.chance(0.7) ? 0 : random.int(3);
  const lost = random.chance(0.15);
  const sent = { tenant, once: random.chance(0.7), lost, turns };
  const nth = random.int(1000);
  const surface = random.pick(['bind', 'pay'] as const);
  switch (name) {
    case 'classify': {
      const acting = random.chance(0.3) ? surface : null;
      return {
        do: name,
        ...sent,
        session: random.int(3),
        surface: acting,
        hook: random.chance(0.3),
      };
    }
    case 'silence':
      return { do: name, ...sent, session: random.int(3) };
    case 'policy':
      return { do: name, ...sent, policy: random.int(4) };
    case 'gate':
      return { do: name, ...sent, act: random.int(6), shown: random.chance(0.3) };
    case 'bind':
      return { do: name, ...sent, payment: random.int(4), seq: random.int(3) };
    case 'manifest':
      return { do: name, ...sent, interval_ms: random.pick([null, 20, 200]) };
    case 'beat':
      return { do: name, ...sent, surface };
    case 'enroll':
      return { do: name, ...sent };
    case 'use':
      return { do: name, ...sent, permit: nth, twice: random.chance(0.4) };
    case 'resolve':
      return {
        do: name,
        ...sent,
        hold: nth,
        release: random.chance(0.7),
        twice: random.chance(0.4),
      };
    case 'absence':
      return { do: name, ...sent, surface, length_ms: random.int(random.pick([10, 200])) };
    case 'repeat':
      return { do: name, nth, turns };
    case 'erase':
      return { do: name, entry: nth, lost, turns };
    case 'look':
      return { do: name, entry: nth, turns };
    case 'usage':
    case 'subscribe':
    case 'issue key':
      return { do: name, tenant, turns };
    case 'visit':
      return { do: name, partner: nth, turns };
    case 'rotate key':
      return { do: name, key: nth, grace_ms: random.pick([0, 50, 3_600_000]), turns };
    case 'revoke key':
    case 'old key':
      return { do: name, key: nth, turns };
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
      return { do: name, how, database: random.pick(DATABASES), turns };
    }
    case 'disk slow':
      return { do: name, factor: random.pick([3, 20]), turns };
    case 'clock':
      return { do: name, ms: random.pick([-30_000, -500, 700, 45_000, 3_600_000]), turns };
    default:
      return { do: name, turns };
  }
}
