// POST /api/v1/spoliation-seal: the state of the log when a duty to preserve arose, and a hold on destroying what
// belongs to it. FRCP 37(e); gateway/API.md §7.9.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import {
  ApiError,
  canonical,
  Count,
  Hex32,
  knownEntry,
  logName,
  Millis,
  receiptOf,
  route,
  toBase64,
  toHex,
} from '../contract/index.ts';
import type {
  Caller,
  ChainKey,
  Draft,
  Json,
  LogView,
  PluginHost,
  Route,
} from '../contract/index.ts';
import { SEAL, SEAL_DOES_NOT_ASSERT, SealMembers, sealType } from './entries.ts';

/** Entries that a seal counts, and those that its answer lists with proofs. */
const MAX_COUNTED = 100_000;
const MAX_LISTED = 100;
const PAGE = 1000;
const MAX_SCOPE = 100;

const Preserved = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  entry_id: Type.String(),
  entry_hash: Hex32,
  inclusion_proof: Type.Array(Type.String()),
});

const { does_not_assert: _, ...shownMembers } = SealMembers.properties;

const SealAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    seal_id: Type.String({ format: 'uuid' }),
    verify_url: Type.String({ format: 'uri' }),
    seal: Type.Object(shownMembers),
    checkpoint: Type.Union([Type.String(), Type.Null()]),
    preserved: Type.Array(Preserved, {
      description: `The first ${String(MAX_LISTED)} preserved entries, under the checkpoint.`,
    }),
    earlier_logs: Type.Optional(
      Type.Array(Type.Object({ log: Type.String(), preserved_count: Count }), {
        description:
          'What closed logs have in the scope. It is under the same hold; what is counted and proven above is of the newest log.',
      }),
    ),
    does_not_assert: Type.Array(Type.String()),
    receipt: receiptOf(sealType),
  },
  { $id: 'SpoliationSeal' },
);

/** The route of the seal. */
export function sealRoute(host: PluginHost): Route {
  const { limits } = host;
  const toll = host.toll('spoliation_seal');
  const Names = Type.Array(Type.String({ minLength: 1, maxLength: limits.string_chars }), {
    maxItems: MAX_SCOPE,
  });
  return route({
    method: 'POST',
    path: '/api/v1/spoliation-seal',
    tag: 'restraint',
    summary: 'Seal what the log holds of a matter, and hold it',
    description:
      'Names what the tenant has in the log under the newest checkpoint, in the sessions and the window given, ' +
      'or of all its entities without sessions. From then on disclosures of it cannot be destroyed. Systems are ' +
      'noted; they never narrow the hold.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        trigger_event: Type.String({ minLength: 1, maxLength: limits.message_bytes }),
        trigger_date: Type.Optional(Type.String({ format: 'date' })),
        session_ids: Type.Optional(Names),
        systems: Type.Optional(Names),
        from_ms: Type.Optional(Millis),
        to_ms: Type.Optional(Millis),
      },
      { $id: 'SpoliationSealRequest' },
    ),
    responses: { 200: { description: 'The seal.', schema: SealAnswer } },
    errors: ['log_unavailable'],
    example: {
      trigger_event: 'notice of claim 4711',
      trigger_date: '2026-08-01',
      session_ids: ['interview-42'],
    },
    // A session is looked up by its chain.
    cost: ({ body }) => 1 + (body.session_ids ?? []).length / 50,
    async handle(ctx) {
      const { draft, kept } = await sealed(host, toll, ctx.state.caller, ctx.state.body);
      await ctx.state.append([draft], { keep: { now: kept, later: () => kept } });
    },
    respond([entry], _disclosures, _request, kept) {
      if (entry === undefined) throw new Error('a seal has one entry');
      const { entry_id, statement, receipt } = entry;
      const shown = Object.keys(shownMembers).filter((name) => statement[name] !== undefined);
      return {
        ok: true,
        seal_id: entry_id,
        verify_url: receipt.verify_url,
        seal: Object.fromEntries(shown.map((name) => [name, statement[name]])),
        ...(kept ?? { checkpoint: null, preserved: [] }),
        does_not_assert: Object.values(SEAL_DOES_NOT_ASSERT),
        receipt,
      };
    },
  });
}

/** What is sealed: the members of a request that its schema knows. */
interface SealRequest {
  readonly trigger_event: string;
  readonly trigger_date?: string | undefined;
  readonly session_ids?: readonly string[] | undefined;
  readonly systems?: readonly string[] | undefined;
  readonly from_ms?: number | undefined;
  readonly to_ms?: number | undefined;
}

