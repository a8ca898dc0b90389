// Publishes a log as files of C2SP tlog-tiles to a store that readers can use without the service: a folder for any web
// server, or a bucket. log/FORMAT.md §1.
//
// A step brings the store from the checkpoint that it has to the newest one, in this order. A crash after any part
// leaves a store whose checkpoint implies only files that are there, and the next step continues from it.
//   1. Full bundles and the hash tiles that they fill, lower levels first.
//   2. The root over all entries is compared with the signed one; nothing else is written if it differs.
//   3. The partial bundle and the partial tiles.
//   4. The checkpoint.

import { native } from '../crypto/native.ts';
import { concat, equal } from '../encoding/bytes.ts';
import { isLogError } from '../errors.ts';
import { checkConsistency } from '../merkle/check.ts';
import { RightEdge } from '../merkle/edge.ts';
import type { DirtyTile } from '../merkle/edge.ts';
import { HASH_BYTES, leafHash } from '../merkle/hash.ts';
import { consistencyPath } from '../merkle/prove.ts';
import { encodeBundle, parseBundle, tilePath, TILE_WIDTH, tileWidth } from '../merkle/tile.ts';
import { openCheckpoint, parseCheckpoint } from '../note/checkpoint.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import { splitNote } from '../note/note.ts';
import type { Log } from '../types.ts';
import { overTiles } from './mirror.ts';
import type { Mirror } from './mirror.ts';

/** A partial tile or bundle that a store has. */
export interface StoredPartial {
  readonly path: string;
  /** When the full tile or bundle was stored; null while there is none. */
  readonly full_at_ms: number | null;
}

/** Where the files of one log go. Paths are those under the prefix of the log. */
export interface TileStore {
  /** For messages. */
  readonly name: string;
  read(path: string): Promise<Uint8Array | null>;
  /**
   * Stores a tile or bundle.
   *
   * @throws TilesRefused `fork` if the store never replaces a file and has other bytes there
   */
  put(path: string, bytes: Uint8Array): Promise<void>;
  /** The note that the store has; null for none. */
  checkpoint(): Promise<string | null>;
  /**
   * Replaces the note that `checkpoint` returned last, after everything that was put before is durable. Rejects if
   * another process has replaced that note, where the store can tell.
   */
  putCheckpoint(note: string): Promise<void>;
  /** All partial tiles and bundles. */
  partials(): AsyncIterable<StoredPartial>;
  remove(path: string): Promise<void>;
}

/** Why nothing more is published: see the members of `TilesRefused`. */
export type TilesRefusal = 'fork' | 'behind' | 'foreign' | 'unproven';

const BRAND = Symbol.for('actlog.TilesRefused');

/**
 * A refusal to publish. `fork`: the store has another history of this log. `behind`: the store is ahead of the source.
 * `foreign`: the store or the source has another log. `unproven`: the entries do not lead to the signed root.
 */
export class TilesRefused extends Error {
  override readonly name = 'TilesRefused';
  readonly [BRAND] = true;
  readonly code: TilesRefusal;

  constructor(code: TilesRefusal, message: string) {
    super(message);
    this.code = code;
  }
}

/** Whether a thrown value is a `TilesRefused`. */
export const isTilesRefused = (thrown: unknown): thrown is TilesRefused =>
  thrown instanceof Error && BRAND in thrown;

/** What is published, and where to. */
export interface TilePublisherOptions {
  readonly source: Mirror;
  readonly store: TileStore;
  /** Without it the signature of the checkpoint is not verified. */
  readonly vkey?: string;
  /**
   * Whether the first step reads every file of the store, compares it with its hashes and writes it again if it is
   * damaged. Otherwise the first step continues from the checkpoint of the store, or from the last full tile of level 1.
   */
  readonly reread: boolean;
  readonly now: () => number;
  readonly onProgress?: (done: number, size: number) => void;
}

/** The result of a step. */
export interface PublishedTiles {
  readonly origin: string;
  readonly size: number;
  /** Entries that were read from the source; the others were in the store. */
  readonly fetched: number;
}

