// The types of the two compliance catalogs, which hold the text of the law and of the exhibit tool.
// gateway/API.md §12.1, §12.2; catalogs/compliance/.

import { readCatalog } from '../contract/index.ts';

/** The possible statuses of a checklist item. */
export const STATUSES = ['met', 'partial', 'not_evidenced', 'not_applicable'] as const;

/** One of the statuses. */
export type Status = (typeof STATUSES)[number];

/** One requirement, and which signals of entries evidence it. */
export interface ItemRule {
  readonly id: string;
  readonly title: string;
  readonly requirement: string;
  /** Met when each group has an entry with one of its signals, partial when only some have. */
  readonly groups: readonly (readonly string[])[];
  /** The item applies only if an event assigns the system to this point of Annex III. */
  readonly annex_iii_point?: string;
  /** A further rule beside the groups. */
  readonly rule?: 'retention' | 'incidents';
  readonly notes: Readonly<Partial<Record<Status, string>>>;
}

/** A time limit of Article 73. */
interface IncidentClock {
  readonly id: string;
  readonly days: number;
  readonly kinds: readonly string[];
  readonly text: string;
  readonly article: string;
}

/** catalogs/compliance/article-12.json. */
export interface ArticleCatalog {
  readonly regulation: Readonly<Record<string, string>>;
  readonly application: readonly Readonly<Record<string, string>>[];
  readonly applicability_note: string;
  /** Texts that replace these two in the report of a system. */
  readonly system: {
    readonly applicability_note: string;
    readonly does_not_assert: readonly string[];
  };
  readonly event_types: readonly string[];
  readonly annex_iii_points: readonly string[];
  readonly metadata_names: readonly string[];
  readonly incident_kinds: readonly string[];
  readonly retention: {
    readonly minimum_days: number;
    readonly text: string;
    readonly articles: readonly string[];
  };
  readonly incident_clocks: readonly IncidentClock[];
  readonly items: readonly ItemRule[];
  readonly does_not_assert: readonly string[];
}

/** One row of an exhibit. A row without signals can never be evidenced. */
export interface RowRule {
  readonly id: string;
  readonly label: string;
  readonly signals: readonly string[];
  readonly values?:
    'count' | 'classifications' | 'domains' | 'models' | 'policy_versions' | 'vendor';
}

/** catalogs/compliance/naic.json. */
interface NaicCatalog {
  readonly tool: Readonly<Record<string, string>>;
  readonly applicability_note: string;
  readonly exhibits: readonly {
    readonly id: string;
    readonly member: string;
    readonly title: string;
    readonly rows: readonly RowRule[];
  }[];
  readonly exhibit_c: { readonly title: string; readonly status: string; readonly reason: string };
  readonly does_not_assert: readonly string[];
}

/** The law of the Article 12 report. */
export const ARTICLE_12 = readCatalog('compliance/article-12.json') as unknown as ArticleCatalog;

/** The exhibits of the NAIC pack. */
export const NAIC = readCatalog('compliance/naic.json') as unknown as NaicCatalog;
