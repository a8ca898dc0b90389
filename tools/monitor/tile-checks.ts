// Compares the hash tiles that a log serves with those that its entries give. Nobody has signed a tile, so a
// wrong or missing one is an observation; but clients build their proofs from tiles, and would call the log a liar
// or the entry absent. C2SP tlog-tiles; log/FORMAT.md §1, §7.
//
// Tiles on the right edge are read at each new checkpoint. Of the others a random sample is read at each look, so
// that all of them are read within a day. A look that reads every tile reads those of leaves during the replay.

import { randomInt } from 'node:crypto';
import { equal, native, TILE_WIDTH, toBase64 } from '../../log/index.ts';
import { HASH_BYTES, rootAt, TILE_HEIGHT, tilePath, tileWidth } from '../../log/operate.ts';
import type { Mirror } from '../../log/operate.ts';
import { isMirrorTrouble } from '../mirror/tiled.ts';
import { Finding, isFinding } from './finding.ts';
import { overLeaves } from './leaf-hashes.ts';
import type { LeafHashes, Slice } from './leaf-hashes.ts';
import type { Noted } from './noted.ts';

const DAY_MS = 86_400_000;
/** Tiles that are read at the same time. */
const AT_ONCE = 4;
/** More new tiles than this are left to the sample. */
const MOST_NEW = 64;

/** One tile of the tree. */
interface Place {
  readonly level: number;
  readonly n: number;
}

/** Which tiles are read: every one, or a sample for the time since the last look. */
export type Extent = 'all' | { readonly elapsed_ms: number };

/** The tiles of one log. */
export class TileChecks {
  readonly #mirror: Mirror;
  readonly #leaves: LeafHashes;
  /** Hashes of complete subtrees of 256^level leaves, from level 1 on; of level 0 only the incomplete tile. */
  #levels: Buffer[] = [];
  #built = 0;
  /** Every tile of the tree, and those that are still to be read in this pass. */
  #all: readonly Place[] = [];
  #left: Place[] = [];
  #due = 0;
  #checked = 0;
  #ahead: TilesAhead;

  constructor(mirror: Mirror, leaves: LeafHashes) {
    this.#mirror = mirror;
    this.#leaves = leaves;
    this.#ahead = new TilesAhead(mirror);
  }

  /** Reads a full tile of leaves for the next `check`. A server that hands out another one is judged there. */
  readAhead(n: number, expected: Uint8Array): void {
    this.#ahead.read(n, expected);
  }

  /** Forgets what was read ahead: the entries were not those of the note. */
  drop(): void {
    this.#ahead = new TilesAhead(this.#mirror);
  }

  /**
   * Reads tiles of the tree of a note that was replayed.
   *
   * @returns false when the leaf hashes that are kept do not give the note's root: the file is damaged
   * @throws Finding `tile_wrong`; MirrorTrouble, MirrorMissing for a tile that is not served
   */
  check(head: Noted, extent: Extent): Promise<boolean> {
    return this.#leaves.reading(async (slice) => {
      const ahead = await this.#ahead.right();
      if (!(await this.#build(head, slice, ahead))) return false;
      const places = extent === 'all' ? this.#all : this.#sample(head.size, extent);
      const left = places.filter(({ level, n }) => level > 0 || !ahead.has(n));
      await this.#compareAll(left, head, slice);
      this.#checked = head.size;
      this.drop();
      return true;
    });
  }

