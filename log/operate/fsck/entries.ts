// The pass of fsck over all entries, in order. It replays each entry, derives its rows into a scratch database, and
// compares tiles, chain rows, leaf hash rows and signed notes with the stored ones.

import { native } from '../../crypto/native.ts';
import { equal, toHex } from '../../encoding/bytes.ts';
import { textOfEntry, isViolation } from '../../replay/replay.ts';
import { isLogError } from '../../errors.ts';
import type { Entry } from '../../write/integrate.ts';
import { RightEdge } from '../../merkle/edge.ts';
import type { DirtyTile } from '../../merkle/edge.ts';
import { HASH_BYTES } from '../../merkle/hash.ts';
import { TILE_WIDTH, tileWidth } from '../../merkle/tile.ts';
import { openCheckpoint, parseCheckpoint } from '../../note/checkpoint.ts';
import type { Checkpoint } from '../../note/checkpoint.ts';
import type { Replay, SignatureChecks } from '../../replay/replay.ts';
import { HeadTable } from '../../replay/chains.ts';
import { leafHashOf } from '../../write/statement.ts';
import {
  chainRowKey,
  entryKey,
  leafKey,
  NOTE,
  readIndex,
  rowKey,
  tileKey,
} from '../../store/layout.ts';
import type { Store } from '../../store/store.ts';
import type { Differences, Part } from './rows.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applySigned } from '../apply-signed.ts';
import { LogClock, systemTime } from '../../write/clock.ts';
import { Core } from '../../write/core.ts';
import { openFold } from '../../map/fold.ts';
import { openStore } from '../../store/store.ts';
import type { EntryType, Kind } from '../../types.ts';

/** The parts that fsck has opened for the pass. */
export interface PassOptions {
  readonly store: Store;
  readonly size: number;
  readonly replay: Replay;
  readonly signatures: SignatureChecks;
  readonly scratch: Scratch;
  readonly differences: Differences;
  /** Sizes whose roots the pass records. */
  readonly rootsAt: ReadonlySet<number>;
  /** If undefined, the signatures of notes are not verified. */
  readonly vkey: string | undefined;
  readonly onProgress: (done: number) => void;
}

/** Entries between two reports of progress. */
const REPORT = 256;

/** The pass, with the results that later comparisons need. */
export class EntryPass {
  readonly heads = new HeadTable();
  readonly edge = new RightEdge();
  /** The roots at the sizes of `rootsAt`, as far as the entries reach. */
  readonly roots = new Map<number, Uint8Array>();
  /** The number of chain rows that the entries derive. */
  chainRows = 0;
  /** The entry at which replay and derived rows stopped, because it is missing or breaks a rule; else null. */
  stopped: number | null = null;
  readonly #options: PassOptions;
  readonly #partial = new Map<number, DirtyTile>();
  #notes: AsyncIterator<[Uint8Array, Uint8Array]> | null = null;
  #nextNote: { size: number; note: string } | null = null;

  constructor(options: PassOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { store, size, scratch, signatures, rootsAt, onProgress } = this.#options;
    const notes = { gte: Uint8Array.of(NOTE), lt: rowKey(NOTE + 1, '') };
    this.#notes = store.scan(notes)[Symbol.asyncIterator]();
    await this.#readNote();
    for (let index = 0; index < size; index += 1) {
      await this.#entry(index);
      await this.#notesAt(index + 1);
      if (rootsAt.has(index + 1)) this.roots.set(index + 1, this.edge.root());
      if (index % REPORT === REPORT - 1) {
        this.#compareTiles(false);
        onProgress(index + 1);
      }
    }
    this.#compareTiles(true);
    while (this.#nextNote !== null) {
      this.#add('note', `note ${String(this.#nextNote.size)}`, 'is beyond the last entry');
      await this.#readNote();
    }
    await this.#guard(size, () => signatures.settle());
    await scratch.flush();
    onProgress(size);
  }

