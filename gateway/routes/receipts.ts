// Receipts by entry_id or entry hash: the lookup, which runs every check, the permalink, and the portable proof.
// gateway/API.md §1.4, §1.5.

import { Type } from 'typebox';
import { readEntry } from '../../log/index.ts';
import type { Kind } from '../../log/index.ts';
import {
  ApiError,
  EntryOrHash,
  EntryReceipt,
  HTML,
  kindsOf,
  LogOfEntry,
  route,
  sendPage,
} from '../../plugins/contract/index.ts';
import type { Caller, Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import {
  checkReceipt,
  entryNamed,
  findEntry,
  shownReceipt,
  placeOf,
  tlogProofOf,
} from './receipt-answer.ts';
import { receiptBadge, receiptPage } from './receipt-page.ts';
import { Note } from './schemas.ts';

const TAG = 'Receipts';

const Found = Type.Object(
  {
    found: Type.Literal(true),
    entry_id: Type.String(),
    receipt: EntryReceipt,
    proof: Type.Union([
      Type.Object({
        tlog_proof: Type.String({ description: 'C2SP tlog-proof@v1, with the checkpoint.' }),
        checkpoint: Note,
      }),
      Type.Null(),
    ]),
    checks: Type.Object({
      signature_valid: Type.Boolean(),
      key_status: Type.String({ description: 'active, retired or revoked.' }),
      inclusion_valid: Type.Boolean(),
      checkpoint_valid: Type.Boolean(),
    }),
    verify_url: Type.String({ format: 'uri' }),
  },
  { $id: 'ReceiptFound' },
);

const NotFound = Type.Object(
  { found: Type.Literal(false), entry_id: Type.String() },
  { $id: 'ReceiptNotFound' },
);

const LookedUp = Type.Union([Found, NotFound]);

/** /receipt/lookup, /verify and /r/{entry_id}. */
export function receiptRoutes(gateway: Gateway): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/receipt/lookup',
      tag: TAG,
      summary: 'Looks a receipt up and checks it',
      description:
        'By entry_id or entry hash. This service checks its own receipt; `actlog verify` makes the same checks ' +
        'independently of it. Disclosures are shown only to the tenant whose entry it is.',
      access: 'read',
      query: Type.Object({
        entry_id: EntryOrHash,
        log: LogOfEntry,
      }),
      responses: {
        200: { description: 'Found or not.', schema: LookedUp },
      },
      async handle(ctx) {
        const { query, caller } = ctx.state;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = await lookedUp(gateway, query.entry_id, query.log, caller);
      },
    }),
    route({
      method: 'GET',
      path: '/verify',
      tag: TAG,
      summary: 'The verifier as a page',
      description:
        'The `verify_url` of every receipt. The page checks documents in the browser. A request that prefers JSON ' +
        'gets the answer of /receipt/lookup.',
      access: 'read',
      query: Type.Object({
        entry_id: Type.Optional(Type.String({ maxLength: 512, description: 'Or the entry hash.' })),
        log: LogOfEntry,
        key: Type.Optional(
          Type.String({
            maxLength: 4096,
            description: 'A chain, as JSON: the page checks its list.',
          }),
        ),
        n: Type.Optional(
          Type.String({ pattern: '^[1-9][0-9]{0,8}$', description: 'Number of its log.' }),
        ),
        partner: Type.Optional(
          Type.String({ maxLength: 64, description: 'Slug of the partner whose link led here.' }),
        ),
      }),
      responses: {
        200: { description: 'The page, or what is found.', schema: LookedUp, page: HTML },
      },
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const { entry_id, log } = query;
        ctx.vary('Accept');
        if (ctx.accepts('html', 'json') === 'json') {
          if (entry_id === undefined || entry_id === '') {
            throw new ApiError('parameter_missing', 'entry_id is missing', { param: 'entry_id' });
          }
          ctx.set('Cache-Control', 'no-store');
          ctx.body = await lookedUp(gateway, entry_id, log, caller);
          return;
        }
        const title = 'Verify';
        const scripts = ['verify-page.js'];
        const partner =
          query.partner === undefined ? null : gateway.plugged().partner(query.partner);
        const manifest = 'verify.webmanifest';
        const description =
          'Checks receipts, absence documents and exports of the log in your browser, also offline.';
        const frame = { title, description, scripts, manifest, here: '/verify' };
        const elsewhere = gateway.checkedElsewhere;
        const data = { ...frame, entry_id, log, partner, elsewhere };
        sendPage(ctx, gateway.page('verify', data));
      },
    }),
    route({
      method: 'GET',
      path: '/r/{entry_id}',
      tag: TAG,
      summary: 'A receipt by its permalink',
      access: 'read',
      params: Type.Object({ entry_id: EntryOrHash }),
      query: Type.Object({ log: LogOfEntry }),
      description: 'A page if the request prefers HTML, otherwise JSON.',
      responses: {
        200: { description: 'The receipt with its proof.', schema: EntryReceipt, page: HTML },
      },
      errors: ['resource_missing'],
      async handle(ctx) {
        const { params, query, caller } = ctx.state;
        ctx.set('Cache-Control', 'no-store');
        ctx.vary('Accept');
        const asPage = ctx.accepts('json', 'html') === 'html';
        const entry = entryNamed(gateway, kindsOf(query.log, caller), params.entry_id);
        const { log, index } = entry;
        const { receipt, place } = await shownReceipt(gateway, entry, caller);
        if (asPage) {
          // The sentence is made from the entry, because the receipt may contain disclosures.
          const { statement } = readEntry(log.entry(index) ?? '');
          const words = {
            sentence: gateway.sentence(statement),
            reasons: gateway.reasons(statement),
          };
          sendPage(ctx, gateway.page('receipt', receiptPage(log, receipt, place, words)));
          return;
        }
        ctx.body =
          place === null ? receipt : { ...receipt, log: { origin: log.origin, index, ...place } };
      },
    }),
  ];
}

