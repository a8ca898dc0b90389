// POST /carrier/v1/enroll: enrolls an insured under a mandate, and answers with the pre-dispute bundle, the evidence
// that carrier and insured keep. gateway/API.md §8.3.

import { createHash, randomBytes } from 'node:crypto';
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
import { CARRIER_ACT, carrierErrors, MANDATE, mandateType } from './entries.ts';
import { ACTIONS } from './mandates.ts';
import type { Mandate } from './mandates.ts';
import { appendCounted } from './overage.ts';
import { AmountInput, carrierCatalog, DAY_MS, microUsd, termsHash, termsOf } from './rules.ts';

const Id = Type.String({ format: 'uuid' });
const Uri = Type.String({ format: 'uri' });

/** The pre-dispute bundle: terms, keys and checkpoint, which carrier and insured keep for a later dispute. */
export const Bundle = Type.Object(
  {
    schema: Type.Literal('svc-carrier-pre-dispute-v1'),
    mandate_id: Id,
    slug: Type.String({ pattern: SLUG }),
    terms: Type.Object({}),
    terms_sha256: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of the canonical terms, which the entry also has.',
    }),
    keys: Type.Array(Type.Object({ kid: Type.String(), jwk: Type.Object({}) }), {
      description: 'Receipt keys of the log at the checkpoint.',
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
    entity: described(EntityName, 'The entity whose findings count.'),
    valid_from_ms: Millis,
    valid_until_ms: Millis,
    acceptance_code: Type.String({
      description:
        'The code with which the insured accepts the mandate. The log has its SHA-256. The service stores the code ' +
        'only with an Idempotency-Key.',
    }),
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
    ...CARRIER_ACT,
    path: '/carrier/v1/enroll',
    summary: 'Enroll an insured and get the pre-dispute bundle',
    description:
      'The slug is the kebab-case form of the company name. A carrier has at most one mandate in force for a slug. ' +
      'Company, slug and domain are commitments. The findings of `entity` count. Without `entity` the request claims a ' +
      'new entity for the carrier and returns its name; acts about the insured then name that entity. Enrollments and ' +
      'renewals beyond the number included per year have the toll `mandate_overage`.',
    body: Type.Object(
      {
        company: Text,
        domain: Type.Optional(Type.String({ ...Text, default: catalog.default_domain })),
        entity: Type.Optional(EntityName),
        actions: Type.Optional(
          Type.Array(Type.Enum([...ACTIONS]), {
            minItems: 1,
            maxItems: ACTIONS.length,
            uniqueItems: true,
            description: 'The actions that the mandate covers; by default all.',
          }),
        ),
        limit_usd: Type.Optional({
          ...AmountInput,
          description:
            'The largest limit that may be bound under the mandate, in USD: at most 15 digits before the point, 6 ' +
            'after it. It is logged in clear text. Without it each check must state an authority.',
        }),
        valid_until_ms: Type.Optional({
          ...Millis,
          description: `End of the mandate; by default ${String(catalog.mandate_term_days)} days from now.`,
        }),
      },
      { $id: 'CarrierEnrollRequest' },
    ),
    responses: { 200: { description: 'The mandate and its bundle.', schema: Enrolled } },
    errors: ['role_forbidden', carrierErrors.mandate_exists],
    example: { company: 'Example', domain: 'hiring' },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { company, domain = catalog.default_domain, valid_until_ms, limit_usd } = body;
      const limit_micro_usd =
        limit_usd === undefined ? undefined : String(microUsd(limit_usd, 'limit_usd'));
      const actions = ACTIONS.filter((action) => body.actions?.includes(action) ?? true);
      const acceptance_code = randomBytes(16).toString('base64url');
      const slug = slugOf(company, 'company');
      const slug_ref = slugRef(caller, slug);
      const { tenant_ref } = caller;
      const entity = body.entity ?? `${INSURED_ENTITY}${slug_ref.slice(0, 32)}`;
      const log = host.log(caller.kind);
      const isUnclaimed = body.entity === undefined && log.surfaces().owner(entity) === null;
      const claim: Draft = { type: 'astl.entity.v1', members: { entity, action: 'claim' } };
      const newestMandate = mandateOf(host, caller, slug);
      const checkpoint_size = await coveredSize(log);
      await appendCounted(host, caller, ({ toll, confirm, members: counted }) =>
        ctx.state.append(
          [
            ...(isUnclaimed ? [claim] : []),
            {
              type: MANDATE,
              ...toll,
              members({ entry_id: mandate_id, issued_at_ms: valid_from_ms, rows }) {
                const terms = {
                  mandate_id,
                  valid_from_ms,
                  valid_until_ms:
                    valid_until_ms ?? valid_from_ms + catalog.mandate_term_days * DAY_MS,
                  actions,
                  ...(limit_micro_usd === undefined ? {} : { limit_micro_usd }),
                };
                const terms_sha256 = termsHash(termsOf(catalog, { ...terms, entity, tenant_ref }));
                return {
                  ...terms,
                  subject_key: ['entity', entity],
                  slug_ref,
                  terms_version: catalog.terms_version,
                  terms_sha256,
                  checkpoint_size,
                  acceptance_sha256: codeHash(acceptance_code),
                  ...counted(rows, valid_from_ms),
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
              if (row !== undefined && row.end === undefined && now_ms < row.valid_until_ms) {
                const standing = `mandate ${row.mandate_id} for the slug ${slug} is in force`;
                throw new ApiError(carrierErrors.mandate_exists, standing, { param: 'company' });
              }
              confirm(rows, now_ms);
            },
            keep: { now: acceptance_code, later: () => acceptance_code },
          },
        ),
      );
    },
    respond: (entries, _disclosures, { body, caller }, kept) =>
      enrolled(host, caller.kind, slugOf(body.company, 'company'), entries, kept as string),
  });
}

