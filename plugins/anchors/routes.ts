// POST /api/v1/anchors, and the public list of anchors. gateway/API.md §12.5.

import { Type } from 'typebox';
import {
  actingEntity,
  ActEntity,
  Count,
  exactlyOne,
  firstOf,
  kindOf,
  listRoute,
  LogName,
  lookupUrl,
  Millis,
  namedStatement,
  placesAfter,
  PLACES,
  placeText,
  receiptOf,
  route,
  SurfaceName,
} from '../contract/index.ts';
import type { JsonObject, LogView, Place, PluginHost, Route } from '../contract/index.ts';
import {
  ALL,
  ANCHOR,
  AnchorMembers,
  anchorType,
  CLAIM_ALGS,
  CLAIM_BOXES,
  DOES_NOT_ASSERT,
  ofDigest,
  placeOfRow,
} from './entries.ts';
import type { Anchored } from './entries.ts';
import { plainDigest, readDocument } from './rules.ts';
import type { AnchorRequest } from './rules.ts';

const PATH = '/api/v1/anchors';

const { kind, digest, payload_sha256, envelope_sha256, form, signatures, does_not_assert } =
  AnchorMembers.properties;

const Digest = Type.String({ pattern: '^(sha256:)?[0-9a-fA-F]{64}$' });

/** A document of another standard, whose further members are ignored. */
const Foreign = Type.Object({}, { additionalProperties: true });

const AnchorAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    ...{ kind, digest, payload_sha256, envelope_sha256, form, signatures, does_not_assert },
    lookup_url: Type.String({
      format: 'uri',
      description: 'Where the log lists the anchors of this digest, with a proof of completeness.',
    }),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(anchorType),
  },
  { $id: 'AnchorAnswer' },
);

const AnchorRow = Type.Object({
  entry_id: Type.String({ format: 'uuid' }),
  index: Count,
  issued_at_ms: Millis,
  tenant_ref: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' }),
  ...{ kind, digest, payload_sha256, envelope_sha256 },
  entity: AnchorMembers.properties.entity,
  permalink: Type.String({ format: 'uri' }),
});

/** The routes of the plugin. */
export const anchorRoutes = (host: PluginHost): readonly Route[] => [
  anchorRoute(host),
  anchorList(host),
];

function bodyOf({ limits }: PluginHost) {
  const Name = Type.String({ minLength: 1, maxLength: limits.string_chars });
  const Document = (what: string) =>
    Type.Optional(
      Type.Union([Foreign, Type.String({ minLength: 2, pattern: '^\\s*\\{' })], {
        description: `${what}, as an object or as its exact text. It does not enter the log.`,
      }),
    );
  return Type.Object(
    {
      dsse: Document(
        'A DSSE envelope `{payload, payloadType, signatures}`. A payload of the type ' +
          '`application/vnd.in-toto+json` must be an in-toto statement',
      ),
      statement: Document('An in-toto statement'),
      c2pa: Type.Optional(
        Type.Object(
          {
            claim_sha256: {
              ...Digest,
              description:
                'SHA-256 of the CBOR bytes of the claim, which its COSE signature covers.',
            },
            box: Type.Optional(
              Type.Enum([...CLAIM_BOXES], { description: 'Label of the box of the claim.' }),
            ),
            alg: Type.Optional(
              Type.Enum([...CLAIM_ALGS], { description: 'The `alg` of the claim.' }),
            ),
            manifest: Type.Optional({
              ...Name,
              description: 'Label of the manifest. The entry commits to it.',
            }),
          },
          { description: 'A C2PA claim, by its digest.' },
        ),
      ),
      sha256: Type.Optional({
        ...Digest,
        description: 'SHA-256 of any document, in hex. Needs `media_type`.',
      }),
      media_type: Type.Optional(
        Type.String({
          maxLength: 255,
          pattern: '^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*(; ?.*)?$',
          description: 'Media type of that document (RFC 6838). The entry commits to it.',
        }),
      ),
      session_id: Type.Optional(Name),
      entity: ActEntity,
      surface: Type.Optional(SurfaceName),
      event_at_ms: Type.Optional(Millis),
    },
    {
      $id: 'AnchorRequest',
      ...exactlyOne('dsse', 'statement', 'c2pa', ['sha256', 'media_type']),
    },
  );
}

function anchorRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: PATH,
    tag: 'anchors',
    summary: 'Anchor a DSSE envelope, an in-toto statement, a C2PA claim or any digest',
    description:
      'The entry has SHA-256 digests of the document, and commitments to its types and subjects; the document itself is ' +
      'not stored. The receipt proves that the document existed when the entry was logged. No signature of the document ' +
      'is checked: its own tools do that.',
    access: 'key',
    idempotent: true,
    batch: true,
    body: bodyOf(host),
    responses: { 200: { description: 'The document is anchored.', schema: AnchorAnswer } },
    errors: ['parameter_missing', 'tenant_forbidden'],
    example: { sha256: 'ab'.repeat(32), media_type: 'application/pdf' },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { members, hidden } = readDocument(body as AnchorRequest); // the schema says which members there are
      const { session_id, surface, event_at_ms } = body;
      const entity = await actingEntity(host.log(caller.kind), caller, body);
      await ctx.state.append([
        {
          type: ANCHOR,
          members: {
            ...members,
            does_not_assert: Object.keys(DOES_NOT_ASSERT),
            ...(session_id === undefined ? {} : { session_ref: caller.sessionRef(session_id) }),
            ...(entity === undefined ? {} : { entity }),
            ...(surface === undefined ? {} : { surface }),
          },
          private: hidden,
          ...(event_at_ms === undefined ? {} : { event_at_ms }),
        },
      ]);
    },
    respond(entries, _, { caller }) {
      const { statement, receipt } = firstOf(entries);
      const anchored = shown(statement);
      const log = host.logs(caller.kind).find(({ origin }) => origin === statement['origin']);
      if (log === undefined) throw new Error('the log of an anchor is not served');
      return {
        ok: true,
        ...anchored,
        form: statement['form'],
        signatures: statement['signatures'],
        does_not_assert: statement['does_not_assert'],
        lookup_url: lookupUrl(host, log, ['anchors.digest', anchored.digest]),
        verify_url: receipt.verify_url,
        receipt,
      };
    },
  });
}

/** The digests of an anchor, as answers and rows show them. */
function shown(statement: JsonObject): Pick<Anchored, 'kind' | 'digest'> & Partial<Anchored> {
  const anchor = statement as unknown as Anchored;
  return {
    kind: anchor.kind,
    digest: anchor.digest,
    ...(anchor.payload_sha256 === undefined ? {} : { payload_sha256: anchor.payload_sha256 }),
    ...(anchor.envelope_sha256 === undefined ? {} : { envelope_sha256: anchor.envelope_sha256 }),
  };
}

/** Up to `limit` indexes of a log's anchors under a prefix of rows, in order. */
async function indexesUnder(
  log: LogView,
  prefix: string,
  limit: number,
  after?: number,
): Promise<readonly number[]> {
  const start = after === undefined ? {} : { after: prefix + placeOfRow(after) };
  const rows = await log.rows(prefix, { ...start, limit });
  return rows.map(([name]) => Number(name.slice(prefix.length)));
}

function anchorList(host: PluginHost): Route {
  const query = {
    log: LogName,
    digest: Type.Optional({
      ...Digest,
      description:
        'Only anchors with this SHA-256: of what was anchored, of the payload, or of the envelope.',
    }),
  };
  return listRoute<Place, typeof query>(host, {
    path: PATH,
    tag: 'anchors',
    summary: 'Anchors of all tenants, oldest first, or those of a digest',
    description:
      'A page is not signed. The absence of a digest is proven by the lookup of its chain `["anchors.digest", digest]`.',
    access: 'read',
    query,
    ...{ $id: 'AnchorList', row: AnchorRow, grows: true, places: PLACES, placeOf: placeText },
    find({ query: { log, digest: asked }, caller }, page) {
      const prefix = asked === undefined ? ALL : ofDigest(plainDigest(asked));
      return placesAfter(host.logs(kindOf(log, caller)), page, (...of) =>
        indexesUnder(of[0], prefix, of[1], of[2]),
      );
    },
    shown({ log, index }) {
      const statement = namedStatement(log, index);
      const { entry_id, issued_at_ms, tenant_ref, entity } = statement;
      return {
        ...{ entry_id, index, issued_at_ms, tenant_ref },
        ...shown(statement),
        ...(entity === undefined ? {} : { entity }),
        permalink: log.receipt(index)?.['permalink'],
      };
    },
  });
}
