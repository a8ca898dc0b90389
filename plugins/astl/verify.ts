// GET and POST /api/v1/astl/verify: checks a published manifest by its hash, or a given manifest or receipt.
// gateway/API.md §10.1, §14; log/FORMAT.md §4.

import { Type } from 'typebox';
import {
  ApiError,
  atLeastOne,
  Count,
  Hex32,
  isLogError,
  kindsOf,
  LogOfEntry,
  manifestHash,
  native,
  route,
  trustedKeyOf,
  verifyReceipt,
} from '../contract/index.ts';
import type { JsonObject, Kind, PluginHost, Route } from '../contract/index.ts';
import { byHash, ManifestSchema, membersOf, shownManifest } from './published.ts';
import type { Found } from './published.ts';

const Checked = Type.Object(
  {
    valid: Type.Boolean({ description: 'True if no check failed and the manifest is in the log.' }),
    found: Type.Boolean(),
    surface_manifest_hash: Type.Union([Hex32, Type.Null()]),
    index: Type.Union([Count, Type.Null()]),
    head_hash: Type.Union([Hex32, Type.Null()]),
    in_force: Type.Union([Type.Boolean(), Type.Null()]),
    superseded_by: Type.Union([Hex32, Type.Null()]),
    checks: Type.Array(
      Type.Object({
        name: Type.String(),
        outcome: Type.Enum(['ok', 'failed', 'not_shown']),
        detail: Type.String(),
      }),
    ),
    ignored_members: Type.Array(Type.String(), {
      description: 'Members of the manifest that its hash does not cover.',
    }),
  },
  { $id: 'ManifestChecked' },
);

/** The members of a manifest that its hash covers and that each manifest has. */
const NEEDED = ManifestSchema.required.filter((name) => name !== 'surface_manifest_hash');

interface Check {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'not_shown';
  readonly detail: string;
}

/** The routes that verify. */
export function verifyRoutes(host: PluginHost): readonly Route[] {
  const shared = {
    path: '/api/v1/astl/verify',
    tag: 'astl',
    access: 'read',
    budget: 'read',
    responses: { 200: { description: 'Each check and its outcome.', schema: Checked } },
  } as const;
  return [
    route({
      ...shared,
      method: 'GET',
      summary: 'Verify a published manifest by its hash',
      query: Type.Object({ surface_manifest_hash: Hex32, log: LogOfEntry }),
      errors: ['log_unavailable'],
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const kinds = kindsOf(query.log, caller);
        ctx.set('Cache-Control', 'no-store');
        ctx.body = await checked(host, kinds, query.surface_manifest_hash, []);
      },
    }),
    route({
      ...shared,
      method: 'POST',
      summary: 'Verify a manifest, or the receipt of one',
      description:
        'A body with `signature` is treated as a receipt. Any other body is treated as a manifest, whose hash is ' +
        'computed and looked up. The example needs the same manifest, published by POST /api/v1/astl/publish.',
      query: Type.Object({ log: LogOfEntry }),
      body: Type.Object({}, { $id: 'ManifestOrReceipt', ...atLeastOne(NEEDED, 'signature') }),
      errors: ['log_unavailable'],
      example: {
        entity: 'did:example:acme',
        surfaces: ['policy_bind'],
        valid_from_ms: 1790000000000,
      },
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const body = ctx.state.body as JsonObject;
        const kinds = kindsOf(query.log, caller);
        ctx.body =
          body['signature'] === undefined
            ? await checkedManifest(host, kinds, body)
            : await checkedReceipt(host, kinds, body);
      },
    }),
  ];
}

async function checkedManifest(
  host: PluginHost,
  kinds: readonly Kind[],
  body: JsonObject,
): Promise<JsonObject> {
  const computed = hashOf(body);
  const claimed = body['surface_manifest_hash'];
  const check: Check =
    claimed === undefined
      ? { name: 'claimed_hash', outcome: 'not_shown', detail: 'the manifest states no hash' }
      : claimed === computed
        ? { name: 'claimed_hash', outcome: 'ok', detail: 'the hash is that of the manifest' }
        : { name: 'claimed_hash', outcome: 'failed', detail: `the manifest hashes to ${computed}` };
  const known = Object.keys(ManifestSchema.properties);
  const ignored = Object.keys(body).filter((name) => !known.includes(name));
  return checked(host, kinds, computed, [check], ignored);
}

