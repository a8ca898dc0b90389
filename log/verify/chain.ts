// Proofs that a chain has no entry between two points: never, tail and gap (log/FORMAT.md §6.4). At the end, whether a
// surface was declared and watched in a window (log/FORMAT.md §6.6, §6.7).

import type { Suite } from '../crypto/suite.ts';
import { equal, fromHex, toHex, utf8 } from '../encoding/bytes.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { checkMember, checkNonMember, MAX_SIBLINGS } from '../map/check.ts';
import type { MapLeaf } from '../map/check.ts';
import { vhash } from '../map/head.ts';
import { skey } from '../map/key.ts';
import type { ChainKey, Head } from '../types.ts';
import { linkOn, openEntry } from './entry.ts';
import type { OpenedEntry, OpenedLink, TreeHead } from './entry.ts';
import { count, exactObject, hash, refused, string, strings, list } from './document.ts';
import type { Trust } from './trust.ts';
import { canonical } from '../encoding/canonical.ts';

/** The verified tree and map head of a document, on which its other checks rest. */
export interface Ground {
  readonly suite: Suite;
  readonly trust: Trust;
  readonly tree: TreeHead;
  /** The map head, which is the last entry of the tree. */
  readonly mapHead: OpenedEntry;
}

/**
 * A verified proof of how a chain continues: it has no entry (`never`), its last entry is that of `head` (`tail`), or
 * `successor` is the entry that follows (`gap`).
 */
export type Closing =
  | { readonly type: 'never' }
  | { readonly type: 'tail'; readonly head: Head }
  | { readonly type: 'gap'; readonly successor: OpenedEntry; readonly link: OpenedLink };

/**
 * Verifies a proof about a chain against the map or the tree. The caller then checks what it means for a window, with
 * `checkWindowEmpty` or `checkFollows`.
 *
 * @throws LogError of the check that failed
 */
export function readClosing(ground: Ground, key: ChainKey, proof: Json | undefined): Closing {
  const { type } = (proof ?? {}) as JsonObject;
  switch (type) {
    case 'never':
      checkNever(ground, key, exactObject(proof, 'proof', ['type', 'siblings'], ['foreign']));
      return { type };
    case 'tail':
      return { type, head: readTail(ground, key, exactObject(proof, 'proof', TAIL)) };
    case 'gap': {
      const { successor } = exactObject(proof, 'proof', ['type', 'successor']);
      const entry = openEntry(ground.suite, ground.trust, ground.tree, successor ?? null);
      return { type, successor: entry, link: linkOn(entry, key) };
    }
    default:
      throw refused('proof is neither never, tail nor gap');
  }
}

/** Checks that the chain has no entry from `from_ms` to `to_ms`, both ends included. */
export function checkWindowEmpty(closing: Closing, from_ms: number, to_ms: number): void {
  switch (closing.type) {
    case 'never':
      return;
    case 'tail':
      if (closing.head.last_ms >= from_ms) throw refused('last entry is not before the window');
      return;
    case 'gap':
      if (closing.successor.ms <= to_ms) throw refused('successor is not after the window');
      if (closing.link.prev !== null && closing.link.prev.ms >= from_ms) {
        throw refused('entry before the successor is not before the window');
      }
  }
}

/** Checks that `last` is the last entry of the chain, or that the successor of `closing` directly follows it. */
export function checkFollows(closing: Closing, last: OpenedEntry, link: OpenedLink): void {
  switch (closing.type) {
    case 'never':
      throw refused('a chain with entries is closed by a tail or a gap');
    case 'tail': {
      const { head } = closing;
      const same =
        head.count === link.seq + 1 &&
        head.last_index === last.index &&
        head.last_ms === last.ms &&
        equal(head.last_leaf_hash, last.leafHash);
      if (!same) throw refused('head of the chain is not the last entry shown');
      return;
    }
    case 'gap':
      checkNext(link, last, closing.link);
  }
}

/** Checks that an entry with the link `next` directly follows an entry with `link` on the chain. */
export function checkNext(link: OpenedLink, entry: OpenedEntry, next: OpenedLink): void {
  const { prev } = next;
  if (next.seq !== link.seq + 1 || prev?.index !== entry.index || prev.ms !== entry.ms) {
    throw refused('an entry of the chain is left out');
  }
}

