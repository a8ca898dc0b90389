// What of a closed log's relay goes over into its successor: the slug of every partner, which stays its tenant's.
// Visits are counters of the gateway and belong to no log.

import { Type } from 'typebox';
import { carriedKind, carriedType, eachRow, EntryId, Millis } from '../contract.ts';
import type { Carry, LogView } from '../contract.ts';
import { enroll, PARTNERS, Slug } from './entries.ts';
import type { PartnerRow } from './entries.ts';

const PartnerMembers = Type.Object(
  { slug: Slug, anonymous: Type.Boolean(), enrolled_at_ms: Millis, entry_id: EntryId },
  { additionalProperties: false },
);

/** `relay.carried.v1`. */
export const carried = carriedType('relay', {
  partner: carriedKind(PartnerMembers, ({ value, tenant_ref, rests_on }, rows) => {
    const { index, log_number } = rests_on;
    enroll(rows, { ...value, tenant_ref, index, log_number });
  }),
});

/** The `carry` of the relay. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  for await (const [row, found] of eachRow(closed, PARTNERS)) {
    const partner = found as unknown as PartnerRow;
    const { tenant_ref, index, log_number, slug, anonymous, enrolled_at_ms, entry_id } = partner;
    const value = { slug, anonymous, enrolled_at_ms, entry_id };
    yield { what: 'partner', row, tenant_ref, value, index, log_number };
  }
}
