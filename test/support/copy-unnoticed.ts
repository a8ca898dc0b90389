// Copies a data folder so that the copy starts: what a snapshot of a whole disk does, which keeps inodes.

import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Both folders have their register in `checkpoints/`; CHECKPOINT_DIR names it. */
export async function copyUnnoticed(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true });
  await rm(join(to, 'folder.json'));
  await rm(join(to, 'checkpoints', 'folder.checkpoint'));
}
