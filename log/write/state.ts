// The state that the sequencer needs to place the next entry: the position, the active keys and the core's rows.

import type { Json, JsonObject } from '../encoding/json.ts';
import type { Rows } from './rows.ts';
import type { SurfaceState } from '../rules/surfaces.ts';
import type { Heartbeat, Manifest, ReceiptKey } from '../types.ts';

/** The position of the log. One value that is replaced as a whole, so that a refused group can restore it. */
export interface Position {
  readonly size: number;
  readonly last_ms: number;
  /** The counter part of the last entry_id. */
  readonly last_seq: number;
  readonly map_head: { readonly index: number; readonly ms: number } | null;
  readonly closed: boolean;
}

export const START: Position = {
  size: 0,
  last_ms: 0,
  last_seq: 0,
  map_head: null,
  closed: false,
};

/** The earliest time of the next entry: not before the last entry, and after the last map head. */
export const floorAfter = ({ last_ms, map_head }: Position): number =>
  map_head === null ? last_ms : Math.max(last_ms, map_head.ms + 1);

/** Prefix of the rows of registered tenants; each holds the index of its `log.tenant.v1`. */
export const TENANTS = 'tenant/';

/** Prefix of the rows of owned entities; each holds the tenant_ref of its owner. */
export const OWNERS = 'owner/';

/** Prefix of the rows that list a tenant's entities. */
export const ownedBy = (tenant_ref: string): string => `owned/${tenant_ref}/`;

/** Row that counts a tenant's entities; absent for tenants that own none, which most do. */
export const ownedCountRow = (tenant_ref: string): string => `owned-count/${tenant_ref}`;

/** Row that finds the newest manifest of a hash. */
export const manifestHashRow = (hash: string): string => `manifest-hash/${hash}`;

/** Prefix of the rows that list all manifests by index. */
export const MANIFESTS = 'manifest-at/';
export const manifestIndexRow = (index: number): string =>
  MANIFESTS + String(index).padStart(16, '0');

/** The core's rows about surfaces as a `SurfaceState`, written in the current round. */
export class SurfaceRows implements SurfaceState {
  round = 0;
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  readonly reader = {
    owner: (entity: string): string | null =>
      (this.#rows.get(`owner/${entity}`) as string | undefined) ?? null,
    manifest: (entity: string): Manifest | null =>
      (this.#rows.get(`manifest/${entity}`) as unknown as Manifest | undefined) ?? null,
    heartbeat: (entity: string, surface: string): Heartbeat | null =>
      (this.#rows.get(`heartbeat/${entity}/${surface}`) as unknown as Heartbeat | undefined) ??
      null,
  };

  setOwner(entity: string, tenant_ref: string | null): void {
    const before = this.reader.owner(entity);
    if (before === tenant_ref) return;
    if (before !== null) this.#own(before, entity, -1);
    if (tenant_ref !== null) this.#own(tenant_ref, entity, 1);
    this.#rows.set(`owner/${entity}`, tenant_ref, this.round);
  }

  #own(tenant_ref: string, entity: string, more: 1 | -1): void {
    const count = Number(this.#rows.get(ownedCountRow(tenant_ref)) ?? 0) + more;
    this.#rows.set(ownedBy(tenant_ref) + entity, more === 1 ? true : null, this.round);
    this.#rows.set(ownedCountRow(tenant_ref), count === 0 ? null : count, this.round);
  }

  setManifest(entity: string, manifest: Manifest): void {
    const { index, surface_manifest_hash } = manifest;
    this.#rows.set(`manifest/${entity}`, manifest as unknown as Json, this.round);
    this.#rows.set(manifestHashRow(surface_manifest_hash), index, this.round);
    this.#rows.set(manifestIndexRow(index), true, this.round);
  }

  setHeartbeat(entity: string, surface: string, heartbeat: Heartbeat): void {
    this.#rows.set(`heartbeat/${entity}/${surface}`, heartbeat as unknown as Json, this.round);
  }
}

/** The receipt keys as the log declares them, one row. */
export class KeyRows {
  readonly #rows: Rows;
  #inForce: ReceiptKey | undefined;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  all(): readonly ReceiptKey[] {
    return (this.#rows.get('keys') as unknown as readonly ReceiptKey[] | undefined) ?? [];
  }

  /** Without the changes of entries that are not durable yet. */
  durable(): readonly ReceiptKey[] {
    return (this.#rows.durable('keys') as unknown as readonly ReceiptKey[] | undefined) ?? [];
  }

  /** The newest active key (log/FORMAT.md §2). */
  inForce(): ReceiptKey | undefined {
    this.#inForce ??= this.all()
      .filter((key) => key.status === 'active')
      .reduce<ReceiptKey | undefined>(
        (newest, key) =>
          newest === undefined || key.since_index > newest.since_index ? key : newest,
        undefined,
      );
    return this.#inForce;
  }

  /** Discards the key changes of a group that was rolled back. */
  forget(): void {
    this.#inForce = undefined;
  }

  /** Applies `log.open.v1` or `log.key.v1`. */
  apply(statement: JsonObject, kid: string, round: number): void {
    const index = statement['index'] as number;
    const ms = statement['issued_at_ms'] as number;
    const open = statement['type'] === 'log.open.v1';
    const jwk = statement[open ? 'jwk' : 'key'] as unknown as ReceiptKey['jwk'];
    const status = open ? 'active' : (statement['status'] as ReceiptKey['status']);
    const others = this.all().filter((key) => key.kid !== kid);
    const known = this.all().find((key) => key.kid === kid);
    const since = { since_index: known?.since_index ?? index, since_ms: known?.since_ms ?? ms };
    const key: ReceiptKey = {
      kid,
      jwk,
      status,
      ...since,
      ...(status === 'active'
        ? {}
        : { ended_index: known?.ended_index ?? index, ended_ms: known?.ended_ms ?? ms }),
      ...(status === 'revoked' ? { revoked_index: index, revoked_ms: ms } : {}),
    };
    this.forget();
    this.#rows.set('keys', [...others, key] as unknown as Json, round);
  }
}

/** How many registered tenants are cached. */
const REMEMBERED_TENANTS = 10_000;

/** The tenants that `log.tenant.v1` registered. */
export class Tenants {
  readonly #rows: Rows;
  readonly #known = new Set<string>();

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  has(tenant_ref: string): boolean {
    if (this.#known.has(tenant_ref)) return true;
    if (this.#rows.get(`tenant/${tenant_ref}`) === undefined) return false;
    // Only durable registrations are cached: a pending one can still be rolled back.
    if (this.#rows.durable(`tenant/${tenant_ref}`) !== undefined) {
      if (this.#known.size >= REMEMBERED_TENANTS) this.#known.clear();
      this.#known.add(tenant_ref);
    }
    return true;
  }
}
