// The entry of a silence receipt: how many entries a session had when nothing more had come. gateway/API.md §7.8, §9.5.

import { Type } from 'typebox';
import { asSchema, Count, EntityName, Millis, SessionKey, SurfaceName } from '../contract/index.ts';
import type { EntryType } from '../contract/index.ts';

/** Name of the entry type. */
export const RECEIPT = 'silence.receipt.v2';
/** The type of older entries: their window ends at the map head of their proof, and none is pending. */
export const EARLIER_RECEIPT = 'silence.receipt.v1';

/** What a silence receipt leaves open, as it stands in the entry, and in words. */
export const DOES_NOT_ASSERT = {
  acts_never_logged: 'that nothing happened which was never logged',
  acts_under_other_sessions: 'anything about acts logged under another session, tenant or log',
  acts_without_session: 'anything about entries that name no session',
  truth_of_context: 'that the committed context is true',
  uncovered_silence: 'that a recorder was running where `coverage` is not COVERED',
} as const;

/**
 * What heartbeats say of the silence. PENDING: the proof ends before the window does. COVERED: on each declared
 * surface one unbroken run reaches over the silence (log/FORMAT.md §6.7). UNDERSAMPLED: the manifests promise
 * heartbeats and one is missing. UNDECLARED: no manifest promises any for the whole silence. NO_WINDOW: the session has
 * no entry, so no silence began.
 */
export const COVERAGES = ['COVERED', 'UNDERSAMPLED', 'UNDECLARED', 'NO_WINDOW', 'PENDING'] as const;

/** Most surfaces that a receipt speaks of. */
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
            /** Smallest interval that a manifest of the silence promises. */
            interval_ms: Type.Union([Millis, Type.Null()]),
            heartbeats: Count,
            /** Of the newest heartbeat up to the end. */
            last_ms: Type.Union([Millis, Type.Null()]),
            run_since_ms: Type.Union([Millis, Type.Null()]),
            coverage: Type.Enum([...coverages]),
          },
          { additionalProperties: false },
        ),
        { maxItems: MAX_SURFACES },
      ),
      /** Of the newest manifest; those beyond the limit are not looked at. */
      surfaces_declared: Count,
    },
    { additionalProperties: false },
  );

const SURFACE_COVERAGES = ['COVERED', 'UNDERSAMPLED', 'UNDECLARED'];

const EarlierMembers = Type.Object(
  {
    subject_key: SessionKey,
    /** Time of the session's first entry; null when it has none. */
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
 * The entry speaks about the session's chain and is not on it. `window_to_ms` is when the request arrived. Up to
 * `covered_to_ms`, which is no later, the session had `entries_in_window` entries, the last at `silent_since_ms`.
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

/** `silence.receipt.v2`; context, domain and what else a caller wrote are commitments. */
export const silenceType: EntryType = {
  name: RECEIPT,
  schema: asSchema(SilenceMembers),
  keys: [],
};

/** `silence.receipt.v1`. */
export const earlierSilenceType: EntryType = {
  name: EARLIER_RECEIPT,
  schema: asSchema(EarlierMembers),
  keys: [],
};
