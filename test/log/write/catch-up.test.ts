// The head map after a start, from a snapshot and from the head records. The replay recomputes each root.

import assert from 'node:assert/strict';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStore, put } from '../../../log/store/store.ts';
import { HEAD } from '../../../log/store/layout.ts';
import { code, KeptLog, withLog } from './kept-log.ts';
import { goesOn, some } from './going-on.ts';

const snapshotOf = ({ folder }: { folder: string }): string => join(folder, 'live', '1', 'map');

describe('catch-up: a stopped log', () => {
  it(
    'continues from its snapshot',
    withLog(async (kept) => {
      await some(kept, 100);
      await kept.restart();
      await goesOn(kept);
      await kept.restart();
      await goesOn(kept);
    }),
  );

  it(
    'continues without a snapshot',
    withLog(async (kept) => {
      await some(kept, 100);
      await kept.stop();
      await rm(snapshotOf(kept));
      await kept.start();
      await goesOn(kept);
    }),
  );

  it(
    'continues from an older snapshot',
    withLog(async (kept) => {
      await some(kept, 50);
      await kept.stop();
      const old = `${snapshotOf(kept)}.old`;
      await copyFile(snapshotOf(kept), old);
      await kept.start();
      await some(kept, 50, 60);
      await kept.publish();
      await some(kept, 10, 80);
      await kept.stop();
      await copyFile(old, snapshotOf(kept));
      await kept.start();
      await goesOn(kept);
    }),
  );

  for (const [title, damage] of [
    ['is flipped in one bit', (bytes: Buffer) => void (bytes[bytes.length >> 1]! ^= 4)],
    ['is zeroed', (bytes: Buffer) => void bytes.fill(0)],
  ] as const) {
    it(
      `continues with a snapshot that ${title}`,
      withLog(async (kept) => {
        await some(kept, 60);
        await kept.stop();
        const bytes = await readFile(snapshotOf(kept));
        damage(bytes);
        await writeFile(snapshotOf(kept), bytes);
        await kept.start();
        await goesOn(kept);
      }),
    );
  }

  it(
    'continues with a snapshot that is truncated, empty, or of another log',
    withLog(async (kept) => {
      await some(kept, 60);
      const other = await KeptLog.open();
      await some(other, 20);
      await other.stop();
      for (const change of [
        async (path: string) => writeFile(path, (await readFile(path)).subarray(0, 100)),
        (path: string) => writeFile(path, ''),
        (path: string) => copyFile(snapshotOf(other), path),
      ]) {
        await kept.stop();
        await change(snapshotOf(kept));
        await kept.start();
        await goesOn(kept);
      }
      await other.end();
    }),
  );

  it(
    'refuses head records that do not give the committed map root',
    withLog(async (kept) => {
      await some(kept, 60);
      await kept.stop();
      await rm(snapshotOf(kept));
      const store = await openStore(join(kept.folder, 'live', '1', 'db'));
      const [key] = await store.scanKeys({
        gte: Uint8Array.of(HEAD),
        lt: Uint8Array.of(HEAD + 1),
        limit: 1,
      });
      const good = Uint8Array.from(store.get(key!)!);
      const bad = Uint8Array.from(good);
      bad[8]! ^= 1;
      await store.write([put(key!, bad)]);
      await store.close();
      await assert.rejects(kept.start(), code('store_corrupt'));
      const again = await openStore(join(kept.folder, 'live', '1', 'db'));
      await again.write([put(key!, good)]);
      await again.close();
      await kept.start();
    }),
  );
});
