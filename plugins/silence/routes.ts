// POST /silence-receipt, and GET /silence-receipt/{entry_id} for the later proof of a pending receipt.
// gateway/API.md §7.8.

import { Type } from 'typebox';
import {
  ApiError,
  Count,
  described,
  documentHash,
  entryNamed,
  isLogMissing,
  logName,
  LookupDocument,
  lookupUrl,
  packDocument,
  isApiError,
  namedStatement,
  receiptOf,
  route,
  SessionRef,
  sessionsOf,
  unpackDocument,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  Caller,
  ChainKey,
  Json,
  JsonObject,
  Kind,
  LogView,
  PluginHost,
  Route,
} from '../contract/index.ts';
import {
  DOES_NOT_ASSERT,
  EARLIER_RECEIPT,
  earlierSilenceType,
  RECEIPT,
  SilenceMembers,
  silenceType,
} from './entries.ts';
import { completeness, entityNamed, entityOfSession, heartbeatsOf, sessionState } from './rules.ts';
import type { SessionState } from './rules.ts';

/** The proof of an answer: complete for the first answer, packed when stored with an Idempotency-Key. */
type Kept = Proof & { readonly earlier?: readonly Earlier[] };
type Proof = { readonly document: JsonObject } | { readonly packed: Json };

/** An earlier log that also has the session. Its entries are not counted in the receipt. */
type Earlier = Readonly<Record<'log' | 'proof_url', string>> & { readonly entries: number };

const Silence = Type.Object({
  session_ref: SessionRef,
  ...Type.Omit(SilenceMembers, ['subject_key', 'document_sha256', 'does_not_assert']).properties,
  proof_url: Type.String({
    format: 'uri',
    description:
      'URL at which the log lists the entries of the session in the window, with a proof.',
  }),
  earlier_logs: Type.Optional(
    Type.Array(
      Type.Object({
        log: Type.String(),
        entries: Count,
        proof_url: Type.String({ format: 'uri' }),
      }),
      {
        description:
          'Closed logs that also have entries of the session, before the window. The receipt does not count those.',
      },
    ),
  ),
});

const DESCRIBED_PROOF =
  'A document on the chain of the session, from its last entry up to covered_to_ms. Its proof states the number of all ' +
  'entries. `actlog verify` checks it offline.';

const answerMembers = {
  ok: Type.Literal(true),
  silence: Silence,
  does_not_assert: Type.Array(Type.String()),
};

/** The routes of silence receipts. */
export function silenceRoutes(host: PluginHost): readonly Route[] {
  return [receiptRoute(host), laterRoute(host)];
}

