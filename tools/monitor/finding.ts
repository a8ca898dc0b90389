// What a monitor finds: a broken rule with the objects that show it. formats.md §7.

import type { JsonObject, Opened } from '../../log/index.ts';
import type { Prefix } from './leaf-hashes.ts';
import type { Rule } from '../../log/replay.ts';

/** The rules of a replay, and those that only show between reads and on the clock. */
export type FindingRule =
  | Rule
  | 'checkpoint_form' // signed by the log, but not three lines of origin, size and root
  | 'two_roots' // two notes of one size
  | 'inconsistent' // a note that is not consistent with an earlier one
  | 'entry_not_included' // an entry is served that the checkpoint does not commit to
  | 'map_head_future'
  | 'checkpoint_late'
  | 'merge_delay';

/** What shows a finding to others. */
export interface Evidence {
  /** Signed notes, the older one first. */
  readonly notes: readonly string[];
  /** Entries under the last of the notes; a path is missing where the entry is not included. */
  readonly entries: readonly (Opened | Omit<Opened, 'path'>)[];
  /** The root that the tree of the last note had at the size of the first, with the path that proves it. */
  readonly consistency?: Prefix;
  /** Our clock, where it matters. */
  readonly clock_ms?: number;
}

/** A broken rule. */
export class Finding extends Error {
  override readonly name = 'Finding';
  readonly rule: FindingRule;
  /**
   * `signed`: the log's own signatures prove it to anybody. `observed`: it is what this monitor was
   * given, and when; nobody else can check that.
   */
  readonly proof: 'signed' | 'observed';
  readonly evidence: Evidence;

  constructor(rule: FindingRule, detail: string, proof: 'signed' | 'observed', evidence: Evidence) {
    super(detail);
    this.rule = rule;
    this.proof = proof;
    this.evidence = evidence;
  }
}

/** The file that a finding is kept in. */
export function findingDocument(
  { rule, message, proof, evidence }: Finding,
  log: { readonly origin: string; readonly vkey: string },
  found_at_ms: number,
): JsonObject {
  return {
    schema: 'actlog-violation-v1',
    ...log,
    rule,
    detail: message,
    proof,
    found_at_ms,
    ...(evidence as unknown as JsonObject),
  };
}
