// Restores the head map of a log at a start, without replaying the log: up to the published map head, and then up to
// the newest entry. It uses a snapshot and the entries after it or, without a usable snapshot, the stored head records.

import { native } from '../crypto/native.ts';
import type { Core } from './core.ts';
import { equal, fromHex } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json.ts';
import { LogError } from '../errors.ts';
import { decodeHead, vhash } from '../map/head.ts';
import { skey } from '../map/key.ts';
import { HEAD, rowKey } from '../store/layout.ts';
import type { Link } from '../types.ts';

/** Updates in one message to the fold. */
const CHUNK = 8192;

/** The version of the map whose root the published checkpoint commits to. */
export interface FoldedAt {
  readonly version: number;
  readonly keys: number;
}

/**
 * Applies the heads of the first `size` entries to the fold, cuts that version, and then applies the heads of the
 * entries up to `end`. `size` is the published size, 0 for none.
 *
 * @throws LogError `store_corrupt` if the stored heads give another map root than the map head in the log
 */
export async function catchUp(
  core: Core,
  snapshot: string,
  size: number,
  end = core.durable,
): Promise<FoldedAt> {
  await core.fold.close(); // discards the map of an earlier start that failed
  const wanted = size === 0 ? null : fromHex(core.statementAt(size - 1)['map_root'] as string);
  const loaded = size === 0 ? null : await core.fold.load(snapshot);
  if (loaded !== null && loaded.covered < size) {
    foldEntries(core, loaded.covered, size - 1);
    const cut = await core.fold.cut();
    if (wanted === null || equal(cut.root, wanted)) {
      foldEntries(core, size, end);
      return cut;
    }
  }
  await core.fold.close(); // discards the map of the snapshot
  await foldHeads(core, size);
  const cut = await core.fold.cut();
  if (wanted !== null && !equal(cut.root, wanted)) {
    throw new LogError(
      'store_corrupt',
      `the head records do not give the map root of entry ${String(size - 1)}: check the log with fsck and restore it`,
    );
  }
  foldEntries(core, size, end);
  return cut;
}

/**
 * Restores the map as `catchUp` does, and also cuts the version of the last map head if no checkpoint of it is
 * published. A node that follows needs that version, because the leader may still publish the checkpoint.
 *
 * @param published the published size, 0 for none
 */
export async function cutAhead(
  core: Core,
  snapshot: string,
  published: number,
): Promise<{ readonly at: FoldedAt; readonly ahead: { index: number; folded: FoldedAt } | null }> {
  const index = core.position.map_head?.index ?? -1;
  const at = await catchUp(core, snapshot, published, Math.max(index, published));
  if (index < published) {
    foldEntries(core, published, core.durable);
    return { at, ahead: null };
  }
  const folded = await core.fold.cut();
  foldEntries(core, index, core.durable);
  return { at, ahead: { index, folded } };
}

/** Applies the heads of the entries from `from` up to `to`. Links contain everything that a head record needs. */
function foldEntries(core: Core, from: number, to: number): void {
  const updates = new Updates(core);
  for (let index = from; index < to; index += 1) {
    const statement = core.statementAt(index);
    for (const { key, seq } of linksIn(statement)) {
      updates.add(skey(native, core.origin, key), {
        count: seq + 1,
        last_index: index,
        last_ms: statement['issued_at_ms'] as number,
        last_leaf_hash: leafHashAt(core, index),
      });
    }
  }
  updates.flush();
}

/**
 * Applies all head records as they were at `size`: a chain with later entries gets the head before the first of them.
 */
async function foldHeads(core: Core, size: number): Promise<void> {
  const later = new Map<string, Link>();
  for (let index = size; index < core.durable; index += 1) {
    for (const link of linksIn(core.statementAt(index))) {
      const id = latin1(skey(native, core.origin, link.key));
      if (!later.has(id)) later.set(id, link);
    }
  }
  const updates = new Updates(core);
  const range = { gte: Uint8Array.of(HEAD), lt: rowKey(HEAD + 1, '') };
  for await (const [key, value] of core.store.scan(range)) {
    const place = Uint8Array.from(key.subarray(1));
    const link = later.get(latin1(place));
    if (link === undefined) updates.add(place, decodeHead(value));
    else if (link.prev_index !== null && link.prev_ms !== null) {
      updates.add(place, {
        count: link.seq,
        last_index: link.prev_index,
        last_ms: link.prev_ms,
        last_leaf_hash: leafHashAt(core, link.prev_index),
      });
    }
  }
  updates.flush();
}

const linksIn = (statement: JsonObject): readonly Link[] =>
  (statement['links'] as unknown as readonly Link[] | undefined) ?? [];

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

function leafHashAt(core: Core, index: number): Uint8Array {
  const within = index % 256;
  const tile = core.storedTile(0, Math.floor(index / 256), within + 1);
  if (tile === null)
    throw new LogError('store_corrupt', `the leaf hash of entry ${String(index)} is missing`);
  return tile.subarray(within * 32);
}

/** Collects updates, and sends them to the fold in chunks. */
class Updates {
  readonly #core: Core;
  #bytes = new Uint8Array(CHUNK * 64);
  #at = 0;

  constructor(core: Core) {
    this.#core = core;
  }

  add(place: Uint8Array, head: Parameters<typeof vhash>[1]): void {
    this.#bytes.set(place, this.#at);
    this.#bytes.set(vhash(native, head), this.#at + 32);
    this.#at += 64;
    if (this.#at === this.#bytes.length) this.flush();
  }

  flush(): void {
    if (this.#at > 0) this.#core.fold.apply(this.#bytes.slice(0, this.#at));
    this.#at = 0;
  }
}
