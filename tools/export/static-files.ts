// Files that a web server serves as they are: each appears complete or not at all.

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  IDLE_MS,
  makeFolder,
  removeLeftovers,
  syncFolder,
  writeDurableFile,
} from '../../log/index.ts';

/** One folder of them; paths are those under the prefix of a log. */
export class StaticFiles {
  readonly folder: string;
  readonly #made = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Null when it is not there. */
  async read(path: string): Promise<Buffer | null> {
    try {
      return await readFile(join(this.folder, path));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return null;
      throw error;
    }
  }

  /** A reader sees the old content or the new one. Its name outlives a power cut only after `finish`. */
  async write(path: string, content: Uint8Array | string): Promise<void> {
    const file = join(this.folder, path);
    const folder = dirname(file);
    if (!this.#made.has(folder)) {
      await makeFolder(folder);
      await removeLeftovers(folder, { idle_ms: IDLE_MS });
      this.#made.add(folder);
    }
    await writeDurableFile(file, content, { sync_folder: false });
  }

  /** Writes the file that says that all others are there, once they are on disk. */
  async finish(path: string, content: string): Promise<void> {
    for (const folder of this.#made) await syncFolder(folder);
    await this.write(path, content);
    await syncFolder(dirname(join(this.folder, path)));
  }
}
