// Whether an event of an asset keeps its books: supply and the balances of holders. Pure; quantities are exact.
// gateway/API.md §14.

import { exact } from '../../decimal.ts';
import type { Exact } from '../../decimal.ts';

/** What may happen to an asset. gateway/API.md §19. */
export const EVENT_TYPES = [
  'tokenize',
  'mint',
  'burn',
  'corporate_action',
  'custody_transfer',
] as const;

/** One of the events. */
export type EventType = (typeof EVENT_TYPES)[number];

/** Why parity does not hold; the event is logged, and moves nothing. */
export const BREACHES = [
  'not_tokenized',
  'already_tokenized',
  'supply_exceeded',
  'holder_balance_exceeded',
] as const;

/** One of the reasons. */
export type Breach = (typeof BREACHES)[number];

/** The books of an asset before an event, as far as it touches them. */
export interface Books {
  /** Null before the asset is tokenized. */
  readonly supply: Exact | null;
  /** Of the holder; what no holder is named for is of the asset itself. */
  readonly holder: Exact;
  readonly counterparty: Exact;
}

/** An event. `quantity` is above 0, but for a corporate action, which may take away. */
export interface CustodyEvent {
  readonly event_type: EventType;
  readonly quantity: Exact;
}

/** What an event makes of the books. */
export interface Parity {
  readonly supply_before: Exact;
  readonly supply_after: Exact;
  readonly holder_after: Exact;
  readonly counterparty_after: Exact;
  /** Null where the parity holds. */
  readonly breach: Breach | null;
}

/** The first supply that a statement could not hold. */
const TOO_MUCH = 10n * exact(`1${'0'.repeat(30)}`);

/** Applies an event; where parity does not hold the books stay as they are. */
export function parityOf(books: Books, event: CustodyEvent): Parity {
  const supply_before = books.supply ?? 0n;
  const kept = { supply_before, supply_after: supply_before };
  const same = { ...kept, holder_after: books.holder, counterparty_after: books.counterparty };
  const breach = breachOf(books, event);
  if (breach !== null) return { ...same, breach };
  const { event_type, quantity } = event;
  if (event_type === 'custody_transfer') {
    return {
      ...kept,
      holder_after: books.holder - quantity,
      counterparty_after: books.counterparty + quantity,
      breach: null,
    };
  }
  const change = event_type === 'burn' ? -quantity : quantity;
  return {
    ...{ ...same, breach: null },
    supply_after: supply_before + change,
    holder_after: books.holder + change,
  };
}

function breachOf(
  { supply, holder }: Books,
  { event_type, quantity }: CustodyEvent,
): Breach | null {
  if (event_type === 'tokenize') return supply === null ? null : 'already_tokenized';
  if (supply === null) return 'not_tokenized';
  if (event_type !== 'burn' && supply + quantity >= TOO_MUCH) return 'supply_exceeded';
  const taken = event_type === 'burn' || event_type === 'custody_transfer' ? quantity : -quantity;
  if (event_type !== 'custody_transfer' && taken > supply) return 'supply_exceeded';
  return taken > holder ? 'holder_balance_exceeded' : null;
}
