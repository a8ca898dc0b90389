// A database replaced by an older copy: the log refuses to open, is restored from a mirror and continues. A mirror
// that is too short, of another tree or with invalid entries is refused.

import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { restore } from '../../../log/operate/restore.ts';
import type { Restored } from '../../../log/operate/restore.ts';
import { FileRegister } from '../../../log/store/register.ts';
import { FolderMirror } from '../../../tools/mirror/open.ts';
import { act, DEMO_TYPES } from '../../support/demo-types.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';
import { writeMirror } from '../../support/write-mirror.ts';

describe('restore', () => {
  let data: string;
  let mirror: string;
  let backup: string;
  let size: number;
  let vkey: string;
  let end_ms: number;

  /** Acts on new and on existing chains, so that heads from before the backup change. */
  async function write(test: TestLog, from: number, count: number): Promise<void> {
    for (let n = from; n < from + count; n += 20) {
      test.time.advance(1);
      const group = Array.from({ length: Math.min(20, from + count - n) }, (_, i) => n + i);
      await test.log.append(group.map((i) => act(i, `case-${String(i % 11)}`)));
    }
  }

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'actlog-restore-'));
    mirror = join(data, 'mirror');
    backup = join(data, 'backup');
    const test = await openTestLog({ data, types: DEMO_TYPES });
    await write(test, 0, 40);
    await test.publish();
    await test.log.operator.backup(backup);
    await write(test, 40, 500);
    await test.log.operator.rotateKey();
    await write(test, 540, 20);
    await test.publish();
    size = await writeMirror(test.log, mirror);
    ({ vkey } = test.log);
    end_ms = test.time.wall();
    await test.stop();
    await goBack();
  });

  afterEach(() => rm(data, { recursive: true, force: true }));

  async function goBack(): Promise<void> {
    await rm(join(data, 'live', '1'), { recursive: true, force: true });
    await cp(backup, join(data, 'live', '1'), { recursive: true });
  }

  const reopen = (): Promise<TestLog> =>
    openTestLog({ data, types: DEMO_TYPES, start_ms: end_ms + 1 });

  const catchUp = (from = mirror): Promise<Restored> =>
    restore({
      kind: 'live',
      folder: join(data, 'live', '1'),
      number: 1,
      register: new FileRegister(join(data, 'checkpoints')),
      vkey,
      types: DEMO_TYPES,
      mirror: new FolderMirror(from),
    });

  it('is demanded by a log whose database was replaced by an older copy', async () => {
    await assert.rejects(reopen(), { code: 'log_rolled_back', message: /actlog restore/ });
  });

  it('restores every entry and row, and the log continues', async () => {
    const { from, to } = await catchUp();
    assert.ok(from < size);
    assert.equal(to, size);
    const test = await reopen();
    assert.equal(test.log.published().size, size);
    await test.check();
    await write(test, 560, 5);
    await test.publish();
    assert.equal(test.log.row('demo/case/case-0'), 52);
    await test.check();
    await test.close();
  });

  it('writes a new database if the old one is missing', async () => {
    await rm(join(data, 'live', '1'), { recursive: true });
    assert.deepEqual(await catchUp(), { origin: 'log.example/log/live/1', from: 0, to: size });
    const test = await reopen();
    await test.check();
    await test.close();
  });

  it('continues after an interruption between two bundles', async () => {
    const broken = new FolderMirror(mirror);
    const once = broken.bundle.bind(broken);
    broken.bundle = (n, width) => {
      if (n > 0) throw new Error('the line is down');
      return once(n, width);
    };
    const folder = join(data, 'live', '1');
    const register = new FileRegister(join(data, 'checkpoints'));
    const options = { kind: 'live', number: 1, folder, register, vkey, types: DEMO_TYPES } as const;
    await assert.rejects(restore({ ...options, mirror: broken }), /the line is down/);
    await assert.rejects(reopen(), { code: 'log_rolled_back' });
    assert.deepEqual(await catchUp(), { origin: 'log.example/log/live/1', from: 256, to: size });
    const test = await reopen();
    await test.check();
    await test.close();
  });

  it('changes nothing if nothing is missing', async () => {
    await catchUp();
    const { from, to } = await catchUp();
    assert.deepEqual([from, to], [size, size]);
  });

  it('refuses a mirror that ends before the last acknowledged entry', async () => {
    await catchUp();
    const test = await reopen();
    await write(test, 560, 3);
    await test.publish();
    await test.stop();
    await goBack();
    await assert.rejects(catchUp(), { code: 'log_rolled_back', message: /open a successor/ });
    await assert.rejects(reopen(), { code: 'log_rolled_back' });
  });

  it('refuses a mirror with a tile of another tree, and writes nothing', async () => {
    const tile = join(mirror, 'tile/0/001');
    const bytes = await readFile(tile);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    await writeFile(tile, bytes);
    await assert.rejects(catchUp(), { code: 'proof_invalid' });
    await assert.rejects(reopen(), { message: /has 44 entries, but/ });
  });

  it('refuses entries that differ from their tile', async () => {
    const bundle = join(mirror, 'tile/entries/001');
    const text = await readFile(bundle, 'latin1');
    await writeFile(bundle, text.replace('"n":300', '"n":301'), 'latin1');
    await assert.rejects(catchUp(), { code: 'proof_invalid', message: /does not match its tile/ });
  });

  it('refuses a checkpoint that the log did not sign', async () => {
    const note = await readFile(join(mirror, 'checkpoint'), 'utf8');
    await writeFile(join(mirror, 'checkpoint'), note.replace(/\n\d+\n/, '\n561\n'));
    await assert.rejects(catchUp(), { code: 'note_invalid' });
  });

  it('requires the checkpoint file, which has the number of entries of the log', async () => {
    await rm(join(data, 'checkpoints'), { recursive: true });
    await assert.rejects(catchUp(), {
      code: 'not_found',
      message: /number of entries that the log had is unknown/,
    });
  });
});
