// POST /silence-receipt. interface.md, Core; behaviour.md §7.8.

import { Type } from 'typebox';
import { described, LookupDocument, receiptOf, route, SessionRef } from '../contract.ts';
import type {
  AnsweredEntry,
  ChainKey,
  Json,
  JsonObject,
  Kind,
  PluginHost,
  Route,
} from '../contract.ts';
import { documentHash, packed, unpacked } from '../absence/index.ts';
import { DOES_NOT_ASSERT, RECEIPT, SilenceMembers, silenceType } from './entries.ts';
import { heartbeatsOf } from './heartbeats.ts';
import { completeness, sessionState } from './rules.ts';

/** The proof of an answer: whole at once, packed behind an Idempotency-Key. */
type Kept = { readonly document: JsonObject } | { readonly packed: Json };

const Silence = Type.Object({
  session_ref: SessionRef,
  ...Type.Omit(SilenceMembers, ['subject_key', 'document_sha256', 'does_not_assert']).properties,
  proof_url: Type.String({
    format: 'uri',
    description: 'The log answers here, with a proof, which entries the session has in the window.',
  }),
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
        'about what was never logged.',
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
        const now: Kept = { document: proof };
        await ctx.state.append([draft], {
          keep: { now, later: () => ({ packed: packed(proof) }) },
        });
      },
      respond: ([entry], _disclosures, { caller }, kept) => {
        if (entry === undefined) throw new Error('a silence receipt has one entry');
        const { statement, receipt } = entry;
        const key = statement['subject_key'] as unknown as ChainKey;
        const window_from_ms = statement['window_from_ms'] as number | null;
        const window_to_ms = statement['window_to_ms'] as number;
        const question = new URLSearchParams({
          key: JSON.stringify(key),
          from_ms: String(window_from_ms ?? 0),
          to_ms: String(window_to_ms),
        });
        const [, kind, number] =
          /\/log\/(live|sandbox)\/(\d+)$/.exec(statement['origin'] as string) ?? [];
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
            proof_url: host.url(
              `/log/${String(kind)}/${String(number)}/proof/lookup?${question.toString()}`,
            ),
          },
          completeness_proof: proofOf(host, caller.kind, entry, kept as Kept),
          does_not_assert: Object.values(DOES_NOT_ASSERT),
          receipt,
        };
      },
    }),
  ];
}

/** The proof of an answer, byte for byte as it was. */
function proofOf(host: PluginHost, kind: Kind, { statement }: AnsweredEntry, kept: Kept): Json {
  if ('document' in kept) return kept.document;
  const log = host.logs(kind).find(({ origin }) => origin === statement['origin']);
  if (log === undefined) throw new Error('the log of a silence receipt is not served');
  return unpacked(log, kept.packed, sizeOf(kept.packed));
}

/** Size of the checkpoint of a packed document: its map head is the last entry. */
const sizeOf = (document: Json): number =>
  (document as { readonly map_head: { readonly opened: number } }).map_head.opened + 1;
