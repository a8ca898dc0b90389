// Whether a recorder was running while the session was silent: the heartbeats of the session's entity, by the rule
// that absence documents are checked by. gateway/API.md §7.8, §9.4; log/FORMAT.md §6.6, §6.7.

import { declares, smallestInterval, spanOf } from '../../log/index.ts';
import { namedStatement } from '../contract.ts';
import type { Caller, ChainKey, JsonObject, LogView } from '../contract.ts';
import { MAX_SURFACES } from './entries.ts';
import type { COVERAGES } from './entries.ts';
import { chainUpTo, linkOn } from './rules.ts';
import type { SessionState } from './rules.ts';

/** What heartbeats say of a silence. */
export type Coverage = (typeof COVERAGES)[number];

/** Manifests of an entity that one receipt reads. */
const MAX_MANIFESTS = 1000;

interface Window {
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Members of the entry that speak of heartbeats. */
export async function heartbeatsOf(
  log: LogView,
  caller: Caller,
  { last_index, last_ms, to_ms }: SessionState,
): Promise<{ readonly coverage: Coverage; readonly heartbeats: JsonObject | null }> {
  const coverage = last_ms === null ? 'NO_WINDOW' : 'UNDECLARED';
  const entity = await entityOfSession(log, caller, last_index);
  const manifest = entity === null ? null : log.surfaces().manifest(entity);
  if (entity === null || manifest === null) return { coverage, heartbeats: null };
  const window = { from_ms: last_ms ?? to_ms, to_ms };
  const manifests = await log.chain(
    { key: ['manifest', entity], from_ms: 0, to_ms },
    { limit: MAX_MANIFESTS },
  );
  const before = manifests.findLastIndex(({ ms }) => ms < window.from_ms);
  const inForce = manifests
    .slice(Math.max(before, 0))
    .map(({ index }) => namedStatement(log, index));
  const declared = before >= 0 && manifests.length < MAX_MANIFESTS ? inForce : [];
  const surfaces = await Promise.all(
    manifest.surfaces
      .slice(0, MAX_SURFACES)
      .map((surface) => surfaceIn(log, entity, surface, declared, window)),
  );
  const whole = manifest.surfaces.length <= MAX_SURFACES;
  const found = surfaces.map((surface) => surface.coverage);
  return {
    coverage: last_ms === null ? coverage : whole ? worst(found) : 'UNDERSAMPLED',
    heartbeats: { entity, surfaces, surfaces_declared: manifest.surfaces.length },
  };
}

/** The entity that the session's last entry names, else the only one of its tenant. */
async function entityOfSession(
  log: LogView,
  caller: Caller,
  last_index: number | null,
): Promise<string | null> {
  const named = last_index === null ? undefined : namedStatement(log, last_index)['entity'];
  if (typeof named === 'string') return named;
  if (caller.key_id === null) return null;
  const [only, another] = await log.entitiesOf(caller.tenant_ref, 2);
  return another === undefined ? (only ?? null) : null;
}

async function surfaceIn(
  log: LogView,
  entity: string,
  surface: string,
  manifests: readonly JsonObject[],
  window: Window,
) {
  const spans = manifests.map((manifest) => spanOf(manifest, surface));
  const interval_ms = smallestInterval(spans);
  const key: ChainKey = ['heartbeat', entity, surface];
  const { count, last_index, last_ms } = await chainUpTo(log, key, window.to_ms);
  const newest = last_index === null ? null : namedStatement(log, last_index);
  const [first] = await log.chain({ key, ...window }, { limit: 1 });
  const since = first === undefined ? count : linkOn(namedStatement(log, first.index), key).seq;
  const run_since_ms = newest === null ? null : (newest['run_since_ms'] as number);
  const isDeclared = interval_ms !== null && declares(spans, window);
  const isCovered =
    newest !== null &&
    interval_ms !== null &&
    (newest['interval_ms'] as number) <= interval_ms &&
    (run_since_ms ?? Infinity) <= window.from_ms + interval_ms &&
    (last_ms ?? 0) >= window.to_ms - interval_ms;
  const coverage = isDeclared ? (isCovered ? 'COVERED' : 'UNDERSAMPLED') : 'UNDECLARED';
  return {
    ...{ surface, interval_ms, heartbeats: count - since, last_ms, run_since_ms },
    coverage,
  } as const;
}

/** A silence is covered where each surface is: an act on any of them may have been the session's. */
function worst(found: readonly Coverage[]): Coverage {
  if (found.includes('UNDERSAMPLED')) return 'UNDERSAMPLED';
  return found.includes('UNDECLARED') ? 'UNDECLARED' : 'COVERED';
}
