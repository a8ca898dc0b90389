// Claims, manifests and heartbeat runs in memory, for the rules of ../surfaces. log/FORMAT.md §4.

import type { JsonObject } from '../encoding/json-types.ts';
import type { Heartbeat, Manifest } from '../types.ts';
import type { SurfaceState } from '../rules/surfaces.ts';

/** What `restore` needs: JSON as it stands. */
export interface SurfaceDump {
  /** Entity, owner and index of the entry that made it the owner, which older dumps do not have. */
  readonly owners: readonly (readonly [string, string, number?])[];
  readonly manifests: readonly Manifest[];
  readonly heartbeats: readonly (readonly [string, Heartbeat])[];
}

/** Entity and surface have no space in their grammars. */
const both = (entity: string, surface: string): string => `${entity} ${surface}`;

/** The state of all entities as of the last entry. */
export class Surfaces implements SurfaceState {
  readonly #owners = new Map<
    string,
    { readonly tenant_ref: string; readonly index: number | null }
  >();
  readonly #manifests = new Map<string, Manifest>();
  readonly #heartbeats = new Map<string, Heartbeat>();

  readonly reader = {
    owner: (entity: string) => this.#owners.get(entity)?.tenant_ref ?? null,
    manifest: (entity: string) => this.#manifests.get(entity) ?? null,
    heartbeat: (entity: string, surface: string) =>
      this.#heartbeats.get(both(entity, surface)) ?? null,
  };

  setOwner(entity: string, tenant_ref: string | null, index: number): void {
    if (tenant_ref === null) this.#owners.delete(entity);
    else this.#owners.set(entity, { tenant_ref, index });
  }

  /** Indexes of the entries that a refused statement contradicts: who owns its entity, and its last heartbeat. */
  related({ type, entity, surface }: JsonObject): readonly number[] {
    if (typeof entity !== 'string') return [];
    const owner = this.#owners.get(entity)?.index ?? null;
    const beat =
      type === 'astl.heartbeat.v1' && typeof surface === 'string'
        ? this.reader.heartbeat(entity, surface)
        : null;
    return [...(owner === null ? [] : [owner]), ...(beat === null ? [] : [beat.index])];
  }

  setManifest(entity: string, manifest: Manifest): void {
    this.#manifests.set(entity, manifest);
  }

  setHeartbeat(entity: string, surface: string, heartbeat: Heartbeat): void {
    this.#heartbeats.set(both(entity, surface), heartbeat);
  }

  dump(): SurfaceDump {
    return {
      owners: [...this.#owners].map(([entity, { tenant_ref, index }]) =>
        index === null ? [entity, tenant_ref] : [entity, tenant_ref, index],
      ),
      manifests: [...this.#manifests.values()],
      heartbeats: [...this.#heartbeats],
    };
  }

  restore({ owners, manifests, heartbeats }: SurfaceDump): void {
    for (const [entity, tenant_ref, index = null] of owners) {
      this.#owners.set(entity, { tenant_ref, index });
    }
    for (const manifest of manifests) this.#manifests.set(manifest.entity, manifest);
    for (const [key, heartbeat] of heartbeats) this.#heartbeats.set(key, heartbeat);
  }
}
