// The tables that a MANIFEST lists, compared with those of LevelDB.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClassicLevel } from 'classic-level';
import { readManifest } from '../../../log/store/manifest.ts';
import { tableFaults } from '../../../log/store/tables.ts';
import { Damaged } from '../../../log/store/leveldb-files.ts';

/** The longest time that compactions of these small databases take. */
const SETTLED_MS = 10_000;

const open = async (folder: string, compression: boolean): Promise<ClassicLevel> => {
  const db = new ClassicLevel(folder, { compression, writeBufferSize: 65_536 });
  await db.open();
  return db;
};

/** The numbers of the tables of an open database. */
const tablesOf = (db: ClassicLevel): number[] =>
  [...db.getProperty('leveldb.sstables').matchAll(/^ *(\d+):\d+\[/gm)]
    .map(([, number]) => Number(number))
    .sort((a, b) => a - b);

/** The numbers of the tables in a folder. */
const tablesIn = async (folder: string): Promise<number[]> =>
  (await readdir(folder))
    .flatMap((name) => /^(\d+)\.ldb$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);

const numbers = async (folder: string): Promise<number[] | null> =>
  readManifest(folder).then(
    (manifest) => (manifest === null ? null : [...manifest.tables.keys()].sort((a, b) => a - b)),
    (error: unknown) => {
      if (error instanceof Damaged) return null;
      throw error;
    },
  );

const faults = async (folder: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const { table, what } of tableFaults(folder)) found.push(`${table} ${what}`);
  return found;
};

describe('the MANIFEST of a database', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-manifest-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Several tables, written repeatedly, some of them compacted. */
  async function fill(compression: boolean): Promise<void> {
    const db = await open(folder, compression);
    for (let round = 0; round < 12; round += 1) {
      for (let i = 0; i < 40; i += 1) {
        await db.put(`key ${String((i * 7 + round) % 97)}`, randomBytes(1500).toString('hex'));
      }
      if (round % 5 === 4) await db.compactRange('key 1', 'key 5');
    }
    await db.close();
  }

  async function manifest(): Promise<string> {
    return join(folder, (await readFile(join(folder, 'CURRENT'), 'utf8')).trim());
  }

  for (const compression of [false, true]) {
    const how = compression ? 'compressed' : 'plain';
    it(`lists the ${how} tables of LevelDB, also while it is open, and all of them are valid`, async () => {
      await fill(compression);
      for (let start = 0; start < 3; start += 1) {
        const db = await open(folder, compression);
        // A compaction may change the tables at any time, and LevelDB writes them to the MANIFEST before it uses them.
        const deadline = performance.now() + SETTLED_MS;
        let [live, used] = [await numbers(folder), tablesOf(db)];
        while (String(live) !== String(used) && performance.now() < deadline) {
          await sleep(10);
          [live, used] = [await numbers(folder), tablesOf(db)];
        }
        assert.deepEqual(live, used);
        assert.ok(used.length > 0);
        assert.deepEqual(await faults(folder), []);
        await db.close();
        assert.deepEqual(await faults(folder), []);
      }
    });
  }

  it('finds a changed byte anywhere in the blocks and indexes of a compressed table', async () => {
    await fill(true);
    const [table = 0] = await tablesIn(folder);
    const path = join(folder, `${String(table).padStart(6, '0')}.ldb`);
    const bytes = await readFile(path);
    const end = bytes.length - 48;
    for (const at of [0, 1, end >>> 1, end - 200, end - 40, end - 6, end - 5, end - 1]) {
      await writeFile(
        path,
        Uint8Array.from(bytes, (byte, i) => (i === at ? byte ^ 4 : byte)),
      );
      const [fault = ''] = await faults(folder);
      assert.match(fault, /has a damaged block at byte \d+$/, `byte ${String(at)}`);
    }
  });

  it('does not list an unfinished table, which LevelDB deletes, and lists all others', async () => {
    await fill(false);
    const live = (await numbers(folder)) ?? [];
    await writeFile(join(folder, '000999.ldb'), randomBytes(5000));
    await writeFile(join(folder, '001000.ldb'), '');
    assert.deepEqual(await numbers(folder), live);
    assert.deepEqual(await faults(folder), []);
    await (await open(folder, false)).close();
    const left = await tablesIn(folder);
    assert.ok(!left.includes(999) && !left.includes(1000), String(left));
    const [first = 0] = (await numbers(folder)) ?? [];
    const name = `${String(first).padStart(6, '0')}.ldb`;
    const bytes = await readFile(join(folder, name));
    await writeFile(join(folder, name), Buffer.concat([bytes, bytes]));
    assert.match((await faults(folder)).join(), new RegExp(`^${name} has \\d+ bytes where its`));
    await rm(join(folder, name));
    assert.deepEqual(await faults(folder), [`${name} is missing`]);
  });

  it('is not read if LevelDB reports it as damaged, for any changed bit', async function () {
    this.timeout(240_000);
    await fill(false);
    const bytes = await readFile(await manifest());
    const copy = join(folder, 'copy');
    // A start appends to the journal and the MANIFEST, so each case starts from the same copy.
    const names = (await readdir(folder)).filter((name) => /^(\d+\.|MANI|CURR)/.test(name));
    for (let at = 0; at < bytes.length; at += at < bytes.length - 60 ? 37 : 1) {
      await rm(copy, { recursive: true, force: true });
      for (const name of names) await cp(join(folder, name), join(copy, name));
      await writeFile(
        join(copy, (await manifest()).slice(folder.length + 1)),
        Uint8Array.from(bytes, (byte, i) => (i === at ? byte ^ (1 << (at % 8)) : byte)),
      );
      const live = await numbers(copy);
      const opened = await open(copy, false).then(
        (db) => db.close().then(() => true),
        () => false,
      );
      // A length beyond the end belongs to a record that a killed process did not finish. Without that record the
      // MANIFEST may list tables that a compaction has deleted, which LevelDB and the check of tables both report as
      // missing.
      if (opened) assert.ok(live !== null, `LevelDB reads it, byte ${String(at)}`);
      else if (live !== null) {
        assert.notDeepEqual(await faults(copy), [], `LevelDB refuses it, byte ${String(at)}`);
      }
    }
  });

  it('is read up to a record that a killed process did not finish', async () => {
    await fill(false);
    const path = await manifest();
    const bytes = await readFile(path);
    for (const length of [bytes.length - 1, bytes.length - 8, 20, 6, 0]) {
      await writeFile(path, bytes.subarray(0, length));
      assert.notEqual(await numbers(folder), null, String(length));
    }
    await rm(path);
    assert.equal(await numbers(folder), null);
    await writeFile(join(folder, 'CURRENT'), 'nothing');
    assert.equal(await numbers(folder), null);
  });
});
