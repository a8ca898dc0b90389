// The database of a log that no service has open, read like any other mirror of it.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TILE_WIDTH } from '../../log/index.ts';
import { entryKey, NOTE, openStore, rowKey, tileKey } from '../../log/operate.ts';
import type { Mirror, Store } from '../../log/operate.ts';
import { MirrorTrouble, tileOf } from '../mirror/tiled.ts';

/** One log of a data folder. */
export class StoreMirror implements Mirror {
  readonly name: string;
  readonly #store: Store;

  private constructor(name: string, store: Store) {
    this.name = name;
    this.#store = store;
  }

  /** Opens the log in a folder (`db/` is in it); `log_locked` while it is served. */
  static async open(folder: string): Promise<StoreMirror> {
    const db = join(folder, 'db');
    // Opening would make an empty one.
    if (!existsSync(db)) throw new MirrorTrouble(`${folder} has no database`);
    return new StoreMirror(folder, await openStore(db));
  }

  async checkpoint(): Promise<string> {
    const newest = { gte: Uint8Array.of(NOTE), lt: rowKey(NOTE + 1, ''), reverse: true, limit: 1 };
    for await (const [, note] of this.#store.scan(newest)) return Buffer.from(note).toString();
    throw new MirrorTrouble(`${this.name} has no published checkpoint`);
  }

  tile(level: number, n: number, width: number): Promise<Uint8Array> {
    const name = `tile ${String(level)}/${String(n)}`;
    const tile = this.#store.get(tileKey(level, n));
    if (tile === undefined) {
      return Promise.reject(new MirrorTrouble(`${this.name} has no ${name}`));
    }
    return Promise.resolve(tileOf(tile, width, name));
  }

  bundle(n: number, width: number): Promise<readonly Uint8Array[]> {
    const entries: Uint8Array[] = [];
    for (let index = n * TILE_WIDTH; entries.length < width; index += 1) {
      const entry = this.#store.get(entryKey(index));
      if (entry === undefined) {
        return Promise.reject(new MirrorTrouble(`${this.name} has no entry ${String(index)}`));
      }
      entries.push(entry);
    }
    return Promise.resolve(entries);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
