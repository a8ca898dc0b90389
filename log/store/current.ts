// Whether a folder holds a database, by the file CURRENT, which names the MANIFEST that LevelDB finds the rest by.
// Without it LevelDB takes the folder for a new one, and deletes the tables that are there. LevelDB, doc/impl.md.

import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LogError } from '../errors.ts';

/** What a first opening that was killed leaves: nothing was written yet, and LevelDB begins again. */
const BEGUN = 'MANIFEST-000001';

/**
 * Refuses a folder whose database has lost its CURRENT or the MANIFEST that this names, before LevelDB is let at it;
 * one that is missing, empty or of a first opening that was killed is none. Answers whether there is a database.
 *
 * @throws LogError `store_corrupt`, naming what is missing and what helps
 */
export async function checkCurrent(folder: string): Promise<boolean> {
  const names = (await ifThere(readdir(folder))) ?? [];
  const current = await currentOf(folder);
  // After the list was read: of a database that another process makes just now, it may have come since.
  if (current === null) {
    const tables = names.filter((name) => /^\d+\.(ldb|sst|log)$/.test(name));
    if (tables.length === 0 && manifestsIn(names).every((name) => name === BEGUN)) return false;
    throw lost(folder, names, 'has lost its file CURRENT');
  }
  const [, manifest] = /^(MANIFEST-\d+)\n$/.exec(current) ?? [];
  if (manifest !== undefined && existsSync(join(folder, manifest))) return true;
  // Another process that opens the database names a new one, and then removes the old one.
  if ((await currentOf(folder)) !== current) return checkCurrent(folder);
  throw lost(
    folder,
    names,
    manifest === undefined
      ? 'has a file CURRENT that names no MANIFEST'
      : `has lost ${manifest}, which its file CURRENT names`,
    manifest,
  );
}

const currentOf = (folder: string): Promise<string | null> =>
  ifThere(readFile(join(folder, 'CURRENT'), 'utf8'));

async function ifThere<T>(reading: Promise<T>): Promise<T | null> {
  return reading.catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

/** Oldest first. */
const manifestsIn = (names: readonly string[]): string[] =>
  names.filter((name) => /^MANIFEST-\d+$/.test(name)).sort((a, b) => numberOf(a) - numberOf(b));

const numberOf = (manifest: string): number => Number(manifest.slice('MANIFEST-'.length));

/** `missing` is the MANIFEST that CURRENT names. An older one does not know the newer tables: LevelDB would delete them. */
function lost(folder: string, names: readonly string[], what: string, missing = BEGUN): LogError {
  const manifests = manifestsIn(names);
  const newest = manifests.filter((name) => numberOf(name) >= numberOf(missing)).at(-1);
  const there = newest === undefined ? 'no MANIFEST' : manifests.join(', ');
  const advice =
    newest === undefined
      ? ''
      : `keep a copy, and write the line ${newest} into ${folder}/CURRENT ("echo ${newest} > CURRENT"), or `;
  return new LogError(
    'store_corrupt',
    `the database in ${folder} ${what} (there is ${there}); nothing was touched: ` +
      `${advice}move the folder away and restore from a backup or a mirror`,
  );
}