  async #entry(index: number): Promise<void> {
    const { replay, signatures, scratch } = this.#options;
    const bytes = this.#get(entryKey(index), 'entry', `entry ${String(index)}`);
    if (bytes === undefined) {
      this.#add('entry', `entry ${String(index)}`, 'is missing');
      this.stopped ??= index;
      this.edge.append(this.#storedLeaf(index));
      return;
    }
    const leafHash = leafHashOf(bytes);
    this.edge.append(leafHash);
    if (this.stopped !== null) return;
    await this.#guard(index, async () => {
      replay.add(textOfEntry(bytes, index));
      await signatures.take(replay);
      this.#rowsOf(await scratch.take(bytes), leafHash);
    });
  }

  /** Records a violation as a difference and stops the replay; tiles and notes are still compared. */
  async #guard(index: number, check: () => Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (!isViolation(error)) throw error;
      this.#add('rule', `entry ${String(error.index)}`, `${error.rule}: ${error.detail}`);
      this.stopped ??= Math.min(index, error.index);
    }
  }

  #rowsOf({ appended, moved }: Entry, leafHash: Uint8Array): void {
    const { index, issued_at_ms } = appended;
    this.#compareFinding(index, leafHash);
    for (const { skey, link } of moved) {
      const { seq, prev_index, prev_ms } = link;
      // A chain of one entry has no rows; its second entry writes the rows of both.
      if (seq === 1) this.#expectChainRow(skey, prev_ms ?? 0, prev_index ?? 0);
      if (seq > 0) this.#expectChainRow(skey, issued_at_ms, index);
      const head = {
        count: seq + 1,
        last_index: index,
        last_ms: issued_at_ms,
        last_leaf_hash: leafHash,
      };
      this.heads.set(this.heads.slot(skey), head);
    }
  }

  #expectChainRow(skey: Uint8Array, ms: number, index: number): void {
    this.chainRows += 1;
    const where = `entry ${String(index)}`;
    if (this.#get(chainRowKey(skey, ms, index), 'chain row', where) === undefined) {
      this.#add('chain row', where, `is missing on the chain of skey ${toHex(skey)}`);
    }
  }

  #compareFinding(index: number, leafHash: Uint8Array): void {
    const where = `leaf hash of entry ${String(index)}`;
    const row = this.#get(leafKey(leafHash), 'finding row', where);
    if (row === undefined) this.#add('finding row', where, 'is missing');
    else if (row.length !== 8 || readIndex(row) !== index) {
      const found = row.length === 8 ? `entry ${String(readIndex(row))}` : 'nothing';
      this.#add('finding row', where, `points to ${found}`);
    }
  }

  /** Compares the tiles that have become full; after the last entry, the partial tiles as well. */
  #compareTiles(last: boolean): void {
    for (const tile of this.edge.takeDirty()) {
      if (tile.hashes.length === TILE_WIDTH * HASH_BYTES) this.#compareTile(tile);
      else this.#partial.set(tile.level, tile);
    }
    if (!last) return;
    for (const tile of this.#partial.values()) {
      const width = tileWidth(this.edge.size, tile.level, tile.n);
      if (tile.hashes.length === width * HASH_BYTES) this.#compareTile(tile);
    }
  }

  #compareTile({ level, n, hashes }: DirtyTile): void {
    const where = `tile ${String(level)}/${String(n)}`;
    const stored = this.#get(tileKey(level, n), 'tile', where);
    if (stored === undefined) this.#add('tile', where, 'is missing');
    else if (!equal(stored, hashes)) {
      const at = firstDifference(stored, hashes) >> 5;
      this.#add('tile', where, `differs from the entries at hash ${String(at)}`);
    }
  }

  async #notesAt(size: number): Promise<void> {
    while (this.#nextNote !== null && this.#nextNote.size <= size) {
      const where = `note ${String(this.#nextNote.size)}`;
      try {
        const checkpoint = this.#openNote(this.#nextNote.note);
        if (checkpoint.size !== this.#nextNote.size || checkpoint.size !== size) {
          this.#add('note', where, `is of size ${String(checkpoint.size)}`);
        } else if (this.stopped === null) this.#options.replay.checkCheckpoint(checkpoint);
        else if (!equal(checkpoint.root, this.edge.root())) {
          this.#add('note', where, 'has another root than the entries');
        }
      } catch (error) {
        if (isViolation(error)) this.#add('note', where, `${error.rule}: ${error.detail}`);
        else if (isLogError(error)) this.#add('note', where, error.message);
        else throw error;
      }
      await this.#readNote();
    }
  }

  #openNote(note: string): Checkpoint {
    const checkpoint = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
    const { vkey } = this.#options;
    const { origin } = checkpoint;
    return vkey === undefined ? checkpoint : openCheckpoint(native, note, { origin, vkey });
  }

  async #readNote(): Promise<void> {
    const next = await this.#notes?.next();
    this.#nextNote =
      next === undefined || next.done === true
        ? null
        : { size: readIndex(next.value[0]), note: Buffer.from(next.value[1]).toString() };
  }

  /** The leaf hash of a missing entry from its tile, so that later tiles can still be compared. */
  #storedLeaf(index: number): Uint8Array {
    const within = (index % 256) * 32;
    const tile = this.#get(tileKey(0, Math.floor(index / 256)), 'tile', `entry ${String(index)}`);
    const leaf = tile?.subarray(within, within + 32);
    return leaf?.length === 32 ? leaf : new Uint8Array(32);
  }

  /** Reads a row. An unreadable block is recorded as a difference, and the pass continues. */
  #get(key: Uint8Array, part: Part, where: string): Uint8Array | undefined {
    try {
      return this.#options.store.get(key);
    } catch (error) {
      if (!isLogError(error)) throw error;
      this.#add(part, where, error.message);
      return undefined;
    }
  }

  #add(part: Part, where: string, detail: string): void {
    this.#options.differences.add(part, where, detail);
  }
}