/** A seal, ready to be appended, and what its answer shows of the log. */
export async function sealed(
  host: PluginHost,
  toll: NonNullable<Draft['toll']>,
  caller: Caller,
  body: SealRequest,
) {
  const { trigger_event, trigger_date, session_ids = [], systems } = body;
  const { from_ms = null, to_ms = null } = body;
  if (from_ms !== null && to_ms !== null && from_ms > to_ms) {
    throw new ApiError('parameter_invalid', 'from_ms is over to_ms', { param: 'from_ms' });
  }
  const log = host.log(caller.kind);
  const refsIn = ({ origin }: LogView): string[] => [
    ...new Set(session_ids.map((id) => caller.sessionRef(id, origin))),
  ];
  const sessions = refsIn(log);
  const earlier = host.logs(caller.kind).filter(({ number }) => number < log.number);
  const { size, note, map_head_ms } = await log.covering(log.size());
  const window = { from_ms: from_ms ?? 0, to_ms: Math.min(to_ms ?? map_head_ms, map_head_ms) };
  const indexes = (await standing(log, await chainsOf(log, caller, sessions), window)).filter(
    (index) => index < size,
  );
  const listed = indexes.slice(0, MAX_LISTED).map((index) => preserved(log, index, size));
  const earlier_logs = await Promise.all(
    earlier.map(async (one) => {
      const to_ms = Math.min(window.to_ms, one.published().map_head_ms);
      const chains = await chainsOf(one, caller, refsIn(one));
      const found = await standing(one, chains, { ...window, to_ms });
      return { log: logName(one), preserved_count: found.length };
    }),
  );
  const more = earlier.length === 0 ? {} : { earlier_logs };
  const kept = { checkpoint: note, preserved: listed, ...more };
  const draft: Draft = {
    type: SEAL,
    members: {
      ...(trigger_date === undefined ? {} : { trigger_date }),
      // A session has another name in each log, and the hold is over what any of them has of it.
      subject_sessions: [log, ...earlier].flatMap((one) =>
        refsIn(one).map((session) => `session:${session}`),
      ),
      from_ms,
      to_ms,
      checkpoint_size: size,
      preserved_count: indexes.length,
      preserved_indexes_sha256: createHash('sha256').update(canonical(indexes)).digest('hex'),
      retention_hold: true,
      does_not_assert: Object.keys(SEAL_DOES_NOT_ASSERT),
    },
    private: { trigger_event, ...(systems === undefined ? {} : { systems }) },
    toll,
  };
  return { draft, kept };
}

/** The chains of the sessions; of the tenant's entities without any. */
async function chainsOf(
  log: LogView,
  { tenant_ref }: Caller,
  sessions: readonly string[],
): Promise<readonly ChainKey[]> {
  if (sessions.length > 0) return sessions.map((session) => ['session', session]);
  const entities = await log.entitiesOf(tenant_ref, MAX_SCOPE);
  return entities.map((entity) => ['entity', entity]);
}

/** Indexes of the entries of some chains in a window, ascending. */
async function standing(
  log: LogView,
  chains: readonly ChainKey[],
  window: { readonly from_ms: number; readonly to_ms: number },
): Promise<number[]> {
  const indexes = new Set<number>();
  if (window.from_ms > window.to_ms) return [];
  for (const key of chains) {
    for (let after: number | undefined; ;) {
      const rows = await log.chain(
        { key, ...window },
        { limit: PAGE, ...(after === undefined ? {} : { after }) },
      );
      for (const { index } of rows) indexes.add(index);
      if (indexes.size > MAX_COUNTED) {
        const message = `over ${String(MAX_COUNTED)} entries are in scope: seal shorter windows`;
        throw new ApiError('parameter_invalid', message, { param: 'to_ms' });
      }
      after = rows.at(-1)?.index;
      if (rows.length < PAGE || after === undefined) break;
    }
  }
  return [...indexes].sort((a, b) => a - b);
}

function preserved(log: LogView, index: number, size: number): Record<string, Json> {
  const text = knownEntry(log.entry(index), index);
  return {
    index,
    entry_id: (JSON.parse(text) as { entry_id: string }).entry_id,
    entry_hash: toHex(log.leafHash(index)),
    inclusion_proof: log.inclusion(index, size).map(toBase64),
  };
}
