// The rules of a check, pure and in their order: the first that fails decides. What is not known blocks.
// gateway/API.md §8.3; the numbers are in catalogs/carrier.json.

import type { MandateRow, PARTS, Reason } from './entries.ts';
import type { Known, Seen } from './findings.ts';

/** The numbers of the rules, in milliseconds. */
export interface Limits {
  readonly findings_window_ms: number;
  readonly evidence_max_age_ms: number;
}

/** What a check is about, as of one moment. */
export interface Facts {
  readonly now_ms: number;
  readonly mandate: MandateRow | undefined;
  readonly known: Known;
  /** The receipt that the request names: null where it is not one of the insured, absent where it names none. */
  readonly named?: Seen | null;
  readonly over_authority: boolean;
}

/** An entry that a verdict rests on. */
export interface Part {
  readonly part: (typeof PARTS)[number];
  readonly seen: Pick<Seen, 'entry_id' | 'index'> & Pick<MandateRow, 'log_number'>;
}

/** What the rules come to. */
export interface Verdict {
  readonly decision: 'ALLOW' | 'BLOCK';
  readonly reasons: readonly Reason[];
  readonly parts: readonly Part[];
}

/** Applies the rules. */
export function check(facts: Facts, limits: Limits): Verdict {
  const { now_ms, mandate, known, named, over_authority } = facts;
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
  if (over_authority) return block(['limit_over_authority'], parts);

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
