// Listings on the index: POST and GET /api/v1/issuer-pays/listings. gateway/API.md §15.1.
//
// The slug and the domain of an issuer are public; its name and contact are commitments. While a listing is in force,
// its slug belongs to one tenant. Listings in force are carried into the successor of a closed log.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  answerWithPlace,
  ApiError,
  asSchema,
  carriedKind,
  carriedType,
  eachRow,
  endedMs,
  EntryId,
  kindOf,
  listRoute,
  LogName,
  Millis,
  receiptOf,
  route,
  SafeCount,
  sentenceOf,
  shortName,
  SLUG,
  slugOf,
  firstOf,
} from '../contract/index.ts';
import type {
  CarriedPlace,
  Carry,
  EntryType,
  JsonObject,
  Kind,
  LogView,
  PluginHost,
  Route,
} from '../contract/index.ts';

/** Name of the entry type of a listing. */
const LISTING = 'issuer-pays.listing.v1';
/** How long a listing is in force. */
const YEAR_MS = 365 * 86_400_000;

const Slug = Type.String({
  pattern: SLUG,
  maxLength: 64,
  description: 'Kebab form of the name.',
});
/** A label of a DNS name (RFC 1035 §2.3.1) in lower case. */
const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const Domain = Type.String({
  pattern: `^(${LABEL}\\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`,
  maxLength: 253,
  description: 'Where the issuer publishes its keys: a name of the DNS in lower case.',
});

const ListingMembers = Type.Object(
  {
    slug: Slug,
    domain: Domain,
    /** Price in the catalog. It is not a toll and is not metered. */
    price_micro_usd: SafeCount,
    valid_until_ms: Millis,
  },
  { additionalProperties: false },
);

type Listing = Static<typeof ListingMembers>;

/** Row of a listing. */
interface ListingRow extends Listing, CarriedPlace {
  readonly entry_id: string;
  readonly tenant_ref: string;
  readonly listed_at_ms: number;
}

/** Prefix of the rows of listings, relative to the plugin. */
const LISTINGS = 'listing/';
const listingRow = (slug: string): string => `issuer-pays/${LISTINGS}${slug}`;
const asRow = (row: ListingRow): JsonObject => row as unknown as JsonObject;

/** `issuer-pays.listing.v1`. */
export const listingType: EntryType = {
  name: LISTING,
  schema: asSchema(ListingMembers),
  keys: [['issuer-pays.listing', 'slug']],
  sentence: sentenceOf<Listing>(
    ({ slug, domain }) =>
      `The issuer ${shortName(slug, 64)} was listed on the index with the domain ${shortName(domain)}.`,
  ),
  project({ index, entry_id, issued_at_ms, statement }, rows) {
    const { slug, domain, price_micro_usd, valid_until_ms } = statement as unknown as Listing;
    const tenant_ref = statement['tenant_ref'] as string;
    const listing = { slug, domain, price_micro_usd, valid_until_ms };
    const place = { index, entry_id, tenant_ref, listed_at_ms: issued_at_ms };
    rows.put(listingRow(slug), asRow({ ...listing, ...place }));
  },
};

const CarriedListing = Type.Object(
  { ...ListingMembers.properties, entry_id: EntryId, listed_at_ms: Millis },
  { additionalProperties: false },
);

/** `issuer-pays.carried.v1`. */
export const carried = carriedType('issuer-pays', {
  listing: carriedKind(CarriedListing, ({ value, tenant_ref, rests_on }, rows) => {
    const { index, log_number } = rests_on;
    rows.put(listingRow(value.slug), asRow({ ...value, tenant_ref, index, log_number }));
  }),
});

/** The `carry` hook: the listings that were in force when the log ended. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  for await (const [row, found] of eachRow(closed, LISTINGS)) {
    const { tenant_ref, index, log_number, ...value } = found as unknown as ListingRow;
    if (value.valid_until_ms <= endedMs(closed)) continue;
    yield { what: 'listing', row, tenant_ref, value, index, log_number };
  }
}

/** A listing in answers. It has no grade, because it names no entry to which the criteria could be applied. */
export const ListingShown = Type.Object(
  {
    issuer: Slug,
    domain: Domain,
    listed_at_ms: Millis,
    valid_until_ms: Millis,
    entry_id: Type.String({ format: 'uuid' }),
    verify_url: Type.String({ format: 'uri' }),
    grade: Type.Null({ description: 'A listing is not assessed, and a payment buys no grade.' }),
    grade_basis: Type.Literal('not assessed'),
  },
  { $id: 'IssuerListing' },
);

const shown = (host: PluginHost, kind: Kind, listing: ListingRow): Static<typeof ListingShown> => {
  const { slug, domain, listed_at_ms, valid_until_ms, entry_id } = listing;
  const log = kind === 'sandbox' ? '&log=sandbox' : '';
  return {
    ...{ issuer: slug, domain, listed_at_ms, valid_until_ms, entry_id },
    verify_url: host.url(`/verify?entry_id=${entry_id}${log}`),
    ...{ grade: null, grade_basis: 'not assessed' },
  };
};

