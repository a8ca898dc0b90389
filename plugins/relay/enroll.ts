// POST /api/v1/relay/enroll. gateway/API.md §14. A slug is one tenant's; one that was
// taken without a key yields to a tenant with one, so that a caller without a key cannot block a partner's name.

import { Type } from 'typebox';
import { answerWithPlace, ApiError, receiptOf, route, slugOf } from '../contract/index.ts';
import type { Json, PluginHost, Route } from '../contract/index.ts';
import { PARTNER, partnerRow, partnerType, Slug } from './entries.ts';
import type { PartnerRow } from './entries.ts';
import type { Links } from './links.ts';

/** Schema of a tracked link. */
export const TrackedLinkSchema = Type.Object(
  {
    target: Type.String(),
    path: Type.String(),
    url: Type.String({ format: 'uri' }),
    visits: Type.Integer({ minimum: 0 }),
  },
  { $id: 'TrackedLink' },
);

const { visits: _, ...withoutVisits } = TrackedLinkSchema.properties;

const Enrolled = Type.Object(
  {
    ok: Type.Literal(true),
    slug: Slug,
    status_url: Type.String({ format: 'uri' }),
    links: Type.Array(Type.Object(withoutVisits)),
    receipt: receiptOf(partnerType),
  },
  { $id: 'RelayEnrolled' },
);

/** Thrown if the tenant already has the slug and the request has no new contact. */
class AlreadyEnrolled extends Error {
  readonly row: PartnerRow;

  constructor(row: PartnerRow) {
    super('the tenant has this slug already');
    this.row = row;
  }
}

/** The route of enrollment. */
export function enrollRoute(host: PluginHost, links: Links): Route {
  const { limits } = host;
  const Text = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return route({
    method: 'POST',
    path: '/api/v1/relay/enroll',
    tag: 'relay',
    summary: 'Enroll a partner and get its tracked links',
    description:
      'The slug is the kebab-case form of the name and is public; name and contact are commitments. Enrolling again ' +
      'returns the existing entry, except that a new contact is logged.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      { partner: Text, contact: Type.Optional(Text) },
      { $id: 'RelayEnrollRequest' },
    ),
    responses: { 200: { description: 'The slug and its links.', schema: Enrolled } },
    errors: ['tenant_forbidden'],
    example: { partner: 'Acme Brokers', contact: 'renewals@acme.example' },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { partner, contact } = body;
      const slug = slugOf(partner, 'partner');
      const { tenant_ref } = caller;
      const hidden: Record<string, Json> = { partner };
      if (contact !== undefined) hidden['contact'] = contact;
      const draft = {
        type: PARTNER,
        members: (at: {
          readonly rows: { get(key: string): unknown };
          readonly issued_at_ms: number;
        }) => {
          const row = at.rows.get(partnerRow(slug)) as PartnerRow | undefined;
          const mine = row?.tenant_ref === tenant_ref;
          const enrolled_at_ms = mine ? row.enrolled_at_ms : at.issued_at_ms;
          return { slug, anonymous: caller.key_id === null, enrolled_at_ms };
        },
        private: hidden,
      };
      try {
        await ctx.state.append([draft], {
          check({ rows }) {
            const row = rows.get(partnerRow(slug)) as unknown as PartnerRow | undefined;
            if (row === undefined) return;
            if (row.tenant_ref === tenant_ref) {
              if (contact === undefined) throw new AlreadyEnrolled(row);
              return;
            }
            if (row.anonymous && caller.key_id !== null) return;
            throw new ApiError('tenant_forbidden', `the slug ${slug} belongs to another tenant`, {
              param: 'partner',
            });
          },
        });
      } catch (error) {
        if (!(error instanceof AlreadyEnrolled)) throw error;
        await answerWithPlace(ctx, error.row);
      }
    },
    respond([entry], _disclosures, { caller }) {
      if (entry === undefined) throw new Error('an enrollment has one entry');
      const slug = entry.statement['slug'] as string;
      return {
        ok: true,
        slug,
        status_url: links.statusUrl(caller.kind, slug),
        links: links.of(caller.kind, slug).map(({ target, path, url }) => ({ target, path, url })),
        receipt: entry.receipt,
      };
    },
  });
}