/** Hex of SHA-256 of an acceptance code, as in the entry of the mandate. */
export const codeHash = (code: string): string => createHash('sha256').update(code).digest('hex');

function enrolled(
  host: PluginHost,
  kind: Kind,
  slug: string,
  entries: readonly AnsweredEntry[],
  acceptance_code: string,
): JsonObject {
  const entry = entries.find(({ statement }) => statement['type'] === MANDATE);
  if (entry === undefined) throw new Error('an enrollment has a mandate');
  const { statement, receipt } = entry;
  const mandate = statement as unknown as Mandate & { readonly tenant_ref: string };
  const { mandate_id, subject_key, valid_from_ms, valid_until_ms } = mandate;
  const entity = subject_key?.[1] ?? null;
  const terms = termsOf(carrierCatalog(host), { ...mandate, entity });
  return {
    ok: true,
    slug,
    mandate_id,
    entity,
    valid_from_ms,
    valid_until_ms,
    acceptance_code,
    bundle: bundleOf(host, kind, { slug, terms, statement }),
    receipt,
  };
}

/** The bundle of an enrollment or a renewal. */
export function bundleOf(
  host: PluginHost,
  kind: Kind,
  about: { readonly slug: string; readonly terms: JsonObject; readonly statement: JsonObject },
): JsonObject {
  const { slug, terms, statement } = about;
  const { mandate_id, terms_sha256, checkpoint_size, valid_from_ms } =
    statement as unknown as Mandate;
  const log = logOf(host, kind, statement['origin'] as string);
  const { origin, vkey } = log;
  const keys = log.receiptKeys().filter(({ since_index }) => since_index < checkpoint_size);
  return {
    schema: 'svc-carrier-pre-dispute-v1',
    mandate_id,
    slug,
    terms,
    terms_sha256,
    keys: keys.map(({ kid, jwk }) => ({ kid, jwk })),
    log: { origin, vkey },
    checkpoint: checkpoint_size === 0 ? null : log.checkpointAt(checkpoint_size),
    kit_url: host.url('/export/offline-verify-kit.json'),
    compliance_url: host.url(`/carrier/v1/insured/${slug}/compliance`),
    history_url: historyUrl(host, log, mandate_id, valid_from_ms),
  };
}
