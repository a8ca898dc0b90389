// Rounds that are signed during a write to disk: the next batch contains all of them, in order.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog, openThreads } from '../../../log/index.ts';
import { ENTRY } from '../../../log/store/layout.ts';
import { note, NOTE, TENANT } from './kept-log.ts';
import { openWithWrite } from '../store/with-write.ts';

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await new Promise(setImmediate);
};

describe('committer', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-committer-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('writes all rounds that were signed during a write as one batch', async () => {
    /** The number of entries in each batch; a batch waits for the disk. */
    const batches: number[] = [];
    let disk: Promise<void> = Promise.resolve();
    const log = await openLog({
      data: folder,
      kind: 'live',
      origin_base: 'log.example',
      // A round is signed on this thread, in the turn in which it is placed.
      threads: openThreads({ inline: true }),
      checkpoint_interval_ms: 3_600_000,
      types: [NOTE],
      store: (path) =>
        openWithWrite(path, async (writes, write) => {
          batches.push(writes.filter(({ key }) => key[0] === ENTRY).length);
          await disk;
          await write(writes);
        }),
    });
    await log.declare([NOTE]);
    await log.registerTenant(TENANT, '0'.repeat(64));
    let free = (): void => undefined;
    disk = new Promise((resolve) => {
      free = resolve;
    });
    batches.length = 0;
    const size = log.size();
    let answered = 0;
    const append = async (count: number): Promise<readonly number[]> => {
      const groups = Array.from({ length: count }, (_, i) =>
        log.append([note(`case-${String(i)}`)]),
      );
      for (const group of groups) group.then(() => (answered += 1)).catch(() => undefined);
      await turns(10);
      return (await Promise.all(groups)).map(([one]) => one?.index ?? -1);
    };
    const first = append(1);
    await turns(10);
    assert.deepEqual(batches, [1]);
    const second = append(20);
    await turns(20);
    const third = append(30);
    await turns(20);
    // The rounds are signed but not on disk: no append has resolved, and no second batch has begun.
    assert.deepEqual(batches, [1]);
    assert.equal(answered, 0);
    assert.equal(log.size(), size);
    free();
    const indexes = (await Promise.all([first, second, third])).flat();
    assert.deepEqual(batches, [1, 50]);
    assert.deepEqual(
      indexes,
      indexes.map((_, i) => size + i),
    );
    await log.close();
  });
});