/** GET /r/{entry_id}/badge.svg: the state and the outcome of a receipt as a picture, to link to it. */
export function badgeRoute(gateway: Gateway): Route {
  return route({
    method: 'GET',
    path: '/r/{entry_id}/badge.svg',
    tag: TAG,
    summary: 'The badge of a receipt',
    description:
      'Whether the entry is signed and in the log, and its outcome, as an SVG of 20 pixels.',
    access: 'read',
    params: Type.Object({ entry_id: EntryOrHash }),
    query: Type.Object({ log: LogOfEntry }),
    responses: { 200: { description: 'The badge.', type: 'image/svg+xml' } },
    errors: ['resource_missing'],
    async handle(ctx) {
      const { params, query, caller } = ctx.state;
      const entry = entryNamed(gateway, kindsOf(query.log, caller), params.entry_id);
      const { log, index } = entry;
      const receipt = gateway.receipt(log, index);
      if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
      ctx.set('Cache-Control', 'public, max-age=300');
      ctx.set('Content-Type', 'image/svg+xml');
      ctx.body = receiptBadge(log, receipt, await placeOf(log, index));
    },
  });
}

/** The answer of /receipt/lookup. */
async function lookedUp(
  gateway: Gateway,
  name: string,
  asked: Kind | undefined,
  caller: Caller,
): Promise<object> {
  const entry = findEntry(gateway, kindsOf(asked, caller), name);
  if (entry === null) return { found: false, entry_id: name };
  const { receipt, place } = await shownReceipt(gateway, entry, caller);
  const { entry_id, verify_url } = receipt;
  const { checks, proof } = checkReceipt(entry.log, receipt, place);
  return { found: true, entry_id, receipt, proof, checks, verify_url };
}

/** GET /r/{entry_id}/tlog-proof: a receipt as a C2SP tlog-proof file, for other verifiers. */
export function proofDownloadRoute(gateway: Gateway): Route {
  return route({
    method: 'GET',
    path: '/r/{entry_id}/tlog-proof',
    tag: 'Receipts',
    summary: 'The portable proof of a receipt, to download',
    description:
      'C2SP tlog-proof@v1 of the newest checkpoint over the entry; `actlog verify` takes it with `--receipt`.',
    access: 'read',
    params: Type.Object({ entry_id: EntryOrHash }),
    query: Type.Object({
      log: LogOfEntry,
    }),
    responses: { 200: { description: 'The proof.', type: 'text/plain; charset=utf-8' } },
    errors: ['resource_missing', 'log_unavailable'],
    async handle(ctx) {
      const { params, query, caller } = ctx.state;
      const { log, index } = entryNamed(gateway, kindsOf(query.log, caller), params.entry_id);
      const place = await placeOf(log, index);
      if (place === null) {
        throw new ApiError('log_unavailable', 'the log is not publishing at the moment');
      }
      ctx.set('Cache-Control', 'no-store');
      ctx.set('Content-Disposition', `attachment; filename="${String(index)}.tlog-proof"`);
      ctx.set('Content-Type', 'text/plain; charset=utf-8');
      ctx.body = tlogProofOf(index, place);
    },
  });
}
