// The list of a tenant's witnesses, and the routes and the page that verify an absence document for anyone.
// gateway/API.md §14; log/FORMAT.md §6.

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
  listRoute,
  Millis,
  namedStatement,
  native,
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

/** A well-formed request whose document lacks its proofs. */
const VERIFY_EXAMPLE = {
  document: { schema: DOCUMENT, question, verdict: 'ABSENT' },
  question,
};

const VERIFY_PATH = '/standards/absence-ledger/verify';

/** The verification steps of log/FORMAT.md §6, in order. */
const STEPS: readonly (readonly [string, string])[] = [
  ['document', 'it is I-JSON with exactly the members of the format'],
  ['step 0', 'it answers the question of the verifier'],
  ['step 1', 'its checkpoint is signed by the log'],
  ['step 2', 'its map head is the last entry of that checkpoint'],
  ['step 3', 'its window is closed, and the witnesses of the policy cosigned in time'],
  ['step 4', 'its proof shows the end of the chain, or the first entry after the window'],
  ['step 5', 'its entries are all entries of the chain in the window'],
  ['step 6', 'its manifests are those in force during the window'],
  ['step 7', 'its heartbeat is of the surface'],
  ['step 8', 'its verdict follows from the steps before'],
  ['receipt', 'its receipt is of an entry that commits to it'],
];

const LedgerRow = Type.Object({
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
});

const VerifyBody = Type.Object(
  {
    document: Type.Unknown({ description: 'An absence document, as an object or as its text.' }),
    question: Type.Object({
      key: Type.Array(Type.String(), { minItems: 2, maxItems: 16 }),
      from_ms: Millis,
      to_ms: Millis,
      after: Type.Optional({
        ...Count,
        description: 'For a further page: index of the last entry of the previous page.',
      }),
    }),
    policy: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description:
          'A C2SP tlog-policy, which names the witnesses and the required number of cosignatures.',
      }),
    ),
  },
  { $id: 'AbsenceVerifyRequest' },
);

const Verified = Type.Object(
  {
    valid: Type.Union([Type.Boolean(), Type.Null()], {
      description:
        'Whether the document holds and answers the question. Null where it holds and answers another question: that ' +
        'is neither a proof nor a sign of forgery.',
    }),
    verdict: Type.Union([Type.Enum([...VERDICTS]), Type.Null()]),
    covers: Type.Union([Type.Object({ from_ms: Millis, to_ms: Millis }), Type.Null()], {
      description:
        'The window of the document where it is wider than that of the question; else null. The verdict is about the ' +
        'window of the question.',
    }),
    witnessed: Count,
    map_verified: Count,
    lag_ms: Type.Union([Type.Integer(), Type.Null()]),
    as_of_ms: Type.Union([Millis, Type.Null()]),
    entries: Type.Union([Count, Type.Null()]),
    heartbeat_interval_ms: Type.Union([Count, Type.Null()], {
      description:
        'Smallest heartbeat interval that the manifests promise. If the verdict is ABSENT, the heartbeats kept it. ' +
        'Null if no heartbeats are promised; then nothing shows that the surface was monitored.',
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
            '`same`: the verified document has the hash that the entry states. `renewed`: it answers the same question ' +
            'under a newer checkpoint, so its bytes and its hash differ.',
        }),
      },
      {
        description: 'Members of the witness entry; `valid` requires that the verdicts are equal.',
      },
    ),
  },
  { $id: 'AbsenceEntryVerified' },
);

