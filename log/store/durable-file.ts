// Files outside LevelDB that survive a crash: each is complete under its name, or not there.
//
// The content goes to a temporary file in the same folder, which is synced and then renamed or linked to the final
// name; then the folder is synced. A crash before the rename leaves the old file and a temporary one, whose name no
// reader of the folder takes for a file of its own. Server only.

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { access, link, lstat, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** The bytes of a file, or a function that writes them to it. */
export type Content = string | Uint8Array | ((file: FileHandle) => Promise<void>);

export interface WriteOptions {
  /** Only the owner may read the file (mode 0600, whatever the umask is). Otherwise the mode is 0644 less the umask. */
  readonly secret?: boolean;
  /** Replaces a file of that name; with `false`, one that exists is an EEXIST error. */
  readonly replace?: boolean;
  /** `false` leaves the sync of the folder to the caller, who writes many files to it (`syncFolder`). */
  readonly sync_folder?: boolean;
  /** The times of access and modification that the file gets. */
  readonly times?: Pick<Stats, 'atime' | 'mtime'>;
}

/** A temporary file that was not modified for this long was left by a process that no longer runs. */
export const IDLE_MS = 3_600_000;

/** `<name>.<16 hexadecimal digits>.new`; earlier versions wrote `<name>.new`. */
const TEMPORARY = /^(.+?)(?:\.[0-9a-f]{16})?\.new$/;

/**
 * Writes a file. It is complete and on disk under its name when the promise resolves. If the promise rejects, the old
 * file is still there or, if only the sync of the folder failed, the new one.
 */
export async function writeDurableFile(
  path: string,
  content: Content,
  { secret = false, replace = true, sync_folder = true, times }: WriteOptions = {},
): Promise<void> {
  const temporary = `${path}.${randomBytes(8).toString('hex')}.new`;
  const file = await open(temporary, 'wx', secret ? 0o600 : 0o644);
  try {
    try {
      // A stricter umask could make a secret unreadable for its owner.
      if (secret) await file.chmod(0o600);
      if (typeof content === 'function') await content(file);
      else await file.writeFile(content);
      if (times !== undefined) await file.utimes(times.atime, times.mtime);
      await file.sync();
    } finally {
      await file.close();
    }
    if (replace) await rename(temporary, path);
    else await renameToNew(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  if (sync_folder) await syncFolder(dirname(path));
}

/**
 * Renames a file without replacing an existing one, by making a hard link. On a file system without hard links, it
 * checks first whether the target exists.
 */
async function renameToNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error;
    if (await exists(to)) {
      throw Object.assign(new Error(`EEXIST: file already exists, ${to}`), { code: 'EEXIST' });
    }
    await rename(from, to);
    return;
  }
  await unlink(from);
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    },
  );
}

/**
 * Deletes the temporary files that killed processes left in a folder: all of them, or those of the file `of`. If other
 * processes may write to the folder, the caller passes `idle_ms: IDLE_MS`, so that their files are not deleted.
 */
export async function removeLeftovers(
  folder: string,
  { of, idle_ms = 0 }: { readonly of?: string; readonly idle_ms?: number } = {},
): Promise<void> {
  const names = (await ifThere(readdir(folder))) ?? [];
  for (const name of names) {
    const [, final] = TEMPORARY.exec(name) ?? [];
    if (final === undefined || (of !== undefined && final !== of)) continue;
    const path = join(folder, name);
    const found = await ifThere(lstat(path));
    if (found?.isFile() !== true || Date.now() - found.mtimeMs < idle_ms) continue;
    await ifThere(unlink(path));
  }
}

/**
 * Makes a folder and its missing parents, unless they exist. Their names are on disk when the promise resolves: also
 * that of a folder that exists, because a process that was killed may have made it and not synced its parent. A folder
 * is made only after the name of its parent is on disk, so the parents of one that exists need no sync.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  const folder = resolve(path);
  const parent = dirname(folder);
  const there = (await ifThere(stat(folder))) !== null;
  if (!there) await makeFolder(parent, mode);
  // If the path is a file, this fails with EEXIST.
  await mkdir(folder, { recursive: true, ...(mode === undefined ? {} : { mode }) });
  if (!there || (await takesFolders(parent))) await syncFolder(parent);
}

/** Whether this user can make folders in a folder, and sync it. If not, another user has made those in it. */
async function takesFolders(path: string): Promise<boolean> {
  return access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Syncs a folder: files that were made, renamed or deleted in it before are durably so when the promise resolves. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function ifThere<T>(reading: Promise<T>): Promise<T | null> {
  return reading.catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

// Checks that a folder accepts writes again before the database in it is opened.

/** More than the next batches need, so that an almost full disk is not taken for a writable one. */
const PROBE_BYTES = 1024 * 1024;

/** Rejects if a synced file of 1 MiB cannot be written to the folder. */
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
