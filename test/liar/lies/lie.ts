// The form of a lie: what is served, step by step, and the violation that a monitor must report.

import type { Host } from '../host.ts';
import { Story } from '../story.ts';
import type { Bend } from '../story.ts';
import type { Members } from '../bytes.ts';

export interface Lie {
  readonly name: string;
  /** The rule that must be reported; if there are several, any of them. */
  readonly rule: string | readonly string[];
  /** Run before each look of the monitor; only the last look must find something. */
  readonly steps: readonly ((host: Host) => void)[];
  /** The indexes of the entries in the finding, in order. */
  readonly entries?: readonly number[];
  /** The index of the last entry in the finding, which breaks the rule. */
  readonly shows?: number;
  readonly proof?: 'signed' | 'observed';
  /** The finding must say that something was withheld. */
  readonly withheld?: boolean;
  /** The monitor follows both kinds of logs. */
  readonly both?: boolean;
  /** The last look polls: for rules that depend on the clock or on changes while the monitor runs. */
  readonly polls?: boolean;
}

/** An entry that breaks a rule after the usual ones, and a map head over it. */
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

/** An act with this change. */
export const bent = (rule: string | readonly string[], name: string, bend: Bend): Lie =>
  bad(rule, name, (story) => story.act({}, bend), { shows: 8 });

/** An act with these members. */
export const act = (rule: string | readonly string[], name: string, members: Members): Lie =>
  bad(rule, name, (story) => story.act(members));

/** An act whose statement is changed after its links were made. */
export const set = (rule: string | readonly string[], name: string, members: Members): Lie =>
  bent(rule, name, { set: members });

/** A complete log instead of the usual one. */
export function whole(
  rule: string | readonly string[],
  name: string,
  tell: () => Story,
  more: Partial<Lie> = {},
): Lie {
  return { name, rule, steps: [(host) => void host.put(tell())], ...more };
}
