// GET /api/v1/clearing/invoices/{month}, and the list of its acts. gateway/API.md §10.10.

import { Type } from 'typebox';
import type { TProperties } from 'typebox';
import clear, { MONTH, monthWindow, usd } from '../clear/index.ts';
import {
  ApiError,
  Count,
  described,
  EntryId,
  Hex32,
  Millis,
  Nullable,
  listRoute,
  PLACES,
  placesAfter,
  placeText,
  receiptOf,
  route,
  sendPage,
  toHex,
} from '../contract/index.ts';
import type { Caller, Place, PluginHost, Route } from '../contract/index.ts';
import { invoiceType } from './entries.ts';
import { actsAfter, billedAct, MAX_SHOWN } from './invoice.ts';
import type { Invoices } from './invoice.ts';
import { actRows, indexText, own } from './ledger.ts';
import type { ActRow } from './ledger.ts';
import { dueOf, netWithAct, NO_NET } from './net.ts';
import { ProofAnswer } from './proof.ts';
import { INVOICE } from './verify.ts';
import { WEEK } from '../contract/index.ts';

/** Number of acts that are read at a cost of 1. */
const ACTS_PER_COST = 300;

const Micro = Type.String({
  pattern: '^-?(0|[1-9][0-9]*)$',
  description: 'Integer micro-USD as a string, because a sum may exceed 2^53.',
});
const Usd = Type.String({ description: 'USD with six decimals, the same amount.' });
const Month = Type.String({ pattern: MONTH, description: 'YYYY-MM in UTC.' });
const line = { acts: Count, micro_usd: Micro, usd: Usd };
const sums = {
  acts: Count,
  tolls_micro_usd: Micro,
  credits_micro_usd: { ...Micro, description: 'The part of the tolls that credits paid.' },
  fees_micro_usd: {
    ...Micro,
    description: 'Basis points of the cleared amounts, and fees that settlements owe.',
  },
  cleared_micro_usd: Micro,
  net_micro_usd: { ...Micro, description: 'The amount due: tolls minus credits plus fees.' },
};
const Opened = Type.Object({ index: Count, entry: Type.String(), path: Type.Array(Type.String()) });
const ofClosed = 'Only after the end of the month.';

const InvoiceAnswer = Type.Object(
  {
    schema: Type.Literal(INVOICE),
    status: Type.Enum(['open', 'closed'], {
      description:
        '`open`: the month is not over. The sums are preliminary, and the log does not commit to them.',
    }),
    month: Month,
    from_ms: Millis,
    to_ms: Millis,
    tenant_ref: Type.String(),
    sandbox: Type.Boolean(),
    currency: Type.Literal('USD'),
    ...sums,
    net_usd: Usd,
    tolls: Type.Array(Type.Object({ toll: Type.String(), ...line })),
    fees: Type.Array(Type.Object({ fee: Type.Enum(['basis_points', 'obligation']), ...line })),
    obligations: Type.Array(
      Type.Object({ entry_id: EntryId, trigger_id: Nullable(EntryId), micro_usd: Micro }),
      { description: `The first ${String(MAX_SHOWN)} settlements that owe a fee.` },
    ),
    weeks: Type.Array(Type.Object({ week: Type.String({ pattern: WEEK }), ...sums }), {
      description: 'The part of each ISO week that lies in the month, if it has acts.',
    }),
    logs: Type.Array(
      Type.Object({
        origin: Type.String(),
        acts: Count,
        acts_root: {
          ...Hex32,
          description:
            'RFC 6962 root over the entries of the acts, oldest first. The leaf hashes are the entry_hash values.',
        },
      }),
    ),
    does_not_assert: Type.Array(Type.String()),
    acts_shown: Type.Optional(
      Type.Array(Opened, {
        description: `${ofClosed} The first ${String(MAX_SHOWN)} acts in the log of the receipt, with their inclusion proofs.`,
      }),
    ),
    slots: Type.Optional(
      Type.Array(ProofAnswer, {
        description: `${ofClosed} The proofs of the weeks whose slots are closed.`,
      }),
    ),
    checkpoint: Type.Optional(
      Type.String({ description: 'The signed note of the proofs of acts_shown and the receipt.' }),
    ),
    signature: Type.Optional(
      Type.String({ description: 'Signature of the receipt: Ed25519, base64.' }),
    ),
    receipt: Type.Optional(
      described(
        receiptOf(invoiceType),
        'Receipt of the entry that commits to this document. Its document_sha256 is the SHA-256 of the RFC 8785 form ' +
          'of this document without acts_shown, slots, checkpoint, signature and receipt.',
      ),
    ),
  },
  { $id: 'Invoice' },
);

