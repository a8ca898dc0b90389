// Custody attestations: POST /api/v1/custody/attest. gateway/API.md §14, log/FORMAT.md §2.
//
// Each attestation is one link of its asset's chain. It states the supply and the balances of the holders before and
// after the event; an event that would break the books of the asset is logged with the breaches that it causes.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  asSchema,
  DECIMAL,
  decimalText,
  DecimalText,
  EntryId,
  exact,
  exactOf,
  Identifier,
  neededBy,
  receiptOf,
  route,
  sentenceOf,
  shortName,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  Caller,
  Draft,
  EntryType,
  Exact,
  Json,
  JsonObject,
  PluginHost,
  Route,
  RowReader,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';
import { count, lastEntry } from './entries.ts';

/** What may happen to an asset. gateway/API.md §19. */
export const EVENT_TYPES = [
  'tokenize',
  'mint',
  'burn',
  'corporate_action',
  'custody_transfer',
] as const;

/** One of the events. */
type EventType = (typeof EVENT_TYPES)[number];

/** Why parity does not hold; the event is logged, and moves nothing. */
const BREACHES = [
  'not_tokenized',
  'already_tokenized',
  'supply_exceeded',
  'holder_balance_exceeded',
] as const;

/** One of the reasons. */
type Breach = (typeof BREACHES)[number];

/** The books of an asset before an event, as far as it touches them. */
interface Books {
  /** Null before the asset is tokenized. */
  readonly supply: Exact | null;
  /** Of the holder; what no holder is named for is of the asset itself. */
  readonly holder: Exact;
  readonly counterparty: Exact;
}

/** An event. `quantity` is above 0, but for a corporate action, which may take away. */
interface CustodyEvent {
  readonly event_type: EventType;
  readonly quantity: Exact;
}

