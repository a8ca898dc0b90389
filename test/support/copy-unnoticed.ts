// Copies a data folder so that the copy is not detected, like a snapshot of a whole disk, which keeps inodes.

import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Both folders must have their register in `checkpoints/`, which CHECKPOINT_DIR names. */
export async function copyUnnoticed(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true });
  await rm(join(to, 'folder.json'));
  await rm(join(to, 'checkpoints', 'folder.checkpoint'));
}