function receiptRoute(host: PluginHost): Route {
  const { limits } = host;
  const Name = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return route({
    method: 'POST',
    path: '/silence-receipt',
    tag: 'silence',
    summary: 'Receipt for the silence of a session',
    description:
      'States how many entries a session has and when the last one was logged, with the proof that none is left out, ' +
      'and whether heartbeats of its entity cover the silence. The window ends at the time of the request. With ' +
      '`Prefer: wait=N` the service publishes a checkpoint that covers the window. Without it the proof reaches up to ' +
      '`covered_to_ms`, and a receipt whose proof ends before the window is PENDING: GET /silence-receipt/{entry_id} ' +
      'has the later proof. The receipt does not show that no unlogged act happened. It covers the newest log; the ' +
      'request is refused if only an earlier log has the session.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        session_id: Name,
        context: Type.String({ minLength: 1, maxLength: limits.message_bytes }),
        domain: Type.Optional(Name),
      },
      { $id: 'SilenceRequest' },
    ),
    responses: {
      200: {
        description: 'The silence receipt.',
        schema: Type.Object(
          {
            ...answerMembers,
            completeness_proof: described(
              LookupDocument,
              `${DESCRIBED_PROOF} The entry has its SHA-256 as document_sha256.`,
            ),
            receipt: receiptOf(silenceType),
          },
          { $id: 'SilenceReceipt' },
        ),
      },
    },
    example: { session_id: 'interview-42', context: 'no tool was called after the hold' },
    handle: async (ctx) => {
      const { body, caller, wait_ms } = ctx.state;
      const log = host.log(caller.kind);
      const window_to_ms = arrivedMs(host, log);
      await reaches(log, window_to_ms, wait_ms);
      const session = await sessionState(log, caller.sessionRef(body.session_id), window_to_ms);
      const earlier = await earlierOf(host, caller, body.session_id, session.count);
      const [proof, heartbeats] = await Promise.all([
        completeness(log, session),
        entityOfSession(log, caller, session).then((entity) =>
          heartbeatsOf(log, entity, session, window_to_ms),
        ),
      ]);
      const hidden: Record<string, Json> = { context: body.context };
      if (body.domain !== undefined) hidden['domain'] = body.domain;
      const draft = {
        type: RECEIPT,
        members: {
          subject_key: session.key,
          ...numbersOf(session, window_to_ms),
          ...heartbeats,
          document_sha256: documentHash(proof),
          does_not_assert: Object.keys(DOES_NOT_ASSERT),
        },
        private: hidden,
      };
      const more = earlier.length === 0 ? {} : { earlier };
      const now: Kept = { document: proof, ...more };
      await ctx.state.append([draft], {
        keep: { now, later: () => ({ packed: packDocument(proof), ...more }) },
      });
    },
    respond: ([entry], _disclosures, { caller }, kept) => {
      if (entry === undefined) throw new Error('a silence receipt has one entry');
      const { statement, receipt } = entry;
      const log = logOf(host, caller.kind, entry);
      const { earlier } = kept as Kept;
      const shown = shownOf(host, log, statement);
      return {
        ok: true,
        silence: earlier === undefined ? shown : { ...shown, earlier_logs: earlier },
        completeness_proof: proofOf(log, kept as Kept),
        does_not_assert: Object.values(DOES_NOT_ASSERT),
        receipt,
      };
    },
  });
}

/** The route that proves the window of a receipt as far as the log has published. */
function laterRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/silence-receipt/{entry_id}',
    tag: 'silence',
    summary: 'A silence receipt with the present proof of its window',
    description:
      'Reads the window of the receipt again, up to its end or to the newest checkpoint where that is earlier. A ' +
      'receipt that was PENDING gets its coverage here; `Prefer: wait=N` publishes a checkpoint for it. Only the ' +
      'entry is signed: the numbers next to it are those of the proof. A window that its log did not reach before it ' +
      'was closed stays PENDING.',
    access: 'read',
    params: Type.Object({ entry_id: Type.String({ minLength: 1, maxLength: 100 }) }),
    responses: {
      200: {
        description: 'The present proof of the window, and the receipt.',
        schema: Type.Object(
          {
            ...answerMembers,
            completeness_proof: described(LookupDocument, DESCRIBED_PROOF),
            receipt: Type.Union([receiptOf(silenceType), receiptOf(earlierSilenceType)]),
          },
          { $id: 'LaterSilence' },
        ),
      },
    },
    errors: ['resource_missing', 'log_unavailable'],
    async handle(ctx) {
      const { params, wait_ms } = ctx.state;
      const { log, index } = entryNamed(host, ['live', 'sandbox'], params.entry_id);
      const statement = namedStatement(log, index);
      if (statement['type'] !== RECEIPT && statement['type'] !== EARLIER_RECEIPT) {
        throw new ApiError('resource_missing', 'the entry is not a silence receipt', {
          param: 'entry_id',
        });
      }
      const key = statement['subject_key'] as unknown as ChainKey;
      const window_to_ms = statement['window_to_ms'] as number;
      await reaches(log, window_to_ms, wait_ms);
      const session = await sessionState(log, key[1] ?? '', window_to_ms);
      const stated = statement['heartbeats'] as { readonly entity: string } | null;
      const entity = entityNamed(log, session.last_index) ?? stated?.entity ?? null;
      const [completeness_proof, heartbeats] = await Promise.all([
        completeness(log, session),
        heartbeatsOf(log, entity, session, window_to_ms),
      ]);
      const now = { subject_key: [...key], ...numbersOf(session, window_to_ms), ...heartbeats };
      ctx.set('Cache-Control', 'no-store');
      ctx.body = {
        ok: true,
        silence: shownOf(host, log, now),
        completeness_proof,
        does_not_assert: Object.values(DOES_NOT_ASSERT),
        receipt: log.receipt(index),
      };
    },
  });
}

