// fsck: no differences in what the log wrote, and each kind of damage reported with its place.

import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fsck } from '../../../../log/operate/fsck/fsck.ts';
import type { FsckResult } from '../../../../log/operate/fsck/fsck.ts';
import { skey } from '../../../../log/map/key.ts';
import { native } from '../../../../log/crypto/native.ts';
import type { JsonObject } from '../../../../log/index.ts';
import {
  chainRowKey,
  CORE_ROW,
  entryKey,
  headKey,
  leafKey,
  metaKey,
  noteKey,
  PLUGIN_ROW,
  rowKey,
  tileKey,
} from '../../../../log/store/layout.ts';
import { FileRegister } from '../../../../log/store/register.ts';
import { openStore, put, write } from '../../../../log/store/store.ts';
import type { Store } from '../../../../log/store/store.ts';
import { act, DEMO_TYPES } from '../../../support/demo-types.ts';
import { openTestLog } from '../../../support/open-test-log.ts';

const ACTS = 300;
const utf8 = (text: string): Buffer => Buffer.from(text);

describe('fsck', () => {
  let data: string;
  let copy: string;
  let vkey: string;
  let published: number;
  let origin: string;

  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'actlog-fsck-test-'));
    const test = await openTestLog({ data, types: DEMO_TYPES });
    for (let n = 0; n < ACTS; n += 1) {
      test.time.advance(1);
      await test.log.append([act(n, `case-${String(n % 7)}`)]);
      if (n % 100 === 0) await test.publish();
    }
    await test.publish();
    ({ vkey, origin } = test.log);
    published = test.log.published().size;
    await test.stop();
  });

  beforeEach(async () => {
    copy = await mkdtemp(join(tmpdir(), 'actlog-fsck-copy-'));
    await cp(data, copy, { recursive: true });
  });

  afterEach(() => rm(copy, { recursive: true, force: true }));
  after(() => rm(data, { recursive: true, force: true }));

  const check = (more: object = {}): Promise<FsckResult> =>
    fsck({
      folder: join(copy, 'live', '1'),
      outside: { register: new FileRegister(join(copy, 'checkpoints')), name: 'live-1' },
      vkey,
      types: DEMO_TYPES,
      ...more,
    });

  async function damaged(damage: (store: Store) => Promise<void>): Promise<FsckResult> {
    const store = await openStore(join(copy, 'live', '1', 'db'));
    await damage(store);
    await store.close();
    return check();
  }

  async function found(damage: (store: Store) => Promise<void>): Promise<string[]> {
    const { differences } = await damaged(damage);
    return differences.map(({ part, where, detail }) => `${part}: ${where}: ${detail}`);
  }

  it('finds no difference in what the log wrote, and reports its progress', async () => {
    const steps: number[] = [];
    const result = await check({ onProgress: (done: number) => steps.push(done) });
    assert.deepEqual(result.differences, []);
    assert.deepEqual(result.unchecked, []);
    assert.equal(result.size, published);
    assert.equal(result.origin, origin);
    assert.deepEqual(steps, [256, published]);
  });

  it('finds no difference with signatures verified on threads', async () => {
    assert.deepEqual((await check({ threads: 2 })).differences, []);
  });

  it('lists what it could not compare', async () => {
    const { differences, unchecked } = await check({ types: [], vkey: undefined });
    assert.deepEqual(differences, []);
    assert.deepEqual(unchecked, [
      'rows of plugin demo: it is not loaded',
      'signatures of notes: no verifier key was given',
    ]);
  });

  it('reports an invalid signature with its entry', async () => {
    const lines = await found(async (store) => {
      const text = utf8(Buffer.from(store.get(entryKey(40)) ?? []).toString());
      const changed = text.toString().replace(/"signature":"(.)/, (_, first: string) => {
        return `"signature":"${first === 'A' ? 'B' : 'A'}`;
      });
      await store.write([put(entryKey(40), utf8(changed))]);
    });
    assert.ok(lines.some((line) => line.startsWith('rule: entry 40: signature')));
    assert.ok(lines.some((line) => line.startsWith('tile: tile 0/0: differs')));
  });

  it('reports a missing entry, and still compares the entries after it', async () => {
    const { differences, unchecked } = await damaged((store) =>
      store.write([write(entryKey(3), null), put(tileKey(0, 1), utf8('short'))]),
    );
    const lines = differences.map(({ part, where, detail }) => `${part}: ${where}: ${detail}`);
    assert.ok(lines.includes('entry: entry 3: is missing'));
    assert.ok(lines.some((line) => line.startsWith('tile: tile 0/1: differs')));
    assert.deepEqual(unchecked, ['derived rows: the replay stopped at entry 3']);
  });

  it('reports a tile that differs from the entries', async () => {
    const lines = await found(async (store) => {
      const tile = Uint8Array.from(store.get(tileKey(0, 0)) ?? []);
      tile[5 * 32] = (tile[5 * 32] ?? 0) ^ 1;
      await store.write([put(tileKey(0, 0), tile)]);
    });
    assert.deepEqual(lines, ['tile: tile 0/0: differs from the entries at hash 5']);
  });

  it('reports a missing tile and a superfluous one', async () => {
    const lines = await found((store) =>
      store.write([write(tileKey(1, 0), null), put(tileKey(3, 0), new Uint8Array(32))]),
    );
    assert.deepEqual(lines, [
      'tile: tile 1/0: is missing',
      'tile: tile 3/0: has another width than the size requires',
    ]);
  });

  it('reports a missing head, a different one, and one of no chain', async () => {
    const place = (name: string): Uint8Array => skey(native, origin, ['demo.case', name]);
    const lines = await found(async (store) => {
      const head = store.get(headKey(place('case-1'))) ?? new Uint8Array(0);
      await store.write([
        put(headKey(place('case-2')), head),
        write(headKey(place('case-3')), null),
        put(headKey(place('case-99')), head),
      ]);
    });
    assert.equal(lines.length, 3);
    assert.ok(lines.some((line) => line.includes('the entries derive another head')));
    assert.ok(lines.some((line) => line.includes('belongs to no chain')));
    assert.ok(lines.some((line) => line.includes('is missing')));
  });

  it('reports missing and superfluous rows of chains and findings', async () => {
    const lines = await found(async (store) => {
      const keys = await store.scanKeys({
        gte: chainRowKey(skey(native, origin, ['demo.case', 'case-1']), 0, 0),
        lt: rowKey(CORE_ROW, ''),
        limit: 1,
      });
      await store.write([
        write(keys[0] ?? new Uint8Array(0), null),
        put(leafKey(new Uint8Array(32)), new Uint8Array(8)),
      ]);
    });
    assert.equal(lines.filter((line) => line.startsWith('chain row:')).length, 2);
    assert.equal(lines.filter((line) => line.startsWith('finding row: prefix l: has')).length, 1);
  });

  it('reports rows of the core and of a plugin that differ from those of the entries', async () => {
    const lines = await found((store) =>
      store.write([
        put(rowKey(CORE_ROW, 'keys'), utf8('[]')),
        put(rowKey(PLUGIN_ROW, 'demo/case/case-1'), utf8('1000')),
        write(rowKey(PLUGIN_ROW, 'demo/case/case-2'), null),
        put(rowKey(PLUGIN_ROW, 'demo/case/none'), utf8('1')),
      ]),
    );
    assert.deepEqual(lines, [
      'core row: keys: differs from the row that the entries derive',
      'plugin row: demo/case/case-1: differs from the row that the entries derive',
      'plugin row: demo/case/case-2: is missing',
      'plugin row: demo/case/none: is derived from no entry',
    ]);
  });

  it('reports a note with another root, and one beyond the last entry', async () => {
    const lines = await found(async (store) => {
      const note = Buffer.from(store.get(noteKey(published)) ?? []).toString();
      const root = note.split('\n')[2] ?? '';
      const other = note.replace(root, Buffer.alloc(32, 1).toString('base64'));
      await store.write([
        put(noteKey(published), utf8(other)),
        put(noteKey(published + 5), utf8(note)),
      ]);
    });
    assert.equal(lines.length, 2);
    assert.ok(lines[0]?.startsWith(`note: note ${String(published)}: `));
    assert.equal(lines[1], `note: note ${String(published + 5)}: is beyond the last entry`);
  });

  it('reports a state that differs from the entries, and unknown rows', async () => {
    const lines = await found(async (store) => {
      const state = JSON.parse(Buffer.from(store.get(metaKey('state')) ?? []).toString()) as object;
      await store.write([
        put(metaKey('state'), utf8(JSON.stringify({ ...state, last_ms: 7, closed: true }))),
        put(utf8('zebra'), utf8('1')),
        put(metaKey('reindex'), utf8('1')),
      ]);
    });
    assert.equal(lines[0], 'state: reindex: a reindex was interrupted: run it again');
    assert.equal(lines.filter((line) => line.startsWith('state: last_ms: is 7')).length, 1);
    assert.equal(lines.filter((line) => line.startsWith('state: closed: is true')).length, 1);
    assert.equal(lines.filter((line) => line.startsWith('unknown row: 7a6562')).length, 1);
  });

  /** Advances the register of the copy to a value. */
  async function forward(to: JsonObject): Promise<void> {
    const register = new FileRegister(join(copy, 'checkpoints'));
    await register.advance('live-1', await register.read('live-1'), to);
  }

  it('reports a database behind its checkpoint file', async () => {
    await forward({
      origin,
      note: null,
      acknowledged: { size: published + 1, root: Buffer.alloc(32).toString('base64') },
    });
    const { differences } = await check();
    assert.equal(differences.length, 1);
    assert.match(differences[0]?.detail ?? '', /the database is behind/);
  });

  it('reports entries that a copy lacks as unchecked, where it may be behind', async () => {
    const size = published + 10;
    const root = Buffer.alloc(32).toString('base64');
    await forward({ origin, note: null, acknowledged: { size, root } });
    const { count, unchecked } = await check({ may_lack: true });
    assert.equal(count, 0);
    assert.match(
      unchecked.join(),
      new RegExp(`entries from \\d+ to ${String(size - 1)}: this copy`),
    );
  });

  it('reports once a database that is behind its checkpoint file in note and receipts', async () => {
    const db = join(copy, 'live', '1', 'db');
    for (const name of await readdir(db)) await rm(join(db, name), { recursive: true });
    await assert.rejects(check(), { code: 'not_found' });
    await (await openStore(db)).close();
    const { differences } = await check();
    const behind = differences
      .map(({ detail }) => detail)
      .filter((text) => text.includes('behind'));
    assert.equal(behind.length, 1);
  });

  it('reports a checkpoint file of another tree', async () => {
    await forward({
      origin,
      note: null,
      acknowledged: { size: published - 1, root: Buffer.alloc(32).toString('base64') },
    });
    const { differences } = await check();
    assert.deepEqual(
      differences.map(({ detail }) => detail),
      [`has another root at size ${String(published - 1)}`],
    );
  });

  it('refuses a folder without a log, and a log in use', async () => {
    await assert.rejects(fsck({ folder: join(copy, 'sandbox', '1') }), { code: 'not_found' });
    const store = await openStore(join(copy, 'live', '1', 'db'));
    await assert.rejects(check(), { code: 'log_locked' });
    await store.close();
  });
});
