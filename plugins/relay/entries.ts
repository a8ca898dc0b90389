// The entry type by which a partner enrolls under a slug, and the state that is carried into a successor log.
//
// The partner's name and contact are commitments; the slug and the links are public. Visits are counters of the gateway
// and are not carried.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  carriedKind,
  carriedType,
  eachRow,
  EntryId,
  Millis,
  sentenceOf,
  shortName,
  SLUG,
} from '../contract/index.ts';
import type {
  CarriedPlace,
  Carry,
  EntryType,
  JsonObject,
  LogView,
  RowWriter,
} from '../contract/index.ts';

/** Name of the entry type of an enrollment. */
export const PARTNER = 'relay.partner.v1';

/** A partner's slug: the kebab form of its name. */
export const Slug = Type.String({ pattern: SLUG, maxLength: 64 });

const PartnerMembers = Type.Object(
  {
    slug: Slug,
    /** Present if the partner enrolled without a key; a tenant with a key may take over such a slug. */
    anonymous: Type.Boolean(),
    /** Time of this tenant's first enrollment of the slug. */
    enrolled_at_ms: Millis,
  },
  { additionalProperties: false },
);

/** Members of an enrollment. */
type Partner = Static<typeof PartnerMembers>;

/** Row of a partner's newest enrollment. */
export interface PartnerRow extends Partner, CarriedPlace {
  readonly entry_id: string;
  readonly tenant_ref: string;
}

/** Prefix of the rows of partners, relative to the plugin. */
export const PARTNERS = 'partner/';
/** Full name of the row of a slug, for `project` and `check`. */
export const partnerRow = (slug: string): string => `relay/${PARTNERS}${slug}`;
/** Row that counts the enrolled slugs, relative to the plugin. */
export const TOTAL = 'total';

/** `relay.partner.v1`. */
export const partnerType: EntryType = {
  name: PARTNER,
  schema: asSchema(PartnerMembers),
  keys: [['relay.partner', 'slug']],
  sentence: sentenceOf<Partner>(
    ({ slug, anonymous }) =>
      `The partner slug ${shortName(slug, 64)} was enrolled${anonymous ? ' without an API key' : ''}.`,
  ),
  project({ index, entry_id, statement }, rows) {
    const { slug, anonymous, enrolled_at_ms } = statement as unknown as Partner;
    const tenant_ref = statement['tenant_ref'] as string;
    enroll(rows, { index, entry_id, tenant_ref, slug, anonymous, enrolled_at_ms });
  },
};

/** Assigns a slug to a tenant, and counts it if it is new. */
function enroll(rows: RowWriter, row: PartnerRow): void {
  const key = partnerRow(row.slug);
  if (rows.get(key) === undefined) {
    const total = rows.get(`relay/${TOTAL}`) as { partners: number } | undefined;
    rows.put(`relay/${TOTAL}`, { partners: (total?.partners ?? 0) + 1 });
  }
  rows.put(key, row as unknown as JsonObject);
}

const CarriedPartner = Type.Object(
  { slug: Slug, anonymous: Type.Boolean(), enrolled_at_ms: Millis, entry_id: EntryId },
  { additionalProperties: false },
);

/** `relay.carried.v1`. */
export const carried = carriedType('relay', {
  partner: carriedKind(CarriedPartner, ({ value, tenant_ref, rests_on }, rows) => {
    const { index, log_number } = rests_on;
    enroll(rows, { ...value, tenant_ref, index, log_number });
  }),
});

/** The `carry` hook of the plugin. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  for await (const [row, found] of eachRow(closed, PARTNERS)) {
    const partner = found as unknown as PartnerRow;
    const { tenant_ref, index, log_number, slug, anonymous, enrolled_at_ms, entry_id } = partner;
    const value = { slug, anonymous, enrolled_at_ms, entry_id };
    yield { what: 'partner', row, tenant_ref, value, index, log_number };
  }
}