function firstDifference(a: Uint8Array, b: Uint8Array): number {
  const at = b.findIndex((byte, i) => a[i] !== byte);
  return at < 0 ? b.length : at;
}

// The scratch database: the rows of the core and the plugins, derived from the entries a second time.

/** Entries whose rows are written in one batch. */
const BATCH = 2048;

/** A core over a scratch database, which derives the rows of the entries that it takes. */
export class Scratch {
  readonly core: Core;
  readonly store: Store;
  readonly #folder: string;
  #round = 1;
  #inRound = 0;

  private constructor(folder: string, store: Store, core: Core) {
    this.#folder = folder;
    this.store = store;
    this.core = core;
  }

  /** Makes the database in a new folder under the temporary folder of the system. `close` removes it. */
  static async open(kind: Kind, origin: string, types: readonly EntryType[]): Promise<Scratch> {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-fsck-'));
    const store = await openStore(folder);
    const fold = openFold({ threads: false }).trie(origin);
    const clock = new LogClock(systemTime);
    return new Scratch(folder, store, new Core({ kind, origin, store, clock, fold, types }));
  }

  /** Takes the next entry, which the replay has accepted. */
  async take(bytes: Uint8Array): Promise<Entry> {
    this.core.begin();
    const entry = applySigned(this.core, bytes, this.#round);
    this.#inRound += 1;
    if (this.#inRound === BATCH) await this.flush();
    return entry;
  }

  /** Writes all rows so far to the scratch database. */
  async flush(): Promise<void> {
    const { coreRows, pluginRows, position } = this.core;
    await this.store.write([...coreRows.writes(this.#round), ...pluginRows.writes(this.#round)]);
    this.core.settle(this.#round, position.size);
    this.#round += 1;
    this.#inRound = 0;
  }

  async close(): Promise<void> {
    await this.store.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
