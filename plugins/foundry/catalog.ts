// What the rules read of catalogs/foundry.json. gateway/API.md §17; the numbers are there, never here.

import type { PluginHost } from '../contract/index.ts';

/** A source of readings. */
interface Source {
  readonly source_id: string;
  readonly latency_ms: number;
  readonly weight: number;
}

/** Thresholds of an aggregate; decimals and ratios are text. */
export interface OracleLimits {
  readonly min_readings: number;
  readonly min_survivors: number;
  readonly max_age_latencies: number;
  readonly min_max_age_ms: number;
  readonly mad_threshold: string;
  readonly trim_each_tail: string;
  readonly dispute_tolerance: string;
  readonly max_rejected_weight: string;
}

/** A trigger template: what it may call, and up to which exposure. */
export interface Template {
  readonly template_id: string;
  readonly default_action: string;
  readonly callable_actions: readonly string[];
  readonly exposure_ceiling_usd: number;
  /** Null where the rate of the clear tier applies. */
  readonly fee_bps: number | null;
  readonly regulatory_hooks: readonly string[];
  /** What arms a trigger that names no condition of its own. */
  readonly condition: {
    readonly metric: string;
    readonly comparator: 'gt' | 'gte' | 'lt' | 'lte' | 'eq';
    readonly threshold: string;
  };
}

/** A risk control of a category, and what evidences it. */
interface RiskControl {
  readonly control: string;
  /** As catalogs/compliance/article-12.json writes them; `hold`: a spoliation seal over the session. */
  readonly signals: readonly string[];
  /** What the signals are, in one sentence. */
  readonly rule: string;
}

/** A category of systems, by Annex III of the EU AI Act. */
export interface Category {
  readonly category_id: string;
  readonly label: string;
  /** Null where Annex III does not list it. */
  readonly annex_iii: string | null;
  readonly annex_iii_points: readonly string[];
  readonly article_12: string;
  readonly risk_controls: readonly RiskControl[];
}

/** The foundry catalog. */
export interface FoundryCatalog {
  readonly schema: string;
  readonly apis: Readonly<Record<string, { readonly method: string; readonly path: string }>>;
  readonly oracle: {
    readonly method: string;
    readonly sources: readonly Source[];
    readonly limits: OracleLimits;
  };
  readonly custody: { readonly event_types: readonly string[] };
  readonly triggers: { readonly templates: readonly Template[] };
  readonly conformity: { readonly regulation: string; readonly categories: readonly Category[] };
}

/** The catalog; it ships with the package and is trusted. */
export function foundryCatalog(host: PluginHost): FoundryCatalog {
  return host.catalog('foundry.json') as unknown as FoundryCatalog;
}
