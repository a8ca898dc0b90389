// Claims, manifests and heartbeat runs in memory, for the rules of ../surfaces. formats.md §4.

import type { Heartbeat, Manifest } from '../types.ts';
import type { SurfaceState } from '../surfaces/rules.ts';

/** What `restore` needs: JSON as it stands. */
export interface SurfaceDump {
  readonly owners: readonly (readonly [string, string])[];
  readonly manifests: readonly Manifest[];
  readonly heartbeats: readonly (readonly [string, Heartbeat])[];
}

/** Entity and surface have no space in their grammars. */
const both = (entity: string, surface: string): string => `${entity} ${surface}`;

/** The state of all entities as of the last entry. */
export class Surfaces implements SurfaceState {
  readonly #owners = new Map<string, string>();
  readonly #manifests = new Map<string, Manifest>();
  readonly #heartbeats = new Map<string, Heartbeat>();

  readonly reader = {
    owner: (entity: string) => this.#owners.get(entity) ?? null,
    manifest: (entity: string) => this.#manifests.get(entity) ?? null,
    heartbeat: (entity: string, surface: string) =>
      this.#heartbeats.get(both(entity, surface)) ?? null,
  };

  setOwner(entity: string, tenant_ref: string | null): void {
    if (tenant_ref === null) this.#owners.delete(entity);
    else this.#owners.set(entity, tenant_ref);
  }

  setManifest(entity: string, manifest: Manifest): void {
    this.#manifests.set(entity, manifest);
  }

  setHeartbeat(entity: string, surface: string, heartbeat: Heartbeat): void {
    this.#heartbeats.set(both(entity, surface), heartbeat);
  }

  dump(): SurfaceDump {
    return {
      owners: [...this.#owners],
      manifests: [...this.#manifests.values()],
      heartbeats: [...this.#heartbeats],
    };
  }

  restore({ owners, manifests, heartbeats }: SurfaceDump): void {
    for (const [entity, tenant_ref] of owners) this.#owners.set(entity, tenant_ref);
    for (const manifest of manifests) this.#manifests.set(manifest.entity, manifest);
    for (const [key, heartbeat] of heartbeats) this.#heartbeats.set(key, heartbeat);
  }
}
