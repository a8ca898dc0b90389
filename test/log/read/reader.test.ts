// Reads of a log, compared with values computed from its entries, and reads with invalid arguments.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { LogError, toHex } from '../../../log/index.ts';
import { parseBundle, tileWidth } from '../../../log/merkle/tile.ts';
import { checkInclusion } from '../../../log/merkle/check.ts';
import { leafHash } from '../../../log/merkle/hash.ts';
import { code, KeptLog, note, withLog } from '../write/kept-log.ts';
import { Oracle } from '../merkle/oracle.ts';

const NO_PLACES = [-1, -0.5, 0.5, NaN, Infinity, -Infinity, 2 ** 53, 1e300];

describe('reader: a log of some hundred entries', () => {
  let kept: KeptLog;
  let texts: string[];
  let leaves: Uint8Array[];
  let oracle: Oracle;
  let size: number;

  before(async () => {
    kept = await KeptLog.open();
    for (let i = 0; i < 6; i += 1) {
      await Promise.all(Array.from({ length: 100 }, (_, n) => kept.append(note(String(n)))));
      await kept.publish();
    }
    // Entries above the published size are in no tile or bundle.
    await kept.append(note('late'), note('late'));
    texts = Array.from({ length: kept.log.size() }, (_, i) => kept.log.entry(i)!);
    leaves = texts.map((text) => leafHash(native, Buffer.from(text)));
    oracle = new Oracle(leaves);
    ({ size } = kept.log.published());
  });
  after(() => kept.end());

  it('has the root of its entries at every size', () => {
    for (let at = 0; at <= kept.log.size(); at += 7) {
      assert.equal(toHex(kept.log.rootAt(at)), toHex(oracle.root(at)));
    }
    for (const [at, text] of kept.notes) {
      assert.ok(text.includes(`\n${Buffer.from(oracle.root(at)).toString('base64')}\n`));
      assert.equal(kept.log.checkpointAt(at), text);
    }
  });

  it('has exactly the tiles of its published tree in every width', () => {
    for (const level of [0, 1, 2, 7]) {
      for (let n = 0; n < 4; n += 1) {
        const most = tileWidth(size, level, n);
        for (let width = 1; width <= 256; width += 1) {
          const tile = kept.log.tile(level, n, width);
          if (width > most) {
            assert.equal(tile, null);
            continue;
          }
          const span = 256 ** level;
          const hashes = Array.from({ length: width }, (_, i) =>
            oracle.range((n * 256 + i) * span, (n * 256 + i + 1) * span),
          );
          assert.equal(toHex(tile!), hashes.map(toHex).join(''));
        }
      }
    }
  });

  it('has exactly the bundles of its published tree', async () => {
    for (let n = 0; n < 4; n += 1) {
      for (const width of [1, 2, 100, 255, 256]) {
        const bundle = await kept.log.bundle(n, width);
        if (width > tileWidth(size, 0, n)) {
          assert.equal(bundle, null);
          continue;
        }
        assert.deepEqual(
          parseBundle(bundle!).map((entry) => Buffer.from(entry).toString()),
          texts.slice(n * 256, n * 256 + width),
        );
      }
    }
  });

  it('proves every entry under any published size', () => {
    for (const at of kept.notes.keys()) {
      for (let index = 0; index < at; index += 13) {
        const path = [...kept.log.inclusion(index, at)];
        assert.deepEqual(path.map(toHex), oracle.inclusion(index, at).map(toHex));
        checkInclusion(native, {
          index,
          size: at,
          leafHash: leaves[index]!,
          path,
          root: oracle.root(at),
        });
      }
    }
  });

  it('proves consistency between any two sizes', () => {
    for (let to = 0; to <= size; to += 41) {
      for (let from = 0; from <= to; from += 17) {
        const path = kept.log.consistency(from, to).map(toHex);
        assert.deepEqual(path, oracle.consistency(from, to).map(toHex));
      }
    }
  });

  it('finds entries by id and hash, and nothing for an unknown one', () => {
    for (const [index, text] of texts.entries()) {
      const { entry_id } = JSON.parse(text) as { entry_id: string };
      assert.equal(kept.log.indexOfEntry(entry_id), index);
      assert.equal(kept.log.indexOfHash(leaves[index]!), index);
    }
    const id = (JSON.parse(texts[3]!) as { entry_id: string }).entry_id;
    const other = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`;
    for (const none of [other, id.toUpperCase(), ` ${id}`, `${id}\n`, '', 'x', '0'.repeat(36)]) {
      if (none !== id) assert.equal(kept.log.indexOfEntry(none), null);
    }
    const flipped = Uint8Array.from(leaves[3]!);
    flipped[31]! ^= 1;
    for (const none of [flipped, new Uint8Array(32), new Uint8Array(0), leaves[3]!.slice(0, 16)]) {
      assert.equal(kept.log.indexOfHash(none), null);
    }
  });

  it('answers null or out_of_range for an invalid index', async () => {
    for (const bad of [...NO_PLACES, kept.log.size()]) {
      assert.equal(kept.log.entry(bad), null);
      assert.equal(kept.log.checkpointAt(bad), null);
      assert.equal(kept.log.tile(0, 0, bad === kept.log.size() ? 257 : bad), null);
      assert.equal(kept.log.tile(0, bad, 1), null);
      assert.equal(kept.log.tile(bad, 0, 1), null);
      assert.equal(await kept.log.bundle(bad, 1), null);
      assert.equal(await kept.log.bundle(0, bad === kept.log.size() ? 257 : bad), null);
      assert.throws(() => kept.log.leafHash(bad), code('out_of_range'));
      assert.throws(() => kept.log.inclusion(bad, size), code('out_of_range'));
      assert.throws(() => kept.log.inclusion(0, bad), code('out_of_range'));
      assert.throws(() => kept.log.consistency(bad, size), code('out_of_range'));
      assert.throws(() => kept.log.consistency(0, bad), code('out_of_range'));
      if (bad !== kept.log.size()) {
        assert.throws(() => kept.log.rootAt(bad), code('out_of_range'));
      }
    }
    assert.throws(() => kept.log.inclusion(size, size), code('out_of_range'));
    assert.throws(() => kept.log.inclusion(0, 0), code('out_of_range'));
    assert.throws(() => kept.log.consistency(2, 1), code('out_of_range'));
    assert.equal(kept.log.tile(0, 0, 0), null);
    assert.equal(kept.log.checkpointAt(3), null, 'no checkpoint of this size was published');
  });

  it('reports the acknowledged and the published size', () => {
    const {
      size: all,
      published_size,
      waiting,
      oldest_waiting_ms,
      writable,
      keys_in_map,
    } = kept.log.health();
    assert.deepEqual(
      [all, published_size, waiting, writable],
      [kept.log.size(), size, kept.log.size() - size, true],
    );
    assert.equal(oldest_waiting_ms, 0);
    // 100 cases and the type; the chain "late" is not published.
    assert.equal(keys_in_map, 101);
  });
});

describe('reader: ids', () => {
  it(
    'finds an entry whose members contain other ids',
    withLog(async (kept) => {
      await kept.log.declare([
        {
          name: 'gate.about.v1',
          schema: {
            type: 'object',
            properties: { about: { type: 'object', properties: { entry_id: {} } } },
          },
          keys: [],
        },
      ]);
      const [first] = await kept.append(note('a'));
      for (let i = 0; i < 5; i += 1) {
        await kept.append({
          type: 'gate.about.v1',
          members: { about: { entry_id: first!.entry_id } },
          private: { entry_id: 'x' },
        });
      }
      kept.check();
    }),
  );
});

describe('reader: rows', () => {
  it(
    'of a prefix are returned in order, after a key, in both directions, up to a limit',
    withLog(async (kept) => {
      const names = ['a', 'a:1', 'b', 'ba', 'c', 'd'];
      await kept.append(...names.map((name) => note(name)));
      const rows = async (...args: Parameters<typeof kept.log.rows>): Promise<string[]> =>
        (await kept.log.rows(...args)).map(([key]) => key);
      const all = names.map((name) => `gate/case/${name}`);
      assert.deepEqual(await rows('gate/case/'), all);
      assert.deepEqual(await rows('gate/case/', { reverse: true }), [...all].reverse());
      assert.deepEqual(await rows('gate/case/b'), all.slice(2, 4));
      assert.deepEqual(await rows('gate/case/', { limit: 2 }), all.slice(0, 2));
      assert.deepEqual(await rows('gate/case/', { limit: 2, reverse: true }), [all[5], all[4]]);
      for (const [i, after] of all.entries()) {
        assert.deepEqual(await rows('gate/case/', { after }), all.slice(i + 1));
        assert.deepEqual(
          await rows('gate/case/', { after, reverse: true }),
          all.slice(0, i).reverse(),
        );
        assert.deepEqual(await rows('gate/case/', { after, limit: 1 }), all.slice(i + 1, i + 2));
      }
      assert.deepEqual(await rows('gate/case/', { after: 'gate/case/b0' }), all.slice(3));
      assert.deepEqual(await rows('gate/casf'), []);
      assert.deepEqual(await rows('gat/'), []);
      const [[, value] = ['', null]] = await kept.log.rows('gate/case/c');
      assert.deepEqual(value, kept.log.row('gate/case/c'));
    }),
  );

  it(
    'do not include those of other key spaces',
    withLog(async (kept) => {
      await kept.log.putAttached([
        { key: 'gate/case/x', value: Buffer.from('attached') },
        { key: 'idem/1', value: Buffer.from('1') },
        { key: 'idem/2', value: Buffer.from('2') },
        { key: 'idem/3', value: Buffer.from('3') },
      ]);
      assert.deepEqual(await kept.log.rows(''), []);
      assert.equal(kept.log.row('gate/case/x'), undefined);
      const attached = async (...args: Parameters<typeof kept.log.attachedRows>) =>
        (await kept.log.attachedRows(...args)).map(([key, value]) => [
          key,
          Buffer.from(value).toString(),
        ]);
      assert.deepEqual(await attached('idem/', { after: 'idem/1', limit: 1 }), [['idem/2', '2']]);
      await kept.log.putAttached([{ key: 'idem/2', value: null }]);
      assert.deepEqual(await attached('idem/'), [
        ['idem/1', '1'],
        ['idem/3', '3'],
      ]);
    }),
  );

  it(
    'may be limited to none, and refuse an invalid limit',
    withLog(async (kept) => {
      await kept.append(note('a'));
      assert.deepEqual(await kept.log.rows('gate/', { limit: 0 }), []);
      for (const limit of [-1, 0.5, NaN]) {
        await assert.rejects(kept.log.rows('gate/', { limit }), LogError);
        await assert.rejects(kept.log.attachedRows('idem/', { limit }), LogError);
      }
    }),
  );
});
