// The entries of RR-1: an act of this service that was done under a permit, and runs of the conformance checks.
// gateway/API.md §8.2.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  EntryId,
  listed,
  Millis,
  plural,
  sentenceOf,
  shortName,
} from '../contract/index.ts';
import type { EntryType, JsonObject } from '../contract/index.ts';

/** Name of the entry type of an act under a permit. */
export const ACT = 'require-receipt.act.v1';
/** Name of the entry type of a conformance run. */
export const RUN = 'require-receipt.conformance.v1';

/** What an act says beside the common members; what it was about is a commitment. */
export const ActMembers = Type.Object(
  {
    action_ref: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    action_hash: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
    permit_id: { ...EntryId, description: 'Entry id of the decision that permitted it.' },
    permit_use_id: { ...EntryId, description: 'Entry id of the use of that permit.' },
  },
  { additionalProperties: false },
);

/** `require-receipt.act.v1`. */
export const actType: EntryType = {
  name: ACT,
  schema: asSchema(ActMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof ActMembers>>(
    ({ action_ref, permit_id }) =>
      `This service did the act ${shortName(action_ref)} under the permit ${permit_id}.`,
  ),
};

/** The five checks, in their order. */
export const CHECKS = [
  'manifest_valid',
  'challenge_on_missing',
  'runs_on_valid',
  'replay_refused',
  'forged_refused',
] as const;

/** One of the five checks. */
export type CheckId = (typeof CHECKS)[number];

const Outcome = Type.Enum(['passed', 'failed', 'not_run']);

/** What a run found, as it is logged. */
export const RunMembers = Type.Object(
  {
    checks: Type.Object(
      {
        manifest_valid: Outcome,
        challenge_on_missing: Outcome,
        runs_on_valid: Outcome,
        replay_refused: Outcome,
        forged_refused: Outcome,
      },
      { additionalProperties: false },
    ),
    conformant: Type.Boolean({ description: 'All five passed.' }),
    checked_at_ms: Millis,
  },
  { additionalProperties: false },
);

/** A run as its row has it. */
export type Run = Static<typeof RunMembers> & { readonly index: number };

/** Row of the newest run, as the plugin reads it. */
export const NEWEST_RUN = 'run';

/** `require-receipt.conformance.v1`. */
export const runType: EntryType = {
  name: RUN,
  schema: asSchema(RunMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof RunMembers>>(({ checks, conformant }) => {
    if (conformant) return 'A conformance run of RR-1 passed all five checks.';
    const missed = CHECKS.filter((id) => checks[id] !== 'passed');
    return `A conformance run of RR-1 did not pass ${plural(missed.length, 'check')}: ${listed(missed)}.`;
  }),
  project({ index, statement }, rows) {
    const { checks, conformant, checked_at_ms } = statement;
    const row = { index, checks, conformant, checked_at_ms } as JsonObject;
    rows.put(`require-receipt/${NEWEST_RUN}`, row);
  },
};
