// A broken rule of the log, with what proves it. log/FORMAT.md §7.

import { LogError } from '../errors.ts';

/** The rules of log/FORMAT.md §1 to §5 by name; stable across versions. */
export const RULES = [
  // §2: the text of an entry
  'entry_size',
  'entry_json',
  'entry_canonical',
  'signature_form',
  // §2: the members of the table
  'member_forbidden',
  'type_form',
  'origin',
  'sandbox',
  'index',
  'entry_id',
  'entry_id_order',
  'issued_at_ms',
  'time_order',
  'time_after_map_head',
  'kid',
  'signature',
  'tenant_ref',
  'tenant_unknown',
  'commitments',
  'event_at_ms',
  'toll',
  'submitter',
  // §1, §2, §4: types
  'builtin_members',
  'log_open',
  'predecessor',
  'successor',
  'log_closed',
  'type_undeclared',
  'type_declared_twice',
  'type_schema',
  'type_template',
  'schema',
  'clear_text',
  'key_status',
  'key_rotation',
  'tenant_declared_twice',
  // §3: chains
  'reserved_members',
  'links',
  // §4: surfaces and the map
  'entity_claim',
  'entity_owner',
  'manifest',
  'heartbeat',
  'prev_map_head',
  'map_root',
  // §5: checkpoints
  'checkpoint_origin',
  'checkpoint_root',
  'checkpoint_map_head',
] as const;

/** The name of a rule. */
export type Rule = (typeof RULES)[number];

/** A rule that an entry breaks, before the entry is at hand to show. */
export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';
  readonly rule: Rule;
  readonly related: readonly number[];

  /** `related` are indexes of earlier entries that prove it together with this one. */
  constructor(rule: Rule, detail: string, related: readonly number[] = []) {
    super(detail);
    this.rule = rule;
    this.related = related;
  }
}

/** A rule that the log broke: not an error of ours, but a finding to show. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly rule: Rule;
  /** Of the entry, or for a checkpoint its size. */
  readonly index: number;
  /** The signed texts at hand that prove it, the offending entry last. */
  readonly entries: readonly string[];
  /** Indexes of earlier entries that belong to the proof. */
  readonly related: readonly number[];
  readonly detail: string;

  constructor(
    broken: { readonly rule: Rule; readonly detail: string; readonly related?: readonly number[] },
    index: number,
    entries: readonly string[],
  ) {
    super(`entry ${String(index)} breaks ${broken.rule}: ${broken.detail}`);
    this.rule = broken.rule;
    this.index = index;
    this.entries = entries;
    this.related = broken.related ?? [];
    this.detail = broken.detail;
  }
}

/**
 * Runs a check that throws LogError, and throws `RuleBroken` in its place. `related` gives the indexes of the
 * earlier entries that the statement contradicts.
 */
export function under<T>(
  rule: Rule | ((error: LogError) => Rule),
  check: () => T,
  related: () => readonly number[] = () => [],
): T {
  try {
    return check();
  } catch (cause) {
    if (!(cause instanceof LogError)) throw cause;
    throw new RuleBroken(typeof rule === 'string' ? rule : rule(cause), cause.message, related());
  }
}
