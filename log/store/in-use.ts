// A file beside LevelDB's own that says that a program has the database open: one that is found there was left
// by a program that did not close it. LevelDB leaves names that are not its own alone.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeLeftovers, writeDurableFile } from './durable-file.ts';

const file = (folder: string): string => join(folder, 'IN_USE');

/** How the last program that opened a database has left it; `open` while that program still runs. */
export type Left = 'closed' | 'open' | 'unclosed';

/** What the file of a folder says, also of a folder that is not there. */
export async function howLeft(folder: string): Promise<Left> {
  const pid = await readFile(file(folder), 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (pid === null) return 'closed';
  // In a container every program has the same number: one that is ours was another's before.
  return Number(pid) !== process.pid && runs(Number(pid)) ? 'open' : 'unclosed';
}

function runs(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Says that this program has the database open, also after a power cut; best effort, since a full disk must not keep it
 * from opening.
 */
export async function markInUse(folder: string): Promise<void> {
  try {
    await removeLeftovers(folder);
    await writeDurableFile(file(folder), String(process.pid));
  } catch {
    // The next start does not compare the tables then; the scrub does.
  }
}

/** Takes that back, while the database is still locked, so that nobody else's word is taken back. */
export async function unmark(folder: string): Promise<void> {
  await rm(file(folder), { force: true }).catch(() => undefined);
}
