// From a broken rule to what shows it to others: entries with inclusion proofs, notes with consistency proofs.
//
// The tree of the signed note is taken from wherever it can still be had, and only where it gives the note's root:
//   1. the leaf hashes of what was replayed, with the bundles that follow, kept or fetched;
//   2. the hash tiles;
//   3. all bundles, fetched a second time.
// Where none of them gives the root, the finding is reported as an observation, and names what was withheld.

import { setTimeout as sleep } from 'node:timers/promises';
import {
  checkInclusion,
  equal,
  isLogError,
  native,
  TILE_WIDTH,
  toBase64,
  toHex,
} from '../../log/index.ts';
import type { ReceiptKey } from '../../log/index.ts';
import {
  checkConsistency,
  entryParts,
  HASH_BYTES,
  inclusionPath,
  leafHashOf,
  overTiles,
  publicKeyOfJwk,
  rootAt,
  tileWidth,
} from '../../log/operate.ts';
import type { HashReader, Mirror, Violation } from '../../log/operate.ts';
import { isMirrorMissing, isMirrorTrouble, MirrorTrouble } from '../mirror/tiled.ts';
import { Finding, hiddenEntry, shownEntry } from './finding.ts';
import type { Evidence, Prefix, ShownEntry } from './finding.ts';
import type { KeptMirror } from './kept-mirror.ts';
import { leafAt, overLeaves, prefixOf, type LeafHashes } from './leaf-hashes.ts';
import type { Noted } from './noted.ts';

/** What a monitor has read of a log up to a note. */
export interface Reading {
  readonly mirror: KeptMirror;
  /** Of every entry that was replayed. */
  readonly leaves: LeafHashes;
  readonly head: Noted;
  /** The newest note that was checked before, where `head` is another one. */
  readonly before: Noted | null;
  /** The receipt keys that the entries which were replayed declare. */
  readonly keys: readonly ReceiptKey[];
}

const BRAND = Symbol.for('actlog.Torn');

/** Entries that were wrong at a first look and right at a second one: read again before it is a finding. */
export class Torn extends MirrorTrouble {
  readonly [BRAND] = true;
  readonly finding: Finding;

  constructor(mirror: string, finding: Finding) {
    super(`${mirror} gives other entries at a second look`);
    this.finding = finding;
  }
}

/** Whether a thrown value is a `Torn`. */
export const isTorn = (thrown: unknown): thrown is Torn =>
  thrown instanceof Error && BRAND in thrown;

/** Runs a computation over the tree of a note. */
type Tree = <T>(compute: (hashes: HashReader) => T) => Promise<T>;

/** A slow server does not keep a finding from being reported: what has not been read by then counts as withheld. */
const GATHERING_MS = 60_000;
/** More bundles than this are fetched only where the hash tiles are of no use. */
const FEW_BUNDLES = 16;

/**
 * What to report for an entry that breaks a rule. The log broke it only if it commits to every entry that the replay
 * took before; else other entries are served, or were at a first look. `bytes` are those of the entry that was refused.
 */
export async function findingOf(
  violation: Violation,
  bytes: Uint8Array | null,
  reading: Reading,
): Promise<Finding | Torn> {
  const gathering = new Gathering(reading, violation.index, bytes);
  const own = violation.rule === 'checkpoint_root' ? null : await gathering.asReplayed();
  if (own !== null) return broken(violation, gathering, own);
  const other = await gathering.elsewhere();
  if (other !== null) {
    const fork = await forkOf(reading, other, gathering);
    if (fork !== null) return fork;
    const stray = await strayOf(gathering, other);
    if (stray !== null) return stray;
    if (violation.rule !== 'checkpoint_root') return broken(violation, gathering, other);
  }
  const withheld = gathering.withheld.length > 0;
  if (violation.rule !== 'checkpoint_root' && withheld) {
    return broken(violation, gathering, null);
  }
  const { head, before } = reading;
  const detail = `the entries served do not give the root of the checkpoint of ${String(head.size)}`;
  return new Finding('checkpoint_root', detail, 'observed', {
    notes: before === null ? [head.note] : [before.note, head.note],
    entries: [],
    ...gathering.evidence(),
  });
}

/** Whether an older note is that of a tree which the newer one has in it; the proof that it is not. */
export async function prefixFinding(reading: Reading & { readonly before: Noted }) {
  const gathering = new Gathering(reading, reading.head.size, null);
  const tree = (await gathering.asReplayed()) ?? (await gathering.elsewhere());
  if (tree !== null) return forkOf(reading, tree, gathering);
  const { head, before, mirror } = reading;
  const detail = `${mirror.name} does not show that the tree of ${String(head.size)} entries has that of ${String(before.size)} in it`;
  return new Finding('inconsistent', detail, 'observed', {
    notes: [before.note, head.note],
    entries: [],
    ...gathering.evidence(),
  });
}

