// The map after a start: from a snapshot, from the heads, after any crash. The replay recomputes each root.

import assert from 'node:assert/strict';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { native } from '../../log/crypto/native.ts';
import type { Cosign } from '../../log/index.ts';
import { put } from '../../log/store/store.ts';
import { openStore } from '../../log/store/store.ts';
import { HEAD } from '../../log/store/layout.ts';
import { verifyAbsence } from '../../log/verify.ts';
import { code, KeptLog, note, statementOf, withLog, type Image } from './kept-log.ts';

const snapshotOf = ({ folder }: { folder: string }): string => join(folder, 'live', '1', 'map');

/** Entries on old and new chains. */
const some = async (kept: KeptLog, count: number, chains = 40): Promise<void> => {
  await Promise.all(
    Array.from({ length: count }, (_, i) => kept.append(note(`case-${String((i * 7) % chains)}`))),
  );
};

/** Asks at once about a chain that is there and one that is not: the proofs rest on the map as loaded. */
async function proves(kept: KeptLog): Promise<void> {
  const { map_head_ms: to_ms } = kept.log.published();
  for (const name of ['case-7', 'nothing']) {
    const question = { key: ['gate.case', name], from_ms: 0, to_ms };
    const document = await kept.log.lookup(question);
    verifyAbsence(document, question, kept.trust(), {
      suite: native,
      now_ms: kept.time.wall(),
    });
  }
}

/** Goes on after a start: answers, grows, publishes. */
async function goesOn(kept: KeptLog): Promise<void> {
  await proves(kept);
  await some(kept, 30);
  await kept.publish();
  await proves(kept);
}

describe('catch-up: a stopped log', () => {
  it(
    'goes on from its snapshot',
    withLog(async (kept) => {
      await some(kept, 100);
      await kept.restart();
      await goesOn(kept);
      await kept.restart();
      await goesOn(kept);
    }),
  );

  it(
    'goes on without one',
    withLog(async (kept) => {
      await some(kept, 100);
      await kept.stop();
      await rm(snapshotOf(kept));
      await kept.start();
      await goesOn(kept);
    }),
  );

  it(
    'goes on from an older one',
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
      `goes on with a snapshot that ${title}`,
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
    'goes on with a snapshot that is cut, empty, or of another log',
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
    'refuses heads that do not give the map root it committed to',
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

describe('catch-up: a crash', () => {
  /** Opens an image, lets it go on, and checks everything. */
  async function survives(image: Image, options = {}): Promise<KeptLog> {
    const kept = await KeptLog.open(options, image);
    if (kept.log.published().size > 0) await proves(kept);
    return kept;
  }

  it(
    'with entries behind the published size',
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
    'with entries behind the published size and a snapshot from before it',
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

  it('at any moment while entries and map heads come', async () => {
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

  /** No quorum: each checkpoint that is asked for leaves a map head that none ends with. */
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
      // Before the image: the log goes on, and may only be ahead of what was counted.
      const size = kept.log.size();
      return { image: await kept.image(), size };
    } finally {
      await kept.stop();
      await rm(kept.folder, { recursive: true, force: true });
    }
  }

  for (const count of [1, 3]) {
    it(`with ${String(count)} map heads that no checkpoint ends with`, async () => {
      const { image, size } = await withOrphans(count);
      const crashed = await survives(image);
      assert.ok(crashed.log.size() >= size);
      // Without witnesses the last note of the file counts as published.
      assert.ok(crashed.log.published().size > 0);
      await goesOn(crashed);
      await crashed.end();
    });

    it(`with ${String(count)} of them and witnesses that agree later`, async () => {
      const { image } = await withOrphans(count);
      const agreeing: Cosign = ({ note: text }) => Promise.resolve({ note: text, cosignatures: 0 });
      const crashed = await survives(image, { cosign: agreeing });
      await goesOn(crashed);
      await crashed.end();
    });
  }

  it('between map head and note: the map head stays, a new one follows', async () => {
    const images: { image: Image; size: number }[] = [];
    let before = '';
    const opened: { kept?: KeptLog } = {};
    const cosign: Cosign = async ({ note: text, size }) => {
      const { kept } = opened;
      // The map head is durable and its note signed; the file of before stands for a crash in between.
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

  it('between the file and the database: the note of the file is published', async () => {
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

  it('of a log that was being closed: its last map head is published, and nothing follows', async () => {
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
