// General average: what was sacrificed for the common safety is borne by all whom it saved, by value.
// gateway/API.md §10.4; York-Antwerp Rules 2016, Rules A, C, G, XVII. Pure, in micro-USD.

import { apportion } from './apportion.ts';

/** What a party has at stake. */
export interface Stake {
  /** Net value that was saved. */
  readonly saved: bigint;
  /** What it gave up for all: made good to it. */
  readonly sacrificed: bigint;
}

/** An adventure and what was given for it. */
export interface Average {
  readonly parties: readonly Stake[];
  /** Expenditure for all, beside the sacrifices. */
  readonly expenditure: bigint;
  /** The place of the party that bore the expenditure; null when it is none of them. */
  readonly expenditure_by: number | null;
}

/** Who bears what, by the place of the party. */
export interface Adjustment {
  /** All that is made good: the sacrifices and the expenditure. */
  readonly allowance: bigint;
  /** The sum of the contributory values, each saved value + made good. */
  readonly contributory: bigint;
  /** Shares of the allowance; their sum is the allowance. */
  readonly contributions: readonly bigint[];
  /** Contribution − what is made good to the party: above 0 it pays, below 0 it receives. */
  readonly nets: readonly bigint[];
  /** What goes to who bore the expenditure and is no party: − expenditure, or 0. With the nets its sum is 0. */
  readonly outside: bigint;
}

/**
 * Adjusts an average by largest remainder. Without any contributory value there is nobody to contribute: that is
 * no average, and the caller refuses it.
 */
export function adjust({ parties, expenditure, expenditure_by }: Average): Adjustment {
  const values = parties.map(({ saved, sacrificed }) => saved + sacrificed);
  const contributory = values.reduce((sum, value) => sum + value, 0n);
  const allowance = parties.reduce((sum, { sacrificed }) => sum + sacrificed, expenditure);
  const contributions = apportion(allowance, values, contributory);
  const nets = parties.map(({ sacrificed }, at) => {
    const borne = at === expenditure_by ? expenditure : 0n;
    return (contributions[at] ?? 0n) - sacrificed - borne;
  });
  const outside = expenditure_by === null ? -expenditure : 0n;
  return { allowance, contributory, contributions, nets, outside };
}