/** An entry under a note, from a tree whose leaf hashes are all in memory. */
export async function openEntry(reading: Reading, index: number): Promise<ShownEntry> {
  const gathering = new Gathering(reading, reading.head.size, null);
  const tree = (await gathering.asReplayed()) ?? (await gathering.elsewhere());
  return gathering.show(index, tree);
}

/** A signed finding where the tree is known, else an observation with what was read. */
async function broken(
  { rule, index, related, detail }: Violation,
  gathering: Gathering,
  tree: Tree | null,
): Promise<Finding> {
  const { head } = gathering.reading;
  const entries: ShownEntry[] = [];
  for (const at of new Set([...related, Math.min(index, head.size - 1)])) {
    entries.push(await gathering.show(at, tree));
  }
  const proof = entries.every(({ path }) => path !== undefined) ? 'signed' : 'observed';
  return new Finding(rule, `entry ${String(index)}: ${detail}`, proof, {
    notes: [head.note],
    entries,
    ...gathering.evidence(),
  });
}

/** The proof that the note before is of another tree; null when it is of this one, or there is none. */
async function forkOf(
  { head, before }: Reading,
  tree: Tree,
  gathering: Gathering,
): Promise<Finding | null> {
  if (before === null || before.size === 0 || before.size >= head.size) return null;
  const consistency = await provenPrefix(tree, before.size, head, gathering);
  if (consistency === null || consistency.from_root === toBase64(before.root)) return null;
  const sizes = `the tree of ${String(head.size)} entries does not have that of ${String(before.size)} in it`;
  return new Finding('inconsistent', sizes, 'signed', {
    notes: [before.note, head.note],
    entries: [],
    consistency,
    ...gathering.evidence(),
  });
}

/** The root at an older size, with a proof that leads to the root of the note; null where there is none. */
async function provenPrefix(
  tree: Tree,
  from: number,
  { size: to, root: toRoot }: Noted,
  gathering: Gathering,
): Promise<Prefix | null> {
  return gathering.tried(async () => {
    const prefix = await tree((hashes) => prefixOf(hashes, from, to));
    const fromRoot = Buffer.from(prefix.from_root, 'base64');
    const path = prefix.path.map((hash) => Buffer.from(hash, 'base64'));
    checkConsistency(native, { from, to, fromRoot, toRoot, path });
    return prefix;
  });
}

/**
 * The first entry that was served and that the tree does not have. One that the log has signed contradicts the
 * entry that it commits to; another one may come of a proxy that mixed two answers, if it is right at a second look.
 */
async function strayOf(gathering: Gathering, tree: Tree): Promise<Finding | Torn | null> {
  const { mirror, head, before, leaves } = gathering.reading;
  const read = await gathering.read();
  const start = Math.min(before?.size ?? 0, leaves.fresh);
  for (let n = Math.floor(start / TILE_WIDTH); n * TILE_WIDTH < head.size; n += 1) {
    const width = tileWidth(head.size, 0, n);
    const tile = await gathering.tried(() =>
      tree((hashes) =>
        Array.from({ length: width }, (_, i) => hashes.subtree(0, n * TILE_WIDTH + i)),
      ),
    );
    const at = tile?.findIndex((own, i) => {
      const leaf = leafAt(read, n * TILE_WIDTH + i);
      return leaf !== null && !equal(own, leaf);
    });
    const own = tile?.[at ?? -1];
    if (own === undefined || at === undefined) continue;
    const index = n * TILE_WIDTH + at;
    const leaf = leafAt(read, index) ?? own;
    const second = await gathering.tried(() => mirror.again(n, tileWidth(head.size, 0, n)));
    const now = second?.[index % TILE_WIDTH];
    const bytes = gathering.bytesOf(index, leaf) ?? now;
    const committed = await gathering.show(index, tree);
    const stray =
      bytes === undefined ? { index, leaf_hash: toHex(leaf) } : shownEntry(index, bytes);
    const signer = bytes === undefined ? null : signerOf(bytes, index, gathering.reading);
    if (signer !== null) {
      const detail = `the log has signed two entries of index ${String(index)}`;
      const proof = committed.path === undefined ? 'observed' : 'signed';
      const declaration = await gathering.show(signer.since_index, tree);
      return new Finding('two_entries', detail, proof, {
        notes: [head.note],
        entries: [...(declaration.path === undefined ? [] : [declaration]), stray, committed],
        ...gathering.evidence(),
      });
    }
    const detail = `entry ${String(index)} is served, but the checkpoint does not commit to it`;
    const finding = new Finding('entry_not_included', detail, 'observed', {
      notes: [head.note],
      entries: [stray, committed],
      ...gathering.evidence(),
    });
    return now !== undefined && equal(leafHashOf(now), own)
      ? new Torn(mirror.name, finding)
      : finding;
  }
  return null;
}

