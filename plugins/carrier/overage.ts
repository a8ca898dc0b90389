// Overage: enrollments and renewals beyond the number per UTC year that the platform fee includes have the toll
// `mandate_overage`, which the meter adds to the usage of the tenant. gateway/API.md §8.3, §10.2.

import { Type } from 'typebox';
import type { Caller, Draft, JsonObject, PluginHost, RowReader } from '../contract/index.ts';
import { countAt, countRow, yearOf } from './mandates.ts';

const INCLUDED = 1000;

/** Settings of the plugin. */
export const MandateSettings = Type.Object({
  MANDATES_INCLUDED: Type.Optional(
    Type.Integer({
      minimum: 0,
      default: INCLUDED,
      description:
        'Enrollments and renewals of a tenant in a UTC year that the platform fee includes; each one beyond is charged.',
    }),
  ),
});

/** The toll of overage. Its price is in the catalog of the signal layer. */
function overageToll(host: PluginHost): NonNullable<Draft['toll']> {
  const { signal_fees } = host.catalog('stack.json') as {
    readonly signal_fees: { readonly mandate_overage_usd: number };
  };
  return { id: 'mandate_overage', micro_usd: Math.round(signal_fees.mandate_overage_usd * 1e6) };
}

/** Parts of an enrollment's or renewal's group that depend on the yearly count. */
export interface Counting {
  /** Empty if the mandate is included. */
  readonly toll: Pick<Draft, 'toll'>;
  /** For `check`: throws if mandates that were appended in the meantime change the toll. */
  readonly confirm: (rows: RowReader, now_ms: number) => void;
  /** The members `mandates_in_year` and `mandates_included` of the entry. */
  readonly members: (rows: RowReader, issued_at_ms: number) => JsonObject;
}

/**
 * Appends an enrollment or a renewal, with the toll of overage if the year's included number is used up. `append` is
 * called again if other appends changed that in the meantime.
 */
export async function appendCounted(
  host: PluginHost,
  { kind, tenant_ref }: Caller,
  append: (counting: Counting) => Promise<void>,
): Promise<void> {
  const mandates_included = (host.settings['MANDATES_INCLUDED'] ?? INCLUDED) as number;
  const changed = new Error('another mandate was counted');
  const before = host.log(kind).row(countRow(yearOf(host.now()), tenant_ref)) ?? 0;
  for (let isOver = Number(before) >= mandates_included; ; isOver = !isOver) {
    try {
      await append({
        toll: isOver ? { toll: overageToll(host) } : {},
        confirm(rows, now_ms) {
          if (countAt(rows, tenant_ref, now_ms) >= mandates_included !== isOver) throw changed;
        },
        members: (rows, issued_at_ms) => ({
          mandates_in_year: countAt(rows, tenant_ref, issued_at_ms) + 1,
          mandates_included,
        }),
      });
      return;
    } catch (error) {
      if (error !== changed) throw error;
    }
  }
}