/** Bundles that are read and stored at the same time. */
const WINDOW = 16;
/** The entries under a full tile of level 1: an interrupted first upload continues at a multiple of it. */
const LEVEL_1 = TILE_WIDTH ** 2;
/** A partial tile is removed this long after its full tile exists; readers of an older checkpoint may ask for it. */
const SUPERSEDED_MS = 3_600_000;

/** An open log as the source of a publisher. */
export const logMirror = (log: Log): Mirror => ({
  name: log.origin,
  checkpoint: () => Promise.resolve(log.published().note),
  tile(level, n, width) {
    const tile = log.tile(level, n, width);
    return tile === null ? Promise.reject(lacks(log, level, n)) : Promise.resolve(tile);
  },
  async bundle(n, width) {
    const bundle = await log.bundle(n, width);
    if (bundle === null) throw lacks(log, 'entries', n);
    return parseBundle(bundle);
  },
});

const lacks = ({ origin }: Log, level: number | 'entries', n: number): Error =>
  new Error(`${origin} has no ${tilePath(level, n)}`);

/** Brings one store up to the checkpoints of one source, step by step. */
export class TilePublisher {
  readonly #options: TilePublisherOptions;
  #reread: boolean;
  /** The tree that the checkpoint of the store signs; null before the first step and after a failed one. */
  #known: { readonly note: string; readonly edge: RightEdge } | null = null;
  /** Partial files by the path of their full one. */
  readonly #partials = new Map<
    string,
    { readonly paths: Set<string>; full_at_ms: number | null }
  >();

  /** The partial files of the newest step. */
  #stored = new Set<string>();

  constructor(options: TilePublisherOptions) {
    this.#options = options;
    this.#reread = options.reread;
  }

  /** The note in the store after the last step; null before the first step and after a failed one. */
  get note(): string | null {
    return this.#known?.note ?? null;
  }

