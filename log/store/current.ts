// Whether a folder holds a database, by the file that LevelDB finds the rest by. Without it LevelDB takes the folder for
// a new one, and deletes the tables that are there. LevelDB, doc/impl.md.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LogError } from '../errors.ts';

/** What a first opening that was killed leaves: nothing was written yet, and LevelDB begins again. */
const BEGUN = 'MANIFEST-000001';

/**
 * Refuses a folder whose database has lost its CURRENT, before LevelDB is let at it; one that is missing, empty or
 * of a first opening that was killed is none. Answers whether there is a database.
 *
 * @throws LogError `store_corrupt`, naming what is missing and what helps
 */
export async function checkCurrent(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  // After the list was read: of a database that another process makes just now, it may have come since.
  if (existsSync(join(folder, 'CURRENT'))) return true;
  const manifests = names.filter((name) => /^MANIFEST-\d+$/.test(name)).sort(byNumber);
  const tables = names.filter((name) => /^\d+\.(ldb|sst|log)$/.test(name));
  if (tables.length === 0 && manifests.every((name) => name === BEGUN)) return false;
  const newest = manifests.at(-1);
  const advice =
    newest === undefined
      ? ''
      : `keep a copy, and write the line ${newest} into ${folder}/CURRENT ("echo ${newest} > CURRENT"), or `;
  throw new LogError(
    'store_corrupt',
    `the database in ${folder} has lost its file CURRENT${newest === undefined ? ' and its MANIFEST' : ''}; ` +
      `nothing was touched: ${advice}move the folder away and restore from a backup or a mirror`,
  );
}

const byNumber = (a: string, b: string): number => Number(a.slice(9)) - Number(b.slice(9));