/** The time of a request by the clock of the log, at least that of every acknowledged entry. */
function arrivedMs(host: PluginHost, log: LogView): number {
  const newest = namedStatement(log, log.size() - 1)['issued_at_ms'] as number;
  return Math.max(host.now(), newest);
}

/** Waits until the log has published a map head at or after a time, or until `wait_ms` has passed. */
async function reaches(log: LogView, to_ms: number, wait_ms: number): Promise<void> {
  if (wait_ms === 0) return;
  try {
    await log.windowClosed(to_ms, wait_ms);
  } catch (error) {
    if (!isApiError(error) || error.code !== 'window_not_closed') throw error;
  }
}

/** Members of the entry about the session's entries. */
const numbersOf = (session: SessionState, window_to_ms: number) => ({
  window_from_ms: session.first_ms,
  window_to_ms,
  covered_to_ms: session.to_ms,
  entries_in_window: session.count,
  last_index: session.last_index,
  silent_since_ms: session.last_ms,
  checkpoint_size: session.checkpoint_size,
});

/** The `silence` of an answer, from the members of an entry. */
function shownOf(host: PluginHost, log: LogView, members: JsonObject): JsonObject {
  const key = members['subject_key'] as unknown as ChainKey;
  const { window_from_ms, window_to_ms, heartbeats = null } = members;
  const covered_to_ms = (members['covered_to_ms'] ?? window_to_ms) as number;
  const { entries_in_window, last_index, silent_since_ms, checkpoint_size, coverage } = members;
  const question = new URLSearchParams({
    key: JSON.stringify(key),
    from_ms: String((window_from_ms as number | null) ?? log.beganMs()),
    to_ms: String(covered_to_ms),
  });
  return {
    session_ref: key[1] ?? null,
    ...{ window_from_ms, window_to_ms, covered_to_ms, entries_in_window, last_index },
    ...{ silent_since_ms, checkpoint_size, coverage, heartbeats },
    proof_url: host.url(`/log/${logName(log)}/proof/lookup?${question.toString()}`),
  } as JsonObject;
}

/**
 * The earlier logs that have entries of the session.
 *
 * @throws ApiError `parameter_invalid` if the newest log has none and an earlier one has or may have: the receipt would
 * read as if the session never had an entry
 */
async function earlierOf(
  host: PluginHost,
  caller: Caller,
  session_id: string,
  count: number,
): Promise<readonly Earlier[]> {
  const newest = host.log(caller.kind);
  if (newest.number === 1) return [];
  const earlier = (await sessionsOf(host, caller, session_id))
    .filter(({ log, count: there }) => log.number !== newest.number && there > 0)
    .map(({ log, session_ref, count: entries }) => {
      const proof_url = lookupUrl(host, log, ['session', session_ref]);
      return { log: log.origin, entries, proof_url };
    });
  if (count > 0) return earlier;
  const param = 'session_id';
  const last = earlier.at(-1);
  if (last !== undefined) {
    const message = `${newest.origin} has no entry of the session, ${last.log} before it has ${String(last.entries)}: ${last.proof_url} shows them`;
    throw new ApiError('parameter_invalid', message, { param });
  }
  if (isLogMissing(host, caller.kind)) {
    const message = `${newest.origin} has no entry of the session, and not every log before it is served here`;
    throw new ApiError('parameter_invalid', message, { param });
  }
  return earlier;
}

/** The log of a receipt. */
function logOf(host: PluginHost, kind: Kind, { statement }: AnsweredEntry): LogView {
  const log = host.logs(kind).find(({ origin }) => origin === statement['origin']);
  if (log === undefined) throw new Error('the log of a silence receipt is not served');
  return log;
}

/** Restores the proof of an answer, byte for byte. */
const proofOf = (log: LogView, kept: Kept): Json =>
  'document' in kept ? kept.document : unpackDocument(log, kept.packed, sizeOf(kept.packed));

/** Size of the checkpoint of a packed document: its map head is the last entry. */
const sizeOf = (document: Json): number =>
  (document as { readonly map_head: { readonly opened: number } }).map_head.opened + 1;
