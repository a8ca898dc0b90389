// The meter, and the entry type by which the operator sets a tenant's monthly ceiling. gateway/API.md §10.2.
//
// The watch of that type projects every governed act: it adds the act to the month of its tenant, and refuses an act
// that exceeds the ceiling. The sums depend only on the log, so that a reindex computes the same ones.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  asSchema,
  command,
  fixedDecimal,
  listed,
  LOG_KINDS,
  MICRO,
  plural,
  sentenceOf,
  usdOf,
} from '../contract/index.ts';
import type {
  Command,
  EntryType,
  Json,
  RowReader,
  RowWriter,
  Sequenced,
  Watch,
} from '../contract/index.ts';
import { actOf, add, monthOf, nextMonthMs, shareOf, usageOf, usageRow, withAct } from './usage.ts';
import type { Act, Share, Usage } from './usage.ts';

/** Row of a tenant's month. */
export const monthRow = (month: string, tenant_ref: string): string =>
  `clear/month/${month}/${tenant_ref}`;
/** Row of a month of all tenants. */
export const networkRow = (month: string): string => `clear/network/${month}`;
/** Row that counts the tenants of a month. */
export const tenantsRow = (month: string): string => `clear/tenants/${month}`;
/** Row of a tenant's ceiling. */
export const ceilingRow = (tenant_ref: string): string => `clear/ceiling/${tenant_ref}`;

/** Row that marks a tenant's month as beginning with sums that were carried from the log before. */
export const carriedRow = (month: string, tenant_ref: string): string =>
  `clear/carried/${month}/${tenant_ref}`;
/** Removes the plugin's prefix from the key of a row, because LogView reads rows by keys relative to the plugin. */
export const own = (key: string): string => key.slice('clear/'.length);

/** The monthly limits of a tenant; null means no limit. */
export interface Ceiling {
  readonly acts: number | null;
  /** Limit of tolls and fees together. */
  readonly micro_usd: number | null;
}

/** Projects the governed acts of all tenants. */
const meter: Watch = { admit, project: addToMonth };

function addToMonth(entry: Sequenced, rows: RowWriter): void {
  const act = actOf(entry);
  if (act === null) return;
  const tenant_ref = entry.statement['tenant_ref'] as string;
  const month = monthOf(entry.issued_at_ms);
  const key = monthRow(month, tenant_ref);
  const row = rows.get(key);
  if (row === undefined) rows.put(tenantsRow(month), Number(rows.get(tenantsRow(month)) ?? 0) + 1);
  const before = usageOf(row);
  const share = shareIn(before, act);
  rows.put(key, usageRow(withAct(before, act, share)));
  const network = usageOf(rows.get(networkRow(month)));
  rows.put(networkRow(month), usageRow(withAct(network, act, share)));
}

const shareIn = (month: Usage, act: Act): Share =>
  act.cleared_micro_usd === 0 ? null : shareOf(month.cleared_micro_usd, act.cleared_micro_usd);

/**
 * The fee of an act beside its toll, after the meter has counted it; for plugins whose watch keeps sums and runs after
 * that of the meter.
 */
export function feeCounted(rows: RowReader, entry: Sequenced, act: Act): bigint {
  const owed = BigInt(act.owed_fee_micro_usd);
  if (act.cleared_micro_usd === 0) return owed;
  const tenant_ref = entry.statement['tenant_ref'] as string;
  const after = usageOf(rows.get(monthRow(monthOf(entry.issued_at_ms), tenant_ref)));
  const before = add(after.cleared_micro_usd, -act.cleared_micro_usd);
  return owed + shareOf(before, act.cleared_micro_usd).fee_micro_usd;
}

