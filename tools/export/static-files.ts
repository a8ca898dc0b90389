// Files that a web server serves as they are: each appears whole or not at all.

import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

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

  /** A reader sees the old content or the new one; `durable` when it resolves only if asked for. */
  async write(path: string, content: Uint8Array | string, durable = false): Promise<void> {
    const file = join(this.folder, path);
    const folder = dirname(file);
    if (!this.#made.has(folder)) {
      await mkdir(folder, { recursive: true });
      this.#made.add(folder);
    }
    const temporary = `${file}.new`;
    await writeFile(temporary, content, { flush: durable });
    await rename(temporary, file);
    if (!durable) return;
    const directory = await open(folder, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }
}
