// A batch that fails: no false acknowledgement is given, the log recovers by itself, and the content of the disk
// decides. log/FORMAT.md §5.1; gateway/API.md §13.

import assert from 'node:assert/strict';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Appended, Log } from '../../log/index.ts';
import { ENTRY, NOTE as NOTE_ROW } from '../../log/store/layout.ts';
import { code, note, withLog } from '../log/write/kept-log.ts';
import type { KeptLog } from '../log/write/kept-log.ts';
import { FaultyStore } from './faulty-store.ts';

/** Waits until the log accepts an entry; refusals in between must be `log_unavailable`. */
async function recovered(log: Log): Promise<Appended> {
  for (;;) {
    try {
      const [entry] = await log.append([note('recovered')]);
      return entry!;
    } catch (error) {
      code('log_unavailable')(error);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** A log on a store that fails on request. */
const withFaults = (body: (kept: KeptLog, store: FaultyStore) => Promise<void>) => {
  const store = new FaultyStore();
  return withLog((kept) => body(kept, store), { store: store.open });
};

describe('a batch that fails', () => {
  it(
    'appends nothing if nothing of it reached the disk',
    withFaults(async (kept, store) => {
      const [before] = await kept.append(note('a'));
      store.failNext(ENTRY, 'before');
      await assert.rejects(kept.append(note('lost'), note('lost')), code('log_unavailable'));
      assert.equal(kept.log.health().writable, false);
      assert.match(kept.log.health().reason ?? '', /does not take entries/);
      const after = await recovered(kept.log);
      assert.equal(after.index, before!.index + 1);
      assert.equal(kept.log.row('gate/case/lost'), undefined);
      assert.equal(kept.log.entry(before!.index), before!.text);
    }),
  );

  it(
    'keeps its entries if it was written before the error, and their attached row refers to them',
    withFaults(async (kept, store) => {
      store.failNext(ENTRY, 'after');
      const lost = kept.log.append([note('kept')], {
        attach: ([entry]) => [{ key: 'idempotency/1', value: Uint8Array.of(entry!.index) }],
      });
      await assert.rejects(lost, code('log_unavailable'));
      const after = await recovered(kept.log);
      const index = kept.log.attached('idempotency/1')?.[0];
      assert.equal(index, after.index - 1);
      assert.match(kept.log.entry(index) ?? '', /"case_id":"kept"/);
    }),
  );

  for (const failing of ['before', 'after'] as const) {
    it(
      `rejects every later round (fails ${failing} the write)`,
      withFaults(async (kept, store) => {
        const { batches } = store;
        store.rule = (writes) =>
          writes.some(({ key }) => key[0] === ENTRY) && store.batches > batches + 1
            ? failing
            : null;
        const told = new Map<number, Appended>();
        const outcomes = await Promise.all(
          Array.from({ length: 900 }, (_, i) =>
            kept.append(note(`many-${String(i % 7)}`)).then(
              ([entry]) => {
                told.set(entry!.index, entry!);
                return 'told';
              },
              (error: unknown) => (error as { code?: string }).code,
            ),
          ),
        );
        store.rule = () => null;
        assert.deepEqual([...new Set(outcomes)].sort(), ['log_unavailable', 'told']);
        await recovered(kept.log);
        for (const [index, { text }] of told) assert.equal(kept.log.entry(index), text);
      }),
    );

    it(
      `causes no second root for the size of a note that was not stored (${failing})`,
      withFaults(async (kept, store) => {
        await kept.append(note('a'));
        store.failNext(NOTE_ROW, failing);
        const published = await kept.publish();
        // The checkpoint file had the note already: the log recovers with the same bytes.
        const outside = JSON.parse(await readOutside(kept)) as { note: string };
        assert.equal(kept.log.checkpointAt(published), outside.note);
      }),
    );
  }

  it(
    'is followed by recovery after the checkpoint file could not be written',
    withFaults(async (kept) => {
      const folder = join(kept.folder, 'checkpoints');
      await rename(folder, `${folder}.away`);
      await writeFile(folder, 'in the way');
      await kept.append(note('a'));
      const size = kept.log.size();
      const waiting = kept.log.whenPublished(size);
      while (kept.log.health().writable) await new Promise((resolve) => setTimeout(resolve, 20));
      await rm(folder);
      await rename(`${folder}.away`, folder);
      assert.ok((await waiting).size > size);
      await recovered(kept.log);
    }),
  );

  it(
    'does not prevent an orderly close if the map cannot be saved',
    withFaults(async (kept) => {
      await kept.append(note('a'));
      // The snapshot cannot be renamed over a folder that is not empty.
      await mkdir(join(kept.folder, 'live', '1', 'map', 'in-the-way'), { recursive: true });
      await kept.restart();
      await kept.append(note('a'));
    }),
  );

  it(
    'does not prevent an orderly close during recovery',
    withFaults(async (kept, store) => {
      store.rule = () => 'before';
      await assert.rejects(kept.append(note('a')), code('log_unavailable'));
      await kept.stop();
      store.rule = () => null;
      await kept.start();
      await kept.append(note('a'));
    }),
  );
});

async function readOutside(kept: KeptLog): Promise<string> {
  return readFile(join(kept.folder, 'checkpoints', 'live-1.checkpoint'), 'utf8');
}
