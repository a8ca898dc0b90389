// The absence ledger: a tenant's own witnesses, and the standard's verify page, where anyone has a document
// checked. gateway/API.md §14; log/FORMAT.md §6.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  Count,
  entryNamed,
  Hex32,
  HTML,
  isJsonObject,
  isLogError,
  limitOf,
  Millis,
  namedStatement,
  native,
  pageLimit,
  parsePolicy,
  route,
  sendPage,
  trustedKeyOf,
  verifyAbsence,
} from '../contract/index.ts';
import type {
  AbsenceResult,
  Json,
  JsonObject,
  LogView,
  PluginHost,
  Route,
  Trust,
} from '../contract/index.ts';
import type { Wording } from './document.ts';
import { EARLIER_WITNESS, ledgerOf, ledgerRow, SurfaceKey, VERDICTS, WITNESS } from './entries.ts';

/** `schema` of an absence document. */
const DOCUMENT = 'svc-absence-witness-v1';

const question = {
  key: ['surface', 'did:example:acme', 'policy_bind'],
  from_ms: 1_790_000_000_000,
  to_ms: 1_790_000_060_000,
};

/** A request to verify: well formed, and about a document of which the proofs are left out. */
const VERIFY_EXAMPLE = {
  document: { schema: DOCUMENT, question, verdict: 'ABSENT' },
  question,
};

const VERIFY_PATH = '/standards/absence-ledger/verify';

/** The steps of log/FORMAT.md §6, in the order in which a verifier takes them. */
const STEPS: readonly (readonly [string, string])[] = [
  ['document', 'it is I-JSON, with the members of the format and no others'],
  ['step 0', 'it answers the question that was asked'],
  ['step 1', 'its checkpoint is signed by the log'],
  ['step 2', 'its map head is the last entry of that checkpoint'],
  ['step 3', 'its window is closed, and the witnesses of the policy cosigned in time'],
  ['step 4', 'its proof shows what stands on the chain next to the window'],
  ['step 5', 'its entries are all that the chain has in the window'],
  ['step 6', 'its manifests are those in force over the window'],
  ['step 7', 'its heartbeat is of the surface'],
  ['step 8', 'its verdict is the one that follows'],
  ['receipt', 'its receipt is of an entry that commits to it'],
];

const Ledger = Type.Object(
  {
    witnesses: Type.Array(
      Type.Object({
        entry_id: Type.String(),
        index: Count,
        issued_at_ms: Millis,
        subject_key: SurfaceKey,
        from_ms: Millis,
        to_ms: Millis,
        verdict: Type.Enum([...VERDICTS]),
        document_sha256: Hex32,
        decision: Type.Optional(Type.Enum(['ALLOW', 'BLOCK'])),
        permalink: Type.String({ format: 'uri' }),
      }),
    ),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  },
  { $id: 'AbsenceLedger' },
);

const VerifyBody = Type.Object(
  {
    document: Type.Unknown({ description: 'An absence document, as an object or as its text.' }),
    question: Type.Object({
      key: Type.Array(Type.String(), { minItems: 2, maxItems: 16 }),
      from_ms: Millis,
      to_ms: Millis,
      after: Type.Optional({
        ...Count,
        description: 'Of a further page: index of the last entry on the page before.',
      }),
    }),
    policy: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description: 'A C2SP tlog-policy: whose cosignatures count, and how many are enough.',
      }),
    ),
  },
  { $id: 'AbsenceVerifyRequest' },
);

const Verified = Type.Object(
  {
    valid: Type.Boolean(),
    verdict: Type.Union([Type.Enum([...VERDICTS]), Type.Null()]),
    witnessed: Count,
    map_verified: Count,
    lag_ms: Type.Union([Type.Integer(), Type.Null()]),
    as_of_ms: Type.Union([Millis, Type.Null()]),
    entries: Type.Union([Count, Type.Null()]),
    heartbeat_interval_ms: Type.Union([Count, Type.Null()], {
      description:
        'Smallest interval of heartbeats that the manifests promise, which those then keep in the window of an ' +
        'ABSENT one; null where none are promised, and nothing shows that anybody watched.',
    }),
    origin: Type.Union([Type.String(), Type.Null()]),
    policy_source: Type.Enum(['caller', 'none']),
    checks: Type.Array(
      Type.Object({
        name: Type.String(),
        outcome: Type.Enum(['ok', 'failed', 'not_reached', 'not_shown']),
        detail: Type.String(),
      }),
    ),
  },
  { $id: 'AbsenceVerified' },
);

const Explained = Type.Object(
  {
    schema: Type.String(),
    steps: Type.Array(Type.Object({ name: Type.String(), detail: Type.String() })),
    verify: Type.Object({ method: Type.String(), url: Type.String({ format: 'uri' }) }),
    offline: Type.String(),
  },
  { $id: 'AbsenceVerifyGuide' },
);

