// What the core knows of attempt surfaces: manifests, heartbeats, owners. log/FORMAT.md §4. Browser-safe.

/** A manifest as it stands in its entry: sorted surfaces, milliseconds of log time (log/FORMAT.md §4). */
export interface Manifest {
  readonly index: number;
  readonly issued_at_ms: number;
  readonly tenant_ref: string;
  readonly entity: string;
  readonly surfaces: readonly string[];
  readonly surface_manifest_hash: string;
  readonly valid_from_ms: number;
  readonly valid_until_ms?: number;
  readonly heartbeat_interval_ms?: number;
  readonly min_detectable_gap_ms?: number;
}

/** The newest heartbeat of an entity on a surface. */
export interface Heartbeat {
  readonly index: number;
  readonly issued_at_ms: number;
  readonly interval_ms: number;
  readonly run_since_ms: number;
}

/** The core's state about attempt surfaces, as of the entry before. */
export interface SurfaceReader {
  /** tenant_ref of the owner, or null when nobody has claimed the entity. */
  owner(entity: string): string | null;
  /** The newest manifest of the entity, in force or not, or null. */
  manifest(entity: string): Manifest | null;
  heartbeat(entity: string, surface: string): Heartbeat | null;
}
