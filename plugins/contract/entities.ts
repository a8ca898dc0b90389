// The entity of a request, and whether a surface of it is declared. log/FORMAT.md §4; gateway/API.md §9.1.

import { Type } from 'typebox';
import { isInForce } from '../../log/index.ts';
import type { SurfaceReader } from '../../log/index.ts';
import { ApiError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { Caller } from './route.ts';
import { EntityName } from './schemas.ts';

/** What the entities begin with that an enrollment makes for an insured (gateway/API.md §8.3). */
export const INSURED_ENTITY = 'insured:';
/** Sorts behind every name that begins so: names of entities end at `z`. */
const BEHIND_INSURED = `${INSURED_ENTITY}~`;

/**
 * Up to two of the entities that a tenant claimed for itself, in the order of their names. Those of its insured do
 * not count: they are never the default of a request.
 */
export async function ownEntities(log: LogView, tenant_ref: string): Promise<readonly string[]> {
  const first = await log.entitiesOf(tenant_ref, 2);
  const own = first.filter((entity) => !entity.startsWith(INSURED_ENTITY));
  if (own.length === first.length) return own;
  return [...own, ...(await log.entitiesOf(tenant_ref, 2, BEHIND_INSURED))].slice(0, 2);
}

/**
 * The entity of a request: the one it names, else the only one of its tenant. Without a claim there is
 * none; with several the request must say which.
 *
 * @throws ApiError `parameter_missing`
 */
export async function entityOf(
  log: LogView,
  caller: Caller,
  named: string | undefined,
): Promise<string | undefined> {
  if (named !== undefined || caller.key_id === null) return named;
  const [only, another] = await ownEntities(log, caller.tenant_ref);
  if (another === undefined) return only;
  throw new ApiError('parameter_missing', 'entity is missing, and the tenant has several', {
    param: 'entity',
  });
}

/** The member `entity` of an act that can be an attempt; see `actingEntity`. */
export const ActEntity = Type.Optional(
  Type.Union([EntityName, Type.Null()], {
    description:
      'The only entity of the tenant unless given. A tenant with several must name one; null says that the act ' +
      'belongs to none.',
  }),
);

/**
 * The entity of an act that can be an attempt: the one that the request names, none where it says null, else the only
 * one of the tenant.
 *
 * @throws ApiError `parameter_missing` where the tenant has several, and for a surface without an entity
 */
export async function actingEntity(
  log: LogView,
  caller: Caller,
  { entity, surface }: { readonly entity?: string | null; readonly surface?: string },
): Promise<string | undefined> {
  const acting = entity === null ? undefined : await entityOf(log, caller, entity);
  if (acting !== undefined || surface === undefined) return acting;
  throw new ApiError('parameter_missing', 'a surface needs its entity', { param: 'entity' });
}

/** Whether the manifest in force at this time lists the surface. */
export function isDeclared(
  surfaces: SurfaceReader,
  entity: string,
  surface: string,
  at_ms: number,
): boolean {
  const manifest = surfaces.manifest(entity);
  return manifest !== null && isInForce(manifest, at_ms) && manifest.surfaces.includes(surface);
}