  /**
   * Publishes up to the newest checkpoint of the source. One call at a time. After a failure, the next call reads the
   * checkpoint of the store again.
   *
   * @throws TilesRefused, or what the source or the store throws
   */
  async step(): Promise<PublishedTiles> {
    const before = this.#known;
    this.#known = null;
    const { source, store, vkey } = this.#options;
    const note = await source.checkpoint();
    const head = headOf(note, source.name, vkey);
    const { origin, size } = head;
    if (before?.note === note) {
      this.#known = before;
      return { origin, size, fetched: 0 };
    }
    const kept = before?.note ?? (await store.checkpoint());
    if (kept !== null) await this.#checkKept(kept, { head, note });
    const start = this.#reread
      ? new RightEdge()
      : (before?.edge ?? (await this.#resume(kept, head)));
    // A failed step must not change the edge of the one before.
    const edge = start.clone();
    const { fetched, partial } = await this.#putFull(edge, size);
    if (!equal(edge.root(), head.root)) throw this.#unproven(size, fetched === size);
    await Promise.all(partial.map((file) => this.#putPartial(file)));
    await store.putCheckpoint(note);
    this.#stored = new Set(partial.map(({ path }) => path));
    this.#known = { note, edge };
    this.#reread = false;
    return { origin, size, fetched };
  }

  /** Finds the partial files that earlier processes stored. Call it once, beside the steps. */
  async findPartials(): Promise<void> {
    for await (const { path, full_at_ms } of this.#options.store.partials()) {
      this.#remember(path, full_at_ms);
    }
  }

  /** Removes the partial files whose full file has existed for an hour. Returns how many were removed. */
  async removeSuperseded(): Promise<number> {
    const { store, now } = this.#options;
    let removed = 0;
    for (const [full, { paths, full_at_ms }] of this.#partials) {
      if (full_at_ms === null || now() - full_at_ms < SUPERSEDED_MS) continue;
      for (const path of paths) {
        await store.remove(path);
        paths.delete(path);
        removed += 1;
      }
      this.#partials.delete(full);
    }
    return removed;
  }

  #remember(path: string, full_at_ms: number | null): void {
    const full = path.slice(0, path.lastIndexOf('.p/'));
    const known = this.#partials.get(full);
    if (known === undefined) this.#partials.set(full, { paths: new Set([path]), full_at_ms });
    else {
      known.paths.add(path);
      known.full_at_ms ??= full_at_ms;
    }
  }

  async #put({ path, bytes }: File): Promise<void> {
    await this.#options.store.put(path, bytes);
    const superseded = this.#partials.get(path);
    if (superseded !== undefined) superseded.full_at_ms ??= this.#options.now();
  }

  /** The tiles of the higher levels are the same in most steps; they are stored once. */
  async #putPartial({ path, bytes }: File): Promise<void> {
    if (this.#stored.has(path)) return;
    this.#remember(path, null);
    await this.#options.store.put(path, bytes);
    this.#stored.add(path);
  }

  /** The entries from the edge on: stores what is full, and returns the files that are partial at this size. */
  async #putFull(edge: RightEdge, size: number): Promise<{ fetched: number; partial: File[] }> {
    const count = Math.ceil(size / TILE_WIDTH);
    const reread = this.#reread;
    const partial: File[] = [];
    let fetched = 0;
    for (let n = Math.floor(edge.size / TILE_WIDTH); n < count;) {
      const numbers = Array.from({ length: Math.min(WINDOW, count - n) }, (_, i) => n + i);
      const read = await Promise.allSettled(
        numbers.map((number) => this.#bundle(number, tileWidth(size, 0, number), reread)),
      );
      // Bundles before one that cannot be read are stored, so that the next step has less to do.
      const failed = read.findIndex(({ status }) => status === 'rejected');
      const bundles = (failed < 0 ? read : read.slice(0, failed)).map(valueOf);
      const lowest: File[] = [];
      for (const [i, { hashes, bytes }] of bundles.entries()) {
        const number = n + i;
        const known = edge.size - number * TILE_WIDTH;
        for (const hash of hashes.slice(known)) edge.append(hash);
        if (bytes === null) continue;
        fetched += hashes.length - known;
        const file = { path: tilePath('entries', number, hashes.length), bytes };
        (hashes.length === TILE_WIDTH ? lowest : partial).push(file);
      }
      const full = edge
        .takeDirty()
        .filter(({ hashes }) => hashes.length === TILE_WIDTH * HASH_BYTES);
      lowest.push(...full.filter(({ level }) => level === 0).map(fileOf));
      await Promise.all(lowest.map((file) => this.#put(file)));
      // In their order, which is that of the levels: a tile is stored after everything below it.
      for (const tile of full) if (tile.level > 0) await this.#put(fileOf(tile));
      if (failed >= 0) valueOf(read[failed]);
      n += numbers.length;
      this.#options.onProgress?.(edge.size, size);
    }
    partial.push(...edge.partialTiles().map(fileOf));
    return { fetched, partial };
  }

  /** A bundle with its leaf hashes; `bytes` is null if the store has it and its tile, and both agree. */
  async #bundle(n: number, width: number, reread: boolean): Promise<Bundle> {
    if (reread && width === TILE_WIDTH) {
      const { store } = this.#options;
      const [bytes, tile] = await Promise.all([
        store.read(tilePath('entries', n)),
        store.read(tilePath(0, n)),
      ]);
      const hashes = hashesOf(bytes === null ? [] : parsed(bytes));
      if (tile !== null && hashes.length === TILE_WIDTH && equal(concat(...hashes), tile)) {
        return { hashes, bytes: null };
      }
    }
    const entries = await this.#options.source.bundle(n, width);
    return { hashes: hashesOf(entries), bytes: encodeBundle(entries) };
  }

  /**
   * The tree that the first step continues: that of the checkpoint in the store, or of the full tiles of level 1 that an
   * interrupted step has stored behind it. Such a tile is stored after everything below it.
   */
  async #resume(kept: string | null, head: Checkpoint): Promise<RightEdge> {
    const { source, store, vkey } = this.#options;
    const base = kept === null ? null : headOf(kept, store.name, vkey);
    let size = base?.size ?? 0;
    for (let n = Math.floor(size / LEVEL_1); (n + 1) * LEVEL_1 <= head.size; n += 1) {
      const path = tilePath(1, n);
      const stored = await store.read(path);
      if (stored === null) break;
      if (!equal(stored, await source.tile(1, n, TILE_WIDTH))) throw forked(store.name, path);
      size = (n + 1) * LEVEL_1;
    }
    const tiles = new Map<number, Uint8Array>();
    for (let level = 0, hashes = size; hashes > 0; level += 1) {
      const width = hashes % TILE_WIDTH;
      hashes = Math.floor(hashes / TILE_WIDTH);
      if (width > 0) tiles.set(level, await source.tile(level, hashes, width));
    }
    const edge = RightEdge.restore(size, (level) => tiles.get(level) ?? new Uint8Array());
    if (size === base?.size && !equal(edge.root(), base.root)) {
      throw forked(store.name, 'checkpoint');
    }
    return edge;
  }

  /** The checkpoint in the store must be one that the log has grown from. */
  async #checkKept(
    keptNote: string,
    { head, note }: { readonly head: Checkpoint; readonly note: string },
  ): Promise<void> {
    const { source, store, vkey } = this.#options;
    const kept = headOf(keptNote, store.name, vkey);
    if (kept.origin !== head.origin) {
      throw new TilesRefused(
        'foreign',
        `${store.name} has the log ${kept.origin}, not ${head.origin}`,
      );
    }
    if (kept.size > head.size) {
      const [there, here] = [String(kept.size), String(head.size)];
      throw new TilesRefused(
        'behind',
        `${store.name} is at size ${there} already, ${source.name} only at ${here}`,
      );
    }
    const { size: from, root: fromRoot } = kept;
    const { size: to, root: toRoot } = head;
    const path = await overTiles(source, to, (hashes) => consistencyPath(hashes, from, to));
    try {
      checkConsistency(native, { from, to, fromRoot, toRoot, path });
    } catch (error) {
      if (!isLogError(error)) throw error;
      throw new TilesRefused(
        'fork',
        `the log does not show that it grew from what ${store.name} has of it. If both notes are signed by ` +
          `its key and "actlog monitor" finds the same, they prove a fork:\n\n${keptNote}\n${note}`,
      );
    }
  }

  #unproven(size: number, all: boolean): TilesRefused {
    const { source, store } = this.#options;
    const at = String(size);
    return new TilesRefused(
      'unproven',
      all
        ? `the entries of ${source.name} do not lead to the root of its checkpoint of size ${at}`
        : `the entries of ${source.name} and the files in ${store.name} do not lead to the root of the ` +
            `checkpoint of size ${at}: publish to a new folder or prefix`,
    );
  }
}

