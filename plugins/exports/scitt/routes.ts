// The SCITT reference API: POST /entries and GET /entries/{id}, the keys of COSE messages as COSE keys, and consistency
// receipts between published trees. draft-ietf-scitt-scrapi; RFC 9052 §7, RFC 9290, RFC 9679, RFC 9942, RFC 9943.
//
// Registering a statement appends an entry exports.statement.v1 with the hash of the statement. The receipt proves that
// entry and includes its text. Errors are concise problem details in CBOR.

import { Type } from 'typebox';
import {
  ApiError,
  coseKey,
  coseThumbprint,
  encodeCbor,
  entryNamed,
  EntryOrHash,
  isApiError,
  kindOf,
  kindsOf,
  LOG_KINDS,
  LogName,
  LogOfEntry,
  native,
  RECEIPT_PROFILE,
  route,
  toBase64Url,
} from '../../contract/index.ts';
import type {
  Caller,
  Cbor,
  LogView,
  PluginHost,
  Route,
  RouteContext,
  RouteProblem,
} from '../../contract/index.ts';
import { issuerKeys, STATEMENT, statementRow } from '../entries.ts';
import type { IssuerRow } from '../entries.ts';
import type { Receipts } from '../receipts.ts';
import { EXAMPLE_STATEMENT } from './issuers.ts';
import { isSignedBy, readStatement } from './signed-statement.ts';
import type { SignedStatement } from './signed-statement.ts';

/** Media type of a problem. */
const PROBLEM_TYPE = 'application/concise-problem-details+cbor';

const TITLE = -1;
const DETAIL = -2;

/** Titles from the reference API, by the invalid part of the statement. */
const TITLES: Readonly<Record<string, string>> = {
  alg: 'Bad Signature Algorithm',
  payload: 'Payload Missing',
  kid: 'No Such Key',
  entry_id: 'Not Found',
};

/** Encodes a problem; it also has the error code as a member. */
function conciseProblem({ status, code, message, param, request_id }: RouteProblem): {
  type: string;
  body: Uint8Array;
} {
  const title = TITLES[param ?? ''] ?? (status < 500 ? 'Rejected' : 'Internal Server Error');
  const problem = new Map<number | string, string>([
    [TITLE, title],
    [DETAIL, message],
    ['code', code],
    ['request_id', request_id],
  ]);
  if (param !== undefined) problem.set('param', param);
  return { type: PROBLEM_TYPE, body: encodeCbor(problem) };
}

const COSE = 'application/cose';
/** RFC 9943 registers these beside the general type that the reference API uses. */
const STATEMENT_TYPES = [COSE, 'application/scitt-statement+cose'];
const RECEIPT_TYPE = 'application/scitt-receipt+cose';
/** Largest number of keys of an issuer that are tried. */
const MAX_KEYS = 20;

const receiptResponse = {
  description: 'The receipt (RFC 9942), with the entry in its unprotected header.',
  type: COSE,
  formats: [RECEIPT_TYPE],
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
        'The body is a COSE_Sign1 with an attached payload and the CWT claims iss and sub, signed by a key that the ' +
        'tenant has registered for that issuer (POST /api/v1/scitt/issuers). The unprotected header is not registered. ' +
        'A statement that is already registered gets the receipt of its first registration.',
      access: 'key',
      bytes: STATEMENT_TYPES,
      responses: {
        201: receiptResponse,
        303: { description: 'Registered. The receipt will be at Location after Retry-After.' },
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
      description: 'The receipt of any entry, by entry_id or entry hash.',
      access: 'read',
      params: Type.Object({ entry_id: EntryOrHash }),
      query: Type.Object({ log: LogOfEntry }),
      responses: {
        200: receiptResponse,
        302: { description: 'No checkpoint covers the entry yet; try again after Retry-After.' },
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
  if (typeof index !== 'number') throw new Error('the registered statement has no row');
  await answerReceipt(ctx, log, index, receipts, { done: 201, waiting: 303 });
}

/** The first registration of a statement, if it is in a closed log. */
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

/** The thumbprint of the issuer's active key that made the signature; `parameter_invalid` if there is none. */
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
    throw new ApiError(
      'parameter_invalid',
      'the tenant has registered no active key of this issuer',
      {
        param: 'iss',
      },
    );
  }
  for (const { row, thumbprint } of active) {
    if (await isSignedBy(statement, row)) return thumbprint;
  }
  const message = 'the signature is not by an active key of this issuer';
  throw new ApiError('parameter_invalid', message, { param: 'signature' });
}

/**
 * Registers a statement, unless a concurrent request has revoked the key. If a concurrent request registers the same
 * statement, returns the index of its entry, which may not be durable yet.
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

/** Thrown to stop the append if the statement already has an entry. */
class Registered extends Error {
  override readonly name = 'Registered';
  readonly index: number;

  constructor(index: number) {
    super('the statement is registered');
    this.index = index;
  }
}

