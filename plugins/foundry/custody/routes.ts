// POST /api/v1/custody/attest. gateway/API.md §14.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, EntryId, receiptOf, route } from '../../contract.ts';
import type { AnsweredEntry, Caller, Draft, Json, JsonObject } from '../../contract.ts';
import type { PluginHost, Route } from '../../contract.ts';
import { DECIMAL, decimalText, exactOf } from '../../decimal.ts';
import { lastEntry } from '../last-entry.ts';
import {
  booksOf,
  CUSTODY,
  CustodyMembers,
  custodyType,
  DOES_NOT_ASSERT,
  holderIn,
} from './entries.ts';
import { EVENT_TYPES, parityOf } from './parity.ts';

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
    { $id: 'CustodyAttestRequest' },
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
  if (counterparty === undefined) {
    const message = 'a custody_transfer needs the counterparty that receives';
    throw new ApiError('parameter_missing', message, { param: 'counterparty' });
  }
  if (counterparty === holder) {
    const message = 'holder and counterparty are the same';
    throw new ApiError('parameter_invalid', message, { param: 'counterparty' });
  }
}

/** An asset of the tenant; an id that is no short identifier stands as its hash. */
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
