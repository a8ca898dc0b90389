// A log as static files: checkpoint, tiles and bundles of its newest checkpoint. Everything is computed
// again from the entries while it is written, and the checkpoint comes last: a folder that has one is whole.
// C2SP tlog-tiles; log/FORMAT.md §1.

import {
  equal,
  isLogError,
  leafHash,
  native,
  openCheckpoint,
  parseCheckpoint,
  RightEdge,
  TILE_WIDTH,
} from '../../log/index.ts';
import {
  checkConsistency,
  concat,
  consistencyPath,
  encodeBundle,
  overTiles,
  parseBundle,
  splitNote,
  tilePath,
  tileWidth,
} from '../../log/operate.ts';
import type { Checkpoint, Mirror } from '../../log/operate.ts';
import { CommandError, EXIT } from '../command-line.ts';
import { StaticFiles } from './static-files.ts';

/** What is exported, and where to. */
export interface ExportOptions {
  readonly mirror: Mirror;
  /** The prefix of the log: `checkpoint` and `tile/` stand in it. */
  readonly folder: string;
  /** Without it the signature of the checkpoint is not looked at. */
  readonly vkey?: string;
  readonly onProgress?: (done: number, size: number) => void;
}

/** What came of it. */
export interface Exported {
  readonly origin: string;
  readonly size: number;
  /** Entries that the mirror was asked for; the others were there from an earlier export. */
  readonly fetched: number;
}

/** Bundles that are read ahead. */
const AHEAD = 4;

/**
 * Brings a folder up to the newest checkpoint of a mirror; goes on where an earlier run broke off.
 *
 * @throws CommandError when the entries do not lead to the signed root; with exit 3 and both notes when
 *   the checkpoint contradicts the one that the folder has
 */
export async function exportLog(options: ExportOptions): Promise<Exported> {
  const { mirror, onProgress } = options;
  const files = new StaticFiles(options.folder);
  const note = await mirror.checkpoint();
  const head = headOf(note, mirror.name, options.vkey);
  await checkKept(files, { head, note, mirror }, options.vkey);
  const edge = new RightEdge();
  const tiles = new TileFiles(files);
  const ahead: Promise<Bundle>[] = [];
  const count = Math.ceil(head.size / TILE_WIDTH);
  let fetched = 0;
  for (let n = 0; n < count; n += 1) {
    for (let next = n + ahead.length; next < count && ahead.length < AHEAD; next += 1) {
      const bundle = bundleOf(files, mirror, next, tileWidth(head.size, 0, next));
      // What fails while an earlier one is worked on is told when its turn comes.
      bundle.catch(() => undefined);
      ahead.push(bundle);
    }
    const { entries, hashes, fresh } = (await ahead.shift()) ?? noBundle();
    for (const hash of hashes) edge.append(hash);
    if (fresh) {
      fetched += entries.length;
      await files.write(tilePath('entries', n, entries.length), encodeBundle(entries));
    }
    for (const tile of edge.takeDirty()) await tiles.put(tile, fresh);
    onProgress?.(edge.size, head.size);
  }
  if (!equal(edge.root(), head.root)) {
    const size = String(head.size);
    throw new CommandError(
      fetched === head.size
        ? `the entries of ${mirror.name} do not lead to the root of its checkpoint of size ${size}`
        : `the entries of ${mirror.name} and the files in ${files.folder} do not lead to the root of the ` +
            `checkpoint of size ${size}: export into a new folder`,
    );
  }
  await tiles.putPartial();
  await files.finish('checkpoint', note);
  return { origin: head.origin, size: head.size, fetched };
}

interface Bundle {
  readonly entries: readonly Uint8Array[];
  readonly hashes: readonly Uint8Array[];
  /** Of the mirror, not of the folder. */
  readonly fresh: boolean;
}

