// Sealed disclosures: what opens them, what does not, and that keys are on disk before an answer leaves.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { Disclosures } from '../../../gateway/tenants/disclosures.ts';
import type { AttachedRow, Log } from '../../../log/index.ts';

/** The attached rows of a log, and nothing else of it. */
const holding = (...rows: AttachedRow[]) =>
  ({
    attached: (key: string) => rows.find((row) => row.key === key)?.value ?? undefined,
  }) as unknown as Log;

const opened = { message: { salt: '00'.repeat(16), value: 'the private text é' } };

describe('disclosures', () => {
  let folder: string;
  let disclosures: Disclosures;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-private-'));
    disclosures = await Disclosures.open(folder);
  });
  afterEach(async () => {
    await disclosures.close();
    await rm(folder, { recursive: true });
  });

  it('open again with their key, also after a restart', async () => {
    const row = disclosures.seal('entry-1', opened);
    await disclosures.flushed();
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), opened);
    await disclosures.close();
    disclosures = await Disclosures.open(folder);
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), opened);
  });

  it('hide the text, and never twice alike', () => {
    const [a, b] = [disclosures.seal('entry-1', opened), disclosures.seal('entry-1', opened)];
    assert.ok(a.value !== null && b.value !== null);
    assert.equal(Buffer.from(a.value).includes('private'), false);
    assert.notDeepEqual(a.value, b.value);
  });

  it('are nothing where the row or the key is gone', async () => {
    const row = disclosures.seal('entry-1', opened);
    await disclosures.flushed();
    assert.deepEqual(await disclosures.open(holding(), 'entry-1'), {});
    await disclosures.close();
    const db = new ClassicLevel<string, Uint8Array>(folder, { valueEncoding: 'view' });
    await db.del('entry-1');
    await db.close();
    disclosures = await Disclosures.open(folder);
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), {});
  });

  it('refuse every flipped bit, and the row of another entry', async () => {
    const row = disclosures.seal('entry-1', opened);
    disclosures.seal('entry-2', opened);
    await disclosures.flushed();
    const bytes = Buffer.from(row.value ?? []);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await assert.rejects(
        disclosures.open(holding({ ...row, value: flipped }), 'entry-1'),
        String(bit),
      );
    }
    await assert.rejects(
      disclosures.open(holding({ key: 'disclosure/entry-2', value: bytes }), 'entry-2'),
    );
  });

  it('leave no byte of a destroyed key on the disk, and the others as they are', async () => {
    const [row, other] = [disclosures.seal('entry-1', opened), disclosures.seal('entry-2', opened)];
    await disclosures.flushed();
    await disclosures.close();
    const db = new ClassicLevel<string, Uint8Array>(folder, { valueEncoding: 'view' });
    const key = Buffer.from((await db.get('entry-1')) ?? []);
    await db.close();
    const onDisk = async (): Promise<boolean> => {
      const names = await readdir(folder);
      const files = await Promise.all(
        // A file that the database gave up meanwhile holds nothing.
        names.map((name) => readFile(join(folder, name)).catch(() => Buffer.alloc(0))),
      );
      return files.some((bytes) => bytes.includes(key));
    };
    assert.equal(key.length, 32);
    assert.equal(await onDisk(), true);
    disclosures = await Disclosures.open(folder);
    await disclosures.destroy('entry-1');
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), {});
    assert.deepEqual(await disclosures.open(holding(other), 'entry-2'), opened);
    assert.equal(await onDisk(), false);
    assert.equal(disclosures.kept(holding(row), 'entry-1'), true);
    assert.equal(disclosures.kept(holding(), 'entry-1'), false);
  });

  it('have all their keys on disk once flushed, whatever was under way', async () => {
    const rows: AttachedRow[] = [];
    const waits: Promise<void>[] = [];
    for (let i = 0; i < 200; i += 1) {
      rows.push(disclosures.seal(`entry-${String(i)}`, opened));
      waits.push(disclosures.flushed());
      if (i % 7 === 0) await new Promise(setImmediate);
    }
    await Promise.all(waits);
    for (let i = 0; i < 200; i += 1) {
      assert.deepEqual(await disclosures.open(holding(...rows), `entry-${String(i)}`), opened);
    }
  });
});
