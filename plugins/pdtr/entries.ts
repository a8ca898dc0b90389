// The entries of settlement: the twin of a payment and a decision, and the note that no decision was named.
// What follows from them: which act a tenant's payment is bound to, and whether others bound it too.
// gateway/API.md §7.3 to §7.5.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  AtomicAmount,
  EntityName,
  errorsOf,
  Hex32,
  Identifier,
  Millis,
  ofEntity,
  SafeCount,
  sentenceOf,
  SessionRef,
  shortName,
  SurfaceName,
} from '../contract/index.ts';
import type {
  EntryType,
  Json,
  JsonObject,
  RowReader,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';
import { PROFILES } from './action-ref.ts';

/** Error codes of this plugin. */
export const pdtrErrors = errorsOf({
  action_ref_mismatch: { status: 400, sentence: 'The given action_ref is not that of the act.' },
  preimage_conflict: {
    status: 400,
    sentence: 'A part of the preimage is given twice, with different values.',
  },
  ambiguous_timestamp: {
    status: 400,
    sentence: 'Both timestamp and timestamp_ms are given.',
  },
  invalid_payment_hash: {
    status: 400,
    sentence: 'The payment hash is malformed or not that of the payment response.',
  },
  payment_already_bound: { status: 409, sentence: 'The payment is bound to another act.' },
});

/** Identifier of the entry type of a bind. */
export const TWIN = 'pdtr.twin.v2';
/** Identifier of the entry type of binds of earlier builds. */
const EARLIER_TWIN = 'pdtr.twin.v1';
/** Identifier of the entry type that takes the place of a decision. */
export const NOT_SUPPLIED = 'pdtr.decision_not_supplied.v1';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
export const PaymentHash = Type.String({ pattern: '^[A-Za-z0-9:_+/=.-]{16,128}$' });

/** Members of an act that a bind may leave to their defaults. */
export const DEFAULTED = ['agent_id', 'action_type', 'scope', 'timestamp_ms'] as const;

/** What every twin says beside the common members and its amount; what the caller wrote is commitments. */
const twinMembers = Type.Object({
  payment_hash: PaymentHash,
  payment_hash_form: Type.Enum(['hex', 'base58', 'opaque']),
  payment_hash_source: Type.Enum(['payment_hash', 'payment_response']),
  action_ref: { ...Hex32, description: 'Of the profile action-ref-v1-ms.' },
  /** False if it is only the caller's claim, because the request did not give the whole act. */
  action_ref_verified: Type.Boolean(),
  /** Stands with a claim that was right: by which profile. */
  action_ref_profile: Type.Optional(Type.Enum([...PROFILES])),
  action_ref_claimed: Type.Optional(
    Type.String({ pattern: '^(sha256:|v2:)?[0-9a-f]{64}$', description: 'As claimed.' }),
  ),
  settlement_action_ref: Type.String({
    pattern: '^sha256:[0-9a-f]{64}$',
    description: 'Of the profile x402-settlement-binding-v0.',
  }),
  timestamp_ms: Millis,
  preimage_defaulted: Type.Array(Type.Enum([...DEFAULTED])),
  seq: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  terminal: Type.Boolean(),
  /** The decision behind the payment: in the log if linked, else as named; none if an entry cannot hold the name. */
  decision_entry_id: Type.Optional(Type.String({ pattern: `^(${UUID}|[0-9a-f]{64})$` })),
  decision_linked: Type.Boolean(),
  decision_source: Type.Enum(['entry_id', 'session', 'not_supplied']),
  decision_type: Type.Optional(Identifier),
  decision_outcome: Type.Optional(Identifier),
  settlement_status: Type.Literal('claimed'),
  /** Another tenant bound this payment before. */
  contested: Type.Boolean(),
  currency: Type.Optional(Identifier),
  settlement_rail: Type.Optional(Identifier),
  session_ref: Type.Optional(SessionRef),
  entity: Type.Optional(EntityName),
  surface: Type.Optional(SurfaceName),
  /** Stands with `surface`: whether the manifest in force lists it. */
  surface_declared: Type.Optional(Type.Boolean()),
}).properties;

const CLOSED = { additionalProperties: false };

/** What a twin says. */
export const TwinMembers = Type.Object(
  {
    ...twinMembers,
    amount_atomic: Type.Optional(AtomicAmount),
    large_cleared_micro_usd: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]{15,83}$',
        description: 'In place of cleared_micro_usd, where that would be above 2^53 - 1.',
      }),
    ),
  },
  CLOSED,
);

const NotSuppliedMembers = Type.Object(
  {
    outcome: Type.Literal('NOT_SUPPLIED'),
    action_ref: Hex32,
    session_ref: Type.Optional(SessionRef),
  },
  { additionalProperties: false },
);

