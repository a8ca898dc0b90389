// Conformity packs: POST /api/v1/conformity/generate, and each again by its id. gateway/API.md §2.2, §10.9, §14.
//
// A pack says where the AI Act puts a system, and what the entries of one of its sessions evidence: of Article 12 by
// the rules of the report (plugins/compliance), and of each risk control by its rule in catalogs/foundry.json. The pack
// is a document. Its entry commits to its hash and has what was evidenced; the texts are in the catalogs.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  answeredEntry,
  ApiError,
  asSchema,
  canonical,
  EntryId,
  findEntry,
  Hex32,
  Identifier,
  lookupUrl,
  Nullable,
  plural,
  receiptOf,
  route,
  SafeCount,
  sentenceOf,
  sessionCost,
  SessionRef,
  sessionsOf,
  shortName,
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
import compliance, { holdOf, STATUSES } from '../compliance/index.ts';
import type { Evidence, Status } from '../compliance/index.ts';
import { foundryCatalog } from './catalog.ts';
import type { Category, FoundryCatalog } from './catalog.ts';
import { count, foundryErrors, lastEntry, tenantOf } from './entries.ts';

/** Identifier of the entry type. */
export const CONFORMITY = 'foundry.conformity.v2';

/** Entries that a line of a pack names; it counts all. */
const MAX_NAMED = 5;

/** What is evidenced of one requirement or control, in the order of its catalog. */
const LineMembers = Type.Object(
  {
    status: Type.Enum([...STATUSES]),
    count: SafeCount,
    entry_ids: Type.Array(EntryId, { maxItems: MAX_NAMED, description: 'The first ones.' }),
  },
  { additionalProperties: false },
);

/** A line as the entry has it. */
type Line = Static<typeof LineMembers>;

/** What the entries of both versions say; the system's name and version are a commitment. */
const commonMembers = {
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
};

const ConformityMembers = Type.Object(
  {
    ...commonMembers,
    entries_root: Type.Optional({
      ...Hex32,
      description: 'RFC 6962 root over the entries of the session, oldest first.',
    }),
    article_12: Type.Array(LineMembers, { maxItems: 64 }),
    risk_controls: Type.Array(LineMembers, { maxItems: 64 }),
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

/** `foundry.conformity.v2`. */
export const conformityType: EntryType = {
  name: CONFORMITY,
  schema: asSchema(ConformityMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof ConformityMembers>>(
    ({ category_id, events }) =>
      `The service sealed a conformity pack of the category ${shortName(category_id, 64)} over ${plural(events, 'event')}.`,
  ),
  project,
};

/** `foundry.conformity.v1`, of earlier builds, in which no risk control was evidenced. */
export const earlierConformityType: EntryType = {
  ...conformityType,
  name: 'foundry.conformity.v1',
  schema: asSchema(Type.Object(commonMembers, { additionalProperties: false })),
};

/** Schema of a pack. */
const PACK_SCHEMA = 'svc-conformity-pack-v2';

/** What a pack leaves open. */
const DOES_NOT_ASSERT = {
  conformity: 'that the system conforms: the pack gathers what a conformity assessment looks at',
  controls_in_place: 'that the risk controls it lists are in place',
  acts_never_logged: 'anything about acts that were never logged',
} as const;

/** What the log has of the session that a pack speaks of. */
interface SessionEvidence {
  readonly session_ref: string;
  readonly events: number;
  readonly first_index: number | null;
  readonly last_index: number | null;
  readonly entries_root: string;
}

/** What a pack is made of; the same gives the same document. */
interface PackParts {
  readonly category_id: string;
  readonly origin: string;
  readonly system?: { readonly name: string; readonly version: string } | undefined;
  readonly evidence: SessionEvidence | null;
  readonly article_12: readonly Line[];
  readonly risk_controls: readonly Line[];
}

/** The category of a pack. */
function categoryOf(catalog: FoundryCatalog, category_id: string): Category | undefined {
  return catalog.conformity.categories.find((known) => known.category_id === category_id);
}

/** The items of Article 12, in the order of their catalog. */
const itemsOf = (host: PluginHost): readonly JsonObject[] =>
  (host.catalog('compliance/article-12.json') as { readonly items: readonly JsonObject[] }).items;

const NOT_EVIDENCED: Line = { status: 'not_evidenced', count: 0, entry_ids: [] };

/** Builds the document. */
function packOf(host: PluginHost, parts: PackParts): JsonObject {
  const catalog = foundryCatalog(host);
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
          : { status: evidence.events > 0 ? 'met' : 'not_evidenced', ...evidence },
      items: itemsOf(host).map(({ id = '', title = '' }, i) => ({
        ...{ id, title },
        ...(parts.article_12[i] ?? NOT_EVIDENCED),
      })),
    },
    risk_controls: risk_controls.map(({ control, rule }, i) => ({
      ...{ control, rule },
      ...(parts.risk_controls[i] ?? NOT_EVIDENCED),
    })),
    ...(system === undefined ? {} : { system: { name: system.name, version: system.version } }),
    origin,
    does_not_assert: Object.values(DOES_NOT_ASSERT),
  };
}

/** SHA-256 over the canonical form of a document, hex. */
export function documentHash(document: JsonObject): string {
  return createHash('sha256').update(canonical(document)).digest('hex');
}

/** Entries of a session that a request of cost 1 reads. */
const ENTRIES_IN_ONE = 300;

const Index = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]);

