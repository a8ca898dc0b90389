// Makes the members of a manifest from a publish request, and compares them with those of the manifest in force.
// log/FORMAT.md §4; gateway/API.md §9.1.

import { ApiError, manifestHash, native } from '../contract/index.ts';
import type { JsonObject, Manifest } from '../contract/index.ts';

/** A publish request that has passed its schema. */
interface PublishRequest {
  readonly entity: string;
  readonly surfaces?: readonly string[];
  readonly preset?: string;
  readonly valid_from_ms?: number;
  readonly valid_until_ms?: number;
  readonly heartbeat_interval_ms?: number;
  readonly min_detectable_gap_ms?: number;
}

/** Surfaces by preset. */
export type Presets = Readonly<Record<string, readonly string[]>>;

/** A request with its surfaces listed. Without `valid_from_ms` the manifest is valid from the time of its entry. */
type Wanted = Omit<PublishRequest, 'preset' | 'surfaces'> & {
  readonly surfaces: readonly string[];
};

/** Expands the preset, sorts the surfaces, and refuses a request from which no valid manifest can be made. */
export function wantedManifest(request: PublishRequest, presets: Presets, now_ms: number): Wanted {
  const { preset, surfaces, ...rest } = request;
  checkTimes(request, now_ms);
  checkFloor(request);
  const listed = surfaces ?? presets[preset ?? ''];
  return { ...rest, surfaces: [...new Set(listed)].sort() };
}

function checkTimes({ valid_from_ms, valid_until_ms }: PublishRequest, now_ms: number): void {
  if (valid_until_ms === undefined) return;
  if (valid_until_ms < Math.max(valid_from_ms ?? 0, now_ms)) {
    throw refused('valid_until_ms is before the manifest becomes valid', 'valid_until_ms');
  }
}

/** The Nyquist floor: a gap can only be detected if it is at least twice as long as the heartbeat interval. */
function checkFloor({ heartbeat_interval_ms, min_detectable_gap_ms }: PublishRequest): void {
  if (min_detectable_gap_ms === undefined || heartbeat_interval_ms === undefined) return;
  const floor = Math.floor(min_detectable_gap_ms / 2);
  const param = 'heartbeat_interval_ms';
  if (heartbeat_interval_ms > floor) {
    throw refused(`${param} is over ${String(floor)}, half of min_detectable_gap_ms`, param);
  }
}

/** The members of the manifest, with its hash; `now_ms` is the time of its entry. */
export function manifestMembers(wanted: Wanted, now_ms: number): JsonObject {
  const members = { valid_from_ms: now_ms, ...definedOf(wanted) };
  return { ...members, surface_manifest_hash: manifestHash(native, members) };
}

/** Whether a manifest is still valid and equals the wanted one. A default valid_from_ms is not compared. */
export function isSameManifest(manifest: Manifest, wanted: Wanted, now_ms: number): boolean {
  const { valid_from_ms, valid_until_ms } = manifest;
  if (now_ms > (valid_until_ms ?? Infinity)) return false;
  if (wanted.valid_from_ms === undefined && valid_from_ms > now_ms) return false;
  const same = { ...wanted, valid_from_ms: wanted.valid_from_ms ?? valid_from_ms };
  return manifestMembers(same, now_ms)['surface_manifest_hash'] === manifest.surface_manifest_hash;
}

const definedOf = (wanted: Wanted): JsonObject =>
  JSON.parse(
    JSON.stringify({
      entity: wanted.entity,
      surfaces: wanted.surfaces,
      valid_from_ms: wanted.valid_from_ms,
      valid_until_ms: wanted.valid_until_ms,
      heartbeat_interval_ms: wanted.heartbeat_interval_ms,
      min_detectable_gap_ms: wanted.min_detectable_gap_ms,
    }),
  ) as JsonObject;

function refused(message: string, param: string): ApiError {
  return new ApiError('parameter_invalid', message, { param });
}
