// Files outside LevelDB that survive a crash: each is complete under its name, or not there.
//
// The content goes to a temporary file in the same folder, which is synced and then renamed or linked to the final
// name; then the folder is synced. A crash before the rename leaves the old file and a temporary one, whose name no
// reader of the folder takes for a file of its own. Server only.

import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { link, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** The bytes of a file, or a function that writes them to it. */
export type Content = string | Uint8Array | ((file: FileHandle) => Promise<void>);

export interface WriteOptions {
  /** Only its owner may read the file: mode 0600 whatever the umask is; 0644 less the umask otherwise. */
  readonly secret?: boolean;
  /** Replaces a file of that name; with `false`, one that exists is an EEXIST error. */
  readonly replace?: boolean;
  /** `false` leaves the sync of the folder to the caller, who writes many files to it (`syncFolder`). */
  readonly sync_folder?: boolean;
  /** The times of access and modification that the file gets. */
  readonly times?: Pick<Stats, 'atime' | 'mtime'>;
}

/** A temporary file that was not touched for this long is not of a process that still runs. */
export const IDLE_MS = 3_600_000;

/** `<name>.<16 hexadecimal digits>.new`; earlier versions wrote `<name>.new`. */
const TEMPORARY = /^(.+?)(?:\.[0-9a-f]{16})?\.new$/;

/**
 * Writes a file; it is complete and on disk under its name when the promise resolves. When it rejects, the name has
 * the old file or, where only the last sync failed, the new one.
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
      // A stricter umask could leave a secret that its owner cannot read back.
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

/** A rename that never replaces, which is what `link` does; a file system without hard links is asked first. */
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
 * Deletes the temporary files that killed processes left in a folder: all of them, or those of one file. The caller
 * has the folder, or that file, to itself; where others may write to it, `idle_ms: IDLE_MS` spares their files.
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

/** Makes a folder and those above it that are missing; their names are on disk when it resolves. */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  const first = await mkdir(path, { recursive: true, ...(mode === undefined ? {} : { mode }) });
  if (first === undefined) return;
  const top = dirname(resolve(first));
  for (let made = resolve(path); made !== top; made = dirname(made))
    await syncFolder(dirname(made));
}

/** Resolves when the names in a folder are on disk: files that were made, renamed or deleted in it before. */
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

// Finds out whether a folder takes writes again, before the database is opened on it.

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
