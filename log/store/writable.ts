// Finds out whether a folder takes writes again before the database is opened on it.

import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** More than the next batches need, so that a disk that is full to the brim does not count. */
const PROBE_BYTES = 1024 * 1024;

/** Rejects when the folder does not take a synced file of 1 MiB. */
export async function writable(folder: string): Promise<void> {
  const path = join(folder, '.probe');
  try {
    const file = await open(path, 'w');
    try {
      await file.writeFile(Buffer.alloc(PROBE_BYTES));
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await unlink(path).catch(() => undefined);
  }
}