/** The routes of the ledger and of the verification. */
export function ledgerRoutes(host: PluginHost, wording: Wording): readonly Route[] {
  return [
    listRoute(host, {
      path: '/api/v1/absence/ledger',
      tag: 'absence',
      summary: "The caller's witnesses, newest first",
      access: 'key',
      ...{ $id: 'AbsenceLedger', row: LedgerRow, former: { data: 'witnesses' } },
      places: '^(0|[1-9]\\d{0,14})$',
      async find({ caller: { kind, tenant_ref } }, { after, limit }) {
        const log = host.log(kind);
        const prefix = ledgerOf(tenant_ref);
        const start = after === undefined ? {} : { after: ledgerRow(tenant_ref, Number(after)) };
        const rows = await log.rows(prefix, { ...start, limit, reverse: true });
        return rows.map(([name, row]) => ({ log, index: Number(name.slice(prefix.length)), row }));
      },
      placeOf: ({ index }) => String(index),
      shown: ({ log, index, row }) => ({
        ...(row as JsonObject),
        index,
        permalink: log.receipt(index)?.['permalink'],
      }),
    }),
    route({
      method: 'GET',
      path: VERIFY_PATH,
      tag: 'absence',
      summary: 'Verify the document of a witness entry, or list the verification steps',
      description:
        'With `entry_id`, the service makes the document of that witness again, for the same question under the ' +
        'newest checkpoint, verifies it, and answers like POST. `valid` is true only if the verdict is the one that ' +
        'the entry states. An entry that is not a witness is answered with 404. Without `entry_id` the answer lists ' +
        'the steps of the verification.',
      access: 'read',
      query: Type.Object({
        entry_id: Type.Optional(
          Type.String({ description: 'Entry id or entry hash of a witness.' }),
        ),
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
            'This service verifies documents of its own log. `actlog verify` and the browser verifier make the same ' +
            'checks without the service.',
        };
      },
    }),
    route({
      method: 'POST',
      path: VERIFY_PATH,
      tag: 'absence',
      summary: 'Verify an absence document',
      description:
        'Checks the document for its own question, with the keys of the logs of this service, and whether it answers ' +
        'the question of the request: the same one, or one about a part of its window. The `statement` of the document is ignored. The example needs a witness from ' +
        'POST /api/v1/absence/witness in place of `document`, and its question.',
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

/**
 * Verifies the document of a witness entry. The log has only the hash of the document, so the document is made again
 * for the same question, which is possible at any time because the window is closed.
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
    const message = `the witness is about log number ${JSON.stringify(log_number)}, which this service does not have`;
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
    valid: answer.valid === true && answer.verdict === verdict,
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
    // A document of an unknown log is checked with the keys of the live log, and fails at step 1.
    const trust = trustOf(log ?? host.log('live'), policy);
    const options = { suite: native, now_ms: host.now() };
    const result = verifyAbsence(document as Json, question, trust, options);
    return { ...shared, ...answerOf(result), checks: checksOf(null, members) };
  } catch (error) {
    if (!isLogError(error)) throw error;
    if (error.code === 'question_unanswered') {
      return { ...shared, ...REFUSED, valid: null, checks: unanswered(checksOf(null, members)) };
    }
    if (error.code !== 'document_invalid') throw error;
    const foreign = log === null && error.message.startsWith('step 1:');
    const failure = foreign
      ? 'step 1: the checkpoint is not of a log of this service'
      : error.message;
    return { ...shared, ...REFUSED, checks: checksOf(failure, members) };
  }
}

type VerifiedAnswer = Static<typeof Verified>;
/** The result of the verification. */
type Finding = Omit<VerifiedAnswer, 'origin' | 'policy_source' | 'checks'>;

const REFUSED: Finding = {
  valid: false,
  verdict: null,
  covers: null,
  witnessed: 0,
  map_verified: 0,
  lag_ms: null,
  as_of_ms: null,
  entries: null,
  heartbeat_interval_ms: null,
};

function answerOf(result: AbsenceResult): Finding {
  const { verdict, witnessed, map_verified, lag_ms, as_of_ms } = result;
  const { entries, heartbeat_interval_ms, covers } = result;
  const window = covers === undefined ? null : { from_ms: covers.from_ms, to_ms: covers.to_ms };
  const shown = { verdict, covers: window, witnessed, map_verified, lag_ms, as_of_ms };
  return { valid: true, ...shown, entries, heartbeat_interval_ms };
}

/** The log that the document's checkpoint names. The verifier checks the signature later. */
function logOf(logs: readonly LogView[], { checkpoint }: JsonObject): LogView | null {
  const origin = typeof checkpoint === 'string' ? checkpoint.split('\n', 1)[0] : undefined;
  return logs.find((log) => log.origin === origin) ?? null;
}

/** The members of an unchecked document; empty if it is not a JSON object. */
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

/** The optional members that some steps check. */
const ABOUT: Readonly<Record<string, string>> = {
  'step 5': 'entries',
  'step 6': 'declared',
  'step 7': 'coverage',
  receipt: 'receipt',
};

/** The checks of a valid document that answers another question: all but that of the question. */
const unanswered = (checks: VerifiedAnswer['checks']): VerifiedAnswer['checks'] =>
  checks.map((one) =>
    one.name === 'step 0' ? { ...one, outcome: 'failed', detail: 'another question' } : one,
  );

/** Each step with its outcome. `failure` begins with the name of the step that failed; later steps are not reached. */
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
