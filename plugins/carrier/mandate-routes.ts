// Routes by which the carrier lists, renews and ends mandates, and the insured accepts them. gateway/API.md §8.3.

import { timingSafeEqual } from 'node:crypto';
import { Type } from 'typebox';
import {
  ApiError,
  EntityName,
  EntryReceipt,
  listRoute,
  logOfPlace,
  Millis,
  Nullable,
  printDecimal,
  MICRO,
  receiptOf,
  route,
  firstOf,
} from '../contract/index.ts';
import type { Caller, JsonObject, PluginHost, Route } from '../contract/index.ts';
import { coveredSize, mandateOf } from './deciding.ts';
import { Bundle, bundleOf, codeHash } from './enroll.ts';
import {
  ACCEPTANCE,
  acceptanceType,
  CARRIER_ACT,
  carrierErrors,
  END,
  endType,
  RENEWAL,
  renewalType,
} from './entries.ts';
import { acceptedRow, ACTIONS, mandateAt, mandateRow, slugRow } from './mandates.ts';
import type { MandateRow, Renewal } from './mandates.ts';
import { appendCounted } from './overage.ts';
import { carrierCatalog, DAY_MS, termsHash, termsOf } from './rules.ts';

const Id = Type.String({ format: 'uuid' });
const DateTime = Type.String({ format: 'date-time' });
const rfc3339 = (ms: number): string => new Date(ms).toISOString();

/** The routes about mandates, except enrollment and checks. */
export const mandateRoutes = (host: PluginHost): readonly Route[] => [
  mandatesRoute(host),
  renewRoute(host),
  endRoute(host),
  acceptRoute(host),
];

const Listed = Type.Object(
  {
    mandate_id: Id,
    slug: Nullable(
      Type.String({ description: 'Null for the insured, and after its disclosure was erased.' }),
    ),
    entity: Nullable(EntityName),
    actions: Type.Array(Type.Enum([...ACTIONS])),
    limit_usd: Nullable(Type.String()),
    valid_until_ms: Millis,
    state: Type.Enum(['in_force', 'expired', 'ended']),
    accepted: Type.Boolean(),
    receipt: EntryReceipt,
  },
  { $id: 'CarrierMandate' },
);

/** A row of the list: its place and the mandate. */
interface Found {
  readonly place: string;
  readonly mandate_id: string;
}

function mandatesRoute(host: PluginHost): Route {
  return listRoute<Found>(host, {
    path: '/carrier/v1/insured',
    tag: 'carrier',
    summary: 'List the mandates of a carrier or of an insured',
    description:
      'A carrier gets the newest mandate of each slug. A key of the role `insured` gets the mandates that its tenant ' +
      'accepted.',
    access: { roles: ['carrier', 'insured'] },
    errors: ['role_forbidden'],
    $id: 'CarrierMandates',
    row: Listed,
    places: '^[0-9a-f-]{36,64}$',
    async find({ caller }, { after, limit }) {
      const { kind, tenant_ref, role } = caller;
      const isInsured = role === 'insured';
      const prefix = isInsured ? acceptedRow(tenant_ref, '') : slugRow(tenant_ref, '');
      const from = after === undefined ? {} : { after: `${prefix}${after}` };
      const rows = await host.log(kind).rows(prefix, { limit, ...from });
      return rows.map(([name, value]) => {
        const place = name.slice(prefix.length);
        return { place, mandate_id: isInsured ? place : (value as string) };
      });
    },
    placeOf: ({ place }) => place,
    shown({ mandate_id }, { caller }) {
      const row = host.log(caller.kind).row(mandateRow(mandate_id));
      return listed(host, caller, row as unknown as MandateRow);
    },
  });
}

async function listed(host: PluginHost, caller: Caller, row: MandateRow): Promise<JsonObject> {
  const { mandate_id, entity, actions = ACTIONS, limit_micro_usd, valid_until_ms } = row;
  const newest = host.log(caller.kind);
  const log = logOfPlace(host.logs(caller.kind), newest, row) ?? newest;
  const disclosures = caller.role === 'insured' ? {} : await host.disclosed(caller, mandate_id);
  const isExpired = host.now() >= valid_until_ms;
  return {
    mandate_id,
    slug: disclosures['slug']?.value ?? null,
    entity,
    actions: [...actions],
    limit_usd: limit_micro_usd === undefined ? null : printDecimal(BigInt(limit_micro_usd), MICRO),
    valid_until_ms,
    state: row.end !== undefined ? 'ended' : isExpired ? 'expired' : 'in_force',
    accepted: row.acceptance !== undefined,
    receipt: log.receipt(row.index),
  };
}