async function answerReceipt(
  ctx: Pick<RouteContext, 'status' | 'body' | 'set' | 'remove' | 'accepts' | 'vary'>,
  log: LogView,
  index: number,
  receipts: Receipts,
  status: { readonly done: number; readonly waiting: number },
): Promise<void> {
  ctx.set('Cache-Control', 'no-store');
  const covered = await log.covering(index + 1).catch((error: unknown) => {
    if (isApiError(error) && error.code === 'log_unavailable') return null;
    throw error;
  });
  const entry = log.entry(index);
  if (entry === null)
    throw new ApiError('log_unavailable', 'the log accepts no entries at present');
  const { entry_id } = JSON.parse(entry) as { readonly entry_id: string };
  ctx.set('Location', `/entries/${entry_id}${log.kind === 'sandbox' ? '?log=sandbox' : ''}`);
  if (covered === null) {
    // The entry is durable, so a later request will find the receipt.
    ctx.set('Retry-After', '5');
    ctx.body = '';
    ctx.remove('Content-Type');
    ctx.status = status.waiting;
    return;
  }
  const bytes = await receipts.inclusion(log, index, covered.size, entry);
  ctx.status = status.done;
  ctx.vary('Accept');
  const type = ctx.accepts(COSE, RECEIPT_TYPE);
  ctx.set('Content-Type', type === RECEIPT_TYPE ? RECEIPT_TYPE : COSE);
  ctx.body = Buffer.from(bytes);
}

const CBOR = 'application/cbor';
const CACHE = 'public, max-age=300';
const KEYS = ['cose', 'air'] as const;
const Size = Type.String({ pattern: '^[1-9][0-9]{0,14}$' });

/** The routes of keys and of consistency receipts. */
export function keyRoutes(host: PluginHost, receipts: Receipts): readonly Route[] {
  // Read for each request, so that a rotated key appears at once.
  const byKid = () => {
    const keys = LOG_KINDS.flatMap((kind) => KEYS.flatMap((name) => host.signers(kind, name)));
    return new Map(
      keys.map(({ jwk }) => [toBase64Url(coseThumbprint(native, jwk)), coseKey(native, jwk)]),
    );
  };
  return [
    route({
      method: 'GET',
      path: '/.well-known/scitt-keys',
      tag: 'exports',
      summary: 'Keys of COSE receipts and statements (COSE_KeySet)',
      description: 'The keys of both logs, including retired ones, whose signatures remain valid.',
      access: 'read',
      responses: { 200: { description: 'COSE_KeySet.', type: CBOR } },
      problem: conciseProblem,
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.set('Content-Type', CBOR);
        ctx.body = Buffer.from(encodeCbor([...byKid().values()]));
      },
    }),
    route({
      method: 'GET',
      path: '/.well-known/transparency-configuration',
      tag: 'exports',
      summary: 'Where statements are registered and keys are found (CBOR)',
      description:
        'The document of drafts of the reference API before scitt-keys, for clients that begin with it: a map with ' +
        '`issuer`, `jwks_uri` (also as `jwksUri`), `registration_endpoint`, `scitt_keys`, ' +
        '`supported_signature_algorithms` and `receipt_profile`, the `typ` of receipts.',
      access: 'read',
      responses: { 200: { description: 'The configuration.', type: CBOR } },
      problem: conciseProblem,
      handle(ctx) {
        ctx.set('Cache-Control', CACHE);
        ctx.set('Content-Type', CBOR);
        const jwks = host.url('/.well-known/jwks.json');
        const configuration = new Map<string, Cbor>([
          ['issuer', host.url('')],
          ['jwks_uri', jwks],
          ['jwksUri', jwks],
          ['registration_endpoint', host.url('/entries')],
          ['scitt_keys', host.url('/.well-known/scitt-keys')],
          ['supported_signature_algorithms', ['ES256', 'Ed25519']],
          ['receipt_profile', RECEIPT_PROFILE],
        ]);
        ctx.body = Buffer.from(encodeCbor(configuration));
      },
    }),
    route({
      method: 'GET',
      path: '/.well-known/scitt-keys/{kid}',
      tag: 'exports',
      summary: 'One key (COSE_Key)',
      access: 'read',
      params: Type.Object({
        kid: Type.String({ maxLength: 512, description: 'Its RFC 9679 thumbprint, base64url.' }),
      }),
      responses: {
        200: { description: 'COSE_Key.', type: CBOR },
        404: { description: 'No such key.', type: PROBLEM_TYPE },
      },
      problem: conciseProblem,
      handle(ctx) {
        const key = byKid().get(ctx.state.params.kid);
        if (key === undefined) {
          throw new ApiError('resource_missing', 'there is no such key', { param: 'kid' });
        }
        ctx.set('Cache-Control', CACHE);
        ctx.set('Content-Type', CBOR);
        ctx.body = Buffer.from(encodeCbor(key));
      },
    }),
    route({
      method: 'GET',
      path: '/export/scitt/consistency',
      tag: 'exports',
      summary: 'COSE consistency receipt between two published trees',
      access: 'read',
      query: Type.Object({
        from: { ...Size, description: 'The smaller size.' },
        to: Type.Optional({ ...Size, description: 'The larger size; the default is the newest.' }),
        log: LogName,
      }),
      responses: {
        200: { description: 'RFC 9942 receipt.', type: 'application/cose' },
        400: { description: 'One of the sizes was not published.', type: PROBLEM_TYPE },
      },
      problem: conciseProblem,
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const log = host.log(kindOf(query.log, caller));
        const from = Number(query.from);
        const to = query.to === undefined ? log.published().size : Number(query.to);
        for (const [param, size] of [
          ['from', from],
          ['to', to],
        ] as const) {
          if (log.checkpointAt(size) === null) {
            const message = `${param} is no published size`;
            throw new ApiError('parameter_invalid', message, { param });
          }
        }
        if (from >= to) {
          throw new ApiError('parameter_invalid', 'from must be less than to', { param: 'from' });
        }
        ctx.set('Content-Type', 'application/cose');
        ctx.body = Buffer.from(await receipts.consistency(log, from, to));
      },
    }),
  ];
}
