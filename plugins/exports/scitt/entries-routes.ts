// POST /entries and GET /entries/{id}: statements of third parties in, COSE receipts out. draft-ietf-scitt-scrapi;
// RFC 9942, RFC 9943. The registered statement is the entry exports.statement.v1, which names it by its hash; the
// receipt is of that entry and carries it.

import { Type } from 'typebox';
import { ApiError, EntryOrHash, kindsOf, LogOfEntry, route } from '../../contract.ts';
import type { Caller, LogView, PluginHost, Route, RouteContext } from '../../contract.ts';
import { entryNamed } from '../../finding.ts';
import { issuerKeys, STATEMENT, statementRow } from '../entries.ts';
import type { IssuerRow } from '../entries.ts';
import type { Receipts } from '../receipts.ts';
import { EXAMPLE_STATEMENT } from './example.ts';
import { conciseProblem, PROBLEM_TYPE } from './problem.ts';
import { isSignedBy, readStatement } from './signed-statement.ts';
import type { SignedStatement } from './signed-statement.ts';

const COSE = 'application/cose';
/** How many keys of one issuer are tried. */
const MAX_KEYS = 20;

const receiptResponse = {
  description: 'The receipt (RFC 9942); the entry stands in its unprotected header.',
  type: COSE,
};
const problemResponse = (description: string) => ({ description, type: PROBLEM_TYPE });

/** The two routes. */
export function entriesRoutes(host: PluginHost, receipts: Receipts): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/entries',
      tag: 'exports',
      summary: 'Register a signed statement (SCRAPI)',
      description:
        'A COSE_Sign1 with attached payload and the CWT claims iss and sub, by a key that the tenant has made ' +
        'known for that issuer (POST /api/v1/scitt/issuers). The unprotected header is not registered. The same ' +
        'statement again gets the receipt of its first registration.',
      access: 'key',
      bytes: COSE,
      responses: {
        201: receiptResponse,
        303: { description: 'Registered; the receipt comes at Location after Retry-After.' },
        400: problemResponse('Not registered.'),
      },
      example: EXAMPLE_STATEMENT,
      problem: conciseProblem,
      handle: (ctx) => register(host, receipts, ctx as RouteContext),
      respond: ([entry]) => ({ entry_id: entry?.entry_id }),
    }),
    route({
      method: 'GET',
      path: '/entries/{entry_id}',
      tag: 'exports',
      summary: 'COSE receipt of an entry (SCRAPI)',
      description: 'Of any entry, by entry_id or entry hash.',
      access: 'read',
      params: Type.Object({ entry_id: EntryOrHash }),
      query: Type.Object({ log: LogOfEntry }),
      responses: {
        200: receiptResponse,
        302: { description: 'Not under a checkpoint yet; ask again after Retry-After.' },
        404: problemResponse('No such entry.'),
      },
      problem: conciseProblem,
      async handle(ctx) {
        const { params, query, caller } = ctx.state;
        const found = entryNamed(host, kindsOf(query.log, caller), params.entry_id);
        await answerReceipt(ctx, found.log, found.index, receipts, { done: 200, waiting: 302 });
      },
    }),
  ];
}

async function register(host: PluginHost, receipts: Receipts, ctx: RouteContext): Promise<void> {
  const { body, caller } = ctx.state;
  const statement = readStatement(body as Uint8Array);
  const log = host.log(caller.kind);
  const row = statementRow(caller.tenant_ref, statement.statement_sha256);
  const earlier = registeredBefore(host, log, row);
  if (earlier !== null) {
    await answerReceipt(ctx, earlier.log, earlier.index, receipts, { done: 201, waiting: 303 });
    return;
  }
  const key_thumbprint = await signingKey(log, caller, statement);
  const index = log.row(row) ?? (await append(ctx, statement, key_thumbprint, row)) ?? log.row(row);
  if (typeof index !== 'number') throw new Error('a registered statement has its row');
  await answerReceipt(ctx, log, index, receipts, { done: 201, waiting: 303 });
}