/** The mandate of a row; refuses if there is none or if it has ended. */
function unended(row: MandateRow | undefined, param: string): MandateRow {
  if (row === undefined) {
    throw new ApiError('resource_missing', 'there is no such mandate', { param });
  }
  if (row.end === undefined) return row;
  throw new ApiError(carrierErrors.mandate_ended, `entry ${row.end.entry_id} ended the mandate`, {
    param,
  });
}

const slugParams = (host: PluginHost) =>
  Type.Object({ slug: Type.String({ minLength: 1, maxLength: host.limits.string_chars }) });

const NEEDS_SLUG = 'The example needs the slug of a mandate in the path.';

function renewRoute(host: PluginHost): Route {
  const catalog = carrierCatalog(host);
  const days = String(catalog.mandate_term_days);
  return route({
    ...CARRIER_ACT,
    path: '/carrier/v1/insured/{slug}/renew',
    summary: 'Renew a mandate',
    description: `Extends the mandate with its terms to a later time, under the present rules. It stays accepted. ${NEEDS_SLUG}`,
    params: slugParams(host),
    body: Type.Object(
      {
        valid_until_ms: Type.Optional({
          ...Millis,
          description: `Must be later than the present end. The default is ${days} days after that, or after now if the mandate has expired.`,
        }),
      },
      { $id: 'CarrierRenewRequest' },
    ),
    bodyRequired: false,
    responses: {
      200: {
        description: 'The renewal and the bundle of its terms.',
        schema: Type.Object(
          {
            ok: Type.Literal(true),
            slug: Type.String(),
            mandate_id: Id,
            valid_from_ms: Millis,
            valid_until_ms: Millis,
            bundle: Bundle,
            receipt: receiptOf(renewalType),
          },
          { $id: 'CarrierRenewed' },
        ),
      },
    },
    errors: ['role_forbidden', 'resource_missing', carrierErrors.mandate_ended],
    example: {},
    async handle(ctx) {
      const { params, body, caller } = ctx.state;
      const newest = mandateOf(host, caller, params.slug);
      const checkpoint_size = await coveredSize(host.log(caller.kind));
      const untilOf = (row: MandateRow, now_ms: number): number =>
        body.valid_until_ms ??
        Math.max(now_ms, row.valid_until_ms) + catalog.mandate_term_days * DAY_MS;
      await appendCounted(host, caller, ({ toll, confirm, members: counted }) =>
        ctx.state.append(
          [
            {
              type: RENEWAL,
              ...toll,
              members({ rows, issued_at_ms: valid_from_ms }) {
                const row = unended(newest(rows), 'slug');
                const valid_until_ms = untilOf(row, valid_from_ms);
                const terms = termsOf(catalog, { ...row, valid_from_ms, valid_until_ms });
                return {
                  ...{ mandate_id: row.mandate_id, valid_from_ms, valid_until_ms },
                  terms_version: catalog.terms_version,
                  terms_sha256: termsHash(terms),
                  checkpoint_size,
                  ...counted(rows, valid_from_ms),
                };
              },
            },
          ],
          {
            check({ rows, now_ms }) {
              const row = unended(newest(rows), 'slug');
              if (untilOf(row, now_ms) <= Math.max(now_ms, row.valid_until_ms)) {
                const rule = `must be later than ${String(Math.max(now_ms, row.valid_until_ms))}`;
                throw new ApiError('parameter_invalid', `valid_until_ms ${rule}`, {
                  param: 'valid_until_ms',
                });
              }
              confirm(rows, now_ms);
            },
          },
        ),
      );
    },
    respond(entries, _disclosures, { params: { slug }, caller }) {
      const { statement, receipt } = firstOf(entries);
      const { mandate_id, valid_from_ms, valid_until_ms } = statement as unknown as Renewal;
      const row = host.log(caller.kind).row(mandateRow(mandate_id)) as unknown as MandateRow;
      const terms = termsOf(catalog, { ...row, valid_from_ms, valid_until_ms });
      const bundle = bundleOf(host, caller.kind, { slug, terms, statement });
      return { ok: true, slug, mandate_id, valid_from_ms, valid_until_ms, bundle, receipt };
    },
  });
}

