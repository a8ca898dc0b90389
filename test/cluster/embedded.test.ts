// A service of one process does not load the client of PostgreSQL.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { actlog } from '../support/actlog.ts';

describe('a service without DATABASE_URL', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-embedded-'));
    // Says at the end whether a file of pg was loaded; modules that are imported are in the cache too.
    await writeFile(
      join(folder, 'watch.cjs'),
      `const { _cache } = require('node:module');
       process.on('exit', () => {
         const pg = Object.keys(_cache).filter((file) => /node_modules[\\\\/]pg[\\\\/]/.test(file));
         if (pg.length > 0) process.stderr.write('LOADED ' + pg[0] + '\\n');
       });`,
    );
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const loaded = async (env: Record<string, string>): Promise<boolean> => {
    const { stderr } = await actlog(['keys', 'list', '--data', join(folder, 'data')], {
      env: {
        NODE_OPTIONS: `--require ${join(folder, 'watch.cjs')}`,
        CHECKPOINT_DIR: join(folder, 'register'),
        ...env,
      },
    });
    return stderr.includes('LOADED');
  };

  it('does not load pg, and one with DATABASE_URL does', async function () {
    this.timeout(60_000);
    assert.equal(await loaded({}), false);
    assert.equal(await loaded({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }), true);
  });
});
