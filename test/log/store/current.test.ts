// A database without CURRENT, or without the file that CURRENT names: opening is refused, and no file is changed.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, put } from '../../../log/store/store.ts';
import { code } from '../write/kept-log.ts';

const key = (text: string): Buffer => Buffer.from(text);

async function filesOf(folder: string): Promise<[string, string][]> {
  const names = (await readdir(folder)).sort();
  return Promise.all(
    names.map(async (name): Promise<[string, string]> => [
      name,
      await readFile(join(folder, name), 'hex'),
    ]),
  );
}

describe('a database without a valid CURRENT', () => {
  let folder: string;

  /** A database with its rows in a table. */
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-current-'));
    const first = await openStore(folder);
    await first.write([put(key('x'), key('kept'))]);
    await first.close();
    await (await openStore(folder)).close();
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is refused and not changed, and opens again after the repair that the message describes', async () => {
    await rm(join(folder, 'CURRENT'));
    const before = await filesOf(folder);
    assert.ok(before.some(([name]) => name.endsWith('.ldb')));
    for (const compare of [true, false]) {
      let advice = '';
      await assert.rejects(openStore(folder, { compare }), (error: Error) => {
        advice = error.message;
        return code('store_corrupt')(error);
      });
      assert.deepEqual(await filesOf(folder), before);
      assert.match(advice, /CURRENT.*backup or a mirror/);
      if (compare) continue;
      const [, newest = ''] = /"echo (MANIFEST-\d+) > CURRENT"/.exec(advice) ?? [];
      await writeFile(join(folder, 'CURRENT'), `${newest}\n`);
    }
    const store = await openStore(folder);
    assert.equal(Buffer.from(store.get(key('x'))!).toString(), 'kept');
    await store.close();
  });

  it('is also refused without a MANIFEST', async () => {
    for (const name of await readdir(folder)) {
      if (/^(CURRENT|MANIFEST)/.test(name)) await rm(join(folder, name));
    }
    const before = await filesOf(folder);
    await assert.rejects(openStore(folder), code('store_corrupt'));
    assert.deepEqual(await filesOf(folder), before);
  });

  /** The message of the refused opening; asserts that no file was changed. */
  async function refusal(): Promise<string> {
    const before = await filesOf(folder);
    let said = '';
    await assert.rejects(openStore(folder), (error: Error) => {
      said = error.message;
      return code('store_corrupt')(error);
    });
    assert.deepEqual(await filesOf(folder), before);
    return said;
  }

  it('is refused if CURRENT names no MANIFEST, and opens again after the repair that the message describes', async () => {
    const current = join(folder, 'CURRENT');
    const [manifest = ''] = (await readFile(current, 'utf8')).split('\n');
    for (const text of ['', '\n', '\0'.repeat(16), manifest, '../x\n', `${manifest}\n\n`]) {
      await writeFile(current, text);
      const said = await refusal();
      assert.match(said, /has a file CURRENT that names no MANIFEST .*backup or a mirror/);
      assert.ok(said.includes(`(there is ${manifest})`), said);
      assert.ok(said.includes(`"echo ${manifest} > CURRENT"`), said);
    }
    await writeFile(current, `${manifest}\n`);
    await (await openStore(folder)).close();
  });

  it('is refused if the MANIFEST that CURRENT names is missing, with the names of the others', async () => {
    const current = join(folder, 'CURRENT');
    const [manifest = ''] = (await readFile(current, 'utf8')).split('\n');
    await rename(join(folder, manifest), join(folder, 'MANIFEST-000012'));
    await writeFile(join(folder, 'MANIFEST-000009'), '');
    const said = await refusal();
    assert.ok(said.includes(`has lost ${manifest}, which its file CURRENT names`), said);
    assert.ok(said.includes('(there is MANIFEST-000009, MANIFEST-000012)'), said);
    assert.ok(said.includes('"echo MANIFEST-000012 > CURRENT"'), said);
    await writeFile(current, 'MANIFEST-000012\n');
    const store = await openStore(folder);
    assert.equal(Buffer.from(store.get(key('x'))!).toString(), 'kept');
    await store.close();
  });

  it('is refused without the advice to use an older MANIFEST, which does not list newer tables', async () => {
    await writeFile(join(folder, 'CURRENT'), 'MANIFEST-000099\n');
    const said = await refusal();
    assert.match(said, /has lost MANIFEST-000099.*nothing was touched: move the folder away/);
  });

  it('is refused without any MANIFEST, with the advice to restore a backup', async () => {
    for (const name of await readdir(folder)) {
      if (name.startsWith('MANIFEST')) await rm(join(folder, name));
    }
    assert.match(
      await refusal(),
      /there is no MANIFEST\); nothing was touched: move the folder away/,
    );
  });

  it('is created if a first opening was killed, and in an empty folder', async () => {
    const begun = join(folder, 'begun');
    await mkdir(begun);
    await writeFile(join(begun, 'MANIFEST-000001'), '');
    await writeFile(join(begun, 'LOG'), '');
    await (await openStore(begun)).close();
    await mkdir(join(folder, 'empty'));
    await (await openStore(join(folder, 'empty'))).close();
  });
});