function endRoute(host: PluginHost): Route {
  return route({
    ...CARRIER_ACT,
    path: '/carrier/v1/insured/{slug}/end',
    summary: 'End a mandate',
    description: `A mandate can be ended once. Every later check is BLOCK, and the slug can be enrolled again. ${NEEDS_SLUG}`,
    params: slugParams(host),
    body: Type.Object(
      {
        reason: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: host.limits.message_bytes,
            description: 'The entry commits to it.',
          }),
        ),
      },
      { $id: 'CarrierEndRequest' },
    ),
    bodyRequired: false,
    responses: {
      200: {
        description: 'The end.',
        schema: Type.Object(
          {
            ok: Type.Literal(true),
            slug: Type.String(),
            mandate_id: Id,
            ended_at: DateTime,
            receipt: receiptOf(endType),
          },
          { $id: 'CarrierEnded' },
        ),
      },
    },
    errors: ['role_forbidden', 'resource_missing', carrierErrors.mandate_ended],
    example: { reason: 'the policy was cancelled' },
    async handle(ctx) {
      const { params, body, caller } = ctx.state;
      const newest = mandateOf(host, caller, params.slug);
      const { reason } = body;
      await ctx.state.append(
        [
          {
            type: END,
            members: ({ rows }) => ({ mandate_id: unended(newest(rows), 'slug').mandate_id }),
            ...(reason === undefined ? {} : { private: { reason } }),
          },
        ],
        {
          check({ rows }) {
            unended(newest(rows), 'slug');
          },
        },
      );
    },
    respond(entries, _disclosures, { params: { slug } }) {
      const { statement, receipt, issued_at_ms } = firstOf(entries);
      const { mandate_id } = statement;
      return { ok: true, slug, mandate_id, ended_at: rfc3339(issued_at_ms), receipt };
    },
  });
}

function acceptRoute(host: PluginHost): Route {
  return route({
    ...CARRIER_ACT,
    path: '/carrier/v1/mandates/accept',
    summary: 'Accept a mandate as the insured',
    description:
      'A mandate can be accepted once, with the acceptance_code of its enrollment. Keys of the role `insured` of the ' +
      'accepting tenant can then read the mandate. The example needs the mandate_id and the acceptance_code of an ' +
      'enrollment.',
    access: { roles: ['carrier', 'insured'] },
    body: Type.Object(
      {
        mandate_id: Type.String({ maxLength: host.limits.string_chars }),
        acceptance_code: Type.String({ maxLength: host.limits.string_chars }),
      },
      { $id: 'CarrierAcceptRequest' },
    ),
    responses: {
      200: {
        description: 'The acceptance.',
        schema: Type.Object(
          {
            ok: Type.Literal(true),
            mandate_id: Id,
            accepted_at: DateTime,
            receipt: receiptOf(acceptanceType),
          },
          { $id: 'CarrierAccepted' },
        ),
      },
    },
    errors: [
      ...(['role_forbidden', 'resource_missing'] as const),
      ...[carrierErrors.acceptance_code_invalid, carrierErrors.mandate_accepted],
      carrierErrors.mandate_ended,
    ],
    example: {
      mandate_id: '01890a5d-ac96-774b-bcce-b302099a8057',
      acceptance_code: 'AAAAAAAAAAAAAAAAAAAAAA',
    },
    async handle(ctx) {
      const { acceptance_code } = ctx.state.body;
      const mandate_id = ctx.state.body.mandate_id.toLowerCase();
      const given = Buffer.from(codeHash(acceptance_code));
      await ctx.state.append([{ type: ACCEPTANCE, members: { mandate_id } }], {
        check({ rows }) {
          const row = mandateAt(rows, mandate_id);
          // A mandate of an earlier release has no code and cannot be accepted.
          const code = Buffer.from(row?.acceptance_sha256 ?? '0'.repeat(given.length));
          const isRight = timingSafeEqual(given, code);
          if (row !== undefined && !isRight) {
            throw new ApiError(
              carrierErrors.acceptance_code_invalid,
              'acceptance_code is not that of the enrollment',
              { param: 'acceptance_code' },
            );
          }
          const { acceptance } = unended(row, 'mandate_id');
          if (acceptance === undefined) return;
          throw new ApiError(
            carrierErrors.mandate_accepted,
            `entry ${acceptance.entry_id} accepted the mandate`,
            { param: 'mandate_id' },
          );
        },
      });
    },
    respond(entries) {
      const { statement, receipt, issued_at_ms } = firstOf(entries);
      const { mandate_id } = statement;
      return { ok: true, mandate_id, accepted_at: rfc3339(issued_at_ms), receipt };
    },
  });
}