const VerifiedEntry = Type.Object(
  {
    ...Verified.properties,
    entry: Type.Object(
      {
        entry_id: Type.String(),
        verdict: Type.Enum([...VERDICTS]),
        document_sha256: Hex32,
        document: Type.Enum(['same', 'renewed'], {
          description:
            '`same`: the document that was verified has the hash of the entry. `renewed`: it answers the same ' +
            'question under a newer checkpoint, so its bytes and its hash differ.',
        }),
      },
      { description: 'What the witness entry says; valid needs the same verdict.' },
    ),
  },
  { $id: 'AbsenceEntryVerified' },
);

/** The routes of the ledger and of its standard. */
export function ledgerRoutes(host: PluginHost, wording: Wording): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/absence/ledger',
      tag: 'absence',
      summary: "The caller's own witnesses, newest first",
      access: 'key',
      query: Type.Object({
        cursor: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })),
        limit: pageLimit(host.limits),
      }),
      responses: { 200: { description: 'A page.', schema: Ledger } },
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const log = host.log(caller.kind);
        const limit = limitOf(query.limit, host.limits);
        ctx.set('Cache-Control', 'no-store');
        ctx.body = await ledgerPage(log, caller.tenant_ref, limit, query.cursor);
      },
    }),
    route({
      method: 'GET',
      path: VERIFY_PATH,
      tag: 'absence',
      summary: 'Verify the document of a witness entry; without one, how documents are verified',
      description:
        'With `entry_id`, the service makes the document of that witness again, for the same question under the ' +
        'newest checkpoint, verifies it, and answers like POST. `valid` is true only if the verdict is the one that ' +
        'the entry states. An entry that is no witness is 404.',
      access: 'read',
      query: Type.Object({
        entry_id: Type.Optional(Type.String({ description: 'Of a witness entry, or its hash.' })),
      }),
      responses: {
        200: {
          description: 'Each step and its outcome; without `entry_id`, the steps.',
          schema: Type.Union([VerifiedEntry, Explained]),
          page: HTML,
        },
      },
      errors: ['resource_missing'],
      async handle(ctx) {
        const { entry_id } = ctx.state.query;
        if (entry_id !== undefined) {
          ctx.set('Cache-Control', 'no-store');
          ctx.body = await verifiedEntry(host, wording, entry_id);
          return;
        }
        const schema = DOCUMENT;
        const steps = STEPS.map(([name, detail]) => ({ name, detail }));
        ctx.vary('Accept');
        if (ctx.accepts('json', 'html') === 'html') {
          const title = 'How absence documents are verified';
          sendPage(ctx, host.page('verify', { title, schema, steps }));
          return;
        }
        ctx.body = {
          schema,
          steps,
          verify: { method: 'POST', url: host.url(VERIFY_PATH) },
          offline:
            'Here the log checks itself. `actlog verify` and the browser verifier check the same without it.',
        };
      },
    }),
    route({
      method: 'POST',
      path: VERIFY_PATH,
      tag: 'absence',
      summary: 'Verify an absence document',
      description:
        'Against the question of the caller, which is never taken from the document, and the keys of the logs ' +
        'of this service. What a document says in words is not looked at. The example needs the whole witness of ' +
        'POST /api/v1/absence/witness for its document, and its question; as it stands the answer is `valid: false`.',
      access: 'read',
      budget: 'read',
      body: VerifyBody,
      responses: { 200: { description: 'Each step and its outcome.', schema: Verified } },
      example: VERIFY_EXAMPLE,
      handle(ctx) {
        ctx.body = verifiedDocument(host, ctx.state.body);
      },
    }),
  ];
}

async function ledgerPage(
  log: LogView,
  tenant_ref: string,
  limit: number,
  cursor: string | undefined,
): Promise<object> {
  const before = cursor === undefined ? {} : { after: ledgerRow(tenant_ref, indexOf(cursor)) };
  const prefix = ledgerOf(tenant_ref);
  const rows = await log.rows(prefix, { ...before, limit: limit + 1, reverse: true });
  const shown = rows.slice(0, limit).map(([name, row]) => {
    const index = Number(name.slice(prefix.length));
    return { ...(row as JsonObject), index, permalink: log.receipt(index)?.['permalink'] };
  });
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    witnesses: shown,
    next_cursor: more ? Buffer.from(String(last.index)).toString('base64url') : null,
  };
}

function indexOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString();
  if (/^(0|[1-9]\d{0,15})$/.test(text)) return Number(text);
  throw new ApiError('parameter_invalid', 'cursor is not one of this list', { param: 'cursor' });
}

/**
 * Verifies the document of a witness entry. The log keeps only its hash: the document is made again, which a closed
 * window allows at any time.
 */
