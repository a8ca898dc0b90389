// Caches the parts that answers under one published tree share: opened entries, proofs of the end of a chain, and
// chains of one entry or none. They depend on the tree alone and are dropped when the next tree is published.
// log/FORMAT.md §6.2, §6.4.

import { LRUCache } from 'lru-cache';
import { native } from '../crypto/native.ts';
import type { Core } from '../write/core.ts';
import { LogError } from '../errors.ts';
import { decodeHead } from '../map/head.ts';
import type { MapProof } from '../map/check.ts';
import { skey } from '../map/key.ts';
import { inclusionPath } from '../merkle/prove.ts';
import type { RightSide } from '../merkle/prove.ts';
import type { Visible } from '../write/publisher.ts';
import { chainRowKey, headKey, readChainRowKey } from '../store/layout.ts';
import type { ChainRow, Head, Link, Opened } from '../types.ts';

/** The proof that a chain ends, as documents contain it. */
export type ChainEnd = Readonly<Record<string, unknown>>;

/** Limits of the cache of one tree: characters of entries with their paths, and number of chains. */
const OPENED_CHARACTERS = 4 * 1024 * 1024;
const CHAINS = 1024;
const PATH_CHARACTERS = 44;

/** A chain that had at most one entry when it was read. Entries appended since are not in the tree. */
interface ShortChain {
  readonly row: ChainRow | null;
}

/** The cache of one tree; it is released together with its `Visible`. */
interface Parts {
  readonly rightSide: RightSide;
  readonly opened: LRUCache<number, Opened>;
  readonly ends: LRUCache<string, Promise<ChainEnd>>;
  readonly short: LRUCache<string, ShortChain>;
}

const partsOf = new WeakMap<Visible, Parts>();

function parts(visible: Visible): Parts {
  const known = partsOf.get(visible);
  if (known !== undefined) return known;
  const made: Parts = {
    rightSide: new Map(),
    opened: new LRUCache({
      maxSize: OPENED_CHARACTERS,
      sizeCalculation: ({ entry, path }) => entry.length + path.length * PATH_CHARACTERS,
    }),
    ends: new LRUCache({ max: CHAINS }),
    short: new LRUCache({ max: CHAINS }),
  };
  partsOf.set(visible, made);
  return made;
}

/** Opens an entry under the published tree (log/FORMAT.md §6, *opened*). Frozen, because answers share it. */
export function openAt(core: Core, index: number, visible: Visible): Opened {
  const { opened, rightSide } = parts(visible);
  const known = opened.get(index);
  if (known !== undefined) return known;
  const path = inclusionPath(core.tiles, index, visible.size, native, rightSide);
  const made = Object.freeze({
    entry: core.entryText(index),
    index,
    path: Object.freeze(path.map(base64)),
  });
  opened.set(index, made);
  return made;
}

/**
 * Proves that no entry follows: the head of the chain is its last entry, or the chain does not exist. Frozen as well.
 */
export function chainEnd(core: Core, visible: Visible, place: Uint8Array): Promise<ChainEnd> {
  const { ends } = parts(visible);
  const id = idOf(place);
  const known = ends.get(id);
  if (known !== undefined) return known;
  const made = proveEnd(core, visible, place);
  ends.set(id, made);
  // Failures are not cached.
  made.catch(() => {
    if (ends.peek(id) === made) ends.delete(id);
  });
  return made;
}

/** The only row of a chain, `row: null` for a chain without entries; null for a chain with several. */
export function shortChain(core: Core, visible: Visible, place: Uint8Array): ShortChain | null {
  const { short } = parts(visible);
  const id = idOf(place);
  const known = short.get(id);
  if (known !== undefined) return known;
  const stored = core.store.get(headKey(place));
  const head = stored === undefined ? null : decodeHead(stored);
  if (head !== null && head.count > 1) return null;
  const made = { row: head === null ? null : { ms: head.last_ms, index: head.last_index } };
  short.set(id, made);
  return made;
}

const idOf = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('latin1');

async function proveEnd(core: Core, visible: Visible, place: Uint8Array): Promise<ChainEnd> {
  const [found] = await core.fold.prove(visible.version, [place]);
  if (found === undefined) throw new Error('the fold answers each key');
  const siblings = siblingTexts(found);
  const { leaf } = found;
  if (leaf === null) return Object.freeze({ siblings, type: 'never' });
  if (!Buffer.from(leaf.skey).equals(place)) {
    const foreign = Object.freeze({ skey: base64(leaf.skey), vhash: base64(leaf.vhash) });
    return Object.freeze({ foreign, siblings, type: 'never' });
  }
  const { count, last_index, last_ms, last_leaf_hash } = await headAt(core, place, visible.size);
  const head = { count, last_index, last_leaf_hash: base64(last_leaf_hash), last_ms };
  return Object.freeze({ head: Object.freeze(head), siblings, type: 'tail' });
}

const siblingTexts = ({ siblings }: MapProof): readonly string[] =>
  Object.freeze(siblings.map((sibling) => (sibling === null ? '' : base64(sibling))));

/** A view on the same bytes: documents consist mostly of such hashes, and this is the fastest way to print them. */
const base64 = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('base64');

/** The head of a chain as of a published size; the stored one may be newer. */
async function headAt(core: Core, place: Uint8Array, size: number): Promise<Head> {
  const stored = core.store.get(headKey(place));
  if (stored !== undefined) {
    const head = decodeHead(stored);
    if (head.last_index < size) return head;
  }
  const keys = core.store.scan({
    gte: chainRowKey(place, 0, 0),
    lt: chainRowKey(place, Number.MAX_SAFE_INTEGER, 0),
    reverse: true,
  });
  for await (const [key] of keys) {
    const { index, ms } = readChainRowKey(key);
    if (index >= size) continue;
    const links = core.statementAt(index)['links'] as unknown as readonly Link[];
    const link = links.find((candidate) =>
      Buffer.from(skey(native, core.origin, candidate.key)).equals(place),
    );
    if (link === undefined) break;
    const last_leaf_hash = core.tiles.subtree(0, index);
    return { count: link.seq + 1, last_index: index, last_ms: ms, last_leaf_hash };
  }
  throw new LogError('store_corrupt', 'a chain in the map has no rows');
}
