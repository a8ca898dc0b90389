// An older copy of a database, or one without its checkpoint file: appending would fork the log, so it refuses to
// open and says what to do. log/FORMAT.md §5; gateway/API.md §13.

import assert from 'node:assert/strict';
import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { code, KeptLog, note } from '../log/write/kept-log.ts';

interface Copied {
  readonly kept: KeptLog;
  readonly db: string;
  readonly old: string;
  readonly outside: string;
}

/** A stopped log with five published entries, and a copy of its database before the last two. */
async function copied(): Promise<Copied> {
  const kept = await KeptLog.open();
  const db = join(kept.folder, 'live', '1', 'db');
  const old = join(kept.folder, 'old');
  const outside = join(kept.folder, 'checkpoints', 'live-1.checkpoint');
  await kept.append(note('a'), note('b'), note('c'));
  await kept.publish();
  await kept.stop();
  await cp(db, old, { recursive: true });
  await cp(outside, `${outside}.old`);
  await kept.start();
  await kept.append(note('d'), note('e'));
  await kept.publish();
  await kept.stop();
  return { kept, db, old, outside };
}

const withCopy = (body: (copy: Copied) => Promise<void>) => async (): Promise<void> => {
  const copy = await copied();
  try {
    await body(copy);
  } finally {
    await copy.kept.end();
  }
};

const refused =
  (...words: readonly RegExp[]) =>
  (error: unknown): boolean => {
    code('log_rolled_back')(error);
    for (const word of words) assert.match((error as Error).message, word);
    return true;
  };

describe('a database that was rolled back', () => {
  it(
    'is refused with both sizes, the checkpoint file and the remedy',
    withCopy(async ({ kept, db, old }) => {
      await rename(db, `${db}.newest`);
      await rename(old, db);
      const size = /has \d+ entries, but .*live-1\.checkpoint has recorded \d+/;
      await assert.rejects(kept.start(), refused(size, /refuses to write/, /actlog restore/));
      // The next attempt is refused too.
      await assert.rejects(kept.start(), refused(size));
      // With the newest database the log opens.
      await rm(db, { recursive: true });
      await rename(`${db}.newest`, db);
      await kept.start();
      await kept.append(note('f'));
    }),
  );

  it(
    'is refused if it continued from an older copy with other entries',
    withCopy(async ({ kept, db, old, outside }) => {
      const newest = await readFile(outside);
      await rename(db, `${db}.newest`);
      await rename(old, db);
      // The checkpoint file was rolled back too, so nothing detects it, and the fork becomes larger than the log.
      await writeFile(outside, await readFile(`${outside}.old`));
      const published = new Set(kept.notes.keys());
      await kept.start();
      await kept.append(...Array.from({ length: 9 }, () => note('fork')));
      await kept.stop();
      for (const size of kept.notes.keys()) if (!published.has(size)) kept.notes.delete(size);
      await writeFile(outside, newest);
      await assert.rejects(kept.start(), refused(/another root than .* at size \d+/));
      await rm(db, { recursive: true });
      await rename(`${db}.newest`, db);
      await kept.start();
    }),
  );

  it(
    'is refused if it is empty',
    withCopy(async ({ kept, db }) => {
      await rename(db, `${db}.newest`);
      await assert.rejects(kept.start(), refused(/has 0 entries/));
      await rm(db, { recursive: true });
      await rename(`${db}.newest`, db);
      await kept.start();
    }),
  );

  it(
    'is refused without its checkpoint file',
    withCopy(async ({ kept, outside }) => {
      await rename(outside, `${outside}.away`);
      await assert.rejects(kept.start(), refused(/is missing/, /live-1\.checkpoint/));
      await rename(`${outside}.away`, outside);
      await kept.start();
    }),
  );

  for (const [what, text] of [
    ['empty', ''],
    ['cut short', '{"origin":"log.example/log/live/1","note":"log.ex'],
    ['no checkpoint file', '{"size":4}'],
    ['of another shape', '{"origin":"o","note":2,"acknowledged":{"size":1,"root":""}}'],
    ['without a size', '{"origin":"o","note":null,"acknowledged":{"size":"x","root":""}}'],
  ] as const) {
    it(
      `is refused with a checkpoint file that is ${what}, which the error names`,
      withCopy(async ({ kept, outside }) => {
        const good = await readFile(outside);
        await writeFile(outside, text);
        await assert.rejects(kept.start(), (error: unknown) => {
          code('store_corrupt')(error);
          assert.ok((error as Error).message.includes(outside), String(error));
          return true;
        });
        await writeFile(outside, good);
        await kept.start();
      }),
    );
  }

  it(
    'is refused with the checkpoint file of another log',
    withCopy(async ({ kept, outside }) => {
      const good = await readFile(outside, 'utf8');
      await writeFile(outside, good.replaceAll('log.example', 'other.example'));
      await assert.rejects(kept.start(), refused(/is not the log of/));
      await writeFile(outside, good);
      await kept.start();
    }),
  );

  it(
    'is refused with a root that is not of its tree',
    withCopy(async ({ kept, outside }) => {
      const good = await readFile(outside, 'utf8');
      const bent = JSON.parse(good) as { acknowledged: { root: string } };
      bent.acknowledged.root = Buffer.alloc(32, 7).toString('base64');
      await writeFile(outside, JSON.stringify(bent));
      await assert.rejects(kept.start(), refused(/another root/));
      await writeFile(outside, good);
      await kept.start();
    }),
  );
});
