// From a broken rule to what shows it: the entries opened under the signed note that commits to them. Reads
// everything a second time, so that a torn answer is not taken for a lie.

import { native, toBase64 } from '../../log/index.ts';
import type { Opened } from '../../log/index.ts';
import { equal } from '../../log/encoding/bytes.ts';
import { checkConsistency, checkInclusion } from '../../log/merkle/check.ts';
import { consistencyPath, inclusionPath, rootAt } from '../../log/merkle/prove.ts';
import { TILE_WIDTH, tileWidth } from '../../log/merkle/tile.ts';
import { overTiles, type Mirror } from '../../log/mirror.ts';
import type { Violation } from '../../log/replay.ts';
import { LogError } from '../../log/index.ts';
import { leafHashOf } from '../../log/statement.ts';
import { MirrorTrouble } from '../mirror/limits.ts';
import { Finding } from './finding.ts';
import type { Noted } from './noted.ts';

/** What to report for an entry that breaks a rule; `older` is a note that it contradicts. */
export async function findingOf(
  violation: Violation,
  mirror: Mirror,
  head: Noted,
  older?: string,
): Promise<Finding> {
  const { rule, index, related, detail } = violation;
  const last = Math.min(index, head.size - 1);
  const entries: Opened[] = [];
  for (const at of new Set([...related, last])) {
    const opened = await openAt(mirror, head, at);
    if ('path' in opened) entries.push(opened);
    else if (at === last) return notIncluded(opened, head);
  }
  const shown = entries.at(-1)?.entry;
  const own = violation.entries.at(-1);
  if (own !== undefined && shown !== own && index < head.size) {
    throw new MirrorTrouble(`${mirror.name} gives entry ${String(index)} in two versions`);
  }
  return new Finding(rule, `entry ${String(index)}: ${detail}`, 'signed', {
    notes: older === undefined ? [head.note] : [older, head.note],
    entries,
  });
}

/** What to report when the entries do not give the root of a note; `before` was checked already. */
export async function rootFinding(
  mirror: Mirror,
  head: Noted,
  before: Noted | null,
): Promise<Finding> {
  const { size, root, note } = head;
  if (before !== null && !(await isPrefix(mirror, before, head))) {
    const detail = `the tree of ${String(size)} entries does not have that of ${String(before.size)} in it`;
    return new Finding('inconsistent', detail, 'signed', {
      notes: [before.note, note],
      entries: [],
    });
  }
  const tiles = await overTiles(mirror, size, (hashes) => rootAt(hashes, native, size)).catch(
    corrupt,
  );
  if (tiles !== null && equal(tiles, root)) {
    const stray = await firstStray(mirror, head, before?.size ?? 0);
    if (stray !== null) return notIncluded(stray, head);
    throw new MirrorTrouble(`${mirror.name} gives other entries at a second look`);
  }
  const detail = `the entries served do not give the root of the checkpoint of ${String(size)}`;
  return new Finding('checkpoint_root', detail, 'observed', { notes: [note], entries: [] });
}

/** Whether the tree of one note stands in that of a later one, by the tiles that are served. */
export async function isPrefix(mirror: Mirror, older: Noted, newer: Noted): Promise<boolean> {
  const { size: from, root: fromRoot } = older;
  const { size: to, root: toRoot } = newer;
  try {
    const path = await overTiles(mirror, to, (hashes) => consistencyPath(hashes, from, to));
    checkConsistency(native, { from, to, fromRoot, toRoot, path });
    return true;
  } catch (error) {
    if (error instanceof LogError) return false;
    throw error;
  }
}

/** The entry at an index as it is served now, with its path when the note commits to it. */
async function openAt(
  mirror: Mirror,
  { size, root }: Noted,
  index: number,
): Promise<Opened | Omit<Opened, 'path'>> {
  const n = Math.floor(index / TILE_WIDTH);
  const bundle = await mirror.bundle(n, tileWidth(size, 0, n));
  const bytes = bundle[index % TILE_WIDTH] ?? new Uint8Array(0);
  const entry = Buffer.from(bytes).toString('utf8');
  try {
    const path = await overTiles(mirror, size, (hashes) => inclusionPath(hashes, index, size));
    checkInclusion(native, { index, size, leafHash: leafHashOf(bytes), path, root });
    return { index, entry, path: path.map((hash) => toBase64(hash)) };
  } catch (error) {
    if (error instanceof LogError) return { index, entry };
    throw error;
  }
}

/** The first entry served whose hash is not that of its tile. */
async function firstStray(
  mirror: Mirror,
  { size }: Noted,
  from: number,
): Promise<Omit<Opened, 'path'> | null> {
  for (let n = Math.floor(from / TILE_WIDTH); n * TILE_WIDTH < size; n += 1) {
    const width = tileWidth(size, 0, n);
    const [tile, bundle] = await Promise.all([mirror.tile(0, n, width), mirror.bundle(n, width)]);
    const at = bundle.findIndex(
      (bytes, i) => !equal(leafHashOf(bytes), tile.subarray(i * 32, i * 32 + 32)),
    );
    const bytes = bundle[at];
    if (bytes !== undefined) {
      return { index: n * TILE_WIDTH + at, entry: Buffer.from(bytes).toString('utf8') };
    }
  }
  return null;
}

function notIncluded(opened: Omit<Opened, 'path'>, { note }: Noted): Finding {
  const detail = `entry ${String(opened.index)} is served, but the checkpoint does not commit to it`;
  return new Finding('entry_not_included', detail, 'observed', {
    notes: [note],
    entries: [opened],
  });
}

/** Tiles that do not fit together have no root. */
function corrupt(error: unknown): null {
  if (error instanceof LogError) return null;
  throw error;
}
