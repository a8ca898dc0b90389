// What a check on the verify page came to, in one shape for every kind of thing.

import type { JsonObject } from '../../../log/verify.ts';
import type { Moment } from './moments.ts';

/** One line of the result. */
export interface Line {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'not_shown';
  readonly detail: string;
}

/** The way from a leaf to the root, each hash in hex. */
export interface Way {
  readonly index: number;
  readonly size: number;
  readonly leaf: string;
  readonly steps: readonly {
    readonly sibling: string;
    readonly left: boolean;
    readonly node: string;
  }[];
}

/** What was found. */
export interface Finding {
  readonly valid: boolean;
  /** A verdict of absence documents; else valid or invalid. */
  readonly verdict: string;
  /** One sentence or two: what is shown, or what is wrong. */
  readonly summary: string;
  readonly lines: readonly Line[];
  /** What is not proven, however good the thing is. */
  readonly not_proven: readonly string[];
  readonly way?: Way;
  readonly moments?: readonly Moment[];
  /** What the log signed, once that holds. */
  readonly statement?: JsonObject;
  /** The checkpoint that the thing was checked under, to compare with what this browser saw last. */
  readonly seen?: { readonly origin: string; readonly note: string; readonly size: number };
}

/** A finding of something that does not hold. */
export function refusal(lines: readonly Line[]): Finding {
  const bad = lines.find(({ outcome }) => outcome === 'failed');
  const summary = bad === undefined ? '' : `${bad.name.replaceAll('_', ' ')}: ${bad.detail}`;
  return { valid: false, verdict: 'INVALID', summary, lines, not_proven: [] };
}

/** What a check says of an entry whose key the kit does not have. */
const STRANGE = 'kid is not a trusted receipt key';

/**
 * Why nothing can be told of a thing that is not valid; null where something does not hold. A key that the kit does
 * not have may be a forger's, or the log's own and younger than the kit: both look the same.
 */
export function untold(lines: readonly Line[]): string | null {
  const failed = lines.filter(({ outcome }) => outcome === 'failed');
  const strange = failed.some(({ detail }) => detail.endsWith(STRANGE));
  // What rests on the receipt fails with it.
  const only = failed.every(
    ({ detail }) => detail.endsWith(STRANGE) || detail.startsWith('without a good receipt'),
  );
  return strange && only ? 'a key that is younger than the kit needs a newer kit' : null;
}

/** Why nothing can be told of what is of a log that the kit does not have. */
export const STRANGE_LOG =
  'a log that is younger than the kit, such as a successor, needs a newer kit';
