// POST /api/v1/astl/publish and POST /api/v1/astl/heartbeat: declarations by the owner of an entity about its surfaces.
// gateway/API.md §9.1, §9.2, §14; log/FORMAT.md §4.

import { Type } from 'typebox';
import {
  ApiError,
  asSchema,
  Count,
  described,
  EntityName,
  entityOf,
  exactlyOne,
  Hex32,
  isInForce,
  Millis,
  receiptOf,
  route,
  runSince,
  SurfaceName,
  firstOf,
} from '../contract/index.ts';
import type {
  AnsweredEntry,
  Caller,
  Draft,
  JsonObject,
  PluginHost,
  Route,
} from '../contract/index.ts';
import { isSameManifest, manifestMembers, wantedManifest } from './manifest.ts';
import type { Presets } from './manifest.ts';
import { headHash, logOf, ManifestReceipt, ManifestSchema, membersOf } from './published.ts';

const MANIFEST = 'astl.manifest.v1';
const MAX_SURFACES = 256;

/** Heartbeat interval if neither the request nor the manifest states one. */
const DEFAULT_INTERVAL_MS = 60_000;
/** At most 366 days, so that the sum of a time and an interval stays a safe integer. */
const Interval = { ...Millis, minimum: 1, maximum: 366 * 86_400_000 };

const NyquistFloor = Type.Object({
  heartbeat_interval_ms: Type.Integer({ minimum: 1 }),
  shortest_detectable_gap_ms: Type.Integer({
    description:
      'Twice the interval. A shorter gap cannot be told from the time between two heartbeats.',
  }),
  min_detectable_gap_ms: Type.Union([Millis, Type.Null()]),
});

const ClaimMembers = Type.Object({ entity: EntityName, action: Type.Literal('claim') });

const PublishAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    surface_manifest_hash: Hex32,
    head_hash: { ...Hex32, description: 'Root of the log at size index + 1.' },
    index: Count,
    manifest: ManifestSchema,
    nyquist_floor: Type.Union([NyquistFloor, Type.Null()]),
    receipt: ManifestReceipt,
    claim: Type.Optional(
      described(
        receiptOf({ name: 'astl.entity.v1', schema: asSchema(ClaimMembers) }),
        'The receipt of the claim, if this request claimed the entity.',
      ),
    ),
  },
  { $id: 'ManifestPublished' },
);

/** Thrown if the manifest in force equals the one to be published. */
class SameManifest extends Error {
  readonly index: number;

  constructor(index: number) {
    super('the manifest is published already');
    this.index = index;
  }
}

/** Thrown if the owner of the entity changed between the request and the sequence point. */
class OwnerChanged extends Error {}

/** The routes that append. */
export function publishRoutes(host: PluginHost): readonly Route[] {
  const presets = (host.catalog('absence.json') as { readonly presets: unknown })
    .presets as Presets;
  const toll = host.toll('astl_publish');
  return [
    route({
      method: 'POST',
      path: '/api/v1/astl/publish',
      tag: 'astl',
      summary: 'Publish the attempt-surface manifest of an entity',
      description:
        'Claims the entity if it has no owner; afterwards only the owner can publish. Publishing the manifest in force ' +
        'again returns its existing entry. An empty list of surfaces withdraws all surfaces.',
      access: 'open',
      idempotent: true,
      body: Type.Object(
        {
          entity: EntityName,
          surfaces: Type.Optional(Type.Array(SurfaceName, { maxItems: MAX_SURFACES })),
          preset: Type.Optional(Type.Enum(Object.keys(presets))),
          valid_from_ms: Type.Optional(Millis),
          valid_until_ms: Type.Optional(Millis),
          heartbeat_interval_ms: Type.Optional(Interval),
          min_detectable_gap_ms: Type.Optional({ ...Millis, minimum: 2 }),
        },
        {
          $id: 'PublishRequest',
          ...exactlyOne('surfaces', 'preset'),
          dependentRequired: { min_detectable_gap_ms: ['heartbeat_interval_ms'] },
        },
      ),
      responses: { 200: { description: 'The manifest.', schema: PublishAnswer } },
      errors: ['tenant_forbidden', 'api_key_missing'],
      example: { entity: 'did:example:acme', preset: 'hiring', heartbeat_interval_ms: 60000 },
      async handle(ctx) {
        const { body, caller } = ctx.state;
        const log = host.log(caller.kind);
        const wanted = wantedManifest(body, presets, host.now());
        for (;;) {
          const owner = log.surfaces().owner(body.entity);
          checkOwner(owner, caller);
          const drafts: Draft[] = [
            {
              type: MANIFEST,
              members: (at) => manifestMembers(wanted, at.issued_at_ms),
              toll,
            },
          ];
          if (owner === null) drafts.unshift(claimOf(body.entity));
          try {
            await ctx.state.append(drafts, {
              check({ surfaces, now_ms }) {
                if (surfaces.owner(body.entity) !== owner) throw new OwnerChanged();
                const newest = surfaces.manifest(body.entity);
                if (owner !== null && newest !== null && isSameManifest(newest, wanted, now_ms)) {
                  throw new SameManifest(newest.index);
                }
              },
            });
            return;
          } catch (error) {
            if (error instanceof SameManifest) {
              await ctx.state.answerWith([error.index]);
              return;
            }
            if (!(error instanceof OwnerChanged)) throw error;
          }
        }
      },
      respond(entries, _disclosures, { caller }) {
        const published = entries.find(({ statement }) => statement['type'] === MANIFEST);
        if (published === undefined) throw new Error('a publish has a manifest');
        const claim = entries.find((entry) => entry !== published);
        return {
          ...publishAnswer(host, caller, published),
          ...(claim === undefined ? {} : { claim: claim.receipt }),
        };
      },
    }),
    heartbeatRoute(host),
  ];
}

