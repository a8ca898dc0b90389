// Conformity packs: POST /api/v1/conformity/generate. gateway/API.md §2.2, §10.9, §14.
//
// A pack says where the AI Act puts a system, what Article 12 asks of it, and what the log has of one of its sessions.
// The pack is a document; an entry commits to its hash. The texts are in catalogs/foundry.json.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  asSchema,
  canonical,
  EntryId,
  Hex32,
  Identifier,
  lookupUrl,
  Nullable,
  receiptOf,
  route,
  SafeCount,
  SessionRef,
  sessionsOf,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  Caller,
  Draft,
  EntryType,
  JsonObject,
  PluginHost,
  Route,
  RowReader,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';
import { sessionState } from '../silence/index.ts';
import { foundryCatalog } from './catalog.ts';
import type { Category, FoundryCatalog } from './catalog.ts';
import { count, lastEntry, tenantOf } from './entries.ts';

/** Identifier of the entry type. */
export const CONFORMITY = 'foundry.conformity.v1';

/** What the entry says; the system's name and version are a commitment. */
const ConformityMembers = Type.Object(
  {
    category_id: Identifier,
    annex_iii_listed: Type.Boolean(),
    pack_sha256: { ...Hex32, description: 'Over the canonical form of the pack.' },
    /** The session that the pack speaks of; the entry is not on its chain. */
    // TypeBox writes tuples as draft 7 does; the log's schemas are of 2020-12.
    subject_key: Type.Optional(
      Type.Unsafe<readonly ['session', string]>({
        type: 'array',
        prefixItems: [Type.Literal('session'), SessionRef],
        items: false,
        minItems: 2,
        maxItems: 2,
      }),
    ),
    events: SafeCount,
    first_index: Nullable(SafeCount),
    last_index: Nullable(SafeCount),
  },
  { additionalProperties: false },
);

const packRow = (tenant_ref: string, pack_sha256: string): string =>
  `foundry/pack/${tenant_ref}/${pack_sha256}`;

/** Index of the entry that commits to this pack of the tenant already; undefined where there is none. */
function committedAt(rows: RowReader, tenant_ref: string, pack_sha256: string): number | undefined {
  return rows.get(packRow(tenant_ref, pack_sha256)) as number | undefined;
}

function project(entry: Sequenced, rows: RowWriter): void {
  const { index, statement } = entry;
  rows.put(packRow(tenantOf(statement), statement['pack_sha256'] as string), index);
  count(entry, rows, { conformity_packs: 1 });
}

/** `foundry.conformity.v1`. */
export const conformityType: EntryType = {
  name: CONFORMITY,
  schema: asSchema(ConformityMembers),
  keys: [],
  project,
};

/** Schema of a pack. */
const PACK_SCHEMA = 'svc-conformity-pack-v1';

/** What a pack leaves open. */
const DOES_NOT_ASSERT = {
  conformity: 'that the system conforms: the pack gathers what a conformity assessment looks at',
  controls_in_place: 'that the risk controls it lists are in place',
  acts_never_logged: 'anything about acts that were never logged',
} as const;

/** What the log has of the session that a pack speaks of. */
interface Evidence {
  readonly session_ref: string;
  readonly events: number;
  readonly first_index: number | null;
  readonly last_index: number | null;
}

/** What a pack is made of; the same gives the same document. */
interface PackParts {
  readonly category_id: string;
  readonly origin: string;
  readonly system?: { readonly name: string; readonly version: string };
  readonly evidence: Evidence | null;
}

/** The category of a pack. */
function categoryOf(catalog: FoundryCatalog, category_id: string): Category | undefined {
  return catalog.conformity.categories.find((known) => known.category_id === category_id);
}

