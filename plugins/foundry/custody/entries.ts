// The entry of a custody attestation: one link of its asset's chain, with the supply before and after.
// gateway/API.md §14; log/FORMAT.md §2.

import { Type } from 'typebox';
import { asSchema, Identifier } from '../../contract.ts';
import type { EntryType, RowReader, RowWriter, Sequenced } from '../../contract.ts';
import { count } from '../counts.ts';
import { DecimalText, exact } from '../../decimal.ts';
import type { Exact } from '../../decimal.ts';
import { BREACHES, EVENT_TYPES } from './parity.ts';
import type { Books } from './parity.ts';

/** Identifier of the entry type. */
export const CUSTODY = 'foundry.custody.v1';

/** What an attestation leaves open. */
export const DOES_NOT_ASSERT = {
  custody: 'that anybody holds the asset: it is what the tenant attests',
  elsewhere: 'anything about supply that is not attested in this log',
} as const;

/** A holder by the tenant's own pseudonym: who has its key recomputes it, others only see that it is the same. */
export const HolderRef = Type.String({ pattern: '^holder:[A-Za-z0-9_-]{43}$' });

/** What an attestation says; names are commitments. */
export const CustodyMembers = Type.Object(
  {
    event_type: Type.Enum([...EVENT_TYPES]),
    /** `asset:<tenant_ref>:<asset id>`: an asset is its tenant's, and nobody else moves it. */
    asset_ref: Identifier,
    quantity: DecimalText,
    supply_before: DecimalText,
    supply_after: DecimalText,
    holds: Type.Boolean({ description: 'False: the event is attested, and the books stay.' }),
    breach: Type.Optional(Type.Enum([...BREACHES])),
    holder_ref: Type.Optional(HolderRef),
    holder_after: DecimalText,
    counterparty_ref: Type.Optional(HolderRef),
    counterparty_after: Type.Optional(DecimalText),
    does_not_assert: Type.Array(Type.Enum(Object.keys(DOES_NOT_ASSERT))),
  },
  { additionalProperties: false },
);

/** Row of an asset's supply. */
export const supplyRow = (asset_ref: string): string => `foundry/supply/${asset_ref}`;
/** Row of what a holder has of an asset; without one, of the asset itself. */
export const balanceRow = (asset_ref: string, holder_ref = ''): string =>
  `foundry/balance/${asset_ref}/${holder_ref}`;

const amount = (rows: RowReader, key: string): Exact | null => {
  const text = rows.get(key);
  return typeof text === 'string' ? exact(text) : null;
};

/**
 * How the log names a holder: the first of these references that has a balance, else the last one. A reference is
 * made for one log; a balance that was carried keeps the one that it had.
 */
export function holderIn(
  rows: RowReader,
  asset_ref: string,
  refs: readonly string[],
): string | undefined {
  return refs.find((ref) => rows.get(balanceRow(asset_ref, ref)) !== undefined) ?? refs.at(-1);
}

/** The books of an asset as far as an event touches them. */
export function booksOf(
  rows: RowReader,
  asset_ref: string,
  holder_ref?: string,
  counterparty_ref?: string,
): Books {
  return {
    supply: amount(rows, supplyRow(asset_ref)),
    holder: amount(rows, balanceRow(asset_ref, holder_ref)) ?? 0n,
    counterparty: amount(rows, balanceRow(asset_ref, counterparty_ref)) ?? 0n,
  };
}

function project(entry: Sequenced, rows: RowWriter): void {
  const { statement } = entry;
  const { holds, supply_after, holder_after, counterparty_after } = statement;
  const asset_ref = statement['asset_ref'] as string;
  count(entry, rows, { custody_attestations: 1 });
  if (holds !== true) return;
  const holder_ref = statement['holder_ref'] as string | undefined;
  const counterparty_ref = statement['counterparty_ref'] as string | undefined;
  rows.put(supplyRow(asset_ref), supply_after as string);
  rows.put(balanceRow(asset_ref, holder_ref), holder_after as string);
  if (counterparty_ref !== undefined && counterparty_after !== undefined) {
    rows.put(balanceRow(asset_ref, counterparty_ref), counterparty_after);
  }
}

/** `foundry.custody.v1`; each is on the chain of its asset. */
export const custodyType: EntryType = {
  name: CUSTODY,
  schema: asSchema(CustodyMembers),
  keys: [['foundry.asset', 'asset_ref']],
  project,
};