function checkOwner(owner: string | null, caller: Caller): void {
  if (owner === null && caller.key_id === null) {
    throw new ApiError('api_key_missing', 'claiming an entity needs an API key');
  }
  if (owner !== null && (owner !== caller.tenant_ref || caller.key_id === null)) {
    throw new ApiError('tenant_forbidden', 'the entity belongs to another tenant', {
      param: 'entity',
    });
  }
}

const claimOf = (entity: string): Draft => ({
  type: 'astl.entity.v1',
  members: { entity, action: 'claim' },
});

function publishAnswer(
  host: PluginHost,
  caller: Caller,
  { index, statement, receipt }: AnsweredEntry,
): JsonObject {
  const manifest = membersOf(statement);
  return {
    ok: true,
    surface_manifest_hash: statement['surface_manifest_hash'] as string,
    head_hash: headHash(logOf(host, caller.kind, statement['origin']), index),
    index,
    manifest,
    nyquist_floor: floorOf(manifest),
    receipt,
  };
}

function floorOf({ heartbeat_interval_ms, min_detectable_gap_ms }: JsonObject): JsonObject | null {
  if (typeof heartbeat_interval_ms !== 'number') return null;
  return {
    heartbeat_interval_ms,
    shortest_detectable_gap_ms: 2 * heartbeat_interval_ms,
    min_detectable_gap_ms: min_detectable_gap_ms ?? null,
  };
}

const HeartbeatMembers = Type.Object({
  entity: EntityName,
  surface: SurfaceName,
  interval_ms: Millis,
  run_since_ms: { ...Millis, description: 'Start of the run, in which no heartbeat was late.' },
  acts_total: Type.Optional(Count),
});

const HeartbeatAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    heartbeat: Type.Object({
      ...HeartbeatMembers.properties,
      due_ms: {
        ...Millis,
        description: 'The latest time at which the next heartbeat continues the run.',
      },
    }),
    receipt: receiptOf({ name: 'astl.heartbeat.v1', schema: asSchema(HeartbeatMembers) }),
  },
  { $id: 'HeartbeatReceipt' },
);

function heartbeatRoute(host: PluginHost): Route {
  const toll = host.toll('heartbeat');
  return route({
    method: 'POST',
    path: '/api/v1/astl/heartbeat',
    tag: 'astl',
    summary: 'Heartbeat of an entity on a surface',
    description:
      'States that the recorder of the surface is running. The default interval is that of the manifest in force, or ' +
      '60000. `acts_total` is the number of acts on the surface since its recorder started.',
    access: 'key',
    idempotent: true,
    batch: true,
    body: Type.Object(
      {
        entity: Type.Optional({
          ...EntityName,
          description: 'The default is the only entity of the tenant.',
        }),
        surface: SurfaceName,
        interval_ms: Type.Optional(Interval),
        acts_total: Type.Optional({ ...Count, maximum: Number.MAX_SAFE_INTEGER }),
        event_at_ms: Type.Optional(Millis),
      },
      { $id: 'HeartbeatRequest' },
    ),
    responses: { 200: { description: 'The heartbeat.', schema: HeartbeatAnswer } },
    errors: ['tenant_forbidden'],
    example: { entity: 'did:example:acme', surface: 'policy_bind', acts_total: 12 },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { surface, acts_total, event_at_ms } = body;
      const entity = await entityOf(host.log(caller.kind), caller, body.entity);
      if (entity === undefined) {
        throw new ApiError(
          'parameter_missing',
          'entity is missing, and the tenant has claimed none',
          {
            param: 'entity',
          },
        );
      }
      await ctx.state.append([
        {
          type: 'astl.heartbeat.v1',
          members({ surfaces, issued_at_ms }) {
            const manifest = surfaces.manifest(entity);
            const promised =
              manifest !== null && isInForce(manifest, issued_at_ms)
                ? manifest.heartbeat_interval_ms
                : undefined;
            const interval_ms = body.interval_ms ?? promised ?? DEFAULT_INTERVAL_MS;
            const before = surfaces.heartbeat(entity, surface);
            return {
              entity,
              surface,
              interval_ms,
              run_since_ms: runSince(before, interval_ms, issued_at_ms),
              ...(acts_total === undefined ? {} : { acts_total }),
            };
          },
          toll,
          ...(event_at_ms === undefined ? {} : { event_at_ms }),
        },
      ]);
    },
    respond(entries) {
      const { statement, receipt, issued_at_ms } = firstOf(entries);
      const { acts_total } = statement;
      return {
        ok: true,
        heartbeat: {
          entity: statement['entity'],
          surface: statement['surface'],
          interval_ms: statement['interval_ms'],
          run_since_ms: statement['run_since_ms'],
          due_ms: issued_at_ms + (statement['interval_ms'] as number),
          ...(acts_total === undefined ? {} : { acts_total }),
        },
        receipt,
      };
    },
  });
}
