// Reads the current MANIFEST of a LevelDB database: the tables that are in use, and the oldest journal whose writes are
// in no table yet. Other files were left by a crash, and LevelDB deletes them. The format is that of
// https://github.com/google/leveldb (doc/impl, db/version_edit.cc).
//
// A MANIFEST that LevelDB itself would refuse is `Damaged`; callers leave it to LevelDB to report that.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { Damaged, isCutOff, recordsIn, Varints } from './leveldb-files.ts';
import { LogError } from '../errors.ts';

/** The files that make up a database, by their numbers. */
export interface Manifest {
  /** The length of each table in bytes. */
  readonly tables: ReadonlyMap<number, number>;
  /** The oldest journal that LevelDB reads when it opens the database; 0 if there is none yet. */
  readonly journal: number;
}

/**
 * Reads the MANIFEST that CURRENT names; null if there is none. The database may be open.
 *
 * @throws Damaged for a damaged record
 */
export async function readManifest(folder: string): Promise<Manifest | null> {
  const current = await ifThere(readFile(join(folder, 'CURRENT'), 'utf8'));
  const manifest = current === null ? null : await ifThere(readFile(join(folder, current.trim())));
  if (manifest === null) return null;
  const tables = new Map<number, number>();
  let journal = 0;
  for (const { at, record } of recordsIn(manifest)) {
    if (record === null) {
      // The last edit was not written completely, or is being written, so it does not count.
      if (isCutOff(manifest, at)) break;
      throw new Damaged(at);
    }
    const edit = editOf(record);
    for (const table of edit.deleted) tables.delete(table);
    for (const [table, bytes] of edit.added) tables.set(table, bytes);
    journal = edit.journal ?? journal;
  }
  return { tables, journal };
}

interface Edit {
  readonly deleted: readonly number[];
  readonly added: readonly (readonly [number, number])[];
  readonly journal: number | undefined;
}

/** Tags of db/version_edit.cc. */
const TAG = {
  comparator: 1,
  journal: 2,
  next_file: 3,
  last_sequence: 4,
  compact_pointer: 5,
  deleted: 6,
  added: 7,
  previous_journal: 9,
} as const;

function editOf(record: Buffer): Edit {
  const reader = new Varints(record, 0);
  const [deleted, added]: [number[], [number, number][]] = [[], []];
  let journal: number | undefined;
  while (!reader.ended) {
    const tag = reader.next();
    switch (tag) {
      case TAG.comparator:
        reader.slice();
        break;
      case TAG.journal:
        journal = reader.next();
        break;
      case TAG.next_file:
      case TAG.previous_journal:
        reader.next();
        break;
      case TAG.last_sequence:
        reader.next();
        break;
      case TAG.compact_pointer:
        reader.next();
        reader.slice();
        break;
      case TAG.deleted:
        reader.next();
        deleted.push(reader.next());
        break;
      case TAG.added: {
        reader.next();
        added.push([reader.next(), reader.next()]);
        reader.slice();
        reader.slice();
        break;
      }
      default:
        throw new Damaged(reader.at);
    }
  }
  return { deleted, added, journal };
}

async function ifThere<T>(reading: Promise<T>): Promise<T | null> {
  return reading.catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

// CURRENT names the MANIFEST by which LevelDB finds the rest. Without it, LevelDB takes the folder for a new database
// and deletes the tables that are there (doc/impl of LevelDB).

/** The MANIFEST that the first opening writes. If only this one exists, that opening was killed before any write. */
const BEGUN = 'MANIFEST-000001';

/**
 * Whether a folder contains a database. A folder that is missing or empty, or whose first opening was killed, does not.
 * Must be called before LevelDB opens the folder.
 *
 * @throws LogError `store_corrupt` if the database has lost CURRENT or the MANIFEST that it names, with what to do
 */
export async function checkCurrent(folder: string): Promise<boolean> {
  const names = (await ifThere(readdir(folder))) ?? [];
  const current = await currentOf(folder);
  // CURRENT is read after the list of files, because another process may be creating the database.
  if (current === null) {
    const tables = names.filter((name) => /^\d+\.(ldb|sst|log)$/.test(name));
    if (tables.length === 0 && manifestsIn(names).every((name) => name === BEGUN)) return false;
    throw lost(folder, names, 'has lost its file CURRENT');
  }
  const [, manifest] = /^(MANIFEST-\d+)\n$/.exec(current) ?? [];
  if (manifest !== undefined && existsSync(join(folder, manifest))) return true;
  // Another process that opens the database writes a new MANIFEST and CURRENT, and then deletes the old MANIFEST.
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

/** The MANIFESTs among these names, oldest first. */
const manifestsIn = (names: readonly string[]): string[] =>
  names.filter((name) => /^MANIFEST-\d+$/.test(name)).sort((a, b) => numberOf(a) - numberOf(b));

const numberOf = (manifest: string): number => Number(manifest.slice('MANIFEST-'.length));

/**
 * `missing` is the MANIFEST that CURRENT names. An older one does not know the newer tables: LevelDB would delete them.
 */
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