/** A full bundle that is there already counts when its tile is there as well and says the same. */
async function bundleOf(
  files: StaticFiles,
  mirror: Mirror,
  n: number,
  width: number,
): Promise<Bundle> {
  if (width === TILE_WIDTH) {
    const [bytes, tile] = await Promise.all([
      files.read(tilePath('entries', n)),
      files.read(tilePath(0, n)),
    ]);
    const entries = bytes === null ? [] : parsed(bytes);
    const hashes = entries.map((entry) => leafHash(native, entry));
    if (tile !== null && hashes.length === TILE_WIDTH && equal(concat(...hashes), tile)) {
      return { entries, hashes, fresh: false };
    }
  }
  const entries = await mirror.bundle(n, width);
  return { entries, hashes: entries.map((entry) => leafHash(native, entry)), fresh: true };
}

/** A file that was damaged is no bundle any more: it is fetched again. */
function parsed(bytes: Uint8Array): Uint8Array[] {
  try {
    return parseBundle(bytes);
  } catch {
    return [];
  }
}

type Tile = ReturnType<RightEdge['takeDirty']>[number];

/** Writes tiles as they fill; those that stay partial at the end. */
class TileFiles {
  readonly #files: StaticFiles;
  readonly #partial = new Map<number, Tile>();

  constructor(files: StaticFiles) {
    this.#files = files;
  }

  async put(tile: Tile, fresh: boolean): Promise<void> {
    const { level, n, hashes } = tile;
    if (hashes.length < TILE_WIDTH * 32) {
      this.#partial.set(level, tile);
      return;
    }
    this.#partial.delete(level);
    const path = tilePath(level, n);
    // Leaf tiles of bundles that were there have been compared; those above may be missing or damaged.
    if (!fresh && level === 0) return;
    const there = await this.#files.read(path);
    if (there === null || !equal(there, hashes)) await this.#files.write(path, hashes);
  }

  async putPartial(): Promise<void> {
    for (const { level, n, hashes } of this.#partial.values()) {
      await this.#files.write(tilePath(level, n, hashes.length / 32), hashes);
    }
  }
}

function headOf(note: string, place: string, vkey: string | undefined): Checkpoint {
  const head = parseCheckpoint(splitNote(note).text);
  if (vkey === undefined) return head;
  if (!vkey.startsWith(`${head.origin}+`)) {
    throw new CommandError(`the checkpoint of ${place} is of ${head.origin}, not of the known log`);
  }
  return openCheckpoint(native, note, { origin: head.origin, vkey });
}

/** An earlier export stands in the folder: the log must have grown from it. */
async function checkKept(
  files: StaticFiles,
  {
    head,
    note,
    mirror,
  }: { readonly head: Checkpoint; readonly note: string; readonly mirror: Mirror },
  vkey: string | undefined,
): Promise<void> {
  const keptNote = (await files.read('checkpoint'))?.toString('utf8');
  if (keptNote === undefined) return;
  const kept = headOf(keptNote, files.folder, vkey);
  if (kept.origin !== head.origin) {
    throw new CommandError(`${files.folder} has the log ${kept.origin}, not ${head.origin}`);
  }
  if (kept.size > head.size) {
    throw new CommandError(
      `${files.folder} is at size ${String(kept.size)} already, the mirror only at ${String(head.size)}`,
      EXIT.trouble,
    );
  }
  const { size: from, root: fromRoot } = kept;
  const { size: to, root: toRoot } = head;
  const path = await overTiles(mirror, to, (hashes) => consistencyPath(hashes, from, to));
  try {
    checkConsistency(native, { from, to, fromRoot, toRoot, path });
  } catch (error) {
    if (!isLogError(error)) throw error;
    throw new CommandError(
      `the log does not show that it grew from what ${files.folder} has of it. If both notes are signed by ` +
        `its key and "actlog monitor" finds the same, they prove a fork:\n\n${keptNote}\n${note}`,
      EXIT.violation,
    );
  }
}

function noBundle(): never {
  throw new Error('no bundle was read ahead');
}