/** Builds the document. */
function packOf(catalog: FoundryCatalog, parts: PackParts): JsonObject {
  const { category_id, origin, system, evidence } = parts;
  const category = categoryOf(catalog, category_id);
  if (category === undefined) throw new Error(`the catalog has no category ${category_id}`);
  const { label, annex_iii, annex_iii_points, article_12, risk_controls } = category;
  return {
    schema: PACK_SCHEMA,
    regulation: catalog.conformity.regulation,
    category_id,
    label,
    annex_iii: {
      listed: annex_iii !== null,
      point: annex_iii,
      points: [...annex_iii_points],
    },
    article_12: {
      text: article_12,
      applies: annex_iii === null ? 'voluntarily' : 'where the system is high-risk',
      automatic_recording: 'every act is an entry of an append-only log, signed and proven',
      evidence:
        evidence === null
          ? { status: 'not_evidenced', note: 'no session is named' }
          : {
              status: evidence.events > 0 ? 'met' : 'not_evidenced',
              ...{ session_ref: evidence.session_ref, events: evidence.events },
              ...{ first_index: evidence.first_index, last_index: evidence.last_index },
            },
    },
    risk_controls: risk_controls.map((control) => ({ control, status: 'not_evidenced' })),
    ...(system === undefined ? {} : { system: { name: system.name, version: system.version } }),
    origin,
    does_not_assert: Object.values(DOES_NOT_ASSERT),
  };
}

/** SHA-256 over the canonical form of a document, hex. */
export function documentHash(document: JsonObject): string {
  return createHash('sha256').update(canonical(document)).digest('hex');
}

const Index = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]);

const EvidenceShown = Type.Object({
  status: Type.Enum(['met', 'not_evidenced']),
  note: Type.Optional(Type.String({ description: 'Where no session is named.' })),
  session_ref: Type.Optional(SessionRef),
  events: Type.Optional(Type.Integer({ minimum: 0 })),
  first_index: Type.Optional(Index),
  last_index: Type.Optional(Index),
});

const PackAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    pack_entry_id: EntryId,
    category_id: Identifier,
    pack_sha256: Hex32,
    pack: Type.Object({
      schema: Type.String(),
      regulation: Type.String(),
      category_id: Type.String(),
      label: Type.String(),
      annex_iii: Type.Object({
        listed: Type.Boolean(),
        point: Type.Union([Type.String(), Type.Null()]),
        points: Type.Array(Type.String()),
      }),
      article_12: Type.Object({
        text: Type.String(),
        applies: Type.Enum(['voluntarily', 'where the system is high-risk']),
        automatic_recording: Type.String(),
        evidence: EvidenceShown,
      }),
      risk_controls: Type.Array(Type.Object({ control: Type.String(), status: Type.String() })),
      system: Type.Optional(Type.Object({ name: Type.String(), version: Type.String() })),
      origin: Type.String(),
      does_not_assert: Type.Array(Type.String()),
    }),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(conformityType),
  },
  { $id: 'ConformityPack' },
);

const packBody = ({ limits }: PluginHost) => {
  const Text = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return Type.Object(
    {
      category_id: Type.String({ maxLength: 256 }),
      session_id: Type.Optional(Text),
      system: Type.Optional(Type.Object({ name: Text, version: Text })),
    },
    { $id: 'ConformityGenerateRequest' },
  );
};

/** A request after its schema. */
type PackRequest = Static<ReturnType<typeof packBody>>;

/** A pack and the draft that commits to it. */
interface Packed {
  readonly pack_sha256: string;
  readonly draft: Draft;
}

/** 400 for a category that the catalog lacks. */
function checkCategory(host: PluginHost, category_id: string): void {
  const catalog = foundryCatalog(host);
  if (categoryOf(catalog, category_id) !== undefined) return;
  const known = catalog.conformity.categories.map((one) => one.category_id).join(', ');
  const param = 'category_id';
  throw new ApiError('parameter_invalid', `${param} is none of ${known}`, { param });
}

/** Builds the pack of a request. */
export async function packed(
  host: PluginHost,
  caller: Caller,
  request: PackRequest,
): Promise<Packed> {
  const { category_id, session_id, system } = request;
  checkCategory(host, category_id);
  const catalog = foundryCatalog(host);
  const log = host.log(caller.kind);
  const evidence: Evidence | null =
    session_id === undefined ? null : await evidenceOf(host, caller, session_id);
  const parts = { category_id, origin: log.origin, evidence };
  const pack_sha256 = documentHash(packOf(catalog, withSystem(parts, system)));
  const listed = categoryOf(catalog, category_id)?.annex_iii !== null;
  const draft: Draft = {
    type: CONFORMITY,
    members: {
      category_id,
      annex_iii_listed: listed,
      pack_sha256,
      ...(evidence === null ? {} : { subject_key: ['session', evidence.session_ref] }),
      events: evidence?.events ?? 0,
      first_index: evidence?.first_index ?? null,
      last_index: evidence?.last_index ?? null,
    },
    ...(system === undefined
      ? {}
      : { private: { system: { name: system.name, version: system.version } } }),
    toll: host.toll('conformity_pack'),
  };
  return { pack_sha256, draft };
}

