// Bits that flip on the disk: found and named, never served as good. behaviour.md §13. Each file of a
// database is damaged at many places, one at a time; what it then answers is compared with what was there.

import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fsck } from '../../log/fsck.ts';
import { LogError } from '../../log/index.ts';
import { openStore } from '../../log/store/store.ts';
import { KeptLog, note } from '../log/kept-log.ts';

/** Places in each file; the last ones of a table are its index and footer. */
const PLACES = 24;

interface Good {
  readonly kept: KeptLog;
  readonly db: string;
  readonly entries: readonly string[];
  readonly notes: ReadonlyMap<number, string>;
}

/** A stopped log over two full tiles; all of it in tables, or all of it in the write-ahead log. */
async function good(compacted: boolean): Promise<Good> {
  const kept = await KeptLog.open();
  for (let i = 0; i < 30; i += 1) {
    await kept.append(
      ...Array.from({ length: 20 }, (_, n) => note(`case-${String((i * n) % 37)}`)),
    );
  }
  await kept.publish();
  const entries = Array.from({ length: kept.log.size() }, (_, i) => kept.log.entry(i) ?? '');
  const db = join(kept.folder, 'live', '1', 'db');
  const notes = new Map(kept.notes);
  await kept.stop();
  if (compacted) {
    const store = await openStore(db);
    await store.compact({ gte: Uint8Array.of(0), lt: Uint8Array.of(255) });
    await store.close();
  }
  return { kept, db, entries, notes };
}

type Found = 'refused to open' | 'named on reading' | 'named by fsck' | 'nothing was lost';

/** Reads everything back; a wrong answer fails, a named damage is the other good end. */
async function readAll({ kept, entries, notes }: Good): Promise<Found> {
  const named = (error: unknown): void => {
    assert.ok(error instanceof LogError, `not a LogError: ${String(error)}`);
    assert.ok(
      ['store_corrupt', 'log_rolled_back', 'log_unavailable'].includes(error.code),
      `${error.code}: ${error.message}`,
    );
  };
  let found: Found = 'nothing was lost';
  const log = await kept.start().catch(named);
  if (log === undefined) return 'refused to open';
  const tryTo = (read: () => void): void => {
    try {
      read();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      named(error);
      found = 'named on reading';
    }
  };
  for (const [index, text] of entries.entries()) {
    tryTo(() => assert.equal(log.entry(index), text, `entry ${String(index)}`));
  }
  for (const [size, text] of notes) {
    tryTo(() => assert.equal(log.checkpointAt(size), text, `note ${String(size)}`));
  }
  for (let n = 0; n < 3; n += 1) tryTo(() => void log.tile(0, n, n < 2 ? 256 : 1));
  await kept.stop().catch(named);
  return found;
}

async function damage(file: string, bytes: Buffer, at: number): Promise<void> {
  const bent = Buffer.from(bytes);
  bent[at]! ^= 0x10;
  await writeFile(file, bent);
}

for (const compacted of [true, false]) {
  const what = compacted ? 'tables' : 'the write-ahead log';
  describe(`a damaged block in ${what}`, function () {
    this.timeout(240_000);
    let log: Good;
    let folder: string;
    const tally = new Map<Found, number>();

    before(async () => {
      log = await good(compacted);
      folder = await mkdtemp(join(tmpdir(), 'actlog-good-'));
      await cp(log.db, folder, { recursive: true });
    });

    after(async () => {
      await rm(log.kept.folder, { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true });
    });

    it('is named or does no harm, wherever it is', async () => {
      const ending = compacted ? '.ldb' : '.log';
      const names = (await readdir(folder)).filter((name) => name.endsWith(ending));
      assert.ok(names.length > 0, 'there is a file to damage');
      for (const name of names) {
        const bytes = await readFile(join(folder, name));
        for (let place = 0; place < PLACES && bytes.length > 0; place += 1) {
          await rm(log.db, { recursive: true });
          await cp(folder, log.db, { recursive: true });
          const at = Math.floor((bytes.length * (place + 0.5)) / PLACES);
          await damage(join(log.db, name), bytes, at);
          const where = `${name} at byte ${String(at)} of ${String(bytes.length)}`;
          try {
            let found = await readAll(log);
            if (found === 'nothing was lost') {
              const result = await fsck({
                folder: join(log.kept.folder, 'live', '1'),
                checkpoint_file: join(log.kept.folder, 'checkpoints', 'live-1.checkpoint'),
                vkey: log.kept.log.vkey,
              }).catch((error: unknown) => {
                assert.ok(error instanceof LogError, String(error));
                return { count: 1 };
              });
              if (result.count > 0) found = 'named by fsck';
            }
            tally.set(found, (tally.get(found) ?? 0) + 1);
          } catch (error) {
            throw new Error(`${where}: ${String(error)}`, { cause: error });
          }
        }
      }
      // Most places hold something, so most of them must have been found.
      const places = [...tally.values()].reduce((sum, count) => sum + count, 0);
      assert.ok((tally.get('nothing was lost') ?? 0) < places / 2, JSON.stringify([...tally]));
    });
  });
}
