// Sealed disclosures: what opens them, what does not, and that keys are on disk before an answer leaves.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { Disclosures } from '../../../gateway/tenants/disclosures.ts';
import type { EntryDisclosures } from '../../../gateway/tenants/disclosures.ts';
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
  const reopened = (): Promise<Disclosures> => Disclosures.open(folder, { threads: false });
  const sealed = async (entry_id: string, texts: EntryDisclosures): Promise<AttachedRow> => {
    const { key, value } = disclosures.seal(entry_id, texts);
    return { key, value: await value };
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-private-'));
    disclosures = await reopened();
  });
  afterEach(async () => {
    await disclosures.close();
    await rm(folder, { recursive: true });
  });

  it('open again with their key, also after a restart', async () => {
    const row = await sealed('entry-1', opened);
    await disclosures.flushed();
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), opened);
    await disclosures.close();
    disclosures = await reopened();
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), opened);
  });

  it('hide the text, and never twice alike', async () => {
    const [a, b] = [await sealed('entry-1', opened), await sealed('entry-1', opened)];
    assert.ok(a.value !== null && b.value !== null);
    assert.equal(Buffer.from(a.value).includes('private'), false);
    assert.notDeepEqual(a.value, b.value);
  });

  it('are nothing where the row or the key is gone', async () => {
    const row = await sealed('entry-1', opened);
    await disclosures.flushed();
    assert.deepEqual(await disclosures.open(holding(), 'entry-1'), {});
    await disclosures.close();
    const db = new ClassicLevel<string, Uint8Array>(folder, { valueEncoding: 'view' });
    await db.del('entry-1');
    await db.close();
    disclosures = await reopened();
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), {});
  });

  it('refuse every flipped bit, and the row of another entry', async () => {
    const row = await sealed('entry-1', opened);
    await sealed('entry-2', opened);
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
    const [row, other] = [await sealed('entry-1', opened), await sealed('entry-2', opened)];
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
    disclosures = await reopened();
    await disclosures.destroy('entry-1');
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), {});
    assert.deepEqual(await disclosures.open(holding(other), 'entry-2'), opened);
    assert.equal(await onDisk(), false);
    assert.equal(disclosures.kept(holding(row), 'entry-1'), true);
    assert.equal(disclosures.kept(holding(), 'entry-1'), false);
  });

  it('have all their keys on disk once flushed, whatever was under way', async () => {
    const rows: Promise<AttachedRow>[] = [];
    const waits: Promise<void>[] = [];
    for (let i = 0; i < 200; i += 1) {
      const row = sealed(`entry-${String(i)}`, opened);
      rows.push(row);
      waits.push(row.then(() => disclosures.flushed()));
      if (i % 7 === 0) await new Promise(setImmediate);
    }
    await Promise.all(waits);
    const held = holding(...(await Promise.all(rows)));
    for (let i = 0; i < 200; i += 1) {
      assert.deepEqual(await disclosures.open(held, `entry-${String(i)}`), opened);
    }
  });
});
