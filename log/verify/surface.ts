// Whether a surface was declared over a window, and whether a heartbeat run covers it. log/FORMAT.md §6.6, §6.7.

import { toHex, utf8 } from '../encoding/bytes.ts';
import { canonical } from '../encoding/canonical.ts';
import type { Json } from '../encoding/json-types.ts';
import type { Suite } from '../crypto/suite.ts';
import { checkFollows, checkNext, readClosing } from './chain.ts';
import type { Ground } from './chain.ts';
import { linkOn, openEntry } from './open.ts';
import type { OpenedEntry } from './open.ts';
import { count, exactObject, list, refused } from './shape.ts';

/** An attempt surface and the closed window of log time that is asked about. */
export interface SurfaceWindow {
  readonly entity: string;
  readonly surface: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** What the manifests of a document say of a window. */
export interface Declared {
  /** Each manifest lists the surface and together they span the window. */
  readonly window: boolean;
  /** Smallest heartbeat interval that a manifest promises; null when none does. */
  readonly interval_ms: number | null;
}

/** One manifest, as far as a window is concerned. */
interface Span {
  readonly entry: OpenedEntry;
  readonly lists: boolean;
  readonly from_ms: number;
  readonly until_ms: number;
  readonly interval_ms: number | null;
}

/** Most manifests that a document may show: a limit of this verifier, not of the format. */
const MAX_MANIFESTS = 10_000;

/**
 * Reads `declared`: the manifests in force during the window, without a gap in their chain.
 *
 * @throws LogError of the check that failed; a window they do not declare is a result, not an error
 */
export function readDeclared(ground: Ground, window: SurfaceWindow, value: Json): Declared {
  const key = ['manifest', window.entity];
  const declared = exactObject(value, 'declared', ['manifests', 'closing']);
  const entries = list(declared.manifests, 'manifests', MAX_MANIFESTS).map((opened) =>
    openEntry(ground.suite, ground.trust, ground.tree, opened),
  );
  const links = entries.map((entry) => linkOn(entry, key));
  for (const [i, entry] of entries.entries()) {
    const link = links[i];
    const next = links[i + 1];
    if (link !== undefined && next !== undefined) checkNext(link, entry, next);
  }
  const spans = entries.map((entry) => readManifest(ground.suite, window, entry));
  const before = entries.filter((entry) => entry.ms < window.from_ms).length;
  if (before !== 1) throw refused('not exactly one manifest was published before the window');

  const closing = readClosing(ground, key, declared.closing);
  const last = entries.at(-1);
  const link = links.at(-1);
  if (last === undefined || link === undefined) throw refused('declared has no manifest');
  checkFollows(closing, last, link);
  if (closing.type === 'gap' && closing.successor.ms <= window.to_ms) {
    throw refused('successor of the last manifest is not after the window');
  }
  const interval_ms = Math.min(...spans.map((span) => span.interval_ms ?? Infinity));
  return {
    window: spans.every(({ lists }) => lists) && covers(spans, window),
    interval_ms: interval_ms === Infinity ? null : interval_ms,
  };
}

/** The newest heartbeat and whether its run covers the window; read even where no manifest asks for it. */
export function readCoverage(
  ground: Ground,
  window: SurfaceWindow,
  value: Json,
): { covers(interval_ms: number): boolean } {
  const { heartbeat } = exactObject(value, 'coverage', ['heartbeat']);
  const entry = openEntry(ground.suite, ground.trust, ground.tree, heartbeat ?? null);
  if (entry.type !== 'astl.heartbeat.v1') throw refused('coverage is not a heartbeat');
  linkOn(entry, ['heartbeat', window.entity, window.surface]);
  if (entry.statement.entity !== window.entity || entry.statement.surface !== window.surface) {
    throw refused('the heartbeat is of another surface');
  }
  const interval = count(entry.statement.interval_ms, 'interval_ms of the heartbeat');
  const since = count(entry.statement.run_since_ms, 'run_since_ms of the heartbeat');
  return {
    covers: (interval_ms) =>
      interval <= interval_ms &&
      since <= window.from_ms + interval_ms &&
      entry.ms >= window.to_ms - interval_ms,
  };
}

/** surface_manifest_hash: hex of SHA-256 of JCS of the manifest's own members without the hash itself. */
function readManifest(suite: Suite, window: SurfaceWindow, entry: OpenedEntry): Span {
  const { statement } = entry;
  if (entry.type !== 'astl.manifest.v1') throw refused('declared shows an entry of another type');
  if (statement.entity !== window.entity) throw refused('a manifest is of another entity');
  const own: Record<string, Json> = {};
  for (const name of MANIFEST) {
    if (Object.hasOwn(statement, name)) own[name] = statement[name] ?? null;
  }
  if (toHex(suite.sha256(utf8(canonical(own)))) !== statement.surface_manifest_hash) {
    throw refused('surface_manifest_hash of a manifest is wrong');
  }
  const { surfaces, valid_until_ms, heartbeat_interval_ms } = own;
  return {
    entry,
    lists: Array.isArray(surfaces) && surfaces.includes(window.surface),
    from_ms: Math.max(count(own.valid_from_ms, 'valid_from_ms'), entry.ms),
    until_ms: valid_until_ms === undefined ? Infinity : count(valid_until_ms, 'valid_until_ms'),
    interval_ms:
      heartbeat_interval_ms === undefined
        ? null
        : count(heartbeat_interval_ms, 'heartbeat_interval_ms'),
  };
}

/** In the order of their canonical text, which is printed faster so. */
const MANIFEST = [
  'entity',
  'heartbeat_interval_ms',
  'min_detectable_gap_ms',
  'surfaces',
  'valid_from_ms',
  'valid_until_ms',
];

/** Each millisecond of the window lies in the span of one manifest, both its ends included. */
function covers(spans: readonly Span[], window: SurfaceWindow): boolean {
  let uncovered = window.from_ms;
  for (const [i, span] of spans.entries()) {
    const until = Math.min(span.until_ms, spans[i + 1]?.entry.ms ?? Infinity);
    // A span lies between its manifest and the next one, so they are met in the order of time.
    if (span.from_ms <= uncovered && until >= uncovered) uncovered = until + 1;
  }
  return uncovered > window.to_ms;
}
