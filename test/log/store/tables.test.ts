// The checksums of the tables of a database: every byte is covered; when they are compared.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogError } from '../../../log/index.ts';
import { openStore, put } from '../../../log/store/store.ts';
import { blocksOf, checkTables } from '../../../log/store/tables.ts';
import { intoTables } from '../../support/into-tables.ts';
import { code } from '../write/kept-log.ts';

/** The padding of a footer, between its two handles and its last eight bytes, is not covered. */
const FOOTER_BYTES = 48;
const MAGIC_BYTES = 8;

describe('tables of a database', () => {
  let folder: string;
  let name: string;
  let bytes: Buffer;
  const path = (file: string): string => join(folder, file);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-tables-'));
    const store = await openStore(folder);
    await store.write(
      Array.from({ length: 200 }, (_, i) =>
        put(Buffer.from(`x${String(i).padStart(9, '0')}`), Buffer.alloc(40, i)),
      ),
    );
    await store.close();
    await intoTables(folder);
    [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.ldb'));
    bytes = await readFile(path(name));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const bend = async (at: number): Promise<void> => {
    const bent = Buffer.from(bytes);
    bent[at]! ^= 1;
    await writeFile(path(name), bent);
  };

  it('are valid if nothing was changed, with all blocks and indexes', async () => {
    await checkTables(folder);
    const blocks = [...blocksOf(bytes)].sort((a, b) => a.offset - b.offset);
    assert.ok(blocks.length > 3, 'several blocks');
    assert.equal(blocks[0]?.offset, 0);
    for (const [n, { offset, size }] of blocks.slice(0, -1).entries()) {
      assert.equal(blocks[n + 1]?.offset, offset + size + 5);
    }
  });

  it('are invalid with a changed byte, and the error names file and offset', async () => {
    for (let at = 0; at < bytes.length; at += at < bytes.length - 100 ? 29 : 1) {
      await bend(at);
      const error = await checkTables(folder).then(
        () => null,
        (thrown: unknown) => thrown as LogError,
      );
      if (error === null) {
        assert.ok(at >= bytes.length - FOOTER_BYTES && at < bytes.length - MAGIC_BYTES, String(at));
        continue;
      }
      code('store_corrupt')(error);
      const [, file, place] = /table (\S+) in .* at byte (\d+): stop/.exec(error.message) ?? [];
      assert.equal(file, name);
      assert.ok(
        Number(place) <= at || at >= bytes.length - FOOTER_BYTES,
        `${error.message}, ${String(at)}`,
      );
    }
  });

  it('are invalid if a file is truncated', async () => {
    for (const length of [0, 1, 47, 48, bytes.length - 1]) {
      await writeFile(path(name), bytes.subarray(0, length));
      await assert.rejects(checkTables(folder), code('store_corrupt'), String(length));
    }
  });

  it('include only those that the database lists, not what a killed process left unfinished', async () => {
    const left = ['000098.ldb', '000099.ldb'];
    await writeFile(path('000098.ldb'), bytes.subarray(0, bytes.length / 2));
    await writeFile(path('000099.ldb'), '');
    await writeFile(path('IN_USE'), '');
    await checkTables(folder);
    const store = await openStore(folder, { compare: true });
    assert.equal(store.get(Buffer.from('x000000007'))?.[0], 7);
    await store.close();
    const names = await readdir(folder);
    assert.ok(!left.some((one) => names.includes(one)), 'LevelDB has deleted them');
    await bend(5);
    await writeFile(path('000099.ldb'), '');
    await assert.rejects(checkTables(folder), (error: Error) => error.message.includes(name));
  });

  it('are compared on request, and after a program that did not close the database', async () => {
    await bend(5);
    await (await openStore(folder)).close();
    await assert.rejects(openStore(folder, { compare: true }), code('store_corrupt'));
    await writeFile(path('IN_USE'), '');
    await assert.rejects(openStore(folder), code('store_corrupt'));
    await writeFile(path(name), bytes);
    const store = await openStore(folder);
    assert.equal(await readFile(path('IN_USE'), 'utf8'), String(process.pid));
    await store.close();
    assert.ok(!(await readdir(folder)).includes('IN_USE'), 'the database is not open');
  });

  it('are not compared while another process has the database open', async () => {
    const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const gone = once(other, 'exit');
    try {
      await bend(5);
      await writeFile(path('IN_USE'), String(other.pid));
      await (await openStore(folder, { compare: true })).close();
    } finally {
      other.kill('SIGKILL');
      await gone;
    }
    await writeFile(path('IN_USE'), String(other.pid));
    await assert.rejects(openStore(folder), code('store_corrupt'), 'the other process has ended');
  });
});
