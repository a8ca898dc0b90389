// The database: batches, scans and copies, and the errors of opening it.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { ClassicLevel } from 'classic-level';
import { metaKey, PLUGIN_ROW, rowKey, STORE_VERSION } from '../../../log/store/layout.ts';
import { openStore, put, write, type Store } from '../../../log/store/store.ts';
import { intoTables } from '../../support/into-tables.ts';
import { code } from '../write/kept-log.ts';

const key = (text: string): Buffer => Buffer.from(text);

describe('store', () => {
  let folder: string;
  let store: Store;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-store-'));
    store = await openStore(join(folder, 'db'));
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('reads what a batch wrote, also after a restart', async () => {
    await store.write([put(key('x1'), key('one')), put(key('x2'), key('two'))]);
    await store.write([write(key('x1'), null), write(key('x3'), new Uint8Array(0))]);
    for (let again = 0; again < 2; again += 1) {
      assert.equal(store.get(key('x1')), undefined);
      assert.equal(Buffer.from(store.get(key('x2'))!).toString(), 'two');
      assert.equal(store.get(key('x3'))?.length, 0);
      await store.close();
      store = await openStore(join(folder, 'db'));
    }
  });

  it('finds every row among many that are not there', async () => {
    const row = (n: number): Buffer => rowKey(PLUGIN_ROW, `notes/${String(n)}`);
    const there = new Set<number>();
    const put200 = (from: number): Promise<void> => {
      const rows = Array.from({ length: 200 }, (_, i) => from + 2 * i);
      for (const n of rows) there.add(n);
      return store.write(
        rows.map((n) => put(row(n), key(String(n)))),
        { sync: false },
      );
    };
    await put200(0);
    await store.close();
    store = await openStore(join(folder, 'db'));
    let from = 400;
    for (let turn = 0; turn < 20; turn += 1) {
      // The rows are looked up while the next ones are written.
      const known = [...there];
      const writing = put200(from);
      for (const n of known) assert.equal(Buffer.from(store.get(row(n))!).toString(), String(n));
      for (let n = 1; n < 100; n += 2) assert.equal(store.get(row(n)), undefined);
      await writing;
      from += 400;
    }
    await store.write([write(row(0), null), put(row(1), key('now'))]);
    assert.equal(store.get(row(0)), undefined);
    assert.equal(Buffer.from(store.get(row(1))!).toString(), 'now');
    await store.close();
    assert.throws(() => store.get(row(3)), code('log_unavailable'));
    store = await openStore(join(folder, 'db'));
  });

  it('uses the last write of a key in a batch, and accepts an empty batch', async () => {
    await store.write([put(key('x'), key('1')), write(key('x'), null), put(key('x'), key('2'))]);
    await store.write([]);
    assert.equal(Buffer.from(store.get(key('x'))!).toString(), '2');
  });

  it('scans a range in byte order, in both directions, up to a limit', async () => {
    const unit = fc.uint8Array({ minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(unit, { maxLength: 20, selector: (bytes) => bytes.join() }),
        unit,
        unit,
        fc.boolean(),
        fc.option(fc.nat(5), { nil: undefined }),
        async (keys, gte, lt, reverse, limit) => {
          const prefix = (bytes: Uint8Array): Buffer => Buffer.from([0x78, ...bytes]);
          await store.write(keys.map((one) => put(prefix(one), key('v'))));
          const range = {
            gte: prefix(gte),
            lt: prefix(lt),
            reverse,
            ...(limit === undefined ? {} : { limit }),
          };
          const wanted = keys
            .map(prefix)
            .filter(
              (one) => Buffer.compare(one, range.gte) >= 0 && Buffer.compare(one, range.lt) < 0,
            )
            .sort((a, b) => Buffer.compare(a, b) * (reverse ? -1 : 1))
            .slice(0, limit)
            .map((one) => one.toString('hex'));
          const found = (await store.scanKeys(range)).map((one) =>
            Buffer.from(one).toString('hex'),
          );
          const scanned: string[] = [];
          for await (const [one] of store.scan(range))
            scanned.push(Buffer.from(one).toString('hex'));
          await store.write(keys.map((one) => write(prefix(one), null)));
          assert.deepEqual(found, wanted);
          assert.deepEqual(scanned, wanted);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('copies the rows as of the start of the copy, also during later writes', async () => {
    await store.write(
      Array.from({ length: 3000 }, (_, i) => put(key(`x${String(i)}`), key('old'))),
    );
    const copied: [string, string][] = [];
    for await (const [one, value] of store.copy()) {
      if (copied.length === 0) {
        await store.write([
          ...Array.from({ length: 3000 }, (_, i) => put(key(`x${String(i)}`), key('new'))),
          put(key('y'), key('new')),
        ]);
      }
      copied.push([Buffer.from(one).toString(), Buffer.from(value).toString()]);
    }
    const rows = copied.filter(([one]) => one.startsWith('x'));
    assert.equal(rows.length, 3000);
    assert.ok(rows.every(([, value]) => value === 'old'));
    assert.ok(!copied.some(([one]) => one === 'y'));
    assert.deepEqual(
      copied.map(([one]) => one),
      copied.map(([one]) => one).sort(),
    );
  });

  it('is locked while it is open', async () => {
    await assert.rejects(openStore(join(folder, 'db')), code('log_locked'));
  });

  it('refuses another layout', async () => {
    assert.equal(store.get(metaKey('version'))?.[0], STORE_VERSION);
    await store.write([put(metaKey('version'), Uint8Array.of(STORE_VERSION + 1))]);
    await store.close();
    await assert.rejects(openStore(join(folder, 'db')), code('store_corrupt'));
    // The failed opening released the lock.
    const db = new ClassicLevel(join(folder, 'db'));
    await db.open();
    await db.close();
    store = await openStore(join(folder, 'other'));
  });

  it('reports a database whose files are damaged', async () => {
    await store.write([put(key('x'), key('v'))]);
    await store.close();
    const name = (await readdir(join(folder, 'db'))).find((one) => one.startsWith('MANIFEST'));
    await writeFile(join(folder, 'db', name!), 'no manifest');
    await assert.rejects(openStore(join(folder, 'db')), code('store_corrupt'));
    await rm(join(folder, 'db'), { recursive: true });
    store = await openStore(join(folder, 'db'));
  });

  it('reports log_unavailable for a path that is not a folder, and for a table that is not a file', async () => {
    const other = join(folder, 'other');
    await writeFile(other, '');
    await assert.rejects(openStore(other), (error: Error) => {
      assert.match(error.message, /does not answer: .*(not a directory|ENOTDIR)/i);
      return code('log_unavailable')(error);
    });
    await store.close();
    await intoTables(join(folder, 'db'));
    const [table = ''] = (await readdir(join(folder, 'db'))).filter((one) => one.endsWith('.ldb'));
    await rm(join(folder, 'db', table));
    await mkdir(join(folder, 'db', table));
    await assert.rejects(openStore(join(folder, 'db'), { compare: true }), code('log_unavailable'));
  });

  it('is not created if an existing database is required', async () => {
    for (const name of ['missing', 'empty']) {
      const other = join(folder, name);
      if (name === 'empty') await mkdir(other);
      await assert.rejects(openStore(other, { existing: true }), code('not_found'));
      const left = await readdir(other).catch(() => null);
      assert.deepEqual(left, name === 'empty' ? [] : null);
    }
    await store.close();
    store = await openStore(join(folder, 'db'), { existing: true });
  });

  it('throws once it is closed', async () => {
    await store.close();
    assert.throws(() => store.get(key('x')), code('log_unavailable'));
    await assert.rejects(store.write([put(key('x'), key('v'))]), code('log_unavailable'));
  });
});