async function verifiedEntry(
  host: PluginHost,
  wording: Wording,
  entry_id: string,
): Promise<object> {
  const found = entryNamed(host, ['live', 'sandbox'], entry_id);
  const entry = namedStatement(found.log, found.index);
  const { type, subject_key, from_ms, to_ms, verdict, document_sha256, log_number } = entry;
  if (type !== WITNESS && type !== EARLIER_WITNESS) {
    const message = `the entry is a ${type as string}, not an absence witness`;
    throw new ApiError('resource_missing', message, { param: 'entry_id' });
  }
  const log = host
    .logs(found.log.kind)
    .find(({ number }) => number === (log_number ?? found.log.number));
  if (log === undefined) {
    const message = `the witness is of log ${JSON.stringify(log_number)}, which is not served here`;
    throw new ApiError('resource_missing', message, { param: 'entry_id' });
  }
  const question = {
    key: subject_key as string[],
    from_ms: from_ms as number,
    to_ms: to_ms as number,
  };
  const { document, document_sha256: again } = wording.worded(await log.absence(question));
  const answer = verifiedDocument(host, { document, question });
  return {
    ...answer,
    valid: answer.valid && answer.verdict === verdict,
    entry: {
      entry_id: entry['entry_id'] as string,
      verdict,
      document_sha256,
      document: again === document_sha256 ? 'same' : 'renewed',
    },
  };
}

function verifiedDocument(
  host: PluginHost,
  { document, question, policy }: Static<typeof VerifyBody>,
): VerifiedAnswer {
  const members = membersOf(document);
  const logs = [...host.logs('live'), ...host.logs('sandbox')];
  const log = logOf(logs, members);
  const policy_source = policy === undefined ? ('none' as const) : ('caller' as const);
  const shared = { origin: log?.origin ?? null, policy_source };
  try {
    // Of no log of this service: the live one takes the steps up to the one that this fails.
    const trust = trustOf(log ?? host.log('live'), policy);
    const options = { suite: native, now_ms: host.now() };
    const result = verifyAbsence(document as Json, question, trust, options);
    return { ...shared, ...answerOf(result), checks: checksOf(null, members) };
  } catch (error) {
    if (!isLogError(error)) throw error;
    if (error.code !== 'document_invalid' && error.code !== 'question_unanswered') throw error;
    const foreign = log === null && error.message.startsWith('step 1:');
    const failure = foreign ? 'step 1: the checkpoint is of no log of this service' : error.message;
    return { ...shared, ...REFUSED, checks: checksOf(failure, members) };
  }
}

type VerifiedAnswer = Static<typeof Verified>;
/** What the verification itself says. */
type Finding = Omit<VerifiedAnswer, 'origin' | 'policy_source' | 'checks'>;

const REFUSED: Finding = {
  valid: false,
  verdict: null,
  witnessed: 0,
  map_verified: 0,
  lag_ms: null,
  as_of_ms: null,
  entries: null,
  heartbeat_interval_ms: null,
};

function answerOf(result: AbsenceResult): Finding {
  const { verdict, witnessed, map_verified, lag_ms, as_of_ms } = result;
  const { entries, heartbeat_interval_ms } = result;
  const shown = { verdict, witnessed, map_verified, lag_ms, as_of_ms };
  return { valid: true, ...shown, entries, heartbeat_interval_ms };
}

/** The log whose name the document's checkpoint bears; that it is its checkpoint is for the verifier. */
function logOf(logs: readonly LogView[], { checkpoint }: JsonObject): LogView | null {
  const origin = typeof checkpoint === 'string' ? checkpoint.split('\n', 1)[0] : undefined;
  return logs.find((log) => log.origin === origin) ?? null;
}

/** What a document has, before anything of it is checked: empty where it is none. */
function membersOf(document: unknown): JsonObject {
  try {
    const parsed = typeof document === 'string' ? (JSON.parse(document) as Json) : document;
    return isJsonObject(parsed as Json) ? (parsed as JsonObject) : {};
  } catch {
    return {};
  }
}

function trustOf(log: LogView, policy: string | undefined): Trust {
  const { origin, vkey } = log;
  const keys = log.receiptKeys().map(trustedKeyOf);
  if (policy === undefined) return { origin, vkey, keys };
  try {
    return { origin, vkey, keys, policy: parsePolicy(native, policy), policy_source: 'caller' };
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw new ApiError('parameter_invalid', `policy: ${cause.message}`, { param: 'policy', cause });
  }
}

/** Steps about a member that a document need not have. */
const ABOUT: Readonly<Record<string, string>> = {
  'step 5': 'entries',
  'step 6': 'declared',
  'step 7': 'coverage',
  receipt: 'receipt',
};

/** Each step with its outcome; `failure` begins with the one that failed. Nothing is `ok` that did not run. */
function checksOf(failure: string | null, members: JsonObject): VerifiedAnswer['checks'] {
  const failed =
    failure === null ? STEPS.length : STEPS.findIndex(([name]) => failure.startsWith(`${name}:`));
  return STEPS.map(([name, detail], i) => {
    if (i > failed) return { name, outcome: 'not_reached', detail };
    if (i === failed) {
      return { name, outcome: 'failed', detail: failure?.slice(name.length + 2) ?? detail };
    }
    const about = ABOUT[name];
    const shown = about === undefined || members[about] !== undefined;
    return { name, outcome: shown ? 'ok' : 'not_shown', detail };
  });
}
