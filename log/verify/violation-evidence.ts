// The evidence of a finding, and what every rule needs of it (log/FORMAT.md §7.1).

import type { Suite } from '../crypto/suite.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { refused } from './document.ts';
import { readEntry } from './entry.ts';
import type { EntryParts, TreeHead } from './entry.ts';
import type { Trust } from './trust.ts';

/** The largest number of entries in a finding. */
export const MAX_ENTRIES = 20;
/** A UUIDv7 has 48 bits for the time. */
const MAX_TIME = 2 ** 48 - 1;

/** An entry of a finding. Its bytes are missing if the service withheld them. */
export interface Shown {
  readonly index: number;
  readonly text: string | null;
  readonly leafHash: Uint8Array;
  /** Null for an entry that no note commits to. */
  readonly path: readonly Uint8Array[] | null;
  /** The number of the note that the path leads to. */
  readonly note: number;
}

/** A log as the verifier knows it. */
export interface KnownLog {
  readonly origin: string;
  readonly vkey: string;
}

/** The parts of a finding. */
export interface Claim {
  readonly rule: string;
  readonly notes: readonly string[];
  /** The log of each note. */
  readonly logs: readonly KnownLog[];
  /** Whether the document names the verifier key of each note, as a finding about two logs does. */
  readonly named: boolean;
  readonly entries: readonly Shown[];
  readonly consistency: {
    readonly from: number;
    readonly to: number;
    readonly fromRoot: Uint8Array;
    readonly path: readonly Uint8Array[];
  } | null;
}

/** A claim whose notes were opened, and whose entries are in the trees of the notes that they name. */
export interface Proven extends Claim {
  readonly suite: Suite;
  readonly trust: Trust;
  readonly trees: readonly TreeHead[];
}

/** The evidence of a rule: how many notes and entries it takes, and what is recomputed from them. */
export interface Rule {
  /** The least and the largest number of notes. */
  readonly notes: readonly [number, number];
  /** The least and the largest number of entries. */
  readonly entries: readonly [number, number];
  /** The notes may be of two logs. */
  readonly logs?: true;
  readonly consistency?: true;
  /** The last entry but one has no path. */
  readonly stray?: true;
  /** The signed text is not read as a checkpoint. */
  readonly anyText?: true;
  /**
   * What the operator of the log did, in words; null if the evidence alone does not show it. Throws LogError if the
   * evidence does not break the rule.
   */
  broken(proven: Proven): string | null;
}

/** What broke the rule, in words. Evidence that the rule does not need would be shown unchecked, so it is refused. */
export function brokenBy(rule: Rule, proven: Proven): string | null {
  const { notes, entries, consistency, named } = proven;
  if (
    !isWithin(rule.notes, notes.length) ||
    !isWithin(rule.entries, entries.length) ||
    (consistency !== null) !== (rule.consistency === true) ||
    (named && rule.logs !== true)
  ) {
    throw notOfRule();
  }
  // The service withheld the bytes of an entry, so its members are unknown.
  if (rule.stray !== true && entries.some(({ text }) => text === null)) return null;
  return rule.broken(proven);
}

const isWithin = ([least, most]: readonly [number, number], n: number): boolean =>
  n >= least && n <= most;

/** For evidence of another form than the rule takes. */
export const notOfRule = (): Error => refused('the evidence is not that of the rule');

/** Refuses evidence that does not break the rule. */
export const kept = (): never => {
  throw refused('the evidence does not break the rule');
};

/** The last entry, and the one before it. */
export function lastOf({ entries }: Proven): {
  readonly last: Shown;
  readonly before: Shown | undefined;
} {
  const last = entries.at(-1);
  return last === undefined ? kept() : { last, before: entries.at(-2) };
}

/** An entry that was committed to, taken apart. Throws LogError if its bytes are missing or no entry. */
export function partsOf(suite: Suite, { text }: Shown): EntryParts {
  return text === null ? kept() : readEntry(suite, text);
}

/** The number of entries in the tree of the last note. */
export const sizeOf = ({ trees }: Proven): string => String(trees.at(-1)?.size ?? 0);

/** Words about an entry under the last note. */
export const inTree = (proven: Proven, { index }: Shown, said: string): string =>
  `signed a checkpoint of ${sizeOf(proven)} entries in which entry ${String(index)} ${said}`;

/** The `issued_at_ms` of a statement if it has the form of log/FORMAT.md §2.1; else null. */
export const timeIn = ({ issued_at_ms }: JsonObject): number | null =>
  isCount(issued_at_ms) && issued_at_ms <= MAX_TIME ? issued_at_ms : null;

/** Whether a value is an integer from 0 to 2^53 − 1. */
export const isCount = (value: Json | undefined): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;
