// Files outside LevelDB are complete or absent at every point where a process can be killed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateKey, readKeyFile } from '../../../log/crypto/keys.ts';
import {
  IDLE_MS,
  makeFolder,
  removeLeftovers,
  writeDurableFile,
} from '../../../log/store/durable-file.ts';

const LEFT = 'a.pem.0123456789abcdef.new';

describe('durable files', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-durable-'));
    path = join(folder, 'a.pem');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are written and replaced, and not replaced without permission', async () => {
    await writeDurableFile(path, 'one', { replace: false });
    await assert.rejects(writeDurableFile(path, 'two', { replace: false }), { code: 'EEXIST' });
    assert.equal(await readFile(path, 'utf8'), 'one');
    await writeDurableFile(path, Buffer.from('two'));
    assert.equal(await readFile(path, 'utf8'), 'two');
    await writeDurableFile(path, async (file) => {
      await file.writeFile('thr');
      await file.writeFile('ee');
    });
    assert.equal(await readFile(path, 'utf8'), 'three');
    assert.deepEqual(await readdir(folder), ['a.pem']);
  });

  it('have the requested mode and times', async () => {
    const times = { atime: new Date(1_790_000_000_000), mtime: new Date(1_780_000_000_000) };
    const umask = process.umask(0o277);
    try {
      await writeDurableFile(path, 'secret', { secret: true, times });
    } finally {
      process.umask(umask);
    }
    const { mode, mtime } = await stat(path);
    assert.deepEqual([mode & 0o777, mtime], [0o600, times.mtime]);
  });

  it('are unchanged if writing fails', async () => {
    await writeDurableFile(path, 'one');
    const failing = writeDurableFile(path, async (file) => {
      await file.writeFile('half');
      throw new Error('no more');
    });
    await assert.rejects(failing, { message: 'no more' });
    assert.deepEqual(await readdir(folder), ['a.pem']);
    assert.equal(await readFile(path, 'utf8'), 'one');
    await assert.rejects(writeDurableFile(join(folder, 'none', 'x'), ''), { code: 'ENOENT' });
  });

  it('leave a file that no reader accepts if the process is killed while it writes', async () => {
    const module = (name: string): string => pathToFileURL(join('log', name)).href;
    const run = (body: string) =>
      spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', body]);
    const { signal } = run(`
      import { writeDurableFile } from '${module('store/durable-file.ts')}';
      await writeDurableFile(${JSON.stringify(path)}, async (file) => {
        await file.writeFile('-----BEGIN PRIV');
        process.kill(process.pid, 'SIGKILL');
      }, { secret: true, replace: false });`);
    assert.equal(signal, 'SIGKILL');
    const names = await readdir(folder);
    assert.equal(names.length, 1);
    assert.match(names[0] ?? '', /^a\.pem\.[0-9a-f]{16}\.new$/);
    await writeDurableFile(path, generateKey().export({ type: 'pkcs8', format: 'pem' }), {
      secret: true,
      replace: false,
    });
    await readKeyFile(path);
    await removeLeftovers(folder);
    assert.deepEqual(await readdir(folder), ['a.pem']);
  });

  it('removes leftovers of one file or of all, and nothing else', async () => {
    const others = ['a.new.pem', 'new', 'a.pem', `b.${'0'.repeat(15)}`];
    for (const name of [...others, LEFT, 'a.pem.new', 'b.pem.new']) {
      await writeFile(join(folder, name), '');
    }
    await removeLeftovers(folder, { of: 'a.pem', idle_ms: IDLE_MS });
    assert.equal((await readdir(folder)).length, 7);
    const old = new Date(Date.now() - 2 * IDLE_MS);
    await utimes(join(folder, LEFT), old, old);
    await removeLeftovers(folder, { of: 'a.pem', idle_ms: IDLE_MS });
    assert.deepEqual((await readdir(folder)).sort(), [...others, 'a.pem.new', 'b.pem.new'].sort());
    await removeLeftovers(folder, { of: 'a.pem' });
    assert.deepEqual((await readdir(folder)).sort(), [...others, 'b.pem.new'].sort());
    await removeLeftovers(folder);
    assert.deepEqual((await readdir(folder)).sort(), [...others].sort());
    await removeLeftovers(join(folder, 'none'));
  });

  it('can be written to a folder made with its parents', async () => {
    const deep = join(folder, 'one', 'two');
    await makeFolder(deep, 0o700);
    await makeFolder(deep, 0o700);
    assert.equal((await stat(deep)).mode & 0o777, 0o700);
    await writeDurableFile(join(deep, 'x'), '');
  });

  it('can be written to a folder that a killed process made without a sync of its parent', async () => {
    const [one, two] = [join(folder, 'one'), join(folder, 'one', 'two')];
    await mkdir(one);
    assert.deepEqual(await syncedBy(() => makeFolder(two)), await inodes([folder, one]));
    assert.deepEqual(await syncedBy(() => makeFolder(two)), await inodes([one]));
    const deep = join(folder, 'a', 'b');
    const made = await syncedBy(() => makeFolder(deep));
    assert.deepEqual(made, await inodes([dirname(folder), folder, dirname(deep)]));
    await writeFile(join(folder, 'file'), '');
    await assert.rejects(makeFolder(join(folder, 'file')), { code: 'EEXIST' });
  });
});

/** The inodes of the files and folders that an act syncs, in order. */
async function syncedBy(act: () => Promise<void>): Promise<number[]> {
  const any = await open(tmpdir(), 'r');
  await any.close();
  const handles = Object.getPrototypeOf(any) as FileHandle;
  const sync = Object.getOwnPropertyDescriptor(handles, 'sync') ?? {};
  const synced: number[] = [];
  const recording = async function (this: FileHandle): Promise<void> {
    synced.push((await this.stat()).ino);
    await this.datasync();
  };
  Object.defineProperty(handles, 'sync', { ...sync, value: recording });
  try {
    await act();
  } finally {
    Object.defineProperty(handles, 'sync', sync);
  }
  return synced;
}

const inodes = async (paths: readonly string[]): Promise<number[]> =>
  Promise.all(paths.map(async (path) => (await stat(path)).ino));
