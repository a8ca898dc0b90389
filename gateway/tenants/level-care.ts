// Operations on a database of the gateway while no server has it open: inspect it, and accept an older copy.

import { isLogError, LogError, makeFolder } from '../../log/index.ts';
import {
  added,
  asJson,
  checkFiles,
  closeLevel,
  countIn,
  digestIn,
  digestOf,
  gone,
  isCount,
  lack,
  levelIn,
  NOTHING,
  openLevel,
  OWN,
  POSITION,
  positionIn,
  readRemembered,
  rowsIn,
  sealed,
  unavailable,
  unsealed,
  upgrade,
} from './level-rows.ts';
import type { Level, LevelPlace, LevelRow, Position } from './level-rows.ts';

/**
 * Makes the register accept the present state of a database: an older copy that the operator restored, or an empty one
 * in place of a database that is lost. Its rows must be undamaged.
 *
 * @param empty whether the database must be empty
 * @throws LogError `out_of_range` if it must be empty and has rows
 */
export async function acceptLevel(
  folder: string,
  place: LevelPlace,
  { empty = false } = {},
): Promise<void> {
  const { register, name, counts } = place;
  await checkFiles(folder);
  await makeFolder(folder, 0o700);
  const db = levelIn(folder);
  await openLevel(db, folder);
  try {
    const remembered = await readRemembered(register, name);
    const position = positionIn(db.getSync(POSITION)) ?? (await upgrade(db, counts));
    const rows: LevelRow[] = [];
    for await (const row of rowsIn(db)) rows.push(row);
    if (empty && rows.length > 0) {
      const ways = '"actlog keys issue" makes keys, and "actlog adopt" accepts an older copy';
      throw new LogError('out_of_range', `the database in ${folder} is not empty: ${ways}`);
    }
    const accepted: Position = {
      writes: Math.max(position.writes, remembered?.writes ?? 0) + 1,
      digest: digestIn(rows, counts),
      before: remembered === null ? null : { writes: remembered.writes, digest: remembered.digest },
    };
    await db.put(POSITION, sealed(POSITION, Buffer.from(JSON.stringify(accepted))), { sync: true });
    const counted = rows
      .filter(({ key }) => isCount(key, counts))
      .reduce((sum, { value }) => sum + countIn(value), 0);
    await register.advance(
      name,
      remembered === null ? null : asJson(remembered),
      asJson({ writes: accepted.writes, digest: accepted.digest, counted }),
    );
  } finally {
    await closeLevel(db, folder);
  }
}

/** The result of `inspectLevel`. The caller must close it. */
export interface Inspected {
  readonly rows: number;
  /** Clauses that say what is damaged, missing, or different from the acknowledged state. */
  readonly problems: readonly string[];
  readonly has: (key: string) => boolean;
  readonly close: () => Promise<void>;
}

/**
 * Compares every row of a database with its checksum, and the database with its position and the register. Changes
 * no row.
 *
 * @returns null if there is no database and the register knows none
 * @throws LogError like `SyncedLevel.open`
 */
export async function inspectLevel(folder: string, place: LevelPlace): Promise<Inspected | null> {
  const { name, register } = place;
  const there = await checkFiles(folder);
  const remembered = await readRemembered(register, name);
  if (!there) {
    if (remembered === null) return null;
    throw gone(folder, place);
  }
  const db = levelIn(folder);
  await openLevel(db, folder);
  try {
    return await inspected(db, folder, place);
  } catch (error) {
    await db.close();
    throw isLogError(error) ? error : unavailable(folder, error);
  }
}

async function inspected(
  db: Level,
  folder: string,
  { name, register, counts }: LevelPlace,
): Promise<Inspected> {
  const remembered = await readRemembered(register, name);
  const problems: string[] = [];
  const position = positionIn(db.getSync(POSITION));
  let [digest, counted, rows] = [NOTHING.digest, 0, 0];
  for await (const [key, stored] of db.iterator({ gt: OWN })) {
    rows += 1;
    try {
      // Rows of an earlier release have no checksums.
      if (position === undefined) continue;
      const value = unsealed(key, stored);
      if (isCount(key, counts)) counted += countIn(value);
      else digest = added(digest, digestOf(key, value));
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  if (position === undefined) {
    if (remembered !== null)
      problems.push('it is empty, or of a release that did not count its writes');
  } else {
    if (digest !== position.digest) problems.push('rows are missing, or there are other ones');
    const lacks = lack({ position, counted }, remembered, register.where(name));
    if (lacks !== null) problems.push(`it ${lacks}`);
  }
  return {
    rows,
    problems,
    has: (key) => db.getSync(key) !== undefined,
    close: () => closeLevel(db, folder),
  };
}
