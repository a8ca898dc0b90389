// Sealed disclosures: which keys open them, and that each key is used once and is on disk before it is used.

import assert from 'node:assert/strict';
import { createCipheriv, randomBytes } from 'node:crypto';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { Disclosures } from '../../../gateway/tenants/disclosures.ts';
import type { EntryDisclosures } from '../../../gateway/tenants/disclosures.ts';
import { FileRegister } from '../../../log/index.ts';
import type { AttachedRow, Log } from '../../../log/index.ts';

/** The logs of a kind: a single one with attached rows only. */
const holding = (...rows: AttachedRow[]) => [
  {
    attached: (key: string) => rows.find((row) => row.key === key)?.value ?? undefined,
    row: () => undefined,
  } as unknown as Log,
];

const opened = { message: { salt: '00'.repeat(16), value: 'the private text é' } };

describe('disclosures', () => {
  let folder: string;
  let registers: string;
  let register: FileRegister;
  let disclosures: Disclosures;
  const reopened = (): Promise<Disclosures> => Disclosures.open(folder, register);
  /** The rows of the key database, while it is closed. */
  const stored = async (
    change?: (db: ClassicLevel<string, Uint8Array>) => Promise<unknown>,
    at = folder,
  ) => {
    const db = new ClassicLevel<string, Uint8Array>(at, { valueEncoding: 'view' });
    await change?.(db);
    const rows = new Map(await db.iterator({ gt: '"' }).all());
    await db.close();
    return rows;
  };
  /** The files that a crash now would leave, while the database is open. */
  const copied = async <T>(see: (copy: string) => Promise<T>): Promise<T> => {
    const copy = await mkdtemp(join(tmpdir(), 'actlog-private-'));
    try {
      for (const name of (await readdir(folder)).filter((name) => name !== 'LOCK')) {
        await copyFile(join(folder, name), join(copy, name));
      }
      return await see(copy);
    } finally {
      await rm(copy, { recursive: true });
    }
  };
  const onDisk = async (bytes: Buffer): Promise<boolean> => {
    const files = await Promise.all(
      // A file that the database has deleted meanwhile.
      (await readdir(folder)).map((name) => readFile(join(folder, name)).catch(() => Buffer.of())),
    );
    return files.some((file) => file.includes(bytes));
  };
  /** The key in a row of the key database, without its checksum. */
  const bare = (value?: Uint8Array) => Buffer.from(value ?? []).subarray(0, 32);
  const keyOf = ({ value }: AttachedRow): string => Buffer.from(value!).toString('hex', 0, 16);
  const sealed = async (entry_id: string, texts: EntryDisclosures): Promise<AttachedRow> => {
    const reserved = await disclosures.reserve(1);
    return reserved.seal(entry_id, texts);
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-private-'));
    registers = await mkdtemp(join(tmpdir(), 'actlog-register-'));
    register = new FileRegister(registers);
    disclosures = await reopened();
  });
  afterEach(async () => {
    await disclosures.close();
    await rm(folder, { recursive: true });
    await rm(registers, { recursive: true });
  });

  it('open again with their key, also after a restart', async () => {
    const row = await sealed('entry-1', opened);
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), opened);
    await disclosures.close();
    disclosures = await reopened();
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), opened);
  });

  it('hide the text, with another ciphertext each time', async () => {
    const [a, b] = [await sealed('entry-1', opened), await sealed('entry-1', opened)];
    assert.ok(a.value !== null && b.value !== null);
    assert.equal(Buffer.from(a.value).includes('private'), false);
    assert.notDeepEqual(a.value, b.value);
  });

  it('are gone if the row or the key is gone', async () => {
    const row = await sealed('entry-1', opened);
    assert.deepEqual(await disclosures.open(holding(), 'entry-1'), {});
    await disclosures.close();
    await stored((db) => db.del(keyOf(row)));
    disclosures = await reopened();
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), {});
  });

  it('cannot be opened with a flipped bit, or as the row of another entry', async () => {
    const row = await sealed('entry-1', opened);
    await sealed('entry-2', opened);
    const bytes = Buffer.from(row.value ?? []);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const opening = disclosures.open(holding({ ...row, value: flipped }), 'entry-1');
      // A changed name of a key names no existing key.
      if (bit < 128) assert.deepEqual(await opening, {}, String(bit));
      else await assert.rejects(opening, String(bit));
    }
    await assert.rejects(
      disclosures.open(holding({ key: 'sealed/entry-2', value: bytes }), 'entry-2'),
    );
  });

  it('leave no byte of a destroyed key on the disk, and keep the other keys', async () => {
    const [row, other] = [await sealed('entry-1', opened), await sealed('entry-2', opened)];
    await disclosures.close();
    const key = bare((await stored()).get(keyOf(row)));
    assert.equal(key.length, 32);
    assert.equal(await onDisk(key), true);
    disclosures = await reopened();
    await disclosures.destroy(holding(row, other), 'entry-1');
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), {});
    assert.deepEqual(await disclosures.open(holding(other), 'entry-2'), opened);
    assert.equal(await onDisk(key), false);
    assert.equal(disclosures.kept(holding(row), 'entry-1'), true);
    assert.equal(disclosures.kept(holding(), 'entry-1'), false);
  });

  it('use each key once, over many groups and restarts, and skip none', async () => {
    const rows: AttachedRow[] = [];
    for (let start = 0; start < 2; start += 1) {
      const groups = Array.from({ length: 300 }, async (_, i) => {
        const reserved = await disclosures.reserve(3);
        const id = `entry-${String(start)}-${String(i)}`;
        const sealed = [`${id}-a`, `${id}-b`].map((entry_id) => reserved.seal(entry_id, opened));
        reserved.release();
        return sealed;
      });
      rows.push(...(await Promise.all(groups)).flat());
      await disclosures.close();
      disclosures = await reopened();
    }
    assert.equal(new Set(rows.map(keyOf)).size, 1200);
    for (const { key } of rows) {
      assert.deepEqual(await disclosures.open(holding(...rows), key.slice(7)), opened);
    }
    await disclosures.close();
    assert.deepEqual([...(await stored()).keys()].sort(), rows.map(keyOf).sort());
    disclosures = await reopened();
  });

  it('have their key on disk before they are sealed', async () => {
    const row = await sealed('entry-1', opened);
    await copied(async (copy) => {
      const after = await Disclosures.open(copy, register);
      assert.deepEqual(await after.open(holding(row), 'entry-1'), opened);
      await after.close();
    });
  });

  it('leave no byte of a key that is destroyed soon after it was created', async () => {
    const row = await sealed('entry-1', opened);
    const rows = await copied((copy) => stored(undefined, copy));
    const key = bare(rows.get(keyOf(row)));
    assert.equal(key.length, 32);
    assert.equal(await onDisk(key), true);
    await disclosures.destroy(holding(row), 'entry-1');
    assert.equal(await onDisk(key), false);
  });

  it('can be opened and destroyed if an earlier release sealed them', async () => {
    const key = randomBytes(32);
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from('entry-1'));
    const hidden = Buffer.concat([cipher.update(JSON.stringify(opened)), cipher.final()]);
    const value = Buffer.concat([nonce, cipher.getAuthTag(), hidden]);
    const row = { key: 'disclosure/entry-1', value };
    await disclosures.close();
    await rm(folder, { recursive: true });
    await rm(join(registers, 'private.checkpoint'));
    await stored((db) => db.put('entry-1', key));
    disclosures = await reopened();
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), opened);
    await disclosures.destroy(holding(row), 'entry-1');
    assert.deepEqual(await disclosures.open(holding(row), 'entry-1'), {});
    assert.equal(disclosures.kept(holding(row), 'entry-1'), true);
  });
});