  /** Compares tiles, AT_ONCE at a time, until one is wrong or cannot be read. */
  async #compareAll(places: readonly Place[], head: Noted, slice: Slice): Promise<void> {
    const left = places.entries();
    const errors: { readonly at: number; readonly error: unknown }[] = [];
    const some = async (): Promise<void> => {
      for (const [at, place] of left) {
        await this.#compare(place, head, slice).catch((error: unknown) => {
          errors.push({ at, error });
        });
        if (errors.length > 0) return;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, some));
    errors.sort((a, b) => a.at - b.at);
    // A wrong tile says more than one that could not be read.
    const found = errors.find(({ error }) => isFinding(error)) ?? errors[0];
    if (found !== undefined) throw found.error;
  }

  /** Hashes the levels above the leaves, from where the last look ended. `ahead` has roots of tiles of leaves by n. */
  async #build(
    { size, root }: Noted,
    slice: Slice,
    ahead: ReadonlyMap<number, Uint8Array>,
  ): Promise<boolean> {
    if (size === this.#built) return true;
    const tail = await slice(size - (size % TILE_WIDTH), size);
    if (tail.length !== (size % TILE_WIDTH) * HASH_BYTES) return false;
    const levels = [tail];
    for (let level = 1; size >= TILE_WIDTH ** level; level += 1) {
      const count = Math.floor(size / TILE_WIDTH ** level);
      const hashes = Buffer.alloc(count * HASH_BYTES);
      const before = this.#levels[level]?.subarray(0, hashes.length) ?? Buffer.alloc(0);
      hashes.set(before);
      for (let n = before.length / HASH_BYTES; n < count; n += 1) {
        const known = level === 1 ? ahead.get(n) : undefined;
        if (known !== undefined) {
          hashes.set(known, n * HASH_BYTES);
          continue;
        }
        const [from, to] = [n * TILE_WIDTH, (n + 1) * TILE_WIDTH];
        const below =
          level === 1
            ? await slice(from, to)
            : (levels[level - 1] ?? hashes).subarray(from * HASH_BYTES, to * HASH_BYTES);
        if (below.length !== TILE_WIDTH * HASH_BYTES) return false;
        hashes.set(overLeaves(below).subtree(TILE_HEIGHT, 0), n * HASH_BYTES);
      }
      levels.push(hashes);
    }
    const subtree = (height: number, index: number): Uint8Array => {
      const hashes = levels[Math.floor(height / TILE_HEIGHT)] ?? tail;
      const within = 2 ** (height % TILE_HEIGHT);
      // Of level 0 there are only the leaves after the last complete tile.
      const first = height < TILE_HEIGHT ? size - (size % TILE_WIDTH) : 0;
      const start = (index * within - first) * HASH_BYTES;
      const leaves = hashes.subarray(start, start + within * HASH_BYTES);
      return overLeaves(leaves).subtree(height % TILE_HEIGHT, 0);
    };
    if (!equal(rootAt({ subtree }, native, size), root)) return false;
    this.#levels = levels;
    this.#built = size;
    this.#all = placesOf(size);
    return true;
  }

  #sample(size: number, { elapsed_ms }: { readonly elapsed_ms: number }): readonly Place[] {
    const all = this.#all;
    const fresh =
      size === this.#checked
        ? []
        : all.filter(({ level, n }) => {
            const [now, then] = [tileWidth(size, level, n), tileWidth(this.#checked, level, n)];
            return now < TILE_WIDTH || now !== then;
          });
    const edge =
      fresh.length > MOST_NEW
        ? fresh.filter(({ level, n }) => tileWidth(size, level, n) < TILE_WIDTH)
        : fresh;
    this.#due += (all.length * Math.min(elapsed_ms, DAY_MS)) / DAY_MS;
    const sample: Place[] = [];
    for (; this.#due >= 1; this.#due -= 1) {
      if (this.#left.length === 0) this.#left = [...all];
      const at = randomInt(this.#left.length);
      const [place, last] = [this.#left[at], this.#left.pop()];
      if (last !== undefined && last !== place) this.#left[at] = last;
      if (place !== undefined) sample.push(place);
    }
    return [...edge, ...sample];
  }

  async #compare({ level, n }: Place, head: Noted, slice: Slice): Promise<void> {
    const width = tileWidth(head.size, level, n);
    const first = n * TILE_WIDTH;
    const expected =
      level === 0
        ? await slice(first, first + width)
        : (this.#levels[level] ?? Buffer.alloc(0)).subarray(
            first * HASH_BYTES,
            (first + width) * HASH_BYTES,
          );
    const { wrong } = this.#ahead;
    const served =
      level === 0 && n === wrong?.n ? wrong.served : await this.#mirror.tile(level, n, width);
    if (equal(served, expected)) return;
    const path = tilePath(level, n, width);
    throw new Finding('tile_wrong', `${path} is not the tile of the entries`, 'observed', {
      notes: [head.note],
      entries: [],
      tile: { path, served: toBase64(served), expected: toBase64(expected) },
    });
  }
}

/** Tiles that may wait to be read ahead: the others are left to `check`. */
const MOST_WAITING = 64;

/**
 * Reads full tiles of leaves one after the other while the replay goes on, because threads verify signatures meanwhile.
 * It ends with the first tile that is wrong or cannot be read, so that a server without tiles does not delay the replay.
 */
class TilesAhead {
  readonly #mirror: Mirror;
  /** The tile that was not served as expected; null for none. */
  wrong: { readonly n: number; readonly served: Uint8Array } | null = null;
  /** The roots of the tiles that were served as expected, by n. */
  readonly #right = new Map<number, Uint8Array>();
  #waiting: { readonly n: number; readonly expected: Uint8Array }[] = [];
  #reading: Promise<void> | null = null;
  #ended = false;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  read(n: number, expected: Uint8Array): void {
    if (this.#ended || this.#waiting.length === MOST_WAITING) return;
    this.#waiting.push({ n, expected });
    this.#reading ??= this.#readAll();
  }

  /** The tiles that are right, once all that were to be read ahead are read. */
  async right(): Promise<ReadonlyMap<number, Uint8Array>> {
    await this.#reading;
    return this.#right;
  }

  async #readAll(): Promise<void> {
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const { n, expected } = next;
        const served = await this.#mirror.tile(0, n, TILE_WIDTH);
        if (!equal(served, expected)) {
          this.wrong = { n, served };
          this.#end();
          return;
        }
        this.#right.set(n, overLeaves(expected).subtree(TILE_HEIGHT, 0));
      }
      this.#reading = null;
    } catch (error) {
      if (!isMirrorTrouble(error)) throw error;
      this.#end();
    }
  }

  #end(): void {
    this.#ended = true;
    this.#waiting = [];
  }
}

/** Every tile that a tree of this size implies. */
function placesOf(size: number): Place[] {
  const places: Place[] = [];
  for (let level = 0; size >= TILE_WIDTH ** level; level += 1) {
    for (let n = 0; tileWidth(size, level, n) > 0; n += 1) places.push({ level, n });
  }
  return places;
}