interface File {
  readonly path: string;
  readonly bytes: Uint8Array;
}

interface Bundle {
  readonly hashes: readonly Uint8Array[];
  readonly bytes: Uint8Array | null;
}

function valueOf<T>(settled: PromiseSettledResult<T> | undefined): T {
  if (settled?.status === 'fulfilled') return settled.value;
  throw settled?.reason;
}

const fileOf = ({ level, n, hashes }: DirtyTile): File => ({
  path: tilePath(level, n, hashes.length / HASH_BYTES),
  bytes: hashes,
});

const hashesOf = (entries: readonly Uint8Array[]): Uint8Array[] =>
  entries.map((entry) => leafHash(native, entry));

/** A damaged file is not a bundle: it is fetched again. */
function parsed(bytes: Uint8Array): Uint8Array[] {
  try {
    return parseBundle(bytes);
  } catch {
    return [];
  }
}

/** The refusal for a store that has other bytes than the log. */
export const forked = (store: string, path: string): TilesRefused =>
  new TilesRefused(
    'fork',
    `${store} has other bytes at ${path} than this log: another copy of the log published there, or the prefix ` +
      'belongs to another log',
  );

function headOf(note: string, place: string, vkey: string | undefined): Checkpoint {
  const head = parseCheckpoint(splitNote(note).text);
  if (vkey === undefined) return head;
  if (!vkey.startsWith(`${head.origin}+`)) {
    throw new TilesRefused(
      'foreign',
      `the checkpoint of ${place} is of ${head.origin}, not of the known log`,
    );
  }
  return openCheckpoint(native, note, { origin: head.origin, vkey });
}