const EvidenceShown = Type.Object({
  status: Type.Enum(['met', 'not_evidenced']),
  note: Type.Optional(Type.String({ description: 'Where no session is named.' })),
  session_ref: Type.Optional(SessionRef),
  events: Type.Optional(Type.Integer({ minimum: 0 })),
  first_index: Type.Optional(Index),
  last_index: Type.Optional(Index),
  entries_root: Type.Optional(Hex32),
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
        items: Type.Array(
          Type.Object({ id: Type.String(), title: Type.String(), ...LineMembers.properties }),
          { description: 'By the rules of the Article 12 report of the session.' },
        ),
      }),
      risk_controls: Type.Array(
        Type.Object({
          control: Type.String(),
          rule: { ...Type.String(), description: 'Which entries evidence it.' },
          ...LineMembers.properties,
        }),
      ),
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
  const { origin } = host.log(caller.kind);
  const found =
    session_id === undefined
      ? { evidence: null, article_12: [], risk_controls: [] }
      : await evidenceOf(host, caller, session_id, category_id);
  const { evidence, article_12, risk_controls } = found;
  const pack_sha256 = documentHash(packOf(host, { category_id, origin, system, ...found }));
  const listed = categoryOf(foundryCatalog(host), category_id)?.annex_iii !== null;
  const session =
    evidence === null
      ? {}
      : {
          subject_key: ['session', evidence.session_ref],
          entries_root: evidence.entries_root,
        };
  const draft: Draft = {
    type: CONFORMITY,
    members: {
      category_id,
      annex_iii_listed: listed,
      pack_sha256,
      ...session,
      events: evidence?.events ?? 0,
      first_index: evidence?.first_index ?? null,
      last_index: evidence?.last_index ?? null,
      article_12: [...article_12],
      risk_controls: [...risk_controls],
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

/** Name of the signal that every entry of the session shows; no control is called so. */
const SESSION = 'session';

/**
 * What the session evidences in the newest log; throws where only a closed one has the session, for "no events" would
 * be signed.
 */
async function evidenceOf(
  host: PluginHost,
  caller: Caller,
  session_id: string,
  category_id: string,
): Promise<{ evidence: SessionEvidence; article_12: Line[]; risk_controls: Line[] }> {
  const log = host.log(caller.kind);
  const session_ref = caller.sessionRef(session_id);
  const controls = categoryOf(foundryCatalog(host), category_id)?.risk_controls ?? [];
  const signals = new Map([
    [SESSION, ['entry'] as readonly string[]],
    ...controls.map(({ control, signals: of }) => [control, of] as const),
  ]);
  const found = await host.use(compliance).assess(log, session_ref, host.now(), signals);
  const { entries, entries_root } = found;
  const all = entries > 0 || log.number === 1 ? [] : await sessionsOf(host, caller, session_id);
  const earlier = all.findLast((one) => one.count > 0);
  if (earlier !== undefined) {
    const url = lookupUrl(host, earlier.log, ['session', earlier.session_ref]);
    const message = `only ${earlier.log.origin} has the session, and it is closed: ${url} has its entries with their proof`;
    throw new ApiError('parameter_invalid', message, { param: 'session_id' });
  }
  const hold = await holdOf(host, log.kind, caller, found);
  const { first_entry_id, last_entry_id } = found.evidence(SESSION);
  const indexOf = (id: string | null): number | null => (id === null ? null : log.indexOfEntry(id));
  return {
    evidence: {
      session_ref,
      events: entries,
      first_index: indexOf(first_entry_id),
      last_index: indexOf(last_entry_id),
      entries_root,
    },
    article_12: found.items.map(({ status, evidence }) => lineOf(status, evidence)),
    risk_controls: controls.map(({ control, signals: of }) =>
      of.includes('hold') && hold !== null
        ? { status: 'met', count: 1, entry_ids: [hold] }
        : lineOf(found.status(control), found.evidence(control)),
    ),
  };
}

const lineOf = (status: Status, { count: entries, entry_ids }: Evidence): Line => ({
  ...{ status, count: entries, entry_ids: entry_ids.slice(0, MAX_NAMED) },
});

/** The same document is committed to already. */
class Unchanged extends Error {
  readonly index: number;

  constructor(index: number) {
    super('the log has the pack already');
    this.index = index;
  }
}

/** A pack's entry as its answer shows it: the document again, from what the entry says and the system that it commits to. */
function packShown(
  host: PluginHost,
  { entry_id, statement, receipt }: AnsweredEntry,
  system: PackRequest['system'],
): JsonObject {
  const { category_id, pack_sha256, subject_key, events, origin, ...said } =
    statement as unknown as Static<typeof ConformityMembers> & { readonly origin: string };
  const { first_index, last_index, entries_root = '', article_12, risk_controls } = said;
  const evidence: SessionEvidence | null =
    subject_key === undefined
      ? null
      : { session_ref: subject_key[1], events, first_index, last_index, entries_root };
  const parts = { category_id, origin, system, evidence, article_12, risk_controls };
  return {
    ...{ pack_entry_id: entry_id, category_id, pack_sha256 },
    pack: packOf(host, parts),
    verify_url: receipt.verify_url,
  };
}

/** GET of an existing pack, by the id of its entry. */
function packRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/api/v1/conformity/packs/{pack_entry_id}',
    tag: 'foundry',
    summary: 'A conformity pack again, by the id of its entry',
    description:
      'The same document, of the own tenant, with the receipt that commits to it. A pack of an earlier release, ' +
      'whose entry is a `foundry.conformity.v1`, is not kept.',
    access: 'open',
    params: Type.Object({ pack_entry_id: EntryId }),
    responses: { 200: { description: 'The pack.', schema: PackAnswer } },
    errors: ['resource_missing', foundryErrors.pack_changed],
    async handle(ctx) {
      const { params, caller } = ctx.state;
      const param = 'pack_entry_id';
      const found = findEntry(host, [caller.kind], params.pack_entry_id);
      const entry = found === null ? null : answeredEntry(found.log, found.index);
      if (
        entry?.statement['type'] !== CONFORMITY ||
        entry.statement['tenant_ref'] !== caller.tenant_ref
      ) {
        throw new ApiError('resource_missing', 'no pack of yours has this id', { param });
      }
      const { system } = await host.disclosed(caller, entry.entry_id);
      const shown = packShown(host, entry, system?.value as unknown as PackRequest['system']);
      if (documentHash(shown['pack'] as JsonObject) !== shown['pack_sha256']) {
        const message =
          'the system that the pack names was erased, or the texts of the catalog are others now';
        throw new ApiError(foundryErrors.pack_changed, message, { param });
      }
      ctx.set('Cache-Control', 'no-store');
      ctx.body = { ok: true, ...shown, receipt: entry.receipt };
    },
  });
}

/** The routes of conformity packs. */
export const conformityRoutes = (host: PluginHost): readonly Route[] => [
  generateRoute(host),
  packRoute(host),
];

function generateRoute(host: PluginHost): Route {
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
    whole: true,
    body: packBody(host),
    responses: { 200: { description: 'The pack.', schema: PackAnswer } },
    errors: ['log_unavailable', 'log_busy'],
    cost: ({ body, caller }) =>
      body.session_id === undefined
        ? 1
        : sessionCost(host, caller, body.session_id, ENTRIES_IN_ONE),
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