function admit(entry: Sequenced, rows: RowReader): void {
  const act = actOf(entry);
  if (act === null) return;
  const tenant_ref = entry.statement['tenant_ref'] as string;
  const ceiling = ceilingOf(rows.get(ceilingRow(tenant_ref)));
  if (ceiling === null) return;
  const { issued_at_ms } = entry;
  const month = usageOf(rows.get(monthRow(monthOf(issued_at_ms), tenant_ref)));
  const { acts, micro_usd } = ceiling;
  if (acts !== null && month.acts >= acts) throw reached(`${String(acts)} acts`, issued_at_ms);
  if (micro_usd === null) return;
  const fee = (shareIn(month, act)?.fee_micro_usd ?? 0n) + BigInt(act.owed_fee_micro_usd);
  const spent = BigInt(month.tolls_micro_usd) + BigInt(month.fees_micro_usd);
  if (spent + BigInt(act.toll_micro_usd) + fee > BigInt(micro_usd)) {
    throw reached(`${usd(micro_usd)} USD of tolls and fees`, issued_at_ms);
  }
}

/** Reads a tenant's ceiling from its row; null without one. */
export const ceilingOf = (row: Json | undefined): Ceiling | null =>
  row === undefined ? null : (row as unknown as Ceiling);

function reached(limit: string, now_ms: number): ApiError {
  const again = nextMonthMs(now_ms);
  return new ApiError(
    'rate_limited',
    `this month's ceiling of ${limit} is reached: it starts again on ${new Date(again).toISOString().slice(0, 10)} ` +
      '(UTC), or when the operator raises it; GET /api/v1/clear/usage shows the month',
    { headers: { 'Retry-After': String(Math.ceil((again - now_ms) / 1000)) } },
  );
}

/** Micro-USD as USD with six decimals. */
export function usd(micro_usd: number | bigint | string): string {
  return fixedDecimal(BigInt(micro_usd), MICRO);
}

/** Name of the entry type. */
const CEILING = 'clear.ceiling.v1';

/** A limit of a ceiling; null means no limit. */
export const Limit = Type.Union([
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  Type.Null(),
]);

const CeilingMembers = Type.Object(
  {
    /** Largest number of governed acts in a month. */
    acts: Limit,
    /** Largest sum of tolls and fees in a month. */
    micro_usd: Limit,
  },
  { additionalProperties: false },
);

function project({ statement }: Sequenced, rows: RowWriter): void {
  const { acts = null, micro_usd = null } = statement;
  const key = ceilingRow(statement['tenant_ref'] as string);
  if (acts === null && micro_usd === null) rows.del(key);
  else rows.put(key, { acts, micro_usd });
}

/** `clear.ceiling.v1`. If both limits are null, the ceiling is removed. */
export const ceilingType: EntryType = {
  name: CEILING,
  schema: asSchema(CeilingMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof CeilingMembers>>(({ acts, micro_usd }) => {
    const limits = [
      ...(acts === null ? [] : [plural(acts, 'act')]),
      ...(micro_usd === null ? [] : [`${usdOf(micro_usd)} of tolls and fees`]),
    ];
    return limits.length === 0
      ? 'The operator lifted the monthly ceiling of the tenant.'
      : `The operator set the monthly ceiling of the tenant to ${listed(limits)}.`;
  }),
  project,
  watch: meter,
};

const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** `clear ceiling`. */
export const ceilingCommand: Command = command({
  name: 'clear ceiling',
  summary: "Set a tenant's monthly ceiling, or remove it if acts and micro_usd are missing",
  args: Type.Object(
    {
      tenant: Type.String(),
      kind: Type.Enum(LOG_KINDS),
      acts: Type.Optional(Amount),
      micro_usd: Type.Optional(Amount),
    },
    { additionalProperties: false },
  ),
  example: { tenant: 'first', kind: 'sandbox', acts: 1_000_000 },
  async perform({ args, append, tenantRef }) {
    const { tenant, kind, acts = null, micro_usd = null } = args;
    const tenant_ref = await tenantRef(tenant, kind);
    const [entry] = await append(kind, [
      { type: CEILING, tenant_ref, members: { acts, micro_usd } },
    ]);
    return { tenant, tenant_ref, kind, acts, micro_usd, entry_id: entry?.entry_id ?? '' };
  },
});