/** The hash of a manifest; `parameter_invalid` if it has no canonical form. */
function hashOf(body: JsonObject): string {
  try {
    return manifestHash(native, body);
  } catch (cause) {
    if (!isLogError(cause)) throw cause;
    throw new ApiError('parameter_invalid', `the manifest is invalid: ${cause.message}`, { cause });
  }
}

async function checkedReceipt(
  host: PluginHost,
  kinds: readonly Kind[],
  receipt: JsonObject,
): Promise<JsonObject> {
  const { type, surface_manifest_hash: hash } = receipt;
  const isManifest = type === 'astl.manifest.v1' && typeof hash === 'string';
  const log = kinds
    .flatMap((kind) => host.logs(kind))
    .find(({ origin }) => origin === receipt['origin']);
  const checks: Check[] = [
    isManifest
      ? { name: 'type', outcome: 'ok', detail: 'the receipt is of a manifest' }
      : { name: 'type', outcome: 'failed', detail: 'the receipt is not of a manifest' },
  ];
  if (log === undefined) {
    checks.push({ name: 'origin', outcome: 'failed', detail: 'this service has no such log' });
  } else {
    const keys = log.receiptKeys().map(trustedKeyOf);
    const { origin, vkey } = log;
    const result = verifyReceipt(receipt, { origin, vkey, keys }, { suite: native });
    checks.push(...result.checks.map(({ name, outcome, detail }) => ({ name, outcome, detail })));
  }
  return checked(host, kinds, isManifest ? hash : null, checks, []);
}

/** Looks a hash up and checks the manifest that the log has for it. */
async function checked(
  host: PluginHost,
  kinds: readonly Kind[],
  hash: string | null,
  before: readonly Check[],
  ignored_members: readonly string[] = [],
): Promise<JsonObject> {
  const found = hash === null ? null : byHash(host, kinds, hash);
  if (found === null) {
    const detail = 'the log has no manifest with this hash';
    return answerOf(hash, [...before, { name: 'in_log', outcome: 'failed', detail }], {
      ...{ found: false, index: null, head_hash: null, in_force: null, superseded_by: null },
      ignored_members,
    });
  }
  const shown = await shownManifest(host, found);
  const { index, head_hash, in_force, superseded_by } = shown;
  const detail = `entry ${String(found.index)} of ${found.log.origin}`;
  const checks: Check[] = [
    ...before,
    { name: 'in_log', outcome: 'ok', detail },
    ...entryChecks(found, shown),
  ];
  const members = { found: true, index, head_hash, in_force, superseded_by, ignored_members };
  return answerOf(hash, checks, members);
}

function entryChecks(found: Found, shown: JsonObject): Check[] {
  const { log } = found;
  const receipt = shown['receipt'] as JsonObject;
  const proof = shown['proof'] as JsonObject;
  const place = { checkpoint: proof['checkpoint'], inclusion_proof: proof['inclusion'] };
  const { origin, vkey } = log;
  const { checks } = verifyReceipt(
    JSON.parse(
      JSON.stringify({ ...receipt, log: { ...(receipt['log'] as JsonObject), ...place } }),
    ) as JsonObject,
    { origin, vkey, keys: log.receiptKeys().map(trustedKeyOf) },
    { suite: native },
  );
  const computed = manifestHash(native, membersOf(receipt));
  const same = computed === receipt['surface_manifest_hash'];
  return [
    {
      name: 'surface_manifest_hash',
      outcome: same ? 'ok' : 'failed',
      detail: same ? 'computed again from the entry' : `the entry hashes to ${computed}`,
    },
    ...checks.map(({ name, outcome, detail }) => ({ name: `entry_${name}`, outcome, detail })),
  ];
}

function answerOf(hash: string | null, checks: readonly Check[], rest: object): JsonObject {
  const valid = checks.every(({ outcome }) => outcome !== 'failed');
  return { valid, surface_manifest_hash: hash, checks, ...rest } as unknown as JsonObject;
}
