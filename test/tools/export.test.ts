// Export of logs as static files: which files are written, how an interrupted export continues, and what is refused.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PublishedTiles } from '../../log/index.ts';
import { parseCheckpoint } from '../../log/note/checkpoint.ts';
import type { Mirror } from '../../log/operate/mirror.ts';
import { exportLog } from '../../tools/export/export-log.ts';
import { FolderMirror } from '../../tools/mirror/open.ts';
import { run } from '../gateway/running.ts';
import { actlog, start } from '../support/actlog.ts';
import { GrowingTree } from '../support/growing-tree.ts';
import { grown, TREE_ORIGIN, TreeMirror } from '../support/tree-mirror.ts';
import { act, DEMO_TYPES } from '../support/demo-types.ts';
import { openTestLog } from '../support/open-test-log.ts';
import { serveFiles } from '../support/static-server.ts';
import { TilesReader } from '../support/tiles-reader.ts';

const ORIGIN = TREE_ORIGIN;

/** Every file under a folder with its content in base64. */
async function filesOf(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(folder.length + 1), (await readFile(path)).toString('base64'));
  }
  return files;
}

describe('export of one log', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-export-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const exported = (mirror: Mirror, vkey?: string): Promise<PublishedTiles> =>
    exportLog({ mirror, folder, ...(vkey === undefined ? {} : { vkey }) });
  const refused = (mirror: Mirror, reason: RegExp, exit = 1, vkey?: string): Promise<void> =>
    assert.rejects(exported(mirror, vkey), (error: Error & { exit?: number }) => {
      assert.match(error.message, reason);
      assert.equal(error.exit, exit);
      return error.name === 'CommandError';
    });

  for (const size of [1, 255, 256, 257, 513, 65_536 + 300]) {
    it(`of ${String(size)} entries is read back by a client that knows only tlog-tiles`, async () => {
      const mirror = grown([size, 'leaf']);
      const { vkey } = mirror.tree;
      assert.deepEqual(await exported(mirror, vkey), { origin: ORIGIN, size, fetched: size });
      const server = await serveFiles(folder);
      const reader = new TilesReader(server.url, vkey);
      const head = await reader.head();
      const entries = await reader.entries(head);
      assert.equal(entries.length, size);
      assert.equal(String(entries.at(-1)), `leaf ${String(size - 1)}`);
      await server.close();
    });
  }

  it('has exactly the files that its checkpoint implies', async () => {
    await exported(grown([600, 'leaf']));
    assert.deepEqual([...(await filesOf(folder)).keys()].sort(), [
      'checkpoint',
      'tile/0/000',
      'tile/0/001',
      'tile/0/002.p/88',
      'tile/1/000.p/2',
      'tile/entries/000',
      'tile/entries/001',
      'tile/entries/002.p/88',
    ]);
  });

  it('continues where it stopped, and writes the same files', async () => {
    const whole = grown([2000, 'leaf']);
    await exported(whole);
    const wanted = await filesOf(folder);
    await rm(folder, { recursive: true });
    const broken = grown([2000, 'leaf']);
    broken.left = 3;
    await assert.rejects(exported(broken), /broken off/);
    const before = await filesOf(folder);
    assert.equal(before.has('checkpoint'), false, 'an incomplete folder has no checkpoint');
    assert.ok(before.has('tile/entries/002'));
    const again = grown([2000, 'leaf']);
    assert.equal((await exported(again)).fetched, 2000 - 3 * 256);
    assert.deepEqual(await filesOf(folder), wanted);
  });

  it('grows with the log, and keeps the files of older checkpoints', async () => {
    await exported(grown([300, 'leaf']));
    const old = await filesOf(folder);
    const mirror = grown([900, 'leaf']);
    assert.equal((await exported(mirror)).fetched, 900 - 256);
    const grownFiles = await filesOf(folder);
    for (const [path, content] of old) {
      if (path !== 'checkpoint') assert.equal(grownFiles.get(path), content, path);
    }
    assert.equal(
      (await exported(mirror)).fetched,
      900 - 3 * 256,
      'only the partial tile is fetched again',
    );
  });

  it('repairs files that are damaged or missing', async () => {
    const mirror = grown([1100, 'leaf']);
    await exported(mirror);
    const wanted = await filesOf(folder);
    const broken = { 'tile/entries/001': '', 'tile/0/002': 'x'.repeat(8192), 'tile/0/003': '' };
    for (const [path, content] of Object.entries(broken)) {
      await writeFile(join(folder, path), content);
    }
    await rm(join(folder, 'tile/entries/000'));
    await rm(join(folder, 'tile/1/000.p/4'));
    const entry = await readFile(join(folder, 'tile/entries/003'));
    entry[100]! ^= 1;
    await writeFile(join(folder, 'tile/entries/003'), entry);
    await exported(mirror);
    assert.deepEqual(await filesOf(folder), wanted);
  });

  it('is refused when the entries do not lead to the signed root, and leaves no checkpoint', async () => {
    const mirror = grown([600, 'leaf']);
    mirror.bundle = async (n, width) =>
      Array.from({ length: width }, (_, i) => Buffer.from(`lie ${String(n * 256 + i)}`));
    await refused(mirror, /do not lead to the root of its checkpoint of size 600/);
    assert.equal((await filesOf(folder)).has('checkpoint'), false);
    // The files that the refused export wrote are not trusted either.
    await refused(grown([600, 'leaf']), /publish to a new folder or prefix/);
  });

  it('is refused if the log was forked in the meantime: exit 3, with both notes', async () => {
    const first = grown([700, 'leaf']);
    await exported(first);
    const before = await filesOf(folder);
    for (const fork of [grown([700, 'other']), grown([600, 'leaf'], [300, 'other'])]) {
      await refused(fork, /prove a fork/, 3, fork.tree.vkey);
      await assert.rejects(exported(fork), (error: Error) => {
        assert.ok(error.message.includes(first.tree.note()));
        return error.message.includes(fork.tree.note());
      });
    }
    assert.deepEqual(await filesOf(folder), before, 'the folder was not changed');
  });

  it('is refused for a mirror that is behind, of another log, or of another key', async () => {
    await exported(grown([700, 'leaf']));
    await refused(grown([300, 'leaf']), /is at size 700 already, the mirror only at 300/, 4);
    const other = new GrowingTree('other.example', 51).grow(900);
    await refused(new TreeMirror(other, []), /has the log log\.example.*, not other\.example/);
    const mirror = grown([900, 'leaf']);
    await refused(mirror, /not of the known log/, 1, other.vkey);
    const forged = new GrowingTree(ORIGIN, 52).vkey;
    await assert.rejects(exported(mirror, forged), { name: 'LogError', code: 'note_invalid' });
  });

  it('can be used as a mirror', async () => {
    const mirror = grown([1000, 'leaf']);
    await exported(mirror);
    const wanted = await filesOf(folder);
    const copy = await mkdtemp(join(tmpdir(), 'actlog-copy-'));
    await exportLog({ mirror: new FolderMirror(folder), folder: copy });
    assert.deepEqual(await filesOf(copy), wanted);
    await rm(copy, { recursive: true });
  });
});

