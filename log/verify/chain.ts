// Proofs that nothing stands on a chain between two places: never, tail and gap. log/FORMAT.md §6.4.

import type { Suite } from '../crypto/suite.ts';
import { equal, fromHex } from '../encoding/bytes.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { checkMember, checkNonMember, MAX_SIBLINGS } from '../map/check.ts';
import type { MapLeaf } from '../map/check.ts';
import { vhash } from '../map/head.ts';
import { skey } from '../map/key.ts';
import type { ChainKey, Head } from '../types.ts';
import { linkOn, openEntry } from './open.ts';
import type { OpenedEntry, OpenedLink, TreeHead } from './open.ts';
import { count, exactObject, hash, refused, string, strings } from './shape.ts';
import type { Trust } from './trust.ts';

/** What every step of a document rests on. */
export interface Ground {
  readonly suite: Suite;
  readonly trust: Trust;
  readonly tree: TreeHead;
  /** The map head that is the tree's last entry. */
  readonly mapHead: OpenedEntry;
}

/** What closes a chain: its head in the map, or the entry that follows. */
export type Closing =
  | { readonly type: 'never' }
  | { readonly type: 'tail'; readonly head: Head }
  | { readonly type: 'gap'; readonly successor: OpenedEntry; readonly link: OpenedLink };

/**
 * Reads a proof about the chain and checks it against the map or the tree. What it means for a window
 * is for the caller to compare.
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

/** Nothing stands on the chain from `from_ms` to `to_ms`, both ends included. */
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

/** Nothing stands on the chain between this entry and what closes it. */
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

/** `next` is the link of the entry that directly follows on the chain. */
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
