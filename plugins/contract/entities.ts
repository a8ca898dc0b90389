// The entity of a request, and whether a surface of it is declared. log/FORMAT.md §4; gateway/API.md §9.1.

import { isInForce } from '../../log/index.ts';
import type { SurfaceReader } from '../../log/index.ts';
import { ApiError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { Caller } from './route.ts';

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
  const [only, another] = await log.entitiesOf(caller.tenant_ref, 2);
  if (another === undefined) return only;
  throw new ApiError('parameter_missing', 'entity is missing, and the tenant has several', {
    param: 'entity',
  });
}

/**
 * The entity of an act. An act alone is always enough: a tenant with several entities names one only where there
 * is a surface.
 *
 * @throws ApiError `parameter_missing` for a surface without its entity
 */
export async function actingEntity(
  log: LogView,
  caller: Caller,
  { entity, surface }: { readonly entity?: string; readonly surface?: string },
): Promise<string | undefined> {
  if (surface === undefined && entity === undefined) {
    const [only, another] = await log.entitiesOf(caller.tenant_ref, 2);
    return another === undefined ? only : undefined;
  }
  const named = await entityOf(log, caller, entity);
  if (named !== undefined) return named;
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