/** The key of the log by which an entry that it does not commit to is signed for this index; null for none. */
function signerOf(bytes: Uint8Array, index: number, { head, keys }: Reading): ReceiptKey | null {
  try {
    const { statement, message, signature } = entryParts(
      native,
      Buffer.from(bytes).toString('utf8'),
    );
    if (statement['origin'] !== head.origin || statement['index'] !== index) return null;
    const key = keys.find(({ kid, since_index }) => {
      return kid === statement['kid'] && since_index < index;
    });
    if (key === undefined) return null;
    return native.verify(publicKeyOfJwk(key.jwk), message, signature) ? key : null;
  } catch (error) {
    if (isLogError(error)) return null;
    throw error;
  }
}

/** Collects what is known of the tree of one note, and remembers what was refused. */
class Gathering {
  readonly reading: Reading;
  readonly withheld: string[] = [];
  readonly #index: number;
  readonly #bytes: Uint8Array | null;
  readonly #until = Date.now() + GATHERING_MS;
  #read: Buffer | null = null;

  /** `bytes` are those of the entry at `index`, which the replay has refused. */
  constructor(reading: Reading, index: number, bytes: Uint8Array | null) {
    this.reading = reading;
    this.#index = index;
    this.#bytes = bytes;
  }

  evidence(): Pick<Evidence, 'withheld'> {
    return this.withheld.length === 0 ? {} : { withheld: [...new Set(this.withheld)] };
  }