/** What an event makes of the books. */
interface Parity {
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

/** Identifier of the entry type. */
export const CUSTODY = 'foundry.custody.v1';

/** What an attestation leaves open. */
const DOES_NOT_ASSERT = {
  custody: 'that anybody holds the asset: it is what the tenant attests',
  elsewhere: 'anything about supply that is not attested in this log',
} as const;

/** A holder by the tenant's own pseudonym: who has its key recomputes it, others only see that it is the same. */
export const HolderRef = Type.String({ pattern: '^holder:[A-Za-z0-9_-]{43}$' });

/** What an attestation says; names are commitments. */
const CustodyMembers = Type.Object(
  {
    event_type: Type.Enum([...EVENT_TYPES]),
    /** `asset:<tenant_ref>:<asset id>`: an asset belongs to its tenant, and no other tenant can move it. */
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
function holderIn(rows: RowReader, asset_ref: string, refs: readonly string[]): string | undefined {
  return refs.find((ref) => rows.get(balanceRow(asset_ref, ref)) !== undefined) ?? refs.at(-1);
}

/** The books of an asset as far as an event touches them. */
function booksOf(
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
  sentence: sentenceOf<Static<typeof CustodyMembers>>((attested) => {
    const { event_type, asset_ref, quantity, breach, supply_after } = attested;
    const asset = asset_ref.split(':').slice(2).join(':');
    const result =
      breach === undefined
        ? `the supply is ${shortName(supply_after)}`
        : `parity is broken by ${breach}`;
    return `The tenant attested ${event_type} of ${shortName(quantity)} of the asset ${shortName(asset)}: ${result}.`;
  }),
  project,
};

const { holds, breach } = CustodyMembers.properties;

const CustodyAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    attestation_entry_id: EntryId,
    event_type: CustodyMembers.properties.event_type,
    asset_ref: CustodyMembers.properties.asset_ref,
    chain_seq: Type.Integer({
      minimum: 0,
      description: 'Place in the chain of the asset, from 0.',
    }),
    parity: Type.Object({
      supply_before: Type.String(),
      supply_after: Type.String(),
      holds,
      breach,
    }),
    does_not_assert: Type.Array(Type.String()),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(custodyType),
  },
  { $id: 'CustodyAttestation' },
);

/** Body of an attestation; the pipeline has one too. */
export const custodyBody = ({ limits }: PluginHost) => {
  const Text = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return Type.Object(
    {
      event_type: Type.Enum([...EVENT_TYPES]),
      asset_id: Text,
      quantity: Type.String({
        pattern: DECIMAL,
        description: 'A decimal above 0; a corporate action may take away.',
      }),
      holder: Type.Optional(Text),
      counterparty: Type.Optional(Text),
      reference: Type.Optional(Text),
    },
    {
      $id: 'CustodyAttestRequest',
      ...neededBy('event_type', { custody_transfer: ['counterparty'] }),
    },
  );
};

/** An attestation after its schema. */
export type CustodyRequest = Static<ReturnType<typeof custodyBody>>;

/** An attestation, ready to be appended; the books are those of its own place in the log. */
export function custodyDraft(host: PluginHost, caller: Caller, request: CustodyRequest): Draft {
  const { event_type, asset_id, holder, counterparty, reference } = request;
  const quantity = exactOf(request.quantity, 'quantity');
  checkEvent(request, quantity);
  const { clear, asset_ref } = assetRef(caller, asset_id);
  const origins = host.logs(caller.kind).map(({ origin }) => origin);
  const refsOf = (name: string | undefined): readonly string[] =>
    name === undefined
      ? []
      : origins.map((origin) => `holder:${caller.sessionRef(`holder:${name}`, origin)}`);
  const [holderRefs, counterpartyRefs] = [refsOf(holder), refsOf(counterparty)];
  const hidden: Record<string, Json> = {
    ...(clear ? {} : { asset_id }),
    ...(holder === undefined ? {} : { holder }),
    ...(counterparty === undefined ? {} : { counterparty }),
    ...(reference === undefined ? {} : { reference }),
  };
  return {
    type: CUSTODY,
    members({ rows }): JsonObject {
      const holder_ref = holderIn(rows, asset_ref, holderRefs);
      const counterparty_ref = holderIn(rows, asset_ref, counterpartyRefs);
      const books = booksOf(rows, asset_ref, holder_ref, counterparty_ref);
      const parity = parityOf(books, { event_type, quantity });
      return {
        ...{ event_type, asset_ref, quantity: decimalText(quantity) },
        supply_before: decimalText(parity.supply_before),
        supply_after: decimalText(parity.supply_after),
        holds: parity.breach === null,
        ...(parity.breach === null ? {} : { breach: parity.breach }),
        ...(holder_ref === undefined ? {} : { holder_ref }),
        holder_after: decimalText(parity.holder_after),
        ...(counterparty_ref === undefined
          ? {}
          : { counterparty_ref, counterparty_after: decimalText(parity.counterparty_after) }),
        does_not_assert: Object.keys(DOES_NOT_ASSERT),
      };
    },
    private: hidden,
    toll: host.toll('custody_attest'),
  };
}

function checkEvent(request: CustodyRequest, quantity: bigint): void {
  const { event_type, holder, counterparty } = request;
  if (quantity === 0n || (quantity < 0n && event_type !== 'corporate_action')) {
    const message = 'quantity is not above 0; only a corporate action takes away';
    throw new ApiError('parameter_invalid', message, { param: 'quantity' });
  }
  if (event_type !== 'custody_transfer') return;
  if (counterparty === holder) {
    const message = 'holder and counterparty are the same';
    throw new ApiError('parameter_invalid', message, { param: 'counterparty' });
  }
}

/** An asset of the tenant; an id that is not a short identifier is replaced by its hash. */
function assetRef(caller: Caller, asset_id: string): { clear: boolean; asset_ref: string } {
  const clear = /^[A-Za-z0-9][A-Za-z0-9:._-]{0,127}$/u.test(asset_id);
  const hash = (): string => `sha256:${createHash('sha256').update(asset_id).digest('hex')}`;
  return { clear, asset_ref: `asset:${caller.tenant_ref}:${clear ? asset_id : hash()}` };
}

/** An attestation's entry as its answer shows it. */
function custodyShown({ entry_id, statement, receipt }: AnsweredEntry): JsonObject {
  const { event_type = '', asset_ref = '', supply_before = '', supply_after = '' } = statement;
  const links = statement['links'] as unknown as readonly { key: string[]; seq: number }[];
  const link = links.find(({ key }) => key[0] === 'foundry.asset');
  const { holds: kept = false, breach: reason } = statement;
  return {
    ...{ attestation_entry_id: entry_id, event_type, asset_ref, chain_seq: link?.seq ?? 0 },
    parity: {
      ...{ supply_before, supply_after, holds: kept },
      ...(reason === undefined ? {} : { breach: reason }),
    },
    does_not_assert: Object.values(DOES_NOT_ASSERT),
    verify_url: receipt.verify_url,
  };
}

/** The route of custody. */
export function custodyRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/custody/attest',
    tag: 'foundry',
    summary: 'Attest an event of a tokenized asset, with the parity of its books',
    description:
      'An asset is its tenant’s. Its attestations are one chain: each says the supply before and after. What ' +
      'does not keep the books (a burn over the supply, a transfer over the balance, a mint before tokenize) is ' +
      'logged with holds:false and its breach, and moves nothing. Holders stand as pseudonyms of the tenant.',
    access: 'open',
    idempotent: true,
    body: custodyBody(host),
    responses: { 200: { description: 'The attestation.', schema: CustodyAnswer } },
    example: {
      event_type: 'tokenize',
      asset_id: 'fund-7:class-a',
      quantity: '1000000.00',
      holder: 'Custodian One',
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      await ctx.state.append([custodyDraft(host, caller, body)]);
    },
    respond(entries) {
      const entry = lastEntry(entries);
      return { ok: true, ...custodyShown(entry), receipt: entry.receipt };
    },
  });
}
