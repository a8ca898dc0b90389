// The terms that a mandate is enrolled under, fixed before any dispute: the rules in their order, their numbers, and
// what an answer does not assert. The mandate's entry has their digest. gateway/API.md §8.3.

import { canonical, native, toHex } from '../../log/index.ts';
import type { JsonObject, PluginHost } from '../contract.ts';
import type { Mandate } from './entries.ts';
import type { Limits } from './rules.ts';

/** catalogs/carrier.json. */
export interface CarrierCatalog {
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
export type Covered = Pick<
  Mandate,
  'mandate_id' | 'subject_key' | 'valid_from_ms' | 'valid_until_ms'
> & { readonly tenant_ref: string };

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
