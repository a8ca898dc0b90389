// Mandates: the members of their entries, and the rows with the terms and the state that a check applies.
// gateway/API.md §8.3. Projections are pure, so that a reindex rebuilds the rows.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { Count, EntityName, EntryId, Hex32, Millis, SafeCount } from '../contract/index.ts';
import type {
  CarriedPlace,
  JsonObject,
  RowReader,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';

/** Actions on a policy. Requests may also write `renew` for `renewal`. */
export const ACTIONS = ['bind', 'renewal'] as const;

/** One of the actions. */
export type Action = (typeof ACTIONS)[number];

/** Members of every mandate. */
export const covered = {
  /** The id of the entry itself, which is also the name of the mandate's chain. */
  mandate_id: EntryId,
  slug_ref: Hex32,
  /** The entity whose findings count; without it the enrolled tenant. */
  subject_key: Type.Optional(
    Type.Unsafe<readonly ['entity', string]>({
      type: 'array',
      prefixItems: [Type.Literal('entity'), EntityName],
      items: false,
      minItems: 2,
      maxItems: 2,
    }),
  ),
};

/** Members of a mandate and of a renewal. */
export const term = {
  valid_from_ms: Millis,
  valid_until_ms: Millis,
  terms_version: Count,
  /** SHA-256 of the canonical terms; see rules.ts. */
  terms_sha256: Hex32,
  checkpoint_size: Count,
};

/** The number of an enrollment or renewal among those of its tenant and UTC year. */
const counted = {
  mandates_in_year: SafeCount,
  /** The number included per year; an entry beyond it has the toll `mandate_overage`. */
  mandates_included: SafeCount,
};

/** Members of a mandate. */
export const MandateMembers = Type.Object(
  {
    ...covered,
    actions: Type.Array(Type.Enum([...ACTIONS])),
    /** The largest limit that may be bound; without it each request must state an authority. */
    limit_micro_usd: Type.Optional(Type.String({ pattern: '^(0|[1-9][0-9]{0,20})$' })),
    ...term,
    /** SHA-256 of the code by which the insured accepts. */
    acceptance_sha256: Hex32,
    ...counted,
  },
  { additionalProperties: false },
);

/** Members of an enrollment. Company, slug and domain are commitments. */
export type Mandate = Static<typeof MandateMembers>;

/** Members of a renewal. */
export const RenewalMembers = Type.Object(
  { mandate_id: EntryId, ...term, ...counted },
  { additionalProperties: false },
);

/** Members of a renewal. */
export type Renewal = Static<typeof RenewalMembers>;

/** The place of an entry about a mandate. */
export interface MandatePlace extends CarriedPlace {
  readonly entry_id: string;
}

/** Row of a mandate. */
export interface MandateRow extends CarriedPlace {
  readonly mandate_id: string;
  /** The carrier's tenant. */
  readonly tenant_ref: string;
  /** Pseudonym of the insured in the log of the mandate. */
  readonly slug_ref: string;
  /** The entity whose findings count; null for the enrolled tenant. */
  readonly entity: string | null;
  /** Absent for a mandate of an earlier release, which covers all actions. */
  readonly actions?: readonly Action[];
  readonly limit_micro_usd?: string;
  readonly acceptance_sha256?: string;
  readonly valid_until_ms: number;
  /** The newest renewal. */
  readonly renewal?: MandatePlace;
  /** `tenant_ref` is the accepting tenant. */
  readonly acceptance?: MandatePlace & { readonly tenant_ref: string };
  readonly end?: MandatePlace;
}

// Names of rows, relative to the plugin: the log stores them with the prefix `carrier/`.

/** Row of a carrier's newest mandate for a slug: its id. */
export const slugRow = (tenant_ref: string, slug_ref: string): string =>
  `mandate/${tenant_ref}/${slug_ref}`;
/** Row of a mandate. */
export const mandateRow = (mandate_id: string): string => `terms/${mandate_id}`;
/** Row that marks a mandate as accepted by a tenant. */
export const acceptedRow = (tenant_ref: string, mandate_id: string): string =>
  `accepted/${tenant_ref}/${mandate_id}`;
/** Row that marks an entity as enrolled by a carrier. It remains when the mandate ends. */
export const insuresRow = (tenant_ref: string, entity: string): string =>
  `insures/${tenant_ref}/${entity}`;
/** Row that counts the enrollments and renewals of a carrier in a UTC year. */
export const countRow = (year: string, tenant_ref: string): string =>
  `enrolled/${year}/${tenant_ref}`;

/** The UTC year of a time. */
export const yearOf = (ms: number): string => String(new Date(ms).getUTCFullYear());

/** The mandate with this id at a sequence point. */
export const mandateAt = (rows: RowReader, mandate_id: string): MandateRow | undefined =>
  rows.get(`carrier/${mandateRow(mandate_id)}`) as unknown as MandateRow | undefined;

/** How many mandates a carrier enrolled and renewed in the year of a time, at a sequence point. */
export const countAt = (rows: RowReader, tenant_ref: string, now_ms: number): number =>
  Number(rows.get(`carrier/${countRow(yearOf(now_ms), tenant_ref)}`) ?? 0);

/** Writes the rows of a mandate that is the newest of its slug. */
export function putNewest(rows: RowWriter, row: MandateRow): void {
  const { mandate_id, tenant_ref, slug_ref, entity } = row;
  rows.put(`carrier/${slugRow(tenant_ref, slug_ref)}`, mandate_id);
  rows.put(`carrier/${mandateRow(mandate_id)}`, row as unknown as JsonObject);
  if (entity !== null) rows.put(`carrier/${insuresRow(tenant_ref, entity)}`, true);
}

/** Writes the acceptance of a mandate. Only the first acceptance counts. */
export function accept(
  rows: RowWriter,
  mandate_id: string,
  acceptance: NonNullable<MandateRow['acceptance']>,
): void {
  const row = mandateAt(rows, mandate_id);
  if (row === undefined || row.acceptance !== undefined) return;
  rows.put(`carrier/${acceptedRow(acceptance.tenant_ref, mandate_id)}`, true);
  rows.put(`carrier/${mandateRow(mandate_id)}`, { ...row, acceptance } as unknown as JsonObject);
}

function countOne(rows: RowWriter, tenant_ref: string, { issued_at_ms }: Sequenced): void {
  const count = countAt(rows, tenant_ref, issued_at_ms) + 1;
  rows.put(`carrier/${countRow(yearOf(issued_at_ms), tenant_ref)}`, count);
}

const tenantOf = ({ statement }: Sequenced): string => statement['tenant_ref'] as string;

/** Projects every version of `carrier.mandate`. */
export function projectMandate(entry: Sequenced, rows: RowWriter): void {
  const { index, entry_id: mandate_id, statement } = entry;
  const { slug_ref, subject_key, valid_until_ms, ...terms } = statement as unknown as Mandate;
  const { actions, limit_micro_usd, acceptance_sha256 } = terms as Partial<typeof terms>;
  const tenant_ref = tenantOf(entry);
  putNewest(rows, {
    ...{ mandate_id, index, tenant_ref, slug_ref, entity: subject_key?.[1] ?? null },
    ...(actions === undefined ? {} : { actions }),
    ...(limit_micro_usd === undefined ? {} : { limit_micro_usd }),
    ...(acceptance_sha256 === undefined ? {} : { acceptance_sha256 }),
    valid_until_ms,
  });
  countOne(rows, tenant_ref, entry);
}

/** Changes the row of the mandate that an entry names. Entries of other tenants than its carrier are ignored. */
function change(
  entry: Sequenced,
  rows: RowWriter,
  changed: (place: MandatePlace) => Partial<MandateRow>,
): void {
  const { entry_id, index, statement } = entry;
  const row = mandateAt(rows, statement['mandate_id'] as string);
  if (row?.tenant_ref !== tenantOf(entry)) return;
  const after = { ...row, ...changed({ entry_id, index }) };
  rows.put(`carrier/${mandateRow(row.mandate_id)}`, after as unknown as JsonObject);
}

/** Projects `carrier.renewal.v1`. */
export function projectRenewal(entry: Sequenced, rows: RowWriter): void {
  const { valid_until_ms } = entry.statement as unknown as Renewal;
  change(entry, rows, (renewal) => ({ valid_until_ms, renewal }));
  countOne(rows, tenantOf(entry), entry);
}

/** Projects `carrier.end.v1`. */
export function projectEnd(entry: Sequenced, rows: RowWriter): void {
  change(entry, rows, (end) => ({ end }));
}

/** Projects `carrier.acceptance.v1`. */
export function projectAcceptance(entry: Sequenced, rows: RowWriter): void {
  const { entry_id, index, statement } = entry;
  const tenant_ref = tenantOf(entry);
  accept(rows, statement['mandate_id'] as string, { entry_id, index, tenant_ref });
}