describe('actlog export', () => {
  let folder: string;
  let target: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-export-'));
    target = join(folder, 'site');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('writes the logs of a stopped data folder, and refuses those of a served one', async () => {
    const test = await openTestLog({ types: DEMO_TYPES });
    try {
      await test.log.append(Array.from({ length: 600 }, (_, n) => act(n)));
      await test.publish();
      const { size, note } = test.log.published();
      const { vkey } = test.log;
      const served = await actlog(['export', target, '--data', test.data, '--log', 'live']);
      assert.equal(served.code, 1);
      assert.match(served.stderr, /another process has the data/);
      await test.stop();
      const ran = await actlog(['export', target, '--data', test.data]);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(ran.stdout, /^log\.example\/log\/live\/1: \d+ entries, \d+ of them new\n$/);
      const written = await readFile(join(target, 'log/live/1/checkpoint'), 'utf8');
      // Closing publishes another checkpoint only if there are new entries.
      assert.ok(parseCheckpoint(written.slice(0, written.indexOf('\n\n') + 1)).size >= size, note);
      const server = await serveFiles(target);
      const reader = new TilesReader(`${server.url}/log/live/1`, vkey);
      assert.ok((await reader.entries(await reader.head())).length >= size);
      await server.close();
    } finally {
      await test.close();
    }
  });

  it('copies a running service; a monitor of the copy finds it correct', async () => {
    const running = await run();
    let server = { url: '', close: async () => {} };
    try {
      const { vkey } = running.gateway.logs.live;
      const live = running.gateway.logs.live;
      const write = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i += 1) {
          await running.post(
            '/api/v1/classify',
            { message: `m ${String(i)}` },
            { key: running.live },
          );
        }
        await live.whenPublished(live.size());
      };
      await write(3);
      assert.equal((await actlog(['export', target, '--from', running.url])).code, 0);
      server = await serveFiles(target);
      // Two clients of different times, one on the copy and one on the service.
      const early = await new TilesReader(`${server.url}/log/live/1`, vkey).head();
      await write(4);
      const reader = new TilesReader(`${running.url}/log/live/1`, vkey);
      const late = await reader.head();
      assert.ok(late.size > early.size);
      assert.equal(await reader.isConsistent(early, late), true);
      assert.equal((await reader.entries(late)).length, late.size);

      const again = await actlog(['export', target, '--from', `${running.url}/log/live/1`]);
      assert.equal(again.code, 0, again.stderr);
      const state = join(folder, 'state');
      const watched = await actlog(['monitor', server.url, '--once', '--state', state]);
      assert.equal(watched.code, 0, watched.stdout + watched.stderr);
    } finally {
      await server.close();
      await running.close();
    }
  });

  it('follows a growing service, also after an outage; a monitor of the copy finds it correct', async () => {
    let running = await run();
    let server = { url: '', close: async () => {} };
    const { url, port, data, live } = running;
    const following = start(['export', '--follow', target, '--from', url, '--interval', '50ms']);
    let told = '';
    following.stdout.setEncoding('utf8').on('data', (text: string) => (told += text));
    following.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
    const ended = once(following, 'close');
    try {
      const copied = async (): Promise<void> => {
        await running.post('/api/v1/classify', { message: 'a' }, { key: live });
        const log = running.gateway.logs.live;
        const { size } = await log.whenPublished(log.size());
        const file = join(target, 'log/live/1/checkpoint');
        for (;;) {
          const note = await readFile(file, 'utf8').catch(() => '');
          if (Number(note.split('\n')[1] ?? 0) >= size) return;
          assert.equal(following.exitCode, null, told);
          await sleep(20);
        }
      };
      await copied();
      await copied();
      await running.close(true);
      while (!/again in \d+ s/.test(told)) await once(following.stderr, 'data');
      running = await run({ DATA_DIR: data, PORT: String(port) });
      await copied();
      following.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null], told);
      server = await serveFiles(target);
      const state = join(folder, 'state');
      const watched = await actlog(['monitor', server.url, '--once', '--state', state]);
      assert.equal(watched.code, 0, watched.stdout + watched.stderr);
    } finally {
      following.kill('SIGKILL');
      await server.close();
      await running.close();
    }
  }).timeout(120_000);

  it('exits 4 if the service does not answer', async () => {
    const nobody = await actlog([
      'export',
      target,
      '--from',
      'http://127.0.0.1:1/log/live/1',
      '--vkey',
      'x+1+y',
    ]);
    assert.equal(nobody.code, 4, nobody.stderr);
  }).timeout(240_000);
});
