// A checkpoint register belongs to one data folder: a copy of the folder is refused, a renamed one is not, and the
// register of an earlier release is moved to the state folder.

import assert from 'node:assert/strict';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogError, openLog, openRegister, openThreads } from '../../../log/index.ts';
import type { Log, RegisterPlace, Threads } from '../../../log/index.ts';
import { findRegister, refusalOf, stateFolder } from '../../../log/store/data-folder.ts';
import { FileRegister } from '../../../log/store/register.ts';

describe('data folder', () => {
  let folder: string;
  let data: string;
  let threads: Threads;
  let state: string | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-data-folder-'));
    data = join(folder, 'data');
    threads = openThreads({ inline: true });
    state = process.env['XDG_STATE_HOME'];
    process.env['XDG_STATE_HOME'] = join(folder, 'state');
  });
  afterEach(async () => {
    process.env['XDG_STATE_HOME'] = state;
    await threads.close();
    await rm(folder, { recursive: true, force: true });
  });

  const open = (place: Partial<RegisterPlace> = {}): Promise<Log> =>
    openLog({ data, kind: 'live', origin_base: 'log.example', threads, ...place });
  /** Opens the log, appends to it and closes it. */
  async function use(place: Partial<RegisterPlace> = {}): Promise<number> {
    const log = await open(place);
    await log.registerTenant('dGVuYW50LWV4YW1wbGUtMQ', '0'.repeat(64));
    await log.whenPublished(log.size());
    await log.close();
    return log.size();
  }
  const refuses = (text: RegExp, place: Partial<RegisterPlace> = {}): Promise<void> =>
    assert.rejects(open(place), (error) => {
      assert.ok(error instanceof LogError);
      assert.equal(error.code, 'data_not_adopted');
      assert.match(error.message, text);
      assert.match(error.message, /actlog adopt/);
      return true;
    });
  /** The folder as a release without marker files wrote it, with the register inside. */
  async function asBefore(): Promise<string> {
    const { place: kept } = await findRegister({ data });
    const old = join(data, 'checkpoints');
    await cp(kept, old, { recursive: true });
    await rm(join(old, 'folder.checkpoint'));
    await rm(join(data, 'folder.json'));
    return kept;
  }

  it('keeps its register outside, under its id, and continues with it', async () => {
    const size = await use();
    const { id } = JSON.parse(await readFile(join(data, 'folder.json'), 'utf8')) as { id: string };
    const { place: kept } = await findRegister({ data });
    assert.equal(kept, join(stateFolder(), id));
    assert.ok(kept.startsWith(join(folder, 'state')));
    assert.deepEqual((await readdir(kept)).sort(), ['folder.checkpoint', 'live-1.checkpoint']);
    assert.deepEqual((await readdir(data)).sort(), ['folder.json', 'keys', 'live']);
    assert.ok((await use()) >= size);
  });

  it('is new after it was removed, with a new register', async () => {
    await use();
    const before = await findRegister({ data });
    await rm(data, { recursive: true });
    await use();
    assert.notEqual((await findRegister({ data })).place, before.place);
  });

  it('keeps its identity when it is renamed', async () => {
    await use();
    const moved = join(folder, 'moved');
    await rename(data, moved);
    await use({ data: moved });
    await rename(moved, data);
    await use();
  });

  it('is refused as a copy, next to the original and in its place', async () => {
    await use();
    const copy = join(folder, 'copy');
    await cp(data, copy, { recursive: true, preserveTimestamps: true });
    await refuses(/is a copy or was restored from one/, { data: copy });
    assert.match((await refusalOf({ data: copy })) ?? '', /is a copy/);
    assert.equal(await refusalOf({ data }), null);
    await use();
    await rm(data, { recursive: true });
    await rename(copy, data);
    await refuses(/is a copy or was restored from one/);
  });

  it('is refused as a copy that has its register inside', async () => {
    await use({ checkpoints: join(data, 'checkpoints') });
    const copy = join(folder, 'copy');
    await cp(data, copy, { recursive: true, preserveTimestamps: true });
    await refuses(/is a copy/, { data: copy, checkpoints: join(copy, 'checkpoints') });
  });

  it('is refused if its register or its marker is missing', async () => {
    await use();
    const { place: kept } = await findRegister({ data });
    await rename(kept, `${kept}.away`);
    await refuses(/their checkpoint register is missing in .*CHECKPOINT_DIR/);
    await rename(`${kept}.away`, kept);
    await use();
    await rm(join(data, 'folder.json'));
    await refuses(/their checkpoint register is missing/);
  });

  it('is refused with the register of another data folder', async () => {
    const checkpoints = join(folder, 'register');
    await use({ checkpoints });
    const other = join(folder, 'other');
    await refuses(/belongs to another data folder than .*empty folder/, {
      data: other,
      checkpoints,
    });
    await use({ data: other });
    await refuses(/belongs to another data folder/, { data: other, checkpoints });
    await use({ checkpoints });
  });

  it('moves the register of an earlier release out of the folder once', async () => {
    const size = await use();
    const kept = await asBefore();
    const value = await new FileRegister(join(data, 'checkpoints')).read('live-1');
    await rm(kept, { recursive: true });
    // Tools read it in its old place until a start has moved it.
    assert.equal((await findRegister({ data })).place, join(data, 'checkpoints'));
    const { register } = await openRegister({ data });
    assert.deepEqual(await register.read('live-1'), value);
    assert.ok(register.place.startsWith(stateFolder()));
    assert.deepEqual((await readdir(data)).sort(), ['folder.json', 'keys', 'live']);
    assert.ok((await use()) >= size);
  });

  it('is bound to the register of an earlier release if CHECKPOINT_DIR was set', async () => {
    const checkpoints = join(folder, 'register');
    await use({ checkpoints });
    await rm(join(checkpoints, 'folder.checkpoint'));
    await rm(join(data, 'folder.json'));
    await use({ checkpoints });
    assert.ok((await readdir(checkpoints)).includes('folder.checkpoint'));
  });

  it('completes a move that was interrupted', async () => {
    await use();
    const kept = await asBefore();
    await rm(kept, { recursive: true });
    // The marker was written and one value moved before the process ended.
    const { register } = await openRegister({ data });
    await cp(register.place, join(data, 'checkpoints'), { recursive: true });
    await rm(join(data, 'checkpoints', 'folder.checkpoint'));
    await rm(register.where('folder'));
    await use();
    assert.deepEqual((await readdir(data)).sort(), ['folder.json', 'keys', 'live']);
  });

  it('is refused as a copy from before the upgrade, with the register inside', async () => {
    await use();
    const kept = await asBefore();
    await cp(data, join(folder, 'backup'), { recursive: true });
    await rm(kept, { recursive: true });
    await use();
    await rm(data, { recursive: true });
    await cp(join(folder, 'backup'), data, { recursive: true });
    await refuses(/is a copy or was restored from one/);
  });

  it('moves its register if CHECKPOINT_DIR is set later', async () => {
    const size = await use();
    const { place: kept } = await findRegister({ data });
    const checkpoints = join(folder, 'register');
    assert.ok((await use({ checkpoints })) >= size);
    assert.deepEqual(await readdir(stateFolder()), [], `${kept} has moved`);
  });

  it('names CHECKPOINT_DIR if the state folder cannot be created', async () => {
    await writeFile(join(folder, 'state'), 'a file');
    await assert.rejects(open(), (error) => {
      assert.ok(error instanceof LogError);
      assert.equal(error.code, 'log_unavailable');
      assert.match(error.message, /state.*ENOTDIR.*CHECKPOINT_DIR/);
      return true;
    });
  });

  it('is refused if its marker file is damaged', async () => {
    await use();
    await writeFile(join(data, 'folder.json'), '{}');
    await assert.rejects(open(), { code: 'store_corrupt' });
  });

  it('keeps its identity when its mode and times change', async () => {
    await use();
    await chmod(join(data, 'folder.json'), 0o600);
    await writeFile(join(data, 'folder.json'), await readFile(join(data, 'folder.json')));
    await use();
  });

  it('warns once that the register is on the same file system, unless there are witnesses', async () => {
    await mkdir(data);
    const { notices: none } = await openRegister({ data, witnessed: true });
    assert.deepEqual(none, []);
    const { notices } = await openRegister({ data });
    assert.equal(notices.length, 1);
    assert.match(notices[0]?.text ?? '', /same file system .*CHECKPOINT_DIR.*WITNESS_POLICY/);
    assert.deepEqual((await openRegister({ data })).notices, []);
  });

  it('gets one id if two processes start on it concurrently', async () => {
    const registers = await Promise.all([openRegister({ data }), openRegister({ data })]);
    assert.equal(new Set(registers.map(({ register }) => register.place)).size, 1);
  });
});
