// Files that a web server serves as they are: each appears complete or not at all.

import { readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import {
  IDLE_MS,
  makeFolder,
  parseTilePath,
  removeLeftovers,
  syncFolder,
  writeDurableFile,
} from '../../log/index.ts';
import type { StoredPartial, TileStore } from '../../log/index.ts';

/** One folder of them; paths are those under the prefix of a log. */
export class StaticFiles implements TileStore {
  readonly name: string;
  readonly #made = new Set<string>();
  /** Folders with names that may not be on disk yet. */
  readonly #unsynced = new Set<string>();

  constructor(folder: string) {
    this.name = folder;
  }

  /** Null when it is not there. */
  async read(path: string): Promise<Buffer | null> {
    try {
      return await readFile(join(this.name, path));
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** Replaces a file that was damaged. A fork shows at the checkpoint, before any file is written. */
  async put(path: string, bytes: Uint8Array): Promise<void> {
    const there = await this.read(path);
    if (there?.equals(bytes) !== true) await this.write(path, bytes);
  }

  async checkpoint(): Promise<string | null> {
    return (await this.read('checkpoint'))?.toString('utf8') ?? null;
  }

  putCheckpoint(note: string): Promise<void> {
    return this.finish('checkpoint', note);
  }

  async *partials(): AsyncGenerator<StoredPartial> {
    const top = join(this.name, 'tile');
    for await (const folder of foldersIn(top)) {
      if (!folder.endsWith('.p')) continue;
      const full_at_ms = await modifiedAt(folder.slice(0, -'.p'.length));
      for (const name of await readdir(folder)) {
        const path = relative(this.name, join(folder, name)).split(sep).join('/');
        if (parseTilePath(path) !== null) yield { path, full_at_ms };
      }
    }
  }

  async remove(path: string): Promise<void> {
    const file = join(this.name, path);
    await rm(file, { force: true });
    await rmdir(dirname(file)).catch((error: unknown) => {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(code)) throw error;
    });
  }

  /** A reader sees the old content or the new one. Its name outlives a power cut only after `finish`. */
  async write(path: string, content: Uint8Array | string): Promise<void> {
    const file = join(this.name, path);
    const folder = dirname(file);
    if (!this.#made.has(folder)) {
      await makeFolder(folder);
      await removeLeftovers(folder, { idle_ms: IDLE_MS });
      this.#made.add(folder);
    }
    await writeDurableFile(file, content, { sync_folder: false });
    this.#unsynced.add(folder);
  }

  /** Writes the file that says that all others are there, once they are on disk. */
  async finish(path: string, content: string): Promise<void> {
    for (const folder of this.#unsynced) {
      await syncFolder(folder);
      this.#unsynced.delete(folder);
    }
    await this.write(path, content);
    await syncFolder(dirname(join(this.name, path)));
  }
}

/** The folders below a folder, without links; none where it does not exist. */
async function* foldersIn(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const entry of entries) {
    if (!entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    yield path;
    yield* foldersIn(path);
  }
}

async function modifiedAt(file: string): Promise<number | null> {
  try {
    return (await stat(file)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
