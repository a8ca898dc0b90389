// Policies as the log has them: which one a tenant has in force, and its rules, read from its entry.
// gateway/API.md §8.1.

import { createHash } from 'node:crypto';
import { canonical } from '../../log/index.ts';
import type { JsonObject, LogView } from '../contract.ts';
import type { Policy } from './grammar.ts';
import { policyRow, versionRow } from './rows.ts';
import type { PolicyRow } from './rows.ts';

/** A policy in force. */
export interface InForce extends PolicyRow {
  readonly policy: Policy;
}

/** Policies of a log that are kept parsed; an entry never changes. */
const KEPT = 256;
const parsed = new WeakMap<LogView, Map<number, Policy>>();

/** The policy of a tenant as of the newest durable entry; null while it has none. */
export function policyInForce(log: LogView, tenant_ref: string): InForce | null {
  const row = log.row(policyRow(tenant_ref)) as unknown as PolicyRow | undefined;
  return row === undefined ? null : inForceOf(log, row);
}

/** Where one version of a tenant's policy stands; null where it has no such version. */
export function versionAt(
  logs: readonly LogView[],
  tenant_ref: string,
  version: number,
): { readonly log: LogView; readonly index: number } | null {
  for (const log of logs.toReversed()) {
    const row = log.row(versionRow(tenant_ref, version)) as { readonly index: number } | undefined;
    if (row !== undefined) return { log, index: row.index };
  }
  return null;
}

/** A policy in force, out of its row. */
export const inForceOf = (log: LogView, row: PolicyRow): InForce => ({
  policy: policyAt(log, row.index),
  ...row,
});

/** The policy that an entry is. */
export function policyAt(log: LogView, index: number): Policy {
  const kept = parsed.get(log) ?? new Map<number, Policy>();
  parsed.set(log, kept);
  const known = kept.get(index);
  if (known !== undefined) return known;
  const text = log.entry(index);
  if (text === null) throw new Error(`the policy at ${String(index)} is missing`);
  const policy = policyOf(JSON.parse(text) as JsonObject);
  const [oldest] = kept.keys();
  if (kept.size >= KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(index, policy);
  return policy;
}

/** The members of a policy alone: of a request, which may have others, or of an entry. */
export function policyOf({ rules, receipt_required }: JsonObject): Policy {
  return {
    rules: rules as unknown as Policy['rules'],
    ...(receipt_required === undefined
      ? {}
      : {
          receipt_required: receipt_required as unknown as NonNullable<Policy['receipt_required']>,
        }),
  };
}

/** SHA-256 over the canonical form of a policy, hex. */
export function policyHash(policy: Policy): string {
  return createHash('sha256').update(canonical(policy)).digest('hex');
}
