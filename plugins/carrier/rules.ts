// The rules of a check and the terms that a mandate is enrolled under. gateway/API.md §8.3.
//
// The rules are pure and apply in their order: the first that fails decides, and what is not known blocks. Their
// numbers are in catalogs/carrier.json. The entry of a mandate has the digest of its terms, so that they are fixed
// before any dispute.

import { canonical, native, toHex } from '../contract/index.ts';
import type { JsonObject, PluginHost } from '../contract/index.ts';
import type { Mandate, MandateRow, PARTS, Reason } from './entries.ts';
import type { Known, Seen } from './findings.ts';

/** The numbers of the rules, in milliseconds. */
interface Limits {
  readonly findings_window_ms: number;
  readonly evidence_max_age_ms: number;
}

/** What an authority says of the limit that is asked for: `none` where a limit has no authority. */
export type Authority = 'within' | 'over' | 'none';

/** What a check is about, as of one moment. */
interface Facts {
  readonly now_ms: number;
  readonly mandate: MandateRow | undefined;
  readonly known: Known;
  /** The receipt that the request names: null where it is not one of the insured, absent where it names none. */
  readonly named?: Seen | null;
  readonly authority: Authority;
}

/** An entry that a verdict rests on. */
interface Part {
  readonly part: (typeof PARTS)[number];
  readonly seen: Pick<Seen, 'entry_id' | 'index'> & Pick<MandateRow, 'log_number'>;
}

/** What the rules come to. */
interface Verdict {
  readonly decision: 'ALLOW' | 'BLOCK';
  readonly reasons: readonly Reason[];
  readonly parts: readonly Part[];
}

/** Applies the rules. */
export function check(facts: Facts, limits: Limits): Verdict {
  const { now_ms, mandate, known, named, authority } = facts;
  if (mandate === undefined) return block(['not_enrolled'], []);
  const { mandate_id: entry_id, index, log_number } = mandate;
  const place = log_number === undefined ? { index } : { index, log_number };
  const parts: Part[] = [{ part: 'mandate', seen: { entry_id, ...place } }];
  if (now_ms >= mandate.valid_until_ms) return block(['mandate_expired'], parts);

  const isOpen = (seen: Seen | null): seen is Seen =>
    seen !== null && now_ms - seen.ms <= limits.findings_window_ms;
  const { crisis, violation, newest } = known;
  const open: Reason[] = [];
  if (isOpen(crisis)) {
    open.push('open_crisis');
    parts.push({ part: 'crisis', seen: crisis });
  }
  if (isOpen(violation)) {
    open.push('open_violation');
    parts.push({ part: 'violation', seen: violation });
  }
  if (open.length > 0) return block(open, parts);
  if (authority === 'none') return block(['authority_missing'], parts);
  if (authority === 'over') return block(['limit_over_authority'], parts);

  const evidence = named === undefined ? newest : named;
  if (evidence !== null) parts.push({ part: 'evidence', seen: evidence });
  // What the classifier could not judge may have been anything: no older receipt stands in for it.
  if (evidence === null || evidence.what === 'ERROR' || newest?.what === 'ERROR') {
    return block(['evidence_missing'], parts);
  }
  if (now_ms - evidence.ms > limits.evidence_max_age_ms) return block(['evidence_missing'], parts);
  return { decision: 'ALLOW', reasons: [], parts };
}

const block = (reasons: readonly Reason[], parts: readonly Part[]): Verdict => ({
  decision: 'BLOCK',
  reasons,
  parts,
});

/** The later of two findings: a log that was followed by another keeps its own. */
export const later = (a: Seen | null, b: Seen | null): Seen | null =>
  a === null || (b !== null && b.ms > a.ms) ? b : a;

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

/** What the terms are about. They name nobody: the log has their digest in clear. */
type Covered = Pick<Mandate, 'mandate_id' | 'subject_key' | 'valid_from_ms' | 'valid_until_ms'> & {
  readonly tenant_ref: string;
};

/** The terms of a mandate. */
export function termsOf(catalog: CarrierCatalog, covered: Covered): JsonObject {
  const { mandate_id, subject_key, valid_from_ms, valid_until_ms, tenant_ref } = covered;
  return {
    schema: 'svc-carrier-terms-v1',
    terms_version: catalog.terms_version,
    mandate_id,
    carrier_tenant_ref: tenant_ref,
    subject: subject_key === undefined ? { tenant_ref } : { entity: subject_key[1] },
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
