// What firing costs: basis points of the enabled exposure. gateway/API.md §10.6, §18.
// Money is bigint micro-USD; what is less than a micro-USD is not charged.

import type { RowReader } from '../../contract.ts';
import { exact } from '../../decimal.ts';

/** One basis point is a ten thousandth. */
const BPS = 10_000n;

/** The exposure times the basis points, a decimal, rounded down to a micro-USD. */
export function feeOf(exposure_micro_usd: bigint, fee_bps: string): bigint {
  return (exposure_micro_usd * exact(fee_bps)) / (BPS * exact('1'));
}

/** The rate of the clear tier that a tenant's month falls in once the exposure is cleared, in basis points. */
export type ClearRate = (
  rows: RowReader,
  tenant_ref: string,
  at_ms: number,
  exposure_micro_usd: bigint,
) => string;
