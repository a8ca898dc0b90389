// POST /carrier/v1/enroll: a mandate, and what both sides keep of it before there is a dispute.
// gateway/API.md §8.3.

import { Type } from 'typebox';
import {
  ApiError,
  described,
  EntityName,
  INSURED_ENTITY,
  Millis,
  receiptOf,
  route,
  SLUG,
  slugOf,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  Draft,
  JsonObject,
  Kind,
  PluginHost,
  Route,
} from '../contract/index.ts';
import { historyUrl, logOf } from './audit.ts';
import { coveredSize, mandateOf, slugRef } from './deciding.ts';
import { carrierErrors, MANDATE, mandateType } from './entries.ts';
import type { Mandate } from './entries.ts';
import { carrierCatalog, DAY_MS, termsHash, termsOf } from './rules.ts';

const Id = Type.String({ format: 'uuid' });
const Uri = Type.String({ format: 'uri' });

const Bundle = Type.Object(
  {
    schema: Type.Literal('svc-carrier-pre-dispute-v1'),
    mandate_id: Id,
    slug: Type.String({ pattern: SLUG }),
    terms: Type.Object({}),
    terms_sha256: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of the canonical terms; it stands in the entry.',
    }),
    keys: Type.Array(Type.Object({ kid: Type.String(), jwk: Type.Object({}) }), {
      description: 'Receipt keys of the log as of the checkpoint.',
    }),
    log: Type.Object({ origin: Type.String(), vkey: Type.String() }),
    checkpoint: Type.Union([Type.String(), Type.Null()]),
    kit_url: Uri,
    compliance_url: Uri,
    history_url: Uri,
  },
  { $id: 'CarrierPreDisputeBundle' },
);

const Enrolled = Type.Object(
  {
    ok: Type.Literal(true),
    slug: Type.String({ pattern: SLUG }),
    mandate_id: Id,
    entity: described(EntityName, 'Whose findings count.'),
    valid_from_ms: Millis,
    valid_until_ms: Millis,
    bundle: Bundle,
    receipt: receiptOf(mandateType),
  },
  { $id: 'CarrierEnrolled' },
);

/** The route of enrollment. */
export function enrollRoute(host: PluginHost): Route {
  const catalog = carrierCatalog(host);
  const Text = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return route({
    method: 'POST',
    path: '/carrier/v1/enroll',
    tag: 'carrier',
    summary: 'Enroll an insured and get the pre-dispute bundle',
    description:
      'The slug is the kebab form of the company, one for a carrier while the mandate is in force. Company, slug and ' +
      'domain are commitments. Findings are those of `entity`; where none is named, of an entity that this request ' +
      'claims for the carrier and names in its answer: acts about the insured name it.',
    access: { roles: ['carrier'] },
    idempotent: true,
    body: Type.Object(
      {
        company: Text,
        domain: Type.Optional(Type.String({ ...Text, default: catalog.default_domain })),
        entity: Type.Optional(EntityName),
        valid_until_ms: Type.Optional({
          ...Millis,
          description: `Of the mandate; ${String(catalog.mandate_term_days)} days from now unless given.`,
        }),
      },
      { $id: 'CarrierEnrollRequest' },
    ),
    responses: { 200: { description: 'The mandate and its bundle.', schema: Enrolled } },
    errors: ['role_forbidden', carrierErrors.mandate_exists],
    example: { company: 'Example', domain: 'hiring' },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { company, domain = catalog.default_domain, valid_until_ms } = body;
      const slug = slugOf(company, 'company');
      const slug_ref = slugRef(caller, slug);
      const { tenant_ref } = caller;
      const entity = body.entity ?? `${INSURED_ENTITY}${slug_ref.slice(0, 32)}`;
      const log = host.log(caller.kind);
      const isUnclaimed = body.entity === undefined && log.surfaces().owner(entity) === null;
      const claim: Draft = { type: 'astl.entity.v1', members: { entity, action: 'claim' } };
      const newestMandate = mandateOf(host, caller, slug);
      const checkpoint_size = await coveredSize(log);
      await ctx.state.append(
        [
          ...(isUnclaimed ? [claim] : []),
          {
            type: MANDATE,
            members({ entry_id: mandate_id, issued_at_ms: valid_from_ms }) {
              const covered = {
                mandate_id,
                subject_key: ['entity', entity] as const,
                valid_from_ms,
                valid_until_ms:
                  valid_until_ms ?? valid_from_ms + catalog.mandate_term_days * DAY_MS,
              };
              return {
                ...covered,
                slug_ref,
                terms_version: catalog.terms_version,
                terms_sha256: termsHash(termsOf(catalog, { ...covered, tenant_ref })),
                checkpoint_size,
              };
            },
            private: { company, slug, domain },
          },
        ],
        {
          check({ rows, now_ms }) {
            if (valid_until_ms !== undefined && valid_until_ms <= now_ms) {
              throw new ApiError('parameter_invalid', 'valid_until_ms has passed', {
                param: 'valid_until_ms',
              });
            }
            const row = newestMandate(rows);
            if (row === undefined || now_ms >= row.valid_until_ms) return;
            const standing = `mandate ${row.mandate_id} for the slug ${slug} is in force`;
            throw new ApiError(carrierErrors.mandate_exists, standing, { param: 'company' });
          },
        },
      );
    },
    respond: (entries, _disclosures, { body, caller }) =>
      enrolled(host, caller.kind, slugOf(body.company, 'company'), entries),
  });
}

function enrolled(
  host: PluginHost,
  kind: Kind,
  slug: string,
  entries: readonly AnsweredEntry[],
): JsonObject {
  const entry = entries.find(({ statement }) => statement['type'] === MANDATE);
  if (entry === undefined) throw new Error('an enrollment has a mandate');
  const { statement, receipt } = entry;
  const mandate = statement as unknown as Mandate & { readonly tenant_ref: string };
  const { mandate_id, valid_from_ms, valid_until_ms, terms_sha256, checkpoint_size } = mandate;
  const log = logOf(host, kind, statement['origin'] as string);
  const { origin, vkey } = log;
  const keys = log.receiptKeys().filter(({ since_index }) => since_index < checkpoint_size);
  return {
    ok: true,
    slug,
    mandate_id,
    entity: mandate.subject_key?.[1] ?? null,
    valid_from_ms,
    valid_until_ms,
    bundle: {
      schema: 'svc-carrier-pre-dispute-v1',
      mandate_id,
      slug,
      terms: termsOf(carrierCatalog(host), mandate),
      terms_sha256,
      keys: keys.map(({ kid, jwk }) => ({ kid, jwk })),
      log: { origin, vkey },
      checkpoint: checkpoint_size === 0 ? null : log.checkpointAt(checkpoint_size),
      kit_url: host.url('/export/offline-verify-kit.json'),
      compliance_url: host.url(`/carrier/v1/insured/${slug}/compliance`),
      history_url: historyUrl(host, log, mandate_id, valid_from_ms),
    },
    receipt,
  };
}
