// A database that has lost its CURRENT: refused, with every file as it was.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, put } from '../../../log/store/store.ts';
import { code } from '../kept-log.ts';

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

describe('a database without CURRENT', () => {
  let folder: string;

  /** One whose rows stand in a table. */
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-current-'));
    const first = await openStore(folder);
    await first.write([put(key('x'), key('kept'))]);
    await first.close();
    await (await openStore(folder)).close();
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is refused and left alone, and is whole again as the refusal says', async () => {
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

  it('is refused without a MANIFEST too', async () => {
    for (const name of await readdir(folder)) {
      if (/^(CURRENT|MANIFEST)/.test(name)) await rm(join(folder, name));
    }
    const before = await filesOf(folder);
    await assert.rejects(openStore(folder), code('store_corrupt'));
    assert.deepEqual(await filesOf(folder), before);
  });

  it('is a new one where a first opening was killed, and where there is nothing', async () => {
    const begun = join(folder, 'begun');
    await mkdir(begun);
    await writeFile(join(begun, 'MANIFEST-000001'), '');
    await writeFile(join(begun, 'LOG'), '');
    await (await openStore(begun)).close();
    await mkdir(join(folder, 'empty'));
    await (await openStore(join(folder, 'empty'))).close();
  });
});
