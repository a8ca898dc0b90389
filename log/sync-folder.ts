// What makes a new name in a folder outlive a power cut: the folder's own bytes on disk.

import { open } from 'node:fs/promises';

/** Resolves when the names of the folder are on disk: files made, renamed or deleted in it before. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