/** The first registration of a statement, where a closed log has it. */
function registeredBefore(
  host: PluginHost,
  newest: LogView,
  row: string,
): { readonly log: LogView; readonly index: number } | null {
  for (const log of host.logs(newest.kind)) {
    const index = log.number < newest.number ? log.row(row) : undefined;
    if (typeof index === 'number') return { log, index };
  }
  return null;
}

/** The thumbprint of the issuer's active key that has signed; `parameter_invalid` when none has. */
async function signingKey(
  log: LogView,
  caller: Caller,
  statement: SignedStatement,
): Promise<string> {
  const prefix = issuerKeys(caller.tenant_ref, statement.issuer_sha256);
  const rows = await log.rows(prefix, { limit: MAX_KEYS });
  const keys = rows.map(([name, row]) => ({
    thumbprint: name.slice(-64),
    row: row as unknown as IssuerRow,
  }));
  const active = keys.filter(({ row }) => row.status === 'active');
  if (active.length === 0) {
    throw new ApiError('parameter_invalid', 'the tenant knows no active key of this issuer', {
      param: 'iss',
    });
  }
  const signer = active.find(({ row }) => isSignedBy(statement, row));
  if (signer === undefined) {
    const message = 'no active key of this issuer has made the signature';
    throw new ApiError('parameter_invalid', message, { param: 'signature' });
  }
  return signer.thumbprint;
}

/**
 * Registers, unless another request of the same moment has revoked the key, or registers the same: then the answer is
 * the index of that entry, which may not be durable yet.
 */
async function append(
  ctx: RouteContext,
  statement: SignedStatement,
  key_thumbprint: string,
  row: string,
): Promise<number | undefined> {
  const { issuer_sha256, statement_sha256, payload_sha256, algorithm } = statement;
  const { subject, issuer, content_type } = statement;
  const { tenant_ref } = ctx.state.caller;
  const key = `exports/${issuerKeys(tenant_ref, issuer_sha256)}${key_thumbprint}`;
  try {
    await ctx.state.append(
      [
        {
          type: STATEMENT,
          members: { statement_sha256, payload_sha256, issuer_sha256, key_thumbprint, algorithm },
          private: { issuer, subject, ...(content_type === undefined ? {} : { content_type }) },
        },
      ],
      {
        check({ rows }) {
          const there = rows.get(`exports/${row}`);
          if (typeof there === 'number') throw new Registered(there);
          const known = rows.get(key) as unknown as IssuerRow | undefined;
          if (known?.status === 'active') return;
          throw new ApiError('parameter_invalid', 'the key of this issuer was revoked', {
            param: 'iss',
          });
        },
      },
    );
    return undefined;
  } catch (error) {
    if (!(error instanceof Registered)) throw error;
    return error.index;
  }
}

/** Not a failure: the statement has its entry already. */
class Registered extends Error {
  override readonly name = 'Registered';
  readonly index: number;

  constructor(index: number) {
    super('the statement is registered');
    this.index = index;
  }
}

async function answerReceipt(
  ctx: Pick<RouteContext, 'status' | 'body' | 'set' | 'remove'>,
  log: LogView,
  index: number,
  receipts: Receipts,
  status: { readonly done: number; readonly waiting: number },
): Promise<void> {
  ctx.set('Cache-Control', 'no-store');
  const covered = await log.covering(index + 1).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'log_unavailable') return null;
    throw error;
  });
  const entry = log.entry(index);
  if (entry === null)
    throw new ApiError('log_unavailable', 'the log takes no entries at the moment');
  const { entry_id } = JSON.parse(entry) as { readonly entry_id: string };
  ctx.set('Location', `/entries/${entry_id}${log.kind === 'sandbox' ? '?log=sandbox' : ''}`);
  if (covered === null) {
    // Durable all the same: who comes back finds the receipt.
    ctx.set('Retry-After', '5');
    ctx.body = '';
    ctx.remove('Content-Type');
    ctx.status = status.waiting;
    return;
  }
  const bytes = await receipts.inclusion(log, index, covered.size, entry);
  ctx.status = status.done;
  ctx.set('Content-Type', COSE);
  ctx.body = Buffer.from(bytes);
}
