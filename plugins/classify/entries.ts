// The entry of a classification and the counts that follow from it. behaviour.md §6.2, §13; formats.md §2.

import { Type } from 'typebox';
import type { EntryType, EventRule, RowWriter, Sequenced } from '../contract.ts';
import { asSchema, EntityName, SessionRef, SurfaceName } from '../contract.ts';

/** Name of the entry type. */
export const RESULT = 'classify.result.v1';

/** The four results, in the order of the interface. */
export const RESULTS = ['SAFE', 'VIOLATION', 'CRISIS', 'ERROR'] as const;

const Milli = Type.Integer({ minimum: 0, maximum: 1000 });
const Name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]{0,255}$' });

/** What an entry says about a message, beside the common members. The message is a commitment. */
export const ResultMembers = Type.Object(
  {
    classification: Type.Enum([...RESULTS]),
    classifier: Type.Object(
      {
        id: Name,
        version: Name,
        /** Of the embedded classifier; a hosted model shows none. */
        weights_sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
      },
      { additionalProperties: false },
    ),
    domain: Name,
    score_milli: Milli,
    violation_milli: Milli,
    crisis_milli: Milli,
    rule_ids: Type.Array(Name),
    language_unsupported: Type.Boolean(),
    session_ref: Type.Optional(SessionRef),
    entity: Type.Optional(EntityName),
    surface: Type.Optional(SurfaceName),
    /** Stands with `surface`: whether the manifest in force lists it. */
    surface_declared: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

/** Counts of classifications: `attempts` is counted for itself, so that the invariant can fail. */
export interface Counts {
  readonly attempts: number;
  readonly safe: number;
  readonly violation: number;
  readonly crisis: number;
  readonly error: number;
}

/** Nothing counted yet. */
export const NO_COUNTS: Counts = { attempts: 0, safe: 0, violation: 0, crisis: 0, error: 0 };

const HOUR_MS = 3_600_000;

/** Row of all counts since entry 0. */
export const TOTALS = 'totals';
/** Prefix of the rows of an hour's counts; see `hourRow`. */
export const HOURS = 'hours/';

/** Row of the counts of the hour that a time lies in; names sort by time. */
export const hourRow = (ms: number): string =>
  `${HOURS}${String(Math.floor(ms / HOUR_MS)).padStart(9, '0')}`;

function count(rows: RowWriter, row: string, outcome: keyof Counts): void {
  const key = `classify/${row}`;
  const before = (rows.get(key) ?? NO_COUNTS) as unknown as Counts;
  const after = { ...before, attempts: before.attempts + 1, [outcome]: before[outcome] + 1 };
  rows.put(key, after);
}

function project(entry: Sequenced, rows: RowWriter): void {
  const result = entry.statement['classification'] as (typeof RESULTS)[number];
  const outcome = result.toLowerCase() as keyof Counts;
  count(rows, TOTALS, outcome);
  count(rows, hourRow(entry.issued_at_ms), outcome);
}

/** `classify.result.v1`. */
export const resultType: EntryType = {
  name: RESULT,
  schema: asSchema(ResultMembers),
  keys: [],
  project,
};

const EVENTS: Readonly<Record<string, string>> = {
  VIOLATION: 'classification.violation',
  CRISIS: 'classification.crisis',
  ERROR: 'classification.error',
};

/** What somebody has to look at is an event; SAFE is none. behaviour.md §11. */
export const resultEvents: EventRule = {
  entry: RESULT,
  events: Object.values(EVENTS),
  eventOf: ({ classification }) => EVENTS[classification as string] ?? null,
};
