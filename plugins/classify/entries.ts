// The entry of a classification. gateway/API.md §6.2; log/FORMAT.md §2.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  EntityName,
  Identifier,
  ofEntity,
  sentenceOf,
  SessionRef,
  shortName,
  SurfaceName,
} from '../contract/index.ts';
import type { EntryType, EventRule } from '../contract/index.ts';
import { countResult } from './counts.ts';
import { countPatterns } from './patterns.ts';

/** Identifier of the entry type. */
export const RESULT = 'classify.result.v1';

/** The four results, in the order of the interface. */
export const RESULTS = ['SAFE', 'VIOLATION', 'CRISIS', 'ERROR'] as const;

const Milli = Type.Integer({ minimum: 0, maximum: 1000 });

/** What an entry says about a message, beside the common members. The message is a commitment. */
export const ResultMembers = Type.Object(
  {
    classification: Type.Enum([...RESULTS]),
    classifier: Type.Object(
      {
        id: Identifier,
        version: Identifier,
        /** Of the embedded classifier; a hosted model shows none. */
        weights_sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
      },
      { additionalProperties: false },
    ),
    domain: Identifier,
    score_milli: Milli,
    violation_milli: Milli,
    crisis_milli: Milli,
    rule_ids: Type.Array(Identifier),
    language_unsupported: Type.Boolean(),
    session_ref: Type.Optional(SessionRef),
    entity: Type.Optional(EntityName),
    surface: Type.Optional(SurfaceName),
    /** Stands with `surface`: whether the manifest in force lists it. */
    surface_declared: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

/** `classify.result.v1`. */
export const resultType: EntryType = {
  name: RESULT,
  schema: asSchema(ResultMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof ResultMembers>>((result) => {
    const { classification, classifier, domain } = result;
    const by = `The classifier ${shortName(classifier.id)}`;
    return classification === 'ERROR'
      ? `${by} did not classify a message${ofEntity(result)}: the result is ERROR.`
      : `${by} classified a message${ofEntity(result)} in the domain ${shortName(domain)} as ${classification}.`;
  }),
  project(entry, rows) {
    countResult(entry, rows);
    countPatterns(entry, rows);
  },
  row_form: 2, // since each rule of a week and domain has a row
};

const EVENTS: Readonly<Record<string, string>> = {
  VIOLATION: 'classification.violation',
  CRISIS: 'classification.crisis',
  ERROR: 'classification.error',
};

/** What somebody has to look at is an event; SAFE is none. gateway/API.md §11. */
export const resultEvents: EventRule = {
  entry: RESULT,
  events: Object.values(EVENTS),
  when: 'A classification of the tenant has this result.',
  eventOf: ({ classification }) => EVENTS[classification as string] ?? null,
};