/** A tenant's bind of a payment, as its rows have it. */
export interface BoundRow {
  readonly index: number;
  readonly action_ref: string;
  readonly claimed: string | null;
  readonly seq: number;
  readonly terminal: boolean;
  readonly timestamp_ms: number;
}

/** A payment: who bound it first, and that tenant's newest bind of it. Most payments have this row alone. */
interface PaymentRow {
  readonly tenant_ref: string;
  readonly newest: BoundRow;
  /** Other tenants bound it too. */
  readonly several: boolean;
}

/** Row of a payment. */
const paymentRow = (payment_hash: string): string => `pdtr/payment/${payment_hash}`;
/** Row of the newest bind of a tenant that was not the first to bind the payment. */
const laterPayerRow = (tenant_ref: string, payment_hash: string): string =>
  `pdtr/payer/${tenant_ref}/${payment_hash}`;
/** Row of a tenant's bind with this seq, once it has a newer one. */
export const olderBindRow = (tenant_ref: string, payment_hash: string, seq: number): string =>
  `pdtr/older/${tenant_ref}/${String(seq)}/${payment_hash}`;

/** A payment as it is known to a tenant: the row of all, and the tenant's own newest bind. */
export function boundPayment(
  rows: Pick<RowReader, 'get'>,
  tenant_ref: string,
  payment_hash: string,
): { readonly payment: PaymentRow | undefined; readonly newest: BoundRow | undefined } {
  const payment = rows.get(paymentRow(payment_hash)) as unknown as PaymentRow | undefined;
  if (payment === undefined) return { payment, newest: undefined };
  if (payment.tenant_ref === tenant_ref) return { payment, newest: payment.newest };
  if (!payment.several) return { payment, newest: undefined };
  const later = rows.get(laterPayerRow(tenant_ref, payment_hash));
  return { payment, newest: later as unknown as BoundRow | undefined };
}

function project({ index, statement }: Sequenced, rows: RowWriter): void {
  const { action_ref, action_ref_claimed = null, seq, terminal, timestamp_ms } = statement;
  const tenant_ref = statement['tenant_ref'] as string;
  const payment_hash = statement['payment_hash'] as string;
  const bind = { index, action_ref, claimed: action_ref_claimed, seq, terminal, timestamp_ms };
  const { payment, newest } = boundPayment(rows, tenant_ref, payment_hash);
  if (newest !== undefined) {
    rows.put(olderBindRow(tenant_ref, payment_hash, newest.seq), newest as unknown as JsonObject);
  }
  const first = payment?.tenant_ref ?? tenant_ref;
  if (first === tenant_ref) {
    const several = payment?.several ?? false;
    rows.put(paymentRow(payment_hash), { tenant_ref, newest: bind as JsonObject, several });
    return;
  }
  rows.put(paymentRow(payment_hash), { ...payment, several: true } as unknown as JsonObject);
  rows.put(laterPayerRow(tenant_ref, payment_hash), bind as JsonObject);
}

/** Whether an entry type is that of a bind, of this build or an earlier one. */
export const isTwin = (type: Json | undefined): boolean => type === TWIN || type === EARLIER_TWIN;

const twinSentence = sentenceOf<Omit<Static<typeof TwinMembers>, 'amount_atomic'>>((twin) => {
  const { payment_hash, decision_linked, decision_entry_id = '', decision_outcome } = twin;
  const outcome = decision_outcome === undefined ? '' : ` (${shortName(decision_outcome)})`;
  const decision = decision_linked
    ? `the decision ${decision_entry_id}${outcome}`
    : 'no decision of this log';
  return `The tenant bound the payment ${shortName(payment_hash)} to an act${ofEntity(twin)}, with ${decision} behind it.`;
});

/** `pdtr.twin.v2`. */
export const twinType: EntryType = {
  name: TWIN,
  schema: asSchema(TwinMembers),
  keys: [],
  sentence: twinSentence,
  project,
};

/** `pdtr.twin.v1`, of earlier builds, whose amounts are at most 2^53 - 1. */
export const earlierTwinType: EntryType = {
  name: EARLIER_TWIN,
  schema: asSchema(
    Type.Object({ ...twinMembers, amount_atomic: Type.Optional(SafeCount) }, CLOSED),
  ),
  keys: [],
  sentence: twinSentence,
  project,
  row_form: 2, // since one row holds a payment that one tenant bound once
};

/** `pdtr.decision_not_supplied.v1`. */
export const notSuppliedType: EntryType = {
  name: NOT_SUPPLIED,
  schema: asSchema(NotSuppliedMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof NotSuppliedMembers>>(
    ({ action_ref }) =>
      `The tenant supplied no decision for the act ${shortName(action_ref)} when it bound a payment to it.`,
  ),
};