const ActLine = Type.Object(
  {
    entry_id: EntryId,
    origin: Type.String(),
    index: Count,
    entry_hash: Hex32,
    issued_at_ms: Millis,
    type: Type.String(),
    toll: Type.String(),
    ...sums,
  },
  { $id: 'BilledAct' },
);

/** The routes of invoices. */
export function invoiceRoutes(host: PluginHost, invoices: Invoices): readonly Route[] {
  const acts = ({ kind, tenant_ref }: Caller, month: string): number =>
    host.use(clear).usage(kind, tenant_ref, month).acts;
  return [
    route({
      method: 'GET',
      path: '/api/v1/clearing/invoices/{month}',
      tag: 'clearing',
      summary: "The caller's invoice of a month: tolls, fees, credits and nets",
      description:
        'Computed from the entries of the log. After the end of the month, one entry (`receipt`) commits to the ' +
        'invoice, and `actlog verify` checks it offline. Before that the status is `open`. With format=html the answer ' +
        'is a page.',
      access: 'key',
      appends: true,
      budget: 'write',
      whole: true,
      params: Type.Object({ month: Month }),
      query: Type.Object({ format: Type.Optional(Type.Enum(['json', 'html'])) }),
      responses: {
        200: { description: 'The invoice.', schema: InvoiceAnswer, formats: ['text/html'] },
      },
      errors: ['resource_missing', 'window_not_closed', 'log_unavailable'],
      cost: ({ params, caller }) => 1 + acts(caller, params.month) / ACTS_PER_COST,
      async handle(ctx) {
        const { params, query, caller } = ctx.state;
        const month = begun(host, params.month);
        const invoice = await invoices.of(caller, month, (draft) => ctx.state.append([draft]));
        ctx.set('Cache-Control', 'no-store');
        if (query.format !== 'html') {
          ctx.body = invoice;
          return;
        }
        const title = `Invoice ${month}`;
        const log = caller.sandbox ? '?log=sandbox' : '';
        const entryUrl = (entry_id: string): string => host.url(`/r/${entry_id}${log}`);
        sendPage(ctx, host.page('invoice', { title, kept: true, invoice, entryUrl, usd }));
      },
      respond: () => ({}),
    }),
    actsRoute(host),
  ];
}

function actsRoute(host: PluginHost): Route {
  const params = { month: Month };
  return listRoute<Place, TProperties, typeof params>(host, {
    path: '/api/v1/clearing/invoices/{month}/acts',
    tag: 'clearing',
    summary: "The caller's governed acts of a month, each with its amounts",
    description:
      'Oldest first, from every log. The entry hashes of the acts in a log are the leaves of its acts_root.',
    access: 'key',
    params,
    errors: ['resource_missing'],
    ...{ $id: 'ClearingInvoiceActs', row: ActLine, places: PLACES, placeOf: placeText },
    find({ params: { month }, caller: { kind, tenant_ref } }, page) {
      const of = { month: begun(host, month), tenant_ref };
      return placesAfter(host.logs(kind), page, async (log, ...rest) =>
        (await actsAfter(log, of, ...rest)).map(([index]) => index),
      );
    },
    shown({ log, index }, { params: { month }, caller: { tenant_ref } }) {
      const row = log.row(own(actRows(month, tenant_ref)) + indexText(index)) as unknown;
      const act = billedAct(log, index, row as ActRow);
      const { entry_id = '', issued_at_ms = 0, type = '' } = act.statement;
      const net = netWithAct(NO_NET, act, act.row);
      return {
        ...{ entry_id, origin: log.origin, index, entry_hash: toHex(log.leafHash(index)) },
        ...{ issued_at_ms, type, toll: act.toll, ...net, net_micro_usd: dueOf(net) },
      };
    },
  });
}

/** 404 for a month that has not begun. */
function begun(host: PluginHost, month: string): string {
  if (monthWindow(month).from_ms <= host.now()) return month;
  throw new ApiError('resource_missing', `${month} has not begun`, { param: 'month' });
}