  /** Leaf hashes of what was read, the refused entry included. */
  async read(): Promise<Buffer> {
    if (this.#read !== null) return this.#read;
    const { leaves, head } = this.reading;
    let read = await leaves.all();
    if (this.#bytes !== null && read.length === this.#index * HASH_BYTES) {
      read = Buffer.concat([read, leafHashOf(this.#bytes)]);
    }
    return (this.#read = read.subarray(0, head.size * HASH_BYTES));
  }

  /** The tree of what was replayed and of the entries behind it, if that is what the note commits to. */
  async asReplayed(): Promise<Tree | null> {
    const { mirror, head } = this.reading;
    const read = await this.read();
    const known = read.length / HASH_BYTES;
    const first = Math.floor(known / TILE_WIDTH);
    const far = Math.ceil(head.size / TILE_WIDTH) - first > FEW_BUNDLES;
    // Cheaper, and equally strong: the tiles prove that the replayed entries are in the tree.
    if (far) {
      const tiles = await this.#overTiles();
      if (tiles !== null && (await this.#has(tiles, read))) return tiles;
    }
    const rest = await this.#leavesOf(first, (n, width) => {
      const kept = mirror.keptBundle(n, width);
      return kept === null ? mirror.again(n, width) : Promise.resolve(kept);
    });
    if (rest === null) {
      const tiles = far ? null : await this.#overTiles();
      return tiles !== null && (await this.#has(tiles, read)) ? tiles : null;
    }
    const all = Buffer.concat([read, rest.subarray((known - first * TILE_WIDTH) * HASH_BYTES)]);
    return this.#checked(all);
  }

  /** The tree of the note by the tiles, or by all bundles at a second look. */
  async elsewhere(): Promise<Tree | null> {
    const tiles = await this.#overTiles();
    if (tiles !== null) return tiles;
    const { mirror } = this.reading;
    const all = await this.#leavesOf(0, (n, width) => mirror.again(n, width));
    if (all !== null) {
      const tree = this.#checked(all);
      if (tree !== null) return tree;
    }
    // What was fetched first may be gone, or other than what is served now.
    const kept = await this.#leavesOf(0, (n, width) => {
      const bundle = mirror.keptBundle(n, width);
      return bundle === null ? mirror.again(n, width) : Promise.resolve(bundle);
    });
    return kept === null ? null : this.#checked(kept);
  }

  /** The bytes of an entry with this leaf hash, as they were read. */
  bytesOf(index: number, leaf: Uint8Array): Uint8Array | null {
    const own = index === this.#index ? this.#bytes : null;
    for (const bytes of [own, this.reading.mirror.keptEntry(index)]) {
      if (bytes !== null && equal(leafHashOf(bytes), leaf)) return bytes;
    }
    return null;
  }

  /** An entry with its path, fetched again where it is not kept; only its hash where it is withheld. */
  async show(index: number, tree: Tree | null): Promise<ShownEntry> {
    const read = leafAt(await this.read(), index);
    const leaf =
      tree === null ? read : await this.tried(() => tree((hashes) => hashes.subtree(0, index)));
    if (leaf === null) return { index };
    const path = tree === null ? null : await this.path(tree, index, leaf);
    const bytes = this.bytesOf(index, leaf) ?? (await this.#fetched(index, leaf));
    if (bytes !== null) return shownEntry(index, bytes, path ?? undefined);
    return path === null ? { index, leaf_hash: toHex(leaf) } : hiddenEntry(index, leaf, path);
  }

  /** The inclusion path of a leaf; null where the tree cannot give one that leads to the root. */
  async path(tree: Tree, index: number, leafHash: Uint8Array): Promise<Uint8Array[] | null> {
    const { size, root } = this.reading.head;
    return this.tried(async () => {
      const path = await tree((hashes) => inclusionPath(hashes, index, size));
      checkInclusion(native, { index, size, leafHash, path, root });
      return path;
    });
  }

  /** Null for what is refused, withheld or does not fit together. */
  async tried<T>(attempt: () => Promise<T>): Promise<T | null> {
    try {
      return await this.#inTime(attempt);
    } catch (error) {
      if (isMirrorTrouble(error)) {
        this.withheld.push(isMirrorMissing(error) ? error.path : error.message);
        return null;
      }
      if (isLogError(error)) return null;
      throw error;
    }
  }

  async #inTime<T>(attempt: () => Promise<T>): Promise<T> {
    const left = this.#until - Date.now();
    if (left <= 0) throw new MirrorTrouble('the rest: there was no time left to ask for it');
    const over = new AbortController();
    try {
      const late = sleep(left, undefined, { signal: over.signal }).then(() => {
        throw new MirrorTrouble(`what was not answered within ${String(GATHERING_MS)} ms`);
      });
      late.catch(() => undefined);
      return await Promise.race([attempt(), late]);
    } finally {
      over.abort();
    }
  }

  async #fetched(index: number, leaf: Uint8Array): Promise<Uint8Array | null> {
    const { mirror, head } = this.reading;
    const n = Math.floor(index / TILE_WIDTH);
    const bundle = await this.tried(() => mirror.again(n, tileWidth(head.size, 0, n)));
    const bytes = bundle?.[index % TILE_WIDTH];
    if (bytes === undefined) return null;
    if (equal(leafHashOf(bytes), leaf)) return bytes;
    this.withheld.push(`entry ${String(index)}: other bytes are served`);
    return null;
  }

  /** Leaf hashes of the bundles from one on up to the size of the note. */
  async #leavesOf(
    first: number,
    read: (n: number, width: number) => Promise<readonly Uint8Array[]>,
  ): Promise<Buffer | null> {
    const { size } = this.reading.head;
    const hashes: Uint8Array[] = [];
    for (let n = first; n * TILE_WIDTH < size; n += 1) {
      const bundle = await this.tried(() => read(n, tileWidth(size, 0, n)));
      if (bundle === null) return null;
      for (const bytes of bundle) hashes.push(leafHashOf(bytes));
    }
    return Buffer.concat(hashes);
  }

  #checked(all: Buffer): Tree | null {
    const { size, root } = this.reading.head;
    if (all.length !== size * HASH_BYTES) return null;
    const hashes = overLeaves(all);
    if (!equal(rootAt(hashes, native, size), root)) return null;
    return (compute) => Promise.resolve().then(() => compute(hashes));
  }

  /** The tree by the hash tiles, each fetched once; null when they do not fit together. */
  async #overTiles(): Promise<Tree | null> {
    const { mirror, head, before } = this.reading;
    const tiles = new Map<string, Promise<Uint8Array>>();
    const once: Mirror = {
      name: mirror.name,
      checkpoint: () => mirror.checkpoint(),
      bundle: (n, width) => mirror.again(n, width),
      tile(level, n, width) {
        const name = `${String(level)}/${String(n)}`;
        const tile = tiles.get(name) ?? mirror.tile(level, n, width);
        tiles.set(name, tile);
        return tile;
      },
    };
    const tree: Tree = (compute) => overTiles(once, head.size, compute);
    const root = await this.tried(() => tree((hashes) => rootAt(hashes, native, head.size)));
    if (root === null || !equal(root, head.root)) return null;
    const older = before?.size ?? 0;
    if (older === 0 || older >= head.size) return tree;
    return (await provenPrefix(tree, older, head, this)) === null ? null : tree;
  }

  /** Whether what was read is how the tree begins. */
  async #has(tree: Tree, read: Buffer): Promise<boolean> {
    const { head } = this.reading;
    const size = read.length / HASH_BYTES;
    if (size === 0 || size > head.size) return size === 0;
    const prefix = await provenPrefix(tree, size, head, this);
    return prefix?.from_root === toBase64(rootAt(overLeaves(read), native, size));
  }
}
