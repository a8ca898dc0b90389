// What a publish request becomes: the members of a manifest, and when it says what one says already.
// log/FORMAT.md §4; gateway/API.md §9.1.

import { ApiError, manifestHash, native } from '../contract/index.ts';
import type { JsonObject, Manifest } from '../contract/index.ts';

/** A publish request after its schema. */
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

/** A request with its surfaces listed; `valid_from_ms` is missing where the log's clock will say it. */
type Wanted = Omit<PublishRequest, 'preset' | 'surfaces'> & {
  readonly surfaces: readonly string[];
};

/** Expands the preset, sorts the surfaces, and refuses what no manifest may say. */
export function wantedManifest(request: PublishRequest, presets: Presets, now_ms: number): Wanted {
  const { preset, surfaces, ...rest } = request;
  checkTimes(request, now_ms);
  checkFloor(request);
  if (surfaces !== undefined && preset !== undefined) {
    throw refused('surfaces and preset are given: one says which surfaces', 'preset');
  }
  const listed = surfaces ?? (preset === undefined ? undefined : presets[preset]);
  if (listed === undefined) {
    throw new ApiError('parameter_missing', 'surfaces or preset is missing', { param: 'surfaces' });
  }
  return { ...rest, surfaces: [...new Set(listed)].sort() };
}

function checkTimes({ valid_from_ms, valid_until_ms }: PublishRequest, now_ms: number): void {
  if (valid_until_ms === undefined) return;
  if (valid_until_ms < Math.max(valid_from_ms ?? 0, now_ms)) {
    throw refused('valid_until_ms is over before the manifest is valid', 'valid_until_ms');
  }
}

/** The Nyquist floor: what is to be detected must be twice as long as the time between heartbeats. */
function checkFloor({ heartbeat_interval_ms, min_detectable_gap_ms }: PublishRequest): void {
  if (min_detectable_gap_ms === undefined) return;
  const floor = Math.floor(min_detectable_gap_ms / 2);
  const param = 'heartbeat_interval_ms';
  if (heartbeat_interval_ms === undefined) {
    const message = `min_detectable_gap_ms needs a ${param} of at most ${String(floor)}`;
    throw new ApiError('parameter_missing', message, { param });
  }
  if (heartbeat_interval_ms > floor) {
    throw refused(`${param} is over ${String(floor)}, half of min_detectable_gap_ms`, param);
  }
}

/** The members of the manifest, with its hash; `now_ms` is the time of its entry. */
export function manifestMembers(wanted: Wanted, now_ms: number): JsonObject {
  const members = { valid_from_ms: now_ms, ...definedOf(wanted) };
  return { ...members, surface_manifest_hash: manifestHash(native, members) };
}

/** Whether a manifest that still holds says what is wanted; a defaulted valid_from_ms is not compared. */
export function saysTheSame(manifest: Manifest, wanted: Wanted, now_ms: number): boolean {
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
