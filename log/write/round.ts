// What the sequencer places at once, is signed as one message and becomes durable with one batch.

import type { Placed } from './placing.ts';
import type { Position } from './state.ts';
import type { AppendOptions, Appended, Draft, PendingRow } from '../types.ts';

/** A group of entries that somebody waits for: all of them are appended, or none. */
export interface Waiting {
  readonly drafts: readonly Draft[];
  readonly options: AppendOptions;
  readonly resolve: (entries: readonly Appended[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups with their places in the log, in order. */
export interface Round {
  /** Ascending; pending rows are kept under it. */
  readonly id: number;
  /** Groups whose entries are `placed[from]` to `placed[to - 1]`. */
  readonly groups: {
    readonly waiting: Pick<Waiting, 'resolve' | 'reject'>;
    readonly from: number;
    readonly to: number;
  }[];
  /** Told when the round is on disk: what a refusal rests on must be durable as well. */
  readonly refused: { readonly waiting: Waiting; readonly error: unknown }[];
  readonly placed: Placed[];
  readonly attached: PendingRow[];
  /** Where the log stands after it. */
  position: Position;
}

/** A round without groups, after everything that is placed. */
export const newRound = (id: number, position: Position): Round => ({
  ...{ id, groups: [], refused: [], placed: [], attached: [] },
  position,
});
