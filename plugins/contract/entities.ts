// Which entity a request acts for, and whether a surface of it is declared. log/FORMAT.md §4; gateway/API.md §9.1.

import { Type } from 'typebox';
import { isInForce } from '../../log/index.ts';
import type { SurfaceReader } from '../../log/index.ts';
import { ApiError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { Caller } from './route.ts';
import { EntityName } from './schemas.ts';

/** Prefix of the entities that an enrollment creates for an insured (gateway/API.md §8.3). */
export const INSURED_ENTITY = 'insured:';
/** Sorts after every name with that prefix, because names of entities have no character above `z`. */
const BEHIND_INSURED = `${INSURED_ENTITY}~`;

/**
 * Up to two of the entities that a tenant claimed for itself, ordered by name. Entities of its insured are left out,
 * because they are never the default of a request.
 */
export async function ownEntities(
  log: Pick<LogView, 'entitiesOf'>,
  tenant_ref: string,
): Promise<readonly string[]> {
  const first = await log.entitiesOf(tenant_ref, 2);
  const own = first.filter((entity) => !entity.startsWith(INSURED_ENTITY));
  if (own.length === first.length) return own;
  return [...own, ...(await log.entitiesOf(tenant_ref, 2, BEHIND_INSURED))].slice(0, 2);
}

/**
 * The entity of a request: the one that it names, else the only one of its tenant. Undefined if the tenant has none.
 *
 * @throws ApiError `parameter_missing` if the request names none and the tenant has several
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

/** The member `entity` of a request that may become an attempt; see `actingEntity`. */
export const ActEntity = Type.Optional(
  Type.Union([EntityName, Type.Null()], {
    description:
      'The entity of the act. The default is the only entity of the tenant; a tenant with several must name one. ' +
      'With null the act belongs to no entity.',
  }),
);

/**
 * The entity of an act that may be an attempt: the one that the request names, none for null, else the only one of the
 * tenant.
 *
 * @throws ApiError `parameter_missing` if the tenant has several, or if there is a surface but no entity
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

/** Whether the entity's manifest is in force at this time and lists the surface. */
export function isDeclared(
  surfaces: SurfaceReader,
  entity: string,
  surface: string,
  at_ms: number,
): boolean {
  const manifest = surfaces.manifest(entity);
  return manifest !== null && isInForce(manifest, at_ms) && manifest.surfaces.includes(surface);
}
