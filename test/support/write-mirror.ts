// Copies what a log publishes into a folder, as a client of its C2SP prefix could.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../../log/index.ts';
import { tilePath, tileWidth } from '../../log/merkle/tile.ts';

/** Writes the newest checkpoint with its tiles and bundles; returns its size. */
export async function writeMirror(log: Log, folder: string): Promise<number> {
  const { size, note } = log.published();
  const put = async (path: string, bytes: Uint8Array | string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), bytes);
  };
  for (let level = 0; tileWidth(size, level, 0) > 0; level += 1) {
    for (let n = 0, width; (width = tileWidth(size, level, n)) > 0; n += 1) {
      const tile = log.tile(level, n, width);
      if (tile !== null) await put(tilePath(level, n, width), tile);
    }
  }
  for (let n = 0, width; (width = tileWidth(size, 0, n)) > 0; n += 1) {
    const bundle = await log.bundle(n, width);
    if (bundle !== null) await put(tilePath('entries', n, width), bundle);
  }
  await put('checkpoint', note);
  return size;
}
