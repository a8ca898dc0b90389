// The head map after a crash at any point. The replay recomputes each root.

import assert from 'node:assert/strict';
import { copyFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cosign } from '../../../log/index.ts';
import { code, KeptLog, note, statementOf, withLog, type Image } from './kept-log.ts';
import { goesOn, proves, some } from './going-on.ts';

const snapshotOf = ({ folder }: { folder: string }): string => join(folder, 'live', '1', 'map');

describe('catch-up: after a crash', () => {
  /** Opens an image, appends to it, and checks everything. */
  async function survives(image: Image, options = {}): Promise<KeptLog> {
    const kept = await KeptLog.open(options, image);
    if (kept.log.published().size > 0) await proves(kept);
    return kept;
  }

  it(
    'with entries above the published size',
    withLog(async (kept) => {
      await some(kept, 80);
      await kept.publish();
      await some(kept, 70, 90);
      const size = kept.log.size();
      const crashed = await survives(await kept.image());
      assert.equal(crashed.log.size(), size);
      assert.equal(crashed.log.published().note, kept.log.published().note);
      await goesOn(crashed);
      await crashed.end();
    }),
  );

  it(
    'with entries above the published size and an older snapshot',
    withLog(async (kept) => {
      await some(kept, 80);
      await kept.restart();
      await some(kept, 20, 50);
      await kept.publish();
      await some(kept, 20, 90);
      const image = await kept.image();
      await copyFile(snapshotOf(kept), snapshotOf(image));
      const crashed = await survives(image);
      await goesOn(crashed);
      await crashed.end();
    }),
  );

  it('at any moment during appends and map heads', async () => {
    const kept = await KeptLog.open({ checkpoint_interval_ms: 2 });
    try {
      for (let i = 0; i < 8; i += 1) {
        const under = [some(kept, 40, 60), kept.log.whenPublished(kept.log.size() + 1)];
        for (let n = 0; n < i; n += 1) await new Promise(setImmediate);
        const file = await readFile(kept.checkpointFile, 'utf8');
        const image = await kept.image(file);
        const crashed = await survives(image);
        await goesOn(crashed);
        await crashed.end();
        await Promise.all(under);
      }
    } finally {
      await kept.end();
    }
  });

  /** Without a quorum, each requested checkpoint leaves a map head at which no checkpoint ends. */
  async function withOrphans(count: number): Promise<{ image: Image; size: number }> {
    let offered = 0;
    const cosign: Cosign = ({ size }) => {
      offered = size;
      return Promise.resolve(null);
    };
    const kept = await KeptLog.open({ checkpoint_interval_ms: 2, cosign });
    try {
      for (let i = 0; i < count; i += 1) {
        await some(kept, 20, 30 + i);
        while (offered < kept.log.size()) await new Promise(setImmediate);
        assert.equal(statementOf(kept.log, offered - 1).type, 'log.map_head.v1');
      }
      await some(kept, 5, 90);
      assert.equal(kept.log.published().size, 0);
      // Read before the image is taken: the log continues, so the image may have more entries.
      const size = kept.log.size();
      return { image: await kept.image(), size };
    } finally {
      await kept.stop();
      await rm(kept.folder, { recursive: true, force: true });
    }
  }

  for (const count of [1, 3]) {
    it(`with ${String(count)} map heads at which no checkpoint ends`, async () => {
      const { image, size } = await withOrphans(count);
      const crashed = await survives(image);
      assert.ok(crashed.log.size() >= size);
      // Without witnesses the last note of the file counts as published.
      assert.ok(crashed.log.published().size > 0);
      await goesOn(crashed);
      await crashed.end();
    });

    it(`with ${String(count)} of them, and witnesses that cosign later`, async () => {
      const { image } = await withOrphans(count);
      const agreeing: Cosign = ({ note: text }) => Promise.resolve({ note: text, cosignatures: 0 });
      const crashed = await survives(image, { cosign: agreeing });
      await goesOn(crashed);
      await crashed.end();
    });
  }

  it('between map head and note: the map head remains, and a new one follows', async () => {
    const images: { image: Image; size: number }[] = [];
    let before = '';
    const opened: { kept?: KeptLog } = {};
    const cosign: Cosign = async ({ note: text, size }) => {
      const { kept } = opened;
      // The map head is durable and its note signed; with the earlier file, this is a crash in between.
      if (kept !== undefined) images.push({ image: await kept.image(before), size });
      return { note: text, cosignatures: 0 };
    };
    const kept = await KeptLog.open({ cosign });
    await some(kept, 30);
    await kept.publish();
    before = await readFile(kept.checkpointFile, 'utf8');
    await some(kept, 30, 50);
    opened.kept = kept;
    await kept.publish();
    delete opened.kept;
    await kept.end();
    const [{ image, size } = { image: undefined, size: 0 }] = images;
    const crashed = await survives(image!);
    assert.equal(crashed.log.size(), size);
    assert.ok(crashed.log.published().size < size);
    await crashed.publish();
    assert.equal(crashed.log.size(), size + 1);
    await goesOn(crashed);
    await crashed.end();
  });

  it('between the checkpoint file and the database: the note of the file is published', async () => {
    const images: { image: Image; size: number; note: string }[] = [];
    const opened: { kept?: KeptLog } = {};
    const cosign: Cosign = async ({ note: text, size }) => {
      const { kept } = opened;
      if (kept !== undefined) images.push({ image: await kept.image(), size, note: text });
      return { note: text, cosignatures: 0 };
    };
    const kept = await KeptLog.open({ cosign });
    await some(kept, 30);
    opened.kept = kept;
    await kept.publish();
    delete opened.kept;
    await kept.end();
    const [one] = images;
    const crashed = await survives(one!.image);
    assert.equal(crashed.log.published().size, one!.size);
    assert.equal(crashed.log.published().note, one!.note);
    assert.equal(crashed.log.checkpointAt(one!.size), one!.note);
    await goesOn(crashed);
    await crashed.end();
  });

  it('while the log is closed: its last map head is published, and no entry follows', async () => {
    const images: Image[] = [];
    const opened: { kept?: KeptLog; before: string } = { before: '' };
    const cosign: Cosign = async ({ note: text }) => {
      const { kept, before } = opened;
      if (kept !== undefined) images.push(await kept.image(before), await kept.image());
      return { note: text, cosignatures: 0 };
    };
    const kept = await KeptLog.open({ cosign });
    await some(kept, 10);
    await kept.publish();
    opened.before = await readFile(kept.checkpointFile, 'utf8');
    opened.kept = kept;
    await kept.log.operator.closeForGood(null);
    delete opened.kept;
    const { size } = kept.log.published();
    await kept.end();
    assert.equal(images.length, 2);
    for (const image of images) {
      const crashed = await KeptLog.open({ checkpoint_interval_ms: 2 }, image);
      await crashed.log.whenPublished(size);
      assert.equal(crashed.log.size(), size);
      await assert.rejects(crashed.append(note('a')), code('log_closed'));
      assert.equal(crashed.check().closed, true);
      await crashed.end();
    }
  });
});
