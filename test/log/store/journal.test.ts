// Journals of a database that lost data: the check finds the loss before LevelDB drops it, and accepts a journal from
// which a crash cut only unacknowledged writes. log/store/journal.ts.

import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkJournals } from '../../../log/store/journal.ts';
import { readManifest } from '../../../log/store/manifest.ts';
import { openStore, put } from '../../../log/store/store.ts';
import type { Store } from '../../../log/store/store.ts';
import { code } from '../write/kept-log.ts';

const ROWS = 12;
const row = (letter: string, i: number): Uint8Array =>
  Buffer.from(`${letter}${String(i).padStart(4, '0')}`);

describe('the journals of a database', () => {
  let folder: string;
  let live: string;
  let store: Store;

  /** The files as a machine that fails now would leave them, or as they are after a close. */
  async function left(how: 'closed' | 'killed'): Promise<string> {
    const copy = join(folder, how);
    if (how === 'closed') await store.close();
    await cp(live, copy, { recursive: true });
    return copy;
  }
  const journalOf = async (db: string): Promise<string> => {
    const { journal } = (await readManifest(db))!;
    return join(db, `${String(journal).padStart(6, '0')}.log`);
  };
  const refused = (db: string, words: RegExp): Promise<void> =>
    assert.rejects(
      checkJournals(db, (key) => key[0] !== 97),
      (error: unknown) => {
        code('store_corrupt')(error);
        assert.match((error as Error).message, words);
        return true;
      },
    );
  const taken = (db: string): Promise<void> => checkJournals(db, (key) => key[0] !== 97);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-journal-'));
    live = join(folder, 'db');
    store = await openStore(live);
    // More than a block of 32 KiB, so that a record crosses its end.
    for (let i = 0; i < ROWS; i += 1) await store.write([put(row('k', i), Buffer.alloc(4000, i))]);
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('are accepted if nothing was changed, after a close or a kill', async () => {
    await taken(await left('killed'));
    await taken(await left('closed'));
    await taken(join(folder, 'none'));
  });

  it('of a closed database are complete: each cut, flipped bit and removal is reported', async () => {
    const db = await left('closed');
    const journal = await journalOf(db);
    const bytes = await readFile(journal);
    for (const length of [0, 1, 20, bytes.length >> 1, bytes.length - 1]) {
      await truncate(journal, length);
      await refused(db, /\.log of \d+ bytes, which had \d+ when it was closed/);
      await writeFile(journal, bytes);
    }
    for (let at = 3; at < bytes.length; at += 997) {
      const bent = Buffer.from(bytes);
      bent[at]! ^= 4;
      await writeFile(journal, bent);
      await refused(db, /\.log with a damaged record at byte \d+/);
    }
    await rm(journal);
    await refused(db, /has lost its journal \d+\.log/);
    await writeFile(journal, bytes);
    await taken(db);
  });

  it('of a killed process may end anywhere in their last write, and nowhere before it', async () => {
    const db = await left('killed');
    const journal = await journalOf(db);
    const bytes = await readFile(journal);
    const last = bytes.length - 4000;
    for (const length of [last, last + 100, bytes.length - 1]) {
      await truncate(journal, length);
      await taken(db);
      await writeFile(journal, bytes);
    }
    // What a power failure may leave of an unfinished write.
    await writeFile(journal, Buffer.concat([bytes.subarray(0, last), Buffer.alloc(4000)]));
    await taken(db);
    for (const from of [5, 4100, 33_000]) {
      const bent = Buffer.from(bytes);
      bent.fill(0, from, from + 40);
      await writeFile(journal, bent);
      await refused(db, /damaged record at byte \d+: acknowledged writes are lost/);
    }
    await rm(journal);
    await refused(db, /has lost its journal/);
  });

  it('with a whole record missing are refused, by the sequence numbers of the others', async () => {
    await store.close();
    await rm(live, { recursive: true });
    store = await openStore(live);
    for (let i = 0; i < 3; i += 1) await store.write([put(row('k', i), Buffer.alloc(10, i))]);
    const db = await left('killed');
    const journal = await journalOf(db);
    const bytes = await readFile(journal);
    const size = bytes.length / 4; // the version and three rows, of nearly equal length
    assert.ok(size > 20);
    // The first record of a block is cut out; the checksums of the others remain valid.
    const first = 7 + bytes.readUInt16LE(4);
    const second = first + 7 + bytes.readUInt16LE(first + 4);
    await writeFile(journal, Buffer.concat([bytes.subarray(0, first), bytes.subarray(second)]));
    await refused(db, /damaged record at byte \d+/);
  });

  it('may lose an unsynced write, if only unsynced writes follow it', async () => {
    await store.write([put(row('a', 1), Buffer.alloc(10))], { sync: false });
    const before = (await stat(await journalOf(live))).size;
    await store.write([put(row('a', 2), Buffer.alloc(10))], { sync: false });
    const db = await left('killed');
    const journal = await journalOf(db);
    const bytes = await readFile(journal);
    bytes[before - 2]! ^= 1;
    await writeFile(journal, bytes);
    await taken(db);
    await store.write([put(row('k', 99), Buffer.alloc(10))]);
    const later = await readFile(await journalOf(live));
    later[before - 2]! ^= 1;
    await writeFile(journal, later);
    await refused(db, /damaged record/);
  });

  it('are checked whenever the database is opened; a refused opening changes no file', async () => {
    const db = await left('closed');
    const journal = await journalOf(db);
    const bytes = await readFile(journal);
    await truncate(journal, 0);
    const before = await readdir(db);
    await assert.rejects(openStore(db), code('store_corrupt'));
    assert.deepEqual(await readdir(db), before);
    await writeFile(journal, bytes);
    for (let start = 0; start < 3; start += 1) {
      const again = await openStore(db);
      assert.equal(again.get(row('k', ROWS - 1))?.length, 4000);
      if (start === 1) await again.write([put(row('k', 50), Buffer.alloc(1))]);
      await again.close();
    }
  });
});