const TAIL = ['type', 'siblings', 'head'] as const;
const HEAD = ['count', 'last_index', 'last_ms', 'last_leaf_hash'] as const;

function checkNever(ground: Ground, key: ChainKey, proof: JsonObject): void {
  const { suite } = ground;
  checkNonMember(suite, {
    root: mapRoot(ground),
    skey: skey(suite, ground.trust.origin, key),
    siblings: siblings(proof),
    foreign: proof.foreign === undefined ? undefined : readForeign(proof.foreign),
  });
}

function readForeign(leaf: Json): MapLeaf {
  const foreign = exactObject(leaf, 'foreign leaf', ['skey', 'vhash']);
  return {
    skey: hash(foreign.skey, 'skey of the foreign leaf'),
    vhash: hash(foreign.vhash, 'vhash of the foreign leaf'),
  };
}

function readTail(ground: Ground, key: ChainKey, proof: JsonObject): Head {
  const { suite } = ground;
  const members = exactObject(proof.head, 'head', HEAD);
  const head: Head = {
    count: count(members.count, 'count of a head'),
    last_index: count(members.last_index, 'last_index of a head'),
    last_ms: count(members.last_ms, 'last_ms of a head'),
    last_leaf_hash: hash(members.last_leaf_hash, 'last_leaf_hash of a head'),
  };
  if (head.count < 1) throw refused('head of a chain without entries');
  if (head.last_index >= ground.mapHead.index) throw refused('head lies beyond the map head');
  checkMember(suite, {
    root: mapRoot(ground),
    skey: skey(suite, ground.trust.origin, key),
    vhash: vhash(suite, head),
    siblings: siblings(proof),
  });
  return head;
}

function siblings(proof: JsonObject): (string | null)[] {
  const texts = strings(proof.siblings, 'siblings', MAX_SIBLINGS);
  return texts.map((text) => (text === '' ? null : text));
}

function mapRoot(ground: Ground): Uint8Array {
  return fromHex(string(ground.mapHead.statement.map_root, 'map_root'), 32);
}

// Whether a surface was declared over a window, and whether a run of heartbeats covers it. log/FORMAT.md §6.6, §6.7.

/** A surface of an entity and a window of log time, which includes both ends. */
export interface SurfaceWindow {
  readonly entity: string;
  readonly surface: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** The result of reading the manifests of a document. */
export interface Declared {
  /** Whether each manifest lists the surface, and together they cover the window. */
  readonly window: boolean;
  /** The smallest heartbeat interval that a manifest promises; null if none promises heartbeats. */
  readonly interval_ms: number | null;
}

/** The time in which one manifest is in force, and what it says about the surface. */
interface Span {
  readonly entry: OpenedEntry;
  readonly lists: boolean;
  readonly from_ms: number;
  readonly until_ms: number;
  readonly interval_ms: number | null;
}

/** Limit on the manifests of a document. This verifier sets it, not the format. */
const MAX_MANIFESTS = 10_000;

/**
 * Checks the member `declared`: the manifests that were in force during the window, without a gap in their chain.
 * Whether they declare the window is the result.
 *
 * @throws LogError of the check that failed
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

/** Checks the member `coverage`. The result tells whether the run of its heartbeat covers the window at an interval. */
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

/** Checks a manifest and its surface_manifest_hash: hex of SHA-256 of JCS of its own members without the hash. */
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

/** The members that the hash covers. Their order is the canonical one, because sorted objects are printed faster. */
const MANIFEST = [
  'entity',
  'heartbeat_interval_ms',
  'min_detectable_gap_ms',
  'surfaces',
  'valid_from_ms',
  'valid_until_ms',
];

/** Whether each millisecond of the window is in the span of one manifest, both ends included. */
function covers(spans: readonly Span[], window: SurfaceWindow): boolean {
  let uncovered = window.from_ms;
  for (const [i, span] of spans.entries()) {
    const until = Math.min(span.until_ms, spans[i + 1]?.entry.ms ?? Infinity);
    // A span lies between its manifest and the next one, so the spans are in order of time.
    if (span.from_ms <= uncovered && until >= uncovered) uncovered = until + 1;
  }
  return uncovered > window.to_ms;
}
