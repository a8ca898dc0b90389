// What the entry types of the foundry share: the counts of the installed base, and the newest entry of a group.
// gateway/API.md §10.7.

import type {
  AnsweredEntry,
  JsonObject,
  RowReader,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';
import { errorsOf } from '../contract/index.ts';

/** Error codes of this plugin. */
export const foundryErrors = errorsOf({
  trigger_already_fired: {
    status: 409,
    sentence: 'The trigger fired before, with another settlement.',
  },
  trigger_released: { status: 409, sentence: 'The trigger was released before.' },
  pack_changed: {
    status: 410,
    sentence: 'A part of the pack was erased, or its catalog has changed.',
  },
  trigger_window_closed: { status: 409, sentence: 'The trigger has expired.' },
  oracle_disputed: { status: 409, sentence: 'The sources of the oracle disagree.' },
  inference_upstream_unconfigured: {
    status: 503,
    sentence: 'The operator has configured no inference service.',
  },
});

/** What is counted. */
export const COUNTED = [
  'aggregates',
  'aggregates_disputed',
  'resolutions',
  'triggers_armed',
  'triggers_fired',
  'evaluations',
  'custody_attestations',
  'conformity_packs',
  'inference_seals',
  'pipeline_runs',
  'fees_micro_usd',
] as const;

/** One of the counts. */
type Counted = (typeof COUNTED)[number];

/** Row of a tenant's counts, as `project` has it. */
const countsRow = (tenant_ref: string): string => `foundry/base/${tenant_ref}`;

/** The same row as the plugin reads it. */
export const countsName = (tenant_ref: string): string => `base/${tenant_ref}`;

/** Adds to counts of the entry's tenant. */
export function count(
  { statement }: Sequenced,
  rows: RowWriter,
  more: Partial<Record<Counted, number>>,
): void {
  const key = countsRow(tenantOf(statement));
  const sums: Record<string, number> = { ...countsAt(rows, key) };
  for (const [name, n] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + n;
  rows.put(key, sums);
}

function countsAt(rows: RowReader, key: string): Readonly<Record<string, number>> {
  return (rows.get(key) ?? {}) as Readonly<Record<string, number>>;
}

/** The tenant_ref of an entry; entries of the foundry always have one. */
export function tenantOf(statement: JsonObject): string {
  return statement['tenant_ref'] as string;
}

/** The one entry that a group of one, or of its last, has. */
export function lastEntry(entries: readonly AnsweredEntry[]): AnsweredEntry {
  const entry = entries.at(-1);
  if (entry === undefined) throw new Error('a group has an entry');
  return entry;
}