/** The entry that commits to this pack already; null where there is none. */
export function standingPack(host: PluginHost, caller: Caller, pack_sha256: string): string | null {
  const log = host.log(caller.kind);
  const rows = { get: (key: string) => log.row(key.slice('foundry/'.length)) };
  const index = committedAt(rows, caller.tenant_ref, pack_sha256);
  const text = index === undefined ? null : log.entry(index);
  return text === null ? null : ((JSON.parse(text) as JsonObject)['entry_id'] as string);
}

function withSystem(parts: PackParts, system: PackRequest['system']): PackParts {
  return system === undefined ? parts : { ...parts, system };
}

/** Of the newest log; throws where only a closed one has the session, for "no events" would be signed. */
async function evidenceOf(host: PluginHost, caller: Caller, session_id: string): Promise<Evidence> {
  const log = host.log(caller.kind);
  const session_ref = caller.sessionRef(session_id);
  const { key, to_ms, count, last_index } = await sessionState(log, session_ref);
  const all = count > 0 || log.number === 1 ? [] : await sessionsOf(host, caller, session_id);
  const earlier = all.findLast((one) => one.count > 0);
  if (earlier !== undefined) {
    const url = lookupUrl(host, earlier.log, ['session', earlier.session_ref]);
    const message = `only ${earlier.log.origin} has the session, and it is closed: ${url} has its entries with their proof`;
    throw new ApiError('parameter_invalid', message, { param: 'session_id' });
  }
  const [first] = count === 0 ? [] : await log.chain({ key, from_ms: 0, to_ms }, { limit: 1 });
  return { session_ref, events: count, first_index: first?.index ?? null, last_index };
}

/** The same document is committed to already. */
class Unchanged extends Error {
  readonly index: number;

  constructor(index: number) {
    super('the pack stands already');
    this.index = index;
  }
}

/** A pack's entry as its answer shows it: the document again, from what the entry and the request say. */
function packShown(
  host: PluginHost,
  { entry_id, statement, receipt }: AnsweredEntry,
  system: PackRequest['system'],
): JsonObject {
  const { category_id = '', pack_sha256 = '', subject_key, events, origin } = statement;
  const { first_index, last_index } = statement as {
    readonly first_index: number | null;
    readonly last_index: number | null;
  };
  const evidence: Evidence | null = Array.isArray(subject_key)
    ? {
        session_ref: subject_key[1] as string,
        ...{ events: events as number, first_index, last_index },
      }
    : null;
  const parts = { category_id: category_id as string, origin: origin as string, evidence };
  return {
    ...{ pack_entry_id: entry_id, category_id, pack_sha256 },
    pack: packOf(foundryCatalog(host), withSystem(parts, system)),
    verify_url: receipt.verify_url,
  };
}

/** The route of conformity packs. */
export function conformityRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/conformity/generate',
    tag: 'foundry',
    summary: 'Generate the regulatory pack of a system: Annex III and Article 12',
    description:
      'The entry commits to the SHA-256 of the pack in canonical form. A pack that did not change is not ' +
      'committed to again: the same entry answers. What is not evidenced is never shown as met.',
    access: 'open',
    idempotent: true,
    body: packBody(host),
    responses: { 200: { description: 'The pack.', schema: PackAnswer } },
    errors: ['log_unavailable'],
    example: {
      category_id: 'employment',
      session_id: 'interview-42',
      system: { name: 'Screening assistant', version: '4.1' },
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { draft, pack_sha256 } = await packed(host, caller, body);
      try {
        await ctx.state.append([draft], {
          check({ rows }: { readonly rows: RowReader }) {
            const index = committedAt(rows, caller.tenant_ref, pack_sha256);
            if (index !== undefined) throw new Unchanged(index);
          },
        });
      } catch (error) {
        if (!(error instanceof Unchanged)) throw error;
        await ctx.state.answerWith([error.index]);
      }
    },
    respond(entries, _, { body }) {
      const entry = lastEntry(entries);
      return { ok: true, ...packShown(host, entry, body.system), receipt: entry.receipt };
    },
  });
}
