// What of a closed log's carrier gate goes over into its successor: the newest mandate of every slug. Findings do not
// go over: a check reads those of the closed logs where they stand (deciding.ts).

import { Type } from 'typebox';
import {
  carriedKind,
  carriedType,
  eachRow,
  EntityName,
  EntryId,
  Hex32,
  Millis,
} from '../contract/index.ts';
import type { Carry, LogView } from '../contract/index.ts';
import { mandateRow } from './entries.ts';
import type { MandateRow } from './entries.ts';

const CarriedMandate = Type.Object(
  {
    mandate_id: EntryId,
    /** As the log of the mandate names the insured. */
    slug_ref: Hex32,
    entity: Type.Optional(EntityName),
    valid_until_ms: Millis,
  },
  { additionalProperties: false },
);

/** `carrier.carried.v1`. */
export const carried = carriedType('carrier', {
  mandate: carriedKind(CarriedMandate, ({ value, tenant_ref, rests_on }, rows) => {
    const { mandate_id, slug_ref, entity = null, valid_until_ms } = value;
    const { index, log_number } = rests_on;
    const row = { mandate_id, index, log_number, entity, valid_until_ms };
    rows.put(mandateRow(tenant_ref, slug_ref), row);
  }),
});

/** The `carry` of the carrier gate. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  const prefix = 'mandate/';
  for await (const [row, found] of eachRow(closed, prefix)) {
    const { mandate_id, index, log_number, entity, valid_until_ms } =
      found as unknown as MandateRow;
    const [tenant_ref = '', slug_ref = ''] = row.slice(prefix.length).split('/');
    const subject = entity === null ? {} : { entity };
    const value = { mandate_id, slug_ref, ...subject, valid_until_ms };
    yield { what: 'mandate', row, tenant_ref, value, index, log_number };
  }
}
