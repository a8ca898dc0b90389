// The entry of a pipeline run: what became of each step, by the entries that the steps left. gateway/API.md §10.7.

import { Type } from 'typebox';
import { asSchema, EntryId } from '../../contract.ts';
import type { EntryType } from '../../contract.ts';
import { count } from '../counts.ts';

/** Name of the entry type. */
export const PIPELINE = 'foundry.pipeline.v1';

/** The steps, in their order (gateway/API.md §15.2). */
export const STEPS = [
  'physics',
  'print',
  'oracle',
  'obligation',
  'settlement',
  'conformity',
  'custody',
  'clearing',
  'stack',
] as const;

/** One of the steps. */
export type Step = (typeof STEPS)[number];

/** Why a step was skipped or failed, or what there is to know of one that is ok. */
export const NOTES = [
  'classification_error',
  'no_completion',
  'disputed',
  'insufficient',
  'condition_not_met',
  'not_asked',
  'unchanged_pack',
  'parity_broken',
  'in_open_slot',
  'stopped_before',
] as const;

/** What became of a step. */
export const StepMembers = Type.Object(
  {
    step: Type.Enum([...STEPS]),
    status: Type.Enum(['ok', 'skipped', 'failed']),
    note: Type.Optional(Type.Enum([...NOTES])),
    entry_id: Type.Optional(EntryId),
  },
  { additionalProperties: false },
);

/** What a run says. */
export const PipelineMembers = Type.Object(
  {
    state: Type.Enum(['completed', 'stopped']),
    steps: Type.Array(StepMembers, { minItems: STEPS.length, maxItems: STEPS.length }),
  },
  { additionalProperties: false },
);

/** `foundry.pipeline.v1`; it stands behind the entries of its steps, in one group. */
export const pipelineType: EntryType = {
  name: PIPELINE,
  schema: asSchema(PipelineMembers),
  keys: [],
  project(entry, rows) {
    count(entry, rows, { pipeline_runs: 1 });
  },
};