/** Up to `limit` listings in force, by slug, beginning after `after`. */
async function inForce(
  host: PluginHost,
  kind: Kind,
  { after = '', limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<readonly ListingRow[]> {
  const found: ListingRow[] = [];
  for await (const [, row] of eachRow(host.log(kind), LISTINGS)) {
    const listing = row as unknown as ListingRow; // this plugin's own projection wrote it
    if (listing.slug <= after || listing.valid_until_ms <= host.now()) continue;
    found.push(listing);
    if (found.length >= limit) break;
  }
  return found;
}

/** The first page of the listings in force, with the largest page size. */
export async function firstListings(host: PluginHost, kind: Kind) {
  const found = await inForce(host, kind, { limit: host.limits.page_max });
  return found.map((listing) => shown(host, kind, listing));
}

/** Thrown if the tenant already has an equal listing in force. */
class AlreadyListed extends Error {
  readonly row: ListingRow;

  constructor(row: ListingRow) {
    super('the tenant has this listing already');
    this.row = row;
  }
}

const ListAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    listing_id: Type.String({ format: 'uuid' }),
    issuer: Slug,
    domain: Domain,
    price_usd: Type.Number({
      description: 'Price in the catalog. It is not metered; the operator bills it.',
    }),
    valid_until_ms: Millis,
    scoreboard_url: Type.String({ format: 'uri' }),
    does_not_assert: Type.Array(Type.String()),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(listingType),
  },
  { $id: 'IssuerListed' },
);

const DOES_NOT_ASSERT = [
  'that the issuer controls the domain',
  'that the issuer was assessed: a payment buys a listing, never a grade',
];

/** The routes of listings. */
export function listingRoutes(host: PluginHost): readonly Route[] {
  return [listingRoute(host), listingsRoute(host)];
}

function listingRoute(host: PluginHost): Route {
  const { tiers } = host.catalog('issuer-pays.json') as unknown as {
    readonly tiers: { readonly vendor_listing_annual_usd: number };
  };
  const price_micro_usd = tiers.vendor_listing_annual_usd * 1_000_000;
  const Text = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return route({
    method: 'POST',
    path: '/api/v1/issuer-pays/listings',
    tag: 'issuer-pays',
    summary: 'List an issuer on the index for a year',
    description:
      'The slug of the name and the domain are public; name and contact are commitments. Repeating a listing returns ' +
      'its existing entry; with another domain or with a contact it is renewed. The price is that of the catalog.',
    access: 'key',
    idempotent: true,
    body: Type.Object(
      { issuer: Text, domain: Domain, contact: Type.Optional(Text) },
      { $id: 'IssuerListingRequest' },
    ),
    responses: { 200: { description: 'The listing.', schema: ListAnswer } },
    errors: ['tenant_forbidden'],
    example: { issuer: 'Acme Receipts', domain: 'receipts.acme.example' },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { issuer, domain, contact } = body;
      const slug = slugOf(issuer, 'issuer');
      const draft = {
        type: LISTING,
        members: ({ issued_at_ms }: { readonly issued_at_ms: number }) => ({
          ...{ slug, domain, price_micro_usd },
          valid_until_ms: issued_at_ms + YEAR_MS,
        }),
        private: { issuer, ...(contact === undefined ? {} : { contact }) },
      };
      try {
        await ctx.state.append([draft], {
          check({ rows, now_ms }) {
            const row = rows.get(listingRow(slug)) as unknown as ListingRow | undefined;
            if (row === undefined || row.valid_until_ms <= now_ms) return;
            if (row.tenant_ref !== caller.tenant_ref) {
              const message = `${slug} is listed by another tenant`;
              throw new ApiError('tenant_forbidden', message, { param: 'issuer' });
            }
            if (row.domain === domain && contact === undefined) throw new AlreadyListed(row);
          },
        });
      } catch (error) {
        if (!(error instanceof AlreadyListed)) throw error;
        await answerWithPlace(ctx, error.row);
      }
    },
    respond(entries) {
      const { entry_id, statement, receipt } = firstOf(entries);
      const { slug, domain, price_micro_usd: price, valid_until_ms } = statement;
      return {
        ok: true,
        ...{ listing_id: entry_id, issuer: slug, domain, valid_until_ms },
        price_usd: Number(price) / 1_000_000,
        scoreboard_url: host.url('/standards/issuer-pays-scoreboard.json'),
        does_not_assert: DOES_NOT_ASSERT,
        verify_url: receipt.verify_url,
        receipt,
      };
    },
  });
}

function listingsRoute(host: PluginHost): Route {
  const query = { log: LogName };
  return listRoute<ListingRow, typeof query>(host, {
    path: '/api/v1/issuer-pays/listings',
    tag: 'issuer-pays',
    summary: 'The listings in force',
    access: 'read',
    query,
    ...{ $id: 'IssuerListings', row: ListingShown, rows: 'By slug.' },
    places: SLUG,
    find: ({ query: { log }, caller }, page) => inForce(host, kindOf(log, caller), page),
    placeOf: ({ slug }) => slug,
    shown: (listing, { query: { log }, caller }) => shown(host, kindOf(log, caller), listing),
  });
}
