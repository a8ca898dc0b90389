// The rules of a check, and the terms of a mandate. gateway/API.md §8.3.
//
// The rules are pure functions and apply in a fixed order: the first that fails decides, and missing information
// blocks. Their numbers are in catalogs/carrier.json. The entry of a mandate has the digest of its terms, which fixes
// them before any dispute.

import { Type } from 'typebox';
import { canonical, decimalOf, decimalPattern, MICRO, native, toHex } from '../contract/index.ts';
import type { JsonObject, PluginHost } from '../contract/index.ts';
import type { PARTS, Reason } from './entries.ts';
import type { Entry, Seen, Standing } from './findings.ts';
import type { Action, Mandate, MandatePlace, MandateRow } from './mandates.ts';
import { ACTIONS } from './mandates.ts';

/** The grammar of amounts in USD; they are compared in micro-USD. */
const USD = { whole: 15, fraction: MICRO };

/** An amount in a request: a string, or a JSON number, which is read in its shortest decimal form. */
export const AmountInput = Type.Union(
  [Type.String({ pattern: decimalPattern(USD) }), Type.Number({ minimum: 0 })],
  { description: 'USD: at most 15 digits before the point, 6 after it. A commitment in the log.' },
);

/** Parses an amount into micro-USD; 400 `parameter_invalid` if it does not match the grammar. */
export const microUsd = (input: string | number, param: string): bigint =>
  decimalOf(input, param, USD);

/** The numbers of the rules, in milliseconds. */
interface Limits {
  readonly findings_window_ms: number;
  readonly evidence_max_age_ms: number;
}

/** The act to check: its action, and limit and authority in micro-USD, null if the request has none. */
export interface Asked {
  readonly action: Action;
  readonly limit: bigint | null;
  readonly authority: bigint | null;
}

/** The input of the rules, read at one sequence point. */
interface Facts {
  readonly now_ms: number;
  readonly mandate: MandateRow | undefined;
  /** Number of the log that has the row of the mandate. */
  readonly log_number: number;
  readonly newest: Seen | null;
  readonly crisis: Standing;
  readonly violation: Standing;
  /** The receipt that the request names; null if it is not one of the insured, absent if it names none. */
  readonly named?: Seen | null;
  readonly asked: Asked;
}

/** An entry that a verdict depends on. */
interface Part extends Entry {
  readonly part: (typeof PARTS)[number];
}

/** The result of the rules. */
interface Verdict {
  readonly decision: 'ALLOW' | 'BLOCK';
  readonly reasons: readonly Reason[];
  readonly parts: readonly Part[];
}

/** Applies the rules. */
export function check(facts: Facts, limits: Limits): Verdict {
  const { now_ms, mandate, newest, crisis, violation, named, asked } = facts;
  if (mandate === undefined) return block(['not_enrolled'], []);
  const { mandate_id: entry_id, index, log_number = facts.log_number } = mandate;
  const parts: Part[] = [{ part: 'mandate', entry_id, index, log_number }];
  for (const part of ['renewal', 'acceptance', 'end'] as const) {
    const place: MandatePlace | undefined = mandate[part];
    if (place !== undefined) parts.push(partOf(part, { log_number: facts.log_number, ...place }));
  }
  if (mandate.end !== undefined) return block(['mandate_ended'], parts);
  if (now_ms >= mandate.valid_until_ms) return block(['mandate_expired'], parts);

  const open: Reason[] = [];
  for (const { resolved } of [crisis, violation]) {
    if (resolved === null) continue;
    parts.push(partOf('resolved_finding', resolved.finding));
    parts.push(partOf('resolution', resolved.resolution));
  }
  if (crisis.open !== null) {
    open.push('open_crisis');
    parts.push(partOf('crisis', crisis.open));
  }
  if (violation.open !== null) {
    open.push('open_violation');
    parts.push(partOf('violation', violation.open));
  }
  if (open.length > 0) return block(open, parts);
  const outside = outsideOf(mandate, asked);
  if (outside !== null) return block([outside], parts);

  const evidence = named === undefined ? newest : named;
  if (evidence !== null) parts.push(partOf('evidence', evidence));
  // The newest text could not be classified, so an older receipt must not count as evidence in its place.
  if (evidence === null || evidence.what === 'ERROR' || newest?.what === 'ERROR') {
    return block(['evidence_missing'], parts);
  }
  if (now_ms - evidence.ms > limits.evidence_max_age_ms) return block(['evidence_missing'], parts);
  return { decision: 'ALLOW', reasons: [], parts };
}

/**
 * The reason why an act is outside the mandate; null if it is inside. The request's authority can only lower the limit.
 */
function outsideOf(
  { actions, limit_micro_usd }: MandateRow,
  { action, limit, authority }: Asked,
): Reason | null {
  if (actions !== undefined && !actions.includes(action)) return 'action_outside_mandate';
  if (limit === null) return null;
  if (limit_micro_usd === undefined && authority === null) return 'authority_missing';
  const isOver =
    (limit_micro_usd !== undefined && limit > BigInt(limit_micro_usd)) ||
    (authority !== null && limit > authority);
  return isOver ? 'limit_over_authority' : null;
}

const partOf = (part: Part['part'], { entry_id, index, log_number }: Entry): Part => ({
  part,
  entry_id,
  index,
  log_number,
});

const block = (reasons: readonly Reason[], parts: readonly Part[]): Verdict => ({
  decision: 'BLOCK',
  reasons,
  parts,
});

/** catalogs/carrier.json. */
interface CarrierCatalog {
  readonly schema: string;
  readonly terms_version: number;
  readonly mandate_term_days: number;
  readonly findings_window_days: number;
  readonly evidence_max_age_hours: number;
  readonly default_domain: string;
  readonly rules: readonly JsonObject[];
  readonly does_not_assert: readonly string[];
}

/** Reads the catalog. */
export const carrierCatalog = (host: Pick<PluginHost, 'catalog'>): CarrierCatalog =>
  host.catalog('carrier.json') as unknown as CarrierCatalog;

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The numbers of the rules. */
export const limitsOf = (catalog: CarrierCatalog): Limits => ({
  findings_window_ms: catalog.findings_window_days * DAY_MS,
  evidence_max_age_ms: catalog.evidence_max_age_hours * HOUR_MS,
});

/** The variable parts of the terms. They contain no names, because the log has their digest in clear text. */
type Covered = Pick<Mandate, 'mandate_id' | 'valid_from_ms' | 'valid_until_ms'> &
  Pick<MandateRow, 'tenant_ref' | 'entity' | 'limit_micro_usd' | 'actions'>;

/** The terms of a mandate. They leave out the domain, which is a commitment of the entry. */
export function termsOf(catalog: CarrierCatalog, covered: Covered): JsonObject {
  const { mandate_id, entity, valid_from_ms, valid_until_ms, tenant_ref } = covered;
  const { actions = ACTIONS, limit_micro_usd = null } = covered;
  return {
    schema: 'svc-carrier-terms-v2',
    terms_version: catalog.terms_version,
    mandate_id,
    carrier_tenant_ref: tenant_ref,
    subject: entity === null ? { tenant_ref } : { entity },
    actions: [...actions],
    limit_micro_usd,
    valid_from_ms,
    valid_until_ms,
    findings_window_days: catalog.findings_window_days,
    evidence_max_age_hours: catalog.evidence_max_age_hours,
    rules: catalog.rules,
    does_not_assert: catalog.does_not_assert,
  };
}

/** Hex of SHA-256 of the canonical terms. */
export const termsHash = (terms: JsonObject): string =>
  toHex(native.sha256(Buffer.from(canonical(terms))));
