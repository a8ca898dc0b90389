// Reads the state of a session's chain up to the newest checkpoint, and whether heartbeats cover the silence after its
// last entry. gateway/API.md §7.8, §9.4; log/FORMAT.md §6.
//
// Both are read from the proofs of the log's lookup, so that a caller of the lookup can reproduce the numbers.
// Heartbeats are judged by the rule of absence documents.

import {
  declares,
  namedStatement,
  ownEntities,
  smallestInterval,
  spanOf,
} from '../contract/index.ts';
import type { Caller, ChainKey, JsonObject, Link, LogView } from '../contract/index.ts';
import { MAX_SURFACES } from './entries.ts';
import type { COVERAGES } from './entries.ts';

/** The state of a session's chain up to a time. */
export interface SessionState {
  readonly key: ChainKey;
  /** At most the time of the map head. */
  readonly to_ms: number;
  readonly checkpoint_size: number;
  readonly count: number;
  readonly first_ms: number | null;
  readonly last_index: number | null;
  readonly last_ms: number | null;
}

interface Opened {
  readonly index: number;
  readonly entry: string;
}

type Proof =
  | { readonly type: 'never' }
  | { readonly type: 'tail'; readonly head: { count: number; last_index: number; last_ms: number } }
  | { readonly type: 'gap'; readonly successor: Opened };

/**
 * Reads the session's chain up to a time, or up to the map head if that is earlier. The checkpoint covers every entry
 * acknowledged before the call.
 */
export async function sessionState(
  log: LogView,
  session_ref: string,
  until_ms = Infinity,
): Promise<SessionState> {
  const { size, map_head_ms } = await log.covering(log.size());
  const to_ms = Math.min(until_ms, map_head_ms);
  const key: ChainKey = ['session', session_ref];
  const closing = await chainUpTo(log, key, to_ms);
  const state = { key, to_ms, checkpoint_size: size, ...closing };
  const [first] =
    closing.count === 0 ? [] : await log.chain({ key, from_ms: 0, to_ms }, { limit: 1 });
  return { ...state, first_ms: first?.ms ?? null };
}

/**
 * The proof of the silence: a document on the session's chain from its last entry to the end of the state, or from the
 * beginning of the log if it has no entry. It states the length of the whole chain.
 */
export const completeness = (
  log: LogView,
  { key, last_ms, to_ms }: SessionState,
): Promise<JsonObject> => log.lookup({ key, from_ms: last_ms ?? log.beganMs(), to_ms });

/** The number of entries of a chain up to a time, and the last of them. */
type ChainCount = Pick<SessionState, 'count' | 'last_index' | 'last_ms'>;

/** Reads the number of entries up to a time. The window up to that time must be closed. */
async function chainUpTo(log: LogView, key: ChainKey, to_ms: number): Promise<ChainCount> {
  // A window of one millisecond is enough: its proof states the length of the chain up to its end.
  const end = await log.lookup({ key, from_ms: to_ms, to_ms });
  return countOf(end['proof'] as unknown as Proof, key);
}

/** The link of an entry on a chain. */
function linkOn(statement: JsonObject, key: ChainKey): Link {
  const links = statement['links'] as unknown as readonly Link[];
  const link = links.find((candidate) => candidate.key.join(' ') === key.join(' '));
  if (link === undefined) throw new Error('the entry has no link of its chain');
  return link;
}

function countOf(proof: Proof, key: ChainKey): ChainCount {
  if (proof.type === 'never') return { count: 0, last_index: null, last_ms: null };
  if (proof.type === 'tail') return proof.head;
  // The checkpoint is newer than the time; the link of the next entry names the entry before it.
  const { seq, prev_index, prev_ms } = linkOn(statementOf(proof.successor), key);
  return { count: seq, last_index: prev_index, last_ms: prev_ms };
}

const statementOf = (opened: Opened): JsonObject => JSON.parse(opened.entry) as JsonObject;

/** The coverage of a silence by heartbeats. */
type Coverage = (typeof COVERAGES)[number];

/** Largest number of manifests that a receipt reads. */
const MAX_MANIFESTS = 1000;

interface Window {
  readonly from_ms: number;
  readonly to_ms: number;
}

/**
 * Members of the entry about heartbeats. If the proof ends before the window, the coverage is PENDING.
 *
 * @param window_to_ms the end of the window, which the state may not reach
 */
export async function heartbeatsOf(
  log: LogView,
  entity: string | null,
  { last_ms, to_ms }: SessionState,
  window_to_ms: number,
): Promise<{ readonly coverage: Coverage; readonly heartbeats: JsonObject | null }> {
  const pending = to_ms < window_to_ms;
  const coverage = pending ? 'PENDING' : last_ms === null ? 'NO_WINDOW' : 'UNDECLARED';
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
  const shown = surfaces.map((surface) =>
    pending ? { ...surface, coverage: 'PENDING' } : surface,
  );
  const settled = pending || last_ms === null;
  return {
    coverage: settled ? coverage : whole ? worst(found) : 'UNDERSAMPLED',
    heartbeats: { entity, surfaces: shown, surfaces_declared: manifest.surfaces.length },
  };
}

/** The entity that an entry names. */
export function entityNamed(log: LogView, index: number | null): string | null {
  const named = index === null ? undefined : namedStatement(log, index)['entity'];
  return typeof named === 'string' ? named : null;
}

/** The entity that the session's last entry names, else the only one of its tenant. */
export async function entityOfSession(
  log: LogView,
  caller: Pick<Caller, 'key_id' | 'tenant_ref'>,
  { last_index }: SessionState,
): Promise<string | null> {
  const named = entityNamed(log, last_index);
  if (named !== null) return named;
  if (caller.key_id === null) return null;
  const [only, another] = await ownEntities(log, caller.tenant_ref);
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

/** A silence is covered only if all surfaces are, because an act on any of them could belong to the session. */
function worst(found: readonly Coverage[]): Coverage {
  if (found.includes('UNDERSAMPLED')) return 'UNDERSAMPLED';
  return found.includes('UNDECLARED') ? 'UNDECLARED' : 'COVERED';
}
