// POST /silence-receipt. gateway/API.md §7.8.

import { Type } from 'typebox';
import {
  ApiError,
  beganMs,
  Count,
  described,
  documentHash,
  isLogMissing,
  logName,
  LookupDocument,
  lookupUrl,
  packDocument,
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
import { DOES_NOT_ASSERT, RECEIPT, SilenceMembers, silenceType } from './entries.ts';
import { completeness, heartbeatsOf, sessionState } from './rules.ts';

/** The proof of an answer: whole at once, packed behind an Idempotency-Key. */
type Kept = Proof & { readonly earlier?: readonly Earlier[] };
type Proof = { readonly document: JsonObject } | { readonly packed: Json };

/** What an earlier log has of the session: it is not in the numbers of the receipt. */
type Earlier = Readonly<Record<'log' | 'proof_url', string>> & { readonly entries: number };

const Silence = Type.Object({
  session_ref: SessionRef,
  ...Type.Omit(SilenceMembers, ['subject_key', 'document_sha256', 'does_not_assert']).properties,
  proof_url: Type.String({
    format: 'uri',
    description: 'The log answers here, with a proof, which entries the session has in the window.',
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
          'Closed logs that have the session too, before the window: the receipt counts none of theirs.',
      },
    ),
  ),
});

/** The routes of silence receipts. */
export function silenceRoutes(host: PluginHost): readonly Route[] {
  const { limits } = host;
  const Name = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return [
    route({
      method: 'POST',
      path: '/silence-receipt',
      tag: 'silence',
      summary: 'Receipt for a monitored silence of a session',
      description:
        'States how many entries a session has and since when none has come, up to the newest checkpoint, with the ' +
        'proof that none is left out, and whether heartbeats of its entity cover the silence. It says nothing ' +
        'about what was never logged. It is of the newest log: for a session that only an earlier one has it is ' +
        'refused.',
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
              ok: Type.Literal(true),
              silence: Silence,
              completeness_proof: described(
                LookupDocument,
                'A document on the chain of the session, from its last entry on; its closing proof counts all of ' +
                  'them. `actlog verify` checks it offline; the entry has its SHA-256 as document_sha256.',
              ),
              does_not_assert: Type.Array(Type.String()),
              receipt: receiptOf(silenceType),
            },
            { $id: 'SilenceReceipt' },
          ),
        },
      },
      example: { session_id: 'interview-42', context: 'no tool was called after the hold' },
      handle: async (ctx) => {
        const { body, caller } = ctx.state;
        const log = host.log(caller.kind);
        const session = await sessionState(log, caller.sessionRef(body.session_id));
        const earlier = await earlierOf(host, caller, body.session_id, session.count);
        const [proof, heartbeats] = await Promise.all([
          completeness(log, session),
          heartbeatsOf(log, caller, session),
        ]);
        const hidden: Record<string, Json> = { context: body.context };
        if (body.domain !== undefined) hidden['domain'] = body.domain;
        const draft = {
          type: RECEIPT,
          members: {
            subject_key: session.key,
            window_from_ms: session.first_ms,
            window_to_ms: session.to_ms,
            entries_in_window: session.count,
            last_index: session.last_index,
            silent_since_ms: session.last_ms,
            checkpoint_size: session.checkpoint_size,
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
        const key = statement['subject_key'] as unknown as ChainKey;
        const window_from_ms = statement['window_from_ms'] as number | null;
        const window_to_ms = statement['window_to_ms'] as number;
        const log = logOf(host, caller.kind, entry);
        const { earlier } = kept as Kept;
        const question = new URLSearchParams({
          key: JSON.stringify(key),
          from_ms: String(window_from_ms ?? beganMs(log)),
          to_ms: String(window_to_ms),
        });
        return {
          ok: true,
          silence: {
            session_ref: key[1],
            window_from_ms,
            window_to_ms,
            entries_in_window: statement['entries_in_window'],
            last_index: statement['last_index'],
            silent_since_ms: statement['silent_since_ms'],
            checkpoint_size: statement['checkpoint_size'],
            coverage: statement['coverage'],
            heartbeats: statement['heartbeats'],
            proof_url: host.url(`/log/${logName(log)}/proof/lookup?${question.toString()}`),
            ...(earlier === undefined ? {} : { earlier_logs: earlier }),
          },
          completeness_proof: proofOf(log, kept as Kept),
          does_not_assert: Object.values(DOES_NOT_ASSERT),
          receipt,
        };
      },
    }),
  ];
}

/**
 * What earlier logs have of the session.
 *
 * @throws ApiError `parameter_invalid` where the newest has nothing of it and an earlier one has, or may have: a
 * receipt would read as if nothing had ever come
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

/** The proof of an answer, byte for byte as it was. */
const proofOf = (log: LogView, kept: Kept): Json =>
  'document' in kept ? kept.document : unpackDocument(log, kept.packed, sizeOf(kept.packed));

/** Size of the checkpoint of a packed document: its map head is the last entry. */
const sizeOf = (document: Json): number =>
  (document as { readonly map_head: { readonly opened: number } }).map_head.opened + 1;
