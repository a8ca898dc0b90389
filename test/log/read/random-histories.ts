// Random histories of one entity for tests of absence: acts on its surfaces, heartbeats, manifests, time and
// checkpoints, in an order in which every verdict is frequent enough.

import fc from 'fast-check';

const SURFACES = ['bind', 'pay'] as const;

/** A step in the history of an entity; times are in milliseconds from the step before. */
export type Step =
  | { readonly do: 'act'; readonly surface: string }
  | { readonly do: 'beat'; readonly surface: string; readonly interval_ms: number }
  | {
      readonly do: 'manifest';
      readonly surfaces: readonly string[];
      readonly from: number | null;
      readonly until: number | null;
      readonly interval_ms: number | null;
    }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'publish' };

const surface = fc.constantFrom(...SURFACES);
const interval = fc.constantFrom(3, 8, 20);

/** Usually null. */
const seldom = (value: fc.Arbitrary<number>): fc.Arbitrary<number | null> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

const manifest: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('manifest' as const),
  surfaces: fc.oneof(
    { weight: 8, arbitrary: fc.constant<readonly string[]>([...SURFACES]) },
    { weight: 1, arbitrary: fc.subarray([...SURFACES]) },
  ),
  from: seldom(fc.integer({ min: -20, max: 10 })),
  until: seldom(fc.integer({ min: 0, max: 60 })),
  interval_ms: fc.oneof(fc.constant(null), fc.constantFrom(8, 20)),
});
const beat: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('beat' as const),
  surface,
  interval_ms: interval,
});
const pass: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('pass' as const),
  ms: fc.integer({ min: 1, max: 9 }),
});

const later: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('act' as const), surface }) },
  { weight: 6, arbitrary: beat },
  { weight: 1, arbitrary: manifest },
  { weight: 6, arbitrary: pass },
  { weight: 1, arbitrary: fc.constant({ do: 'publish' as const }) },
);
/** A history: a manifest, then 4 to 28 steps. */
export const steps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(manifest, { minLength: 1, maxLength: 1 }),
    fc.array(later, { minLength: 4, maxLength: 28 }),
  )
  .map((parts) => parts.flat());

/** A window: its start as a fraction of the history, and its length in milliseconds. */
export const window = fc.record({
  surface,
  at: fc.noBias(fc.nat(1000)).map((parts) => parts / 1000),
  length_ms: fc.oneof(fc.nat(6), fc.nat(30), fc.nat(200)),
});
