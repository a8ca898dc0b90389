// A mirror as files: `checkpoint`, `tile/…` and `tile/entries/…` under one folder. C2SP tlog-tiles.

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_NOTE_BYTES, MirrorTrouble } from './limits.ts';
import { TiledMirror } from './tiled.ts';

/** A folder that somebody copied a log into. */
export class FolderMirror extends TiledMirror {
  readonly name: string;

  constructor(folder: string) {
    super();
    this.name = folder;
  }

  async checkpoint(): Promise<string> {
    const note = await this.read('checkpoint', MAX_NOTE_BYTES);
    if (note === null) throw new MirrorTrouble(this.missing('checkpoint'));
    return Buffer.from(note).toString('utf8');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  protected missing(path: string): string {
    return `${this.name} has no file ${path}`;
  }

  protected async read(path: string, limit: number): Promise<Uint8Array | null> {
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
