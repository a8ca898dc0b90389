// Which tenant may write for an entity, and the state that entries about surfaces produce: claims, manifests, heartbeat
// runs. log/FORMAT.md §4. Pure functions over a state that the caller passes in: the sequencer refuses drafts by these
// rules, replays and monitors find violations with them. Browser-safe.

import { portable } from '../crypto/portable.ts';
import type { Suite } from '../crypto/suite.ts';
import { toHex, utf8 } from '../encoding/bytes.ts';
import { canonical } from '../encoding/canonical.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import type { Heartbeat, Manifest, SurfaceReader } from '../types.ts';
import { checkBuiltin, MANIFEST_MEMBERS } from './builtin.ts';

/** The core's state about attempt surfaces, with the changes that one entry makes. */
export interface SurfaceState {
  readonly reader: SurfaceReader;
  /** `tenant_ref` null: the entity has no owner any more. `index` is that of the entry that changed it. */
  setOwner(entity: string, tenant_ref: string | null, index: number): void;
  setManifest(entity: string, manifest: Manifest): void;
  setHeartbeat(entity: string, surface: string, heartbeat: Heartbeat): void;
}

/**
 * surface_manifest_hash: hex of SHA-256 of JCS of a manifest's members without itself. Other members of the argument
 * (common ones, the hash) are ignored.
 */
export function manifestHash(suite: Suite, members: JsonObject): string {
  const covered: Record<string, Json> = {};
  for (const name of MANIFEST_MEMBERS) {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    if (value !== undefined) covered[name] = value;
  }
  return toHex(suite.sha256(utf8(canonical(covered))));
}

/** Whether a manifest, the newest of its entity, is in force at this time. */
export function isInForce(manifest: Manifest, at_ms: number): boolean {
  return (
    Math.max(manifest.valid_from_ms, manifest.issued_at_ms) <= at_ms &&
    at_ms <= (manifest.valid_until_ms ?? Infinity)
  );
}

/**
 * run_since_ms of a heartbeat: the run continues as long as each heartbeat comes within the interval and the interval
 * does not change.
 */
export function runSince(prev: Heartbeat | null, interval_ms: number, now_ms: number): number {
  const goesOn =
    prev !== null && prev.interval_ms === interval_ms && now_ms - prev.issued_at_ms <= interval_ms;
  return goesOn ? prev.run_since_ms : now_ms;
}

/**
 * Checks that an entry with `entity` comes from the owner of the entity. An entry without `entity` passes. Not for
 * astl.entity.v1.
 *
 * @throws LogError `entity_unclaimed`, `entity_forbidden`
 */
function checkEntityWriter(statement: JsonObject, reader: SurfaceReader): void {
  const { entity, tenant_ref } = statement;
  if (typeof entity !== 'string') return;
  const owner = reader.owner(entity);
  if (owner === null) throw new LogError('entity_unclaimed', 'no tenant has claimed the entity');
  if (owner !== tenant_ref) {
    throw new LogError('entity_forbidden', 'the entity belongs to another tenant');
  }
}

/**
 * Checks an astl.entity.v1: an entity without an owner can be claimed; its owner may transfer or release it.
 *
 * @throws LogError `entry_invalid`, `entity_unclaimed`, `entity_forbidden`
 */
function checkClaim(statement: JsonObject, reader: SurfaceReader): void {
  checkBuiltin(statement);
  if (statement.action !== 'claim') {
    checkEntityWriter(statement, reader);
  } else if (reader.owner(textOf(statement, 'entity')) !== null) {
    throw new LogError('entity_forbidden', 'the entity is claimed already');
  }
}

/**
 * Checks that an astl.manifest.v1 comes from the owner and has the right hash.
 *
 * @throws LogError `entry_invalid`, `entity_unclaimed`, `entity_forbidden`
 */
function checkManifest(statement: JsonObject, reader: SurfaceReader): void {
  checkBuiltin(statement);
  checkEntityWriter(statement, reader);
  // Manifests are rare, so the slower portable hash is enough and callers need not pass a suite.
  if (manifestHash(portable, statement) !== statement.surface_manifest_hash) {
    throw new LogError('entry_invalid', 'surface_manifest_hash is not the hash of the manifest');
  }
}

/**
 * Checks that an astl.heartbeat.v1 comes from the owner, and continues the run of the heartbeat before it or begins a
 * new one.
 *
 * @throws LogError `entry_invalid`, `entity_unclaimed`, `entity_forbidden`
 */
function checkHeartbeat(statement: JsonObject, reader: SurfaceReader): void {
  checkBuiltin(statement);
  checkEntityWriter(statement, reader);
  const prev = reader.heartbeat(textOf(statement, 'entity'), textOf(statement, 'surface'));
  const expected = runSince(
    prev,
    numberOf(statement, 'interval_ms'),
    numberOf(statement, 'issued_at_ms'),
  );
  if (statement.run_since_ms !== expected) {
    throw new LogError('entry_invalid', `run_since_ms is not ${String(expected)}`);
  }
}

