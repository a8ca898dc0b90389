// The gateway's databases and their register: a database opens after a crash, does not open if it lost a write, and takes
// over the rows of an earlier release. gateway/tenants/synced-level.ts.

import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { acceptLevel, inspectLevel } from '../../../gateway/tenants/level-care.ts';
import { SyncedLevel } from '../../../gateway/tenants/synced-level.ts';
import { FileRegister, sealRow } from '../../../log/index.ts';
import type { JsonObject, LogError, Register } from '../../../log/index.ts';
import { code } from '../../log/write/kept-log.ts';

const row = (key: string, value = key) => ({ key, value: Buffer.from(value) });

/** A register that fails on request. */
class Faulty implements Register {
  readonly #register: FileRegister;
  fails = false;

  constructor(folder: string) {
    this.#register = new FileRegister(folder);
  }

  read(name: string): Promise<JsonObject | null> {
    return this.#register.read(name);
  }

  async advance(name: string, from: JsonObject | null, to: JsonObject): Promise<void> {
    if (this.fails) throw new Error('the register does not answer');
    await this.#register.advance(name, from, to);
  }

  where(name: string): string {
    return this.#register.where(name);
  }
}

describe('a database of the gateway', () => {
  let folder: string;
  let db: string;
  let register: Faulty;
  const place = () => ({ name: 'gateway', register, counts: 'count/' });
  const open = (): Promise<SyncedLevel> => SyncedLevel.open(db, place());
  const refused = (opening: Promise<SyncedLevel>, words: RegExp): Promise<void> =>
    assert.rejects(opening, (error: unknown) => {
      code('log_rolled_back')(error);
      assert.match((error as Error).message, words);
      assert.match((error as Error).message, /actlog adopt/);
      return true;
    });
  /** All files as a crash now would leave them, or as a careless backup would copy them. */
  const kept = async (name: string, what = db): Promise<string> => {
    const to = join(folder, name);
    await cp(what, to, { recursive: true });
    return to;
  };
  const back = async (copy: string, what = db): Promise<void> => {
    await rm(what, { recursive: true });
    await cp(copy, what, { recursive: true });
  };
  const text = (level: SyncedLevel, key: string): string | undefined => {
    const value = level.get(key);
    return value === undefined ? undefined : Buffer.from(value).toString();
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-level-'));
    db = join(folder, 'db');
    register = new Faulty(join(folder, 'register'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('reports the system error if it cannot be opened, such as a full disk', async () => {
    await mkdir(join(db, 'LOCK'), { recursive: true });
    await assert.rejects(open(), (error: Error) => {
      code('log_unavailable')(error);
      assert.match(error.message, /does not answer: .*LOCK: Is a directory/);
      return true;
    });
  });

  it('opens after a crash between a write and the register, at every write', async () => {
    const level = await open();
    for (let i = 0; i < 4; i += 1) {
      const before = await kept(`register-${String(i)}`, join(folder, 'register'));
      await level.put([row('key/a', String(i)), row(`key/${String(i)}`)]);
      await kept(`db-${String(i)}`);
      await back(before, join(folder, 'register'));
      const crashed = join(folder, `db-${String(i)}`);
      const after = await SyncedLevel.open(crashed, place());
      assert.equal(text(after, 'key/a'), String(i));
      await after.close();
    }
    await level.close();
  });

  it('opens if the first start ended before the register was written', async () => {
    const level = await open();
    const copy = await kept('copy');
    await level.close();
    await rm(join(folder, 'register'), { recursive: true });
    register = new Faulty(join(folder, 'register'));
    const after = await SyncedLevel.open(copy, place());
    await after.put([row('key/a')]);
    await after.close();
  });

  it('does not open as an older copy, after its removal, or without its register', async () => {
    let level = await open();
    await level.put([row('key/a')]);
    await level.close();
    const older = await kept('older');
    level = await open();
    await level.put([row('key/a', 'revoked')]);
    await level.delete(['key/none']);
    await level.close();
    const newest = await kept('newest');
    await back(older);
    await refused(open(), /ends at write 2, .*gateway\.checkpoint knows of 4 writes/);
    await rm(db, { recursive: true });
    await refused(open(), /is gone, and .*gateway\.checkpoint knows of it/);
    await back(newest, older);
    await cp(newest, db, { recursive: true });
    const away = await kept('away', join(folder, 'register'));
    await rm(join(folder, 'register'), { recursive: true });
    await refused(open(), /has taken 4 writes, and .* is missing/);
    await cp(away, join(folder, 'register'), { recursive: true });
    level = await open();
    assert.equal(text(level, 'key/a'), 'revoked');
    await level.close();
  });

  it('does not open as a copy with other writes of the same number', async () => {
    let level = await open();
    await level.close();
    const fork = await kept('fork');
    const before = await kept('before', join(folder, 'register'));
    level = await open();
    await level.put([row('key/a', 'valid')]);
    await level.close();
    const other = new FileRegister(before);
    const forked = await SyncedLevel.open(fork, { name: 'gateway', register: other });
    await forked.put([row('key/a', 'forged')]);
    await forked.close();
    await back(fork);
    await refused(open(), /has other rows than were acknowledged/);
  });

  it('continues after a failure of the register, with what is on disk', async () => {
    const loaded: string[][] = [];
    const load = (rows: readonly { key: string }[]): void => {
      loaded.push(rows.map(({ key }) => key));
    };
    const level = await SyncedLevel.open(db, { ...place(), load });
    register.fails = true;
    await assert.rejects(level.put([row('key/a')]), code('log_unavailable'));
    await assert.rejects(level.put([row('key/b')]), code('log_unavailable'));
    register.fails = false;
    await level.put([row('key/c')]);
    // The first row was on disk; the second one was never written.
    assert.deepEqual(loaded, [[], ['key/a'], ['key/a']]);
    await level.close();
    await (await open()).close();
  });

  it('refuses to write if another process has changed the register', async () => {
    const level = await open();
    const copy = await kept('copy');
    const other = await SyncedLevel.open(copy, place());
    await other.put([row('key/a')]);
    await assert.rejects(level.put([row('key/b')]), code('log_locked'));
    await assert.rejects(level.put([row('key/b')]), code('log_rolled_back'));
    await other.close();
    await level.close();
  });

  it('detects counts that are older than the last orderly stop, but not those of the last minute', async () => {
    let level = await open();
    await level.putCounts([['a', 2]]);
    const early = await kept('early');
    await level.putCounts([
      ['a', 3],
      ['b', 4],
    ]);
    const crashed = await kept('crashed');
    await level.close();
    await back(early);
    await refused(open(), /counts 2, .* knows of 7/);
    await back(crashed);
    level = await open();
    assert.equal(text(level, 'count/b'), '4');
    await level.close();
  });

  it('detects missing and damaged rows, although the last write is there', async () => {
    const level = await SyncedLevel.open(db, { ...place(), load: () => undefined });
    await level.put([row('key/a'), row('key/b')]);
    await level.close();
    const good = await kept('good');
    for (const refusal of ['log_rolled_back', 'store_corrupt'] as const) {
      const raw = new ClassicLevel<string, Uint8Array>(db, { valueEncoding: 'view' });
      const bent = Buffer.from((await raw.get('key/b')) ?? []);
      bent[0]! ^= 1;
      if (refusal === 'store_corrupt') await raw.put('key/b', bent);
      else await raw.del('key/a');
      await raw.close();
      await assert.rejects(
        SyncedLevel.open(db, { ...place(), load: () => undefined }),
        (error: unknown) => {
          code(refusal)(error);
          assert.doesNotMatch((error as LogError).message, /key\/b/);
          return true;
        },
      );
      const found = await inspectLevel(db, place());
      assert.ok(found !== null && found.problems.length > 0);
      await found.close();
      await back(good);
    }
    const found = await inspectLevel(db, place());
    assert.deepEqual([found?.problems, found?.rows], [[], 2]);
    await found?.close();
  });

  it('opens what an operator accepts, older or empty, and nothing else afterwards', async () => {
    let level = await open();
    await level.put([row('key/a')]);
    await level.close();
    const older = await kept('older');
    level = await open();
    await level.put([row('key/a', 'newer')]);
    await level.close();
    const newer = await kept('newer');
    await back(older);
    await refused(open(), /ends at write 2/);
    await acceptLevel(db, place());
    level = await open();
    assert.equal(text(level, 'key/a'), 'key/a');
    await level.close();
    await back(newer);
    await refused(open(), /ends at write 3, .* knows of 4/);
    await rm(db, { recursive: true });
    await refused(open(), /is gone/);
    await acceptLevel(db, place(), { empty: true });
    level = await open();
    assert.equal(level.get('key/a'), undefined);
    await level.put([row('key/a')]);
    await level.close();
    await assert.rejects(acceptLevel(db, place(), { empty: true }), code('out_of_range'));
  });

  describe('of an earlier release', () => {
    const ROWS = 2500;
    /** The form of that release: values without checksums, compressed tables. */
    const earlier = async (): Promise<void> => {
      const raw = new ClassicLevel(db);
      const key = (i: number): string => `key/${String(i).padStart(5, '0')}`;
      await raw.batch(
        Array.from({ length: ROWS }, (_, i) => ({
          type: 'put' as const,
          key: key(i),
          value: `value ${String(i)} of many that compress`,
        })),
      );
      await raw.put('count/visits', '7');
      await raw.compactRange('a', 'z');
      await raw.put(key(3), 'changed');
      await raw.close();
    };
    const holds = async (): Promise<void> => {
      const level = await SyncedLevel.open(db, {
        ...place(),
        load: (rows) => {
          assert.equal(rows.length, ROWS + 1);
        },
      });
      assert.equal(text(level, 'key/00003'), 'changed');
      assert.equal(text(level, 'key/02499'), 'value 2499 of many that compress');
      assert.equal(text(level, 'count/visits'), '7');
      await level.putCounts([['visits', 8]]);
      await level.close();
      await (await open()).close();
      const found = await inspectLevel(db, place());
      assert.deepEqual(found?.problems, []);
      await found.close();
    };

    it('is taken over with all its rows', async () => {
      await earlier();
      await holds();
    });

    it('is taken over also if the first start was killed during it', async () => {
      await earlier();
      const before = await kept('before');
      await (await open()).close();
      const upgraded = await kept('upgraded');
      // The states after the first and the second batch of the upgrade.
      for (const rows of [1000, 2000]) {
        await back(before);
        await rm(join(folder, 'register'), { recursive: true });
        register = new Faulty(join(folder, 'register'));
        const done = new ClassicLevel<string, Uint8Array>(upgraded, { valueEncoding: 'view' });
        const half = new ClassicLevel<string, Uint8Array>(db, { valueEncoding: 'view' });
        const sealed = await done.iterator({ gt: '"', limit: rows }).all();
        await half.batch(sealed.map(([key, value]) => ({ type: 'put' as const, key, value })));
        const last = Buffer.from(sealed.at(-1)![0]);
        await half.put('!upgraded', sealRow(Buffer.from('!upgraded'), last));
        await Promise.all([done.close(), half.close()]);
        await holds();
      }
    });

    it('is refused if a later one is known, until an operator accepts it', async () => {
      await earlier();
      const level = await open();
      await level.close();
      await rm(db, { recursive: true });
      await earlier();
      await refused(open(), /did not count its writes/);
      await acceptLevel(db, place());
      await holds();
    });
  });
});
