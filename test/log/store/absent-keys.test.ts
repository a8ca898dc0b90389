// Which keys a database cannot have: the filter, and how it comes to know every key.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { AbsentKeys, KeyFilter } from '../../../log/store/absent-keys.ts';
import type { KeyRange, KeySource } from '../../../log/store/absent-keys.ts';
import { entryKey, headKey, PLUGIN_ROW, rowKey } from '../../../log/store/layout.ts';

/** The key of a row of a plugin. */
const row = (name: string | number): Buffer => rowKey(PLUGIN_ROW, `notes/${String(name)}`);

/** Keys in memory, with the calls that a test holds back. */
class Keys implements KeySource {
  readonly names = new Set<string>();
  pages = 0;
  settling: Promise<void> = Promise.resolve();
  failing = false;

  put(key: Uint8Array): void {
    this.names.add(Buffer.from(key).toString('latin1'));
  }

  page({ gt, lt, limit }: KeyRange): Promise<Uint8Array[]> {
    this.pages += 1;
    if (this.failing) return Promise.reject(new Error('the disk fails'));
    const keys = [...this.names].map((name) => Buffer.from(name, 'latin1')).sort(Buffer.compare);
    const found = keys.filter((key) => Buffer.compare(key, gt) > 0 && Buffer.compare(key, lt) < 0);
    return Promise.resolve(found.slice(0, limit));
  }

  settled(): Promise<void> {
    return this.settling;
  }
}

/** Looks for keys that are not there, until the keys are read. */
function miss(absent: AbsentKeys): void {
  for (let n = 0; n < 8; n += 1) absent.missed(row(`missing ${String(n)}`));
}

/** Waits until a key is known to be absent. */
async function known(absent: AbsentKeys, key: Uint8Array): Promise<void> {
  while (!absent.has(key)) await new Promise(setImmediate);
}

describe('the filter of keys', () => {
  it('has every key that was added', () => {
    const keys = fc.uint8Array({ minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(fc.array(keys, { maxLength: 400 }), (added) => {
        const filter = new KeyFilter();
        for (const key of added) filter.add(key);
        return added.every((key) => filter.has(key));
      }),
    );
  });

  it('has every key of three layers, and few others', () => {
    const filter = new KeyFilter();
    const skey = (n: number): Buffer => {
      const bytes = Buffer.alloc(32);
      bytes.writeUInt32BE(n, 28);
      return headKey(bytes);
    };
    const added = 400_000;
    for (let n = 0; n < added; n += 1) filter.add(skey(n));
    for (let n = 0; n < added; n += 1) assert.ok(filter.has(skey(n)), `key ${String(n)}`);
    let taken = 0;
    for (let n = 0; n < 20_000; n += 1) if (filter.has(skey(added + n))) taken += 1;
    assert.ok(taken < 20_000 * 0.05, `${String(taken)} of 20,000 others are taken for known`);
  });

  it('gives a key that is added again no further room', () => {
    const filter = new KeyFilter();
    for (let n = 0; n < 1000; n += 1) filter.add(row('same'));
    assert.equal(filter.size, 1);
  });
});

describe('the keys that a database does not have', () => {
  let keys: Keys;
  let absent: AbsentKeys;

  beforeEach(() => {
    keys = new Keys();
    for (let n = 0; n < 2500; n += 1) keys.put(row(n));
    absent = new AbsentKeys(keys, 4);
  });
  afterEach(() => absent.stop());

  it('are unknown before some lookups have found nothing', async () => {
    for (let n = 0; n < 7; n += 1) absent.missed(row(`missing ${String(n)}`));
    for (let n = 0; n < 100; n += 1) absent.missed(entryKey(n));
    await new Promise(setImmediate);
    assert.equal(keys.pages, 0);
    assert.equal(absent.has(row('other')), false);
    absent.missed(row('other'));
    await known(absent, row('other'));
  });

  it('are known when all keys were read, in pages', async () => {
    miss(absent);
    await known(absent, row('other'));
    for (let n = 0; n < 2500; n += 1) assert.equal(absent.has(row(n)), false, String(n));
    assert.equal(
      absent.has(entryKey(7)),
      false,
      'another kind of row is looked up in the database',
    );
  });

  it('do not include a key that is written while the keys are read, or later', async () => {
    miss(absent);
    absent.written(row('between'));
    await known(absent, row('other'));
    assert.equal(absent.has(row('between')), false);
    absent.written(row('other'));
    assert.equal(absent.has(row('other')), false);
  });

  it('do not include a key of a batch that began before and ends while the keys are read', async () => {
    let ended = (): void => undefined;
    keys.settling = new Promise((resolve) => {
      ended = resolve;
    });
    absent.written(row('early'));
    miss(absent);
    await new Promise(setImmediate);
    assert.equal(keys.pages, 0, 'no page is read before that batch has ended');
    keys.put(row('early'));
    ended();
    await known(absent, row('other'));
    assert.equal(absent.has(row('early')), false);
  });

  it('stay unknown if the keys cannot be read', async () => {
    keys.failing = true;
    miss(absent);
    await new Promise(setImmediate);
    keys.failing = false;
    miss(absent);
    await new Promise(setImmediate);
    assert.equal(keys.pages, 1);
    assert.equal(absent.has(row('other')), false);
  });

  it('are unknown after a stop, also one while the keys are read', async () => {
    miss(absent);
    await absent.stop();
    assert.equal(absent.has(row('other')), false);
    miss(absent);
    await new Promise(setImmediate);
    assert.equal(absent.has(row('other')), false);
  });

  it('include deleted keys again when many were deleted', async () => {
    miss(absent);
    await known(absent, row('other'));
    for (let n = 0; n < 1249; n += 1) absent.deleted(row(n));
    keys.names.clear();
    keys.put(row('left'));
    assert.equal(absent.has(row(1)), false);
    absent.deleted(row(1249));
    await known(absent, row(1));
    assert.equal(absent.has(row('left')), false);
  });
});