/** Applies the rule of the statement's type. */
export function checkSurfaces(statement: JsonObject, reader: SurfaceReader): void {
  switch (statement.type) {
    case 'astl.entity.v1':
      checkClaim(statement, reader);
      break;
    case 'astl.manifest.v1':
      checkManifest(statement, reader);
      break;
    case 'astl.heartbeat.v1':
      checkHeartbeat(statement, reader);
      break;
    default:
      checkEntityWriter(statement, reader);
  }
}

/** Applies a checked statement to the state. Statements of other types change nothing. */
export function applySurfaces(statement: JsonObject, index: number, state: SurfaceState): void {
  const { type } = statement;
  if (type === 'astl.entity.v1') {
    state.setOwner(textOf(statement, 'entity'), ownerAfter(statement), index);
  } else if (type === 'astl.manifest.v1') {
    state.setManifest(textOf(statement, 'entity'), manifestOf(statement, index));
  } else if (type === 'astl.heartbeat.v1') {
    state.setHeartbeat(textOf(statement, 'entity'), textOf(statement, 'surface'), {
      index,
      issued_at_ms: numberOf(statement, 'issued_at_ms'),
      interval_ms: numberOf(statement, 'interval_ms'),
      run_since_ms: numberOf(statement, 'run_since_ms'),
    });
  }
}

function ownerAfter(statement: JsonObject): string | null {
  switch (statement.action) {
    case 'claim':
      return textOf(statement, 'tenant_ref');
    case 'transfer':
      return textOf(statement, 'to_tenant_ref');
    default:
      return null;
  }
}

function manifestOf(statement: JsonObject, index: number): Manifest {
  const optional: Record<string, number> = {};
  for (const name of ['valid_until_ms', 'heartbeat_interval_ms', 'min_detectable_gap_ms']) {
    if (Object.hasOwn(statement, name)) optional[name] = numberOf(statement, name);
  }
  return {
    index,
    issued_at_ms: numberOf(statement, 'issued_at_ms'),
    tenant_ref: textOf(statement, 'tenant_ref'),
    entity: textOf(statement, 'entity'),
    surfaces: statement.surfaces as readonly string[],
    surface_manifest_hash: textOf(statement, 'surface_manifest_hash'),
    valid_from_ms: numberOf(statement, 'valid_from_ms'),
    ...optional,
  };
}

function textOf(statement: JsonObject, name: string): string {
  const value = statement[name];
  if (typeof value !== 'string') throw new LogError('entry_invalid', `${name} is not a string`);
  return value;
}

function numberOf(statement: JsonObject, name: string): number {
  const value = statement[name];
  if (!Number.isSafeInteger(value))
    throw new LogError('entry_invalid', `${name} is not an integer`);
  return Number(value);
}

// Spans of manifests: when they are in force, and whether they declare a surface in a window (log/FORMAT.md §6.6).

/** One manifest, as far as one surface is concerned; milliseconds of log time, both ends included. */
export interface Span {
  /** Time of its entry, at which the previous manifest ends. */
  readonly issued_at_ms: number;
  readonly lists: boolean;
  readonly from_ms: number;
  /** Infinity if the manifest names no end. */
  readonly until_ms: number;
  /** null if the manifest promises no heartbeats. */
  readonly interval_ms: number | null;
}

/** The span of a manifest entry that is well formed (checkManifest). */
export function spanOf(manifest: JsonObject, surface: string): Span {
  const issued_at_ms = manifest.issued_at_ms as number;
  return {
    issued_at_ms,
    lists: (manifest.surfaces as readonly string[]).includes(surface),
    from_ms: Math.max(manifest.valid_from_ms as number, issued_at_ms),
    until_ms: (manifest.valid_until_ms as number | undefined) ?? Infinity,
    interval_ms: (manifest.heartbeat_interval_ms as number | undefined) ?? null,
  };
}

/**
 * Whether each manifest lists the surface and each millisecond of the window lies in the span of one.
 * The spans are consecutive manifests of one entity, oldest first.
 */
export function declares(
  spans: readonly Span[],
  window: { readonly from_ms: number; readonly to_ms: number },
): boolean {
  let uncovered = window.from_ms;
  for (const [i, span] of spans.entries()) {
    const until = Math.min(span.until_ms, spans[i + 1]?.issued_at_ms ?? Infinity);
    // A span lies between its manifest and the next one, so the spans are in order of time.
    if (span.from_ms <= uncovered && until >= uncovered) uncovered = until + 1;
  }
  return uncovered > window.to_ms && spans.every(({ lists }) => lists);
}

/** The smallest interval that one of the manifests promises; null if none promises heartbeats. */
export function smallestInterval(spans: readonly Span[]): number | null {
  const intervals = spans.flatMap(({ interval_ms }) => interval_ms ?? []);
  return intervals.length === 0 ? null : Math.min(...intervals);
}
