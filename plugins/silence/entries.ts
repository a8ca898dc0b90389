// The entry type of a silence receipt, which states how many entries a session has up to a time. gateway/API.md §7.8,
// §9.5.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  Count,
  EntityName,
  Millis,
  plural,
  sentenceOf,
  SessionKey,
  SurfaceName,
  utcOf,
} from '../contract/index.ts';
import type { EntryType } from '../contract/index.ts';

/** Name of the entry type. */
export const RECEIPT = 'silence.receipt.v2';
/** Name of the earlier entry type, whose window ends at the map head of its proof, so that it is never pending. */
export const EARLIER_RECEIPT = 'silence.receipt.v1';

/** `does_not_assert`: the identifiers in the entry and their texts in the answer. */
export const DOES_NOT_ASSERT = {
  acts_never_logged: 'that nothing happened which was never logged',
  acts_under_other_sessions: 'anything about acts logged under another session, tenant or log',
  acts_without_session: 'anything about entries that name no session',
  truth_of_context: 'that the committed context is true',
  uncovered_silence: 'that a recorder was running where `coverage` is not COVERED',
} as const;

/**
 * Coverage of the silence by heartbeats. PENDING: the proof ends before the window. COVERED: on each declared surface
 * one unbroken run of heartbeats covers the silence (log/FORMAT.md §6.7). UNDERSAMPLED: the manifests promise
 * heartbeats, but one is missing. UNDECLARED: no manifest promises heartbeats for the whole silence. NO_WINDOW: the
 * session has no entry, so that no silence began.
 */
export const COVERAGES = ['COVERED', 'UNDERSAMPLED', 'UNDECLARED', 'NO_WINDOW', 'PENDING'] as const;

/** Largest number of surfaces in a receipt. */
export const MAX_SURFACES = 16;

/** Heartbeats of the session's entity from `silent_since_ms` to the end of the proof. */
const heartbeatsMember = (coverages: readonly string[]) =>
  Type.Object(
    {
      entity: EntityName,
      surfaces: Type.Array(
        Type.Object(
          {
            surface: SurfaceName,
            /** Smallest interval that a manifest in force during the silence promises. */
            interval_ms: Type.Union([Millis, Type.Null()]),
            heartbeats: Count,
            /** Time of the newest heartbeat up to the end. */
            last_ms: Type.Union([Millis, Type.Null()]),
            run_since_ms: Type.Union([Millis, Type.Null()]),
            coverage: Type.Enum([...coverages]),
          },
          { additionalProperties: false },
        ),
        { maxItems: MAX_SURFACES },
      ),
      /** Number of surfaces of the newest manifest; those beyond the limit are not checked. */
      surfaces_declared: Count,
    },
    { additionalProperties: false },
  );

const SURFACE_COVERAGES = ['COVERED', 'UNDERSAMPLED', 'UNDECLARED'];

const EarlierMembers = Type.Object(
  {
    subject_key: SessionKey,
    /** Time of the session's first entry; null if it has none. */
    window_from_ms: Type.Union([Millis, Type.Null()]),
    window_to_ms: Millis,
    entries_in_window: Count,
    last_index: Type.Union([Count, Type.Null()]),
    silent_since_ms: Type.Union([Millis, Type.Null()]),
    checkpoint_size: Count,
    coverage: Type.Enum(COVERAGES.filter((coverage) => coverage !== 'PENDING')),
    heartbeats: Type.Union([heartbeatsMember(SURFACE_COVERAGES), Type.Null()]),
    /** SHA-256 of the canonical `completeness_proof` of the answer. */
    document_sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    does_not_assert: Type.Array(Type.Enum(Object.keys(DOES_NOT_ASSERT))),
  },
  { additionalProperties: false },
);

/**
 * The entry refers to the chain of the session but is not on it. `window_to_ms` is the time of the request. Up to
 * `covered_to_ms`, which is not later, the session had `entries_in_window` entries, the last at `silent_since_ms`.
 */
export const SilenceMembers = Type.Object(
  {
    ...EarlierMembers.properties,
    covered_to_ms: Millis,
    coverage: Type.Enum([...COVERAGES]),
    heartbeats: Type.Union([heartbeatsMember([...SURFACE_COVERAGES, 'PENDING']), Type.Null()]),
  },
  { additionalProperties: false },
);

const silenceSentence = sentenceOf<
  Pick<Static<typeof EarlierMembers>, 'entries_in_window' | 'silent_since_ms' | 'window_to_ms'> & {
    readonly covered_to_ms?: number;
    readonly coverage: string;
  }
>((receipt) => {
  const { entries_in_window, silent_since_ms, covered_to_ms = receipt.window_to_ms } = receipt;
  const last = silent_since_ms === null ? '' : `, the last at ${utcOf(silent_since_ms)}`;
  const entries = plural(entries_in_window, 'entry', 'entries');
  return `A session had ${entries} up to ${utcOf(covered_to_ms)}${last}; coverage by heartbeats: ${receipt.coverage}.`;
});

/** `silence.receipt.v2`. Context, domain and other texts of the caller are commitments. */
export const silenceType: EntryType = {
  name: RECEIPT,
  schema: asSchema(SilenceMembers),
  keys: [],
  sentence: silenceSentence,
};

/** `silence.receipt.v1`. */
export const earlierSilenceType: EntryType = {
  name: EARLIER_RECEIPT,
  schema: asSchema(EarlierMembers),
  keys: [],
  sentence: silenceSentence,
};
