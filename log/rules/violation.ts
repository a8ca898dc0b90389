// Broken rules of the log, and where their proofs are. log/FORMAT.md §7.

import type { LogError } from '../errors.ts';
import { isLogError } from '../errors.ts';

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

const RULE_BROKEN_BRAND = Symbol.for('actlog.RuleBroken');

/** Thrown by a check that does not know the index of the entry. */
export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';
  readonly [RULE_BROKEN_BRAND] = true;
  readonly rule: Rule;
  readonly related: readonly number[];

  /** @param related indexes of earlier entries that prove the violation together with this one */
  constructor(rule: Rule, detail: string, related: readonly number[] = []) {
    super(detail);
    this.rule = rule;
    this.related = related;
  }
}

/** Whether a thrown value is a `RuleBroken`. */
export const isRuleBroken = (thrown: unknown): thrown is RuleBroken =>
  thrown instanceof Error && RULE_BROKEN_BRAND in thrown;

const VIOLATION_BRAND = Symbol.for('actlog.Violation');

/** A rule that the log broke. This is a finding about the log, not a failure of the program. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly [VIOLATION_BRAND] = true;
  readonly rule: Rule;
  /** Index of the entry; for a checkpoint, its size. */
  readonly index: number;
  /** Indexes of earlier entries that belong to the proof. */
  readonly related: readonly number[];
  readonly detail: string;

  constructor(
    broken: { readonly rule: Rule; readonly detail: string; readonly related?: readonly number[] },
    index: number,
  ) {
    super(`entry ${String(index)} breaks ${broken.rule}: ${broken.detail}`);
    this.rule = broken.rule;
    this.index = index;
    this.related = broken.related ?? [];
    this.detail = broken.detail;
  }
}

/** Whether a thrown value is a Violation, of this copy of the package or of another one. */
export const isViolation = (thrown: unknown): thrown is Violation =>
  thrown instanceof Error && VIOLATION_BRAND in thrown;

/**
 * Runs a check, and turns a LogError that it throws into a RuleBroken. `related` returns the indexes of the earlier
 * entries that the statement contradicts.
 */
export function under<T>(
  rule: Rule | ((error: LogError) => Rule),
  check: () => T,
  related: () => readonly number[] = () => [],
): T {
  try {
    return check();
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw new RuleBroken(typeof rule === 'string' ? rule : rule(cause), cause.message, related());
  }
}
