// What a lie is: what is served, step by step, and what a monitor must call it.

import type { Host } from '../host.ts';
import { Story } from '../story.ts';
import type { Bend } from '../story.ts';
import type { Members } from '../bytes.ts';

export interface Lie {
  readonly name: string;
  /** The rule that must be named; of several, any. */
  readonly rule: string | readonly string[];
  /** Before each look; all looks but the last find nothing. */
  readonly steps: readonly ((host: Host) => void)[];
  /** What must be shown: the indexes of the entries, in their order. */
  readonly entries?: readonly number[];
  /** The last entry that must be shown: the bad one. */
  readonly shows?: number;
  readonly proof?: 'signed' | 'observed';
  /** Something must be named as withheld. */
  readonly withheld?: boolean;
  /** Both kinds are followed. */
  readonly both?: boolean;
  /** Only the last look polls: what depends on the clock, and what comes while the monitor runs. */
  readonly polls?: boolean;
}

/** One bad entry behind the usual ones, and a map head over it. */
export function bad(
  rule: string | readonly string[],
  name: string,
  tell: (story: Story) => void,
  more: Partial<Lie> = {},
): Lie {
  const step = (host: Host): void => {
    const story = new Story().usual();
    tell(story);
    host.put(story.mapHead());
  };
  return { name, rule, steps: [step], proof: 'signed', ...more };
}

/** An act that departs in this way. */
export const bent = (rule: string | readonly string[], name: string, bend: Bend): Lie =>
  bad(rule, name, (story) => story.act({}, bend), { shows: 8 });

/** An act with these members. */
export const act = (rule: string | readonly string[], name: string, members: Members): Lie =>
  bad(rule, name, (story) => story.act(members));

/** An act whose statement is changed after its links were made. */
export const set = (rule: string | readonly string[], name: string, members: Members): Lie =>
  bent(rule, name, { set: members });

/** A whole log that is not the usual one. */
export function whole(
  rule: string | readonly string[],
  name: string,
  tell: () => Story,
  more: Partial<Lie> = {},
): Lie {
  return { name, rule, steps: [(host) => void host.put(tell())], ...more };
}
