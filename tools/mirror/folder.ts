// A mirror as files: `checkpoint`, `tile/…` and `tile/entries/…` under one folder. C2SP tlog-tiles.

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TILE_WIDTH, tilePath, type TileLevel } from '../../log/merkle/tile.ts';
import type { Mirror } from '../../log/mirror.ts';
import {
  bundleOf,
  MAX_BUNDLE_BYTES,
  MAX_NOTE_BYTES,
  MAX_TILE_BYTES,
  MirrorTrouble,
  tileOf,
} from './limits.ts';

/** A folder that somebody copied a log into. */
export class FolderMirror implements Mirror {
  readonly name: string;

  constructor(folder: string) {
    this.name = folder;
  }

  async checkpoint(): Promise<string> {
    const note = await this.#read('checkpoint', MAX_NOTE_BYTES);
    if (note === null) throw new MirrorTrouble(`${this.name} has no file checkpoint`);
    return Buffer.from(note).toString('utf8');
  }

  async tile(level: number, n: number, width: number): Promise<Uint8Array> {
    const { bytes, path } = await this.#tile(level, n, width, MAX_TILE_BYTES);
    return tileOf(bytes, width, path);
  }

  async bundle(n: number, width: number): Promise<readonly Uint8Array[]> {
    const { bytes, path } = await this.#tile('entries', n, width, MAX_BUNDLE_BYTES);
    return bundleOf(bytes, width, path);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The partial one that was asked for, or the full one that has taken its place. */
  async #tile(level: TileLevel, n: number, width: number, limit: number) {
    for (const path of new Set([tilePath(level, n, width), tilePath(level, n, TILE_WIDTH)])) {
      const bytes = await this.#read(path, limit);
      if (bytes !== null) return { bytes, path };
    }
    throw new MirrorTrouble(`${this.name} has no file ${tilePath(level, n, width)}`);
  }

  async #read(path: string, limit: number): Promise<Uint8Array | null> {
    const file = join(this.name, path);
    try {
      const { size } = await stat(file);
      if (size > limit) throw new MirrorTrouble(`${file} is over ${String(limit)} bytes`);
      return await readFile(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // `001.p` is a folder where partial tiles are kept.
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return null;
      throw error;
    }
  }
}
