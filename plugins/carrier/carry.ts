// Carries the newest mandate of every slug, its renewal, acceptance and end, and the yearly counts of enrollments and
// renewals into the successor of a closed log. Findings and their resolutions are not carried: a check reads them from
// the closed logs (findings.ts).

import { Type } from 'typebox';
import {
  carriedKind,
  carriedType,
  eachRow,
  endedMs,
  EntityName,
  EntryId,
  Hex32,
  Millis,
  SafeCount,
} from '../contract/index.ts';
import type { Carry, EntryType, JsonObject, LogView } from '../contract/index.ts';
import {
  accept,
  acceptedRow,
  ACTIONS,
  countRow,
  mandateRow,
  putNewest,
  slugRow,
  yearOf,
} from './mandates.ts';
import type { MandatePlace, MandateRow } from './mandates.ts';

const carriedMandate = {
  mandate_id: EntryId,
  /** Pseudonym of the insured in the log of the mandate. */
  slug_ref: Hex32,
  entity: Type.Optional(EntityName),
  valid_until_ms: Millis,
};

const Place = Type.Object(
  { entry_id: EntryId, index: SafeCount, log_number: SafeCount },
  { additionalProperties: false },
);

const CarriedMandate = Type.Object(
  {
    ...carriedMandate,
    actions: Type.Optional(Type.Array(Type.Enum([...ACTIONS]))),
    limit_micro_usd: Type.Optional(Type.String({ pattern: '^(0|[1-9][0-9]{0,20})$' })),
    acceptance_sha256: Type.Optional(Hex32),
    renewal: Type.Optional(Place),
    end: Type.Optional(Place),
  },
  { additionalProperties: false },
);

const mandateKind = (schema: typeof CarriedMandate) =>
  carriedKind(schema, ({ value, tenant_ref, rests_on: { index, log_number } }, rows) => {
    const { entity = null, ...terms } = value;
    putNewest(rows, { ...terms, entity, tenant_ref, index, log_number });
  });

const CarriedAcceptance = Type.Object(
  { mandate_id: EntryId, entry_id: EntryId },
  { additionalProperties: false },
);

const CarriedCount = Type.Object(
  { year: Type.String({ pattern: '^[0-9]{4}$' }), mandates: SafeCount },
  { additionalProperties: false },
);

/** `carrier.carried.v2`. */
export const carried = carriedType(
  'carrier',
  {
    mandate: mandateKind(CarriedMandate),
    // `tenant_ref` is that of the accepting tenant. The item of the mandate precedes this one.
    acceptance: carriedKind(CarriedAcceptance, ({ value, tenant_ref, rests_on }, rows) => {
      const { mandate_id, entry_id } = value;
      const { index, log_number } = rests_on;
      accept(rows, mandate_id, { entry_id, index, log_number, tenant_ref });
    }),
    count: carriedKind(CarriedCount, ({ value: { year, mandates }, tenant_ref }, rows) => {
      rows.put(`carrier/${countRow(year, tenant_ref)}`, mandates);
    }),
  },
  2,
);

/** `carrier.carried.v1` of earlier releases: mandates without terms. */
export const earlierCarried: EntryType = {
  ...carriedType('carrier', {
    mandate: mandateKind(
      Type.Object(carriedMandate, { additionalProperties: false }) as typeof CarriedMandate, // all others are optional
    ),
  }),
  row_form: 2, // changed together with that of `carrier.mandate.v1`
};

/** The `carry` hook of the plugin. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  const mandates = slugRow('', '').slice(0, -1);
  for await (const [row, mandate_id] of eachRow(closed, mandates)) {
    const found = closed.row(mandateRow(mandate_id as string)) as unknown as MandateRow;
    const { tenant_ref, entity, index, log_number, renewal, acceptance, end, ...terms } = found;
    const here = <P extends MandatePlace>(at: P) => ({ log_number: closed.number, ...at });
    const value = {
      ...terms,
      ...(entity === null ? {} : { entity }),
      ...(renewal === undefined ? {} : { renewal: here(renewal) }),
      ...(end === undefined ? {} : { end: here(end) }),
    } as unknown as JsonObject;
    yield { what: 'mandate', row, tenant_ref, value, index, log_number };
    if (acceptance === undefined) continue;
    const { tenant_ref: accepted_by, entry_id, ...rests_on } = acceptance;
    yield {
      what: 'acceptance',
      row: acceptedRow(accepted_by, found.mandate_id),
      tenant_ref: accepted_by,
      value: { mandate_id: found.mandate_id, entry_id },
      ...rests_on,
    };
  }
  const year = yearOf(endedMs(closed));
  const counts = countRow(year, '');
  for await (const [row, mandates_in_year] of eachRow(closed, counts)) {
    const value = { year, mandates: mandates_in_year };
    yield { what: 'count', row, tenant_ref: row.slice(counts.length), value };
  }
}
