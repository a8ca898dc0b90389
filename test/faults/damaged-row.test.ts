// One flipped bit in one row of each kind, below the checksums of LevelDB: every operation that depends on the row
// fails with store_corrupt. No wrong answer is given and nothing wrong is signed. log/store/layout.ts.

import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { fsck } from '../../log/operate/fsck/fsck.ts';
import { LogError } from '../../log/index.ts';
import { KeptLog, note, NOTE } from '../log/write/kept-log.ts';
import { copyUnnoticed } from '../support/copy-unnoticed.ts';

type Level = ClassicLevel<Uint8Array, Uint8Array>;
const RAW = { keyEncoding: 'view', valueEncoding: 'view' } as const;
const CASE = ['gate.case', 'a'];

/** The operations of a log, with results as comparable text. */
type Act = (kept: KeptLog) => unknown;

const ACTS: Readonly<Record<string, Act>> = {
  entries: ({ log }) => Array.from({ length: 8 }, (_, index) => log.entry(index)),
  notes: ({ log }) => [2, 8].map((size) => log.checkpointAt(size)),
  row: ({ log }) => log.row('gate/case/a'),
  rows: ({ log }) => log.rows('gate/'),
  attached: ({ log }) => Array.from(log.attached('kept') ?? []),
  tile: ({ log }) => Array.from(log.tile(0, 0, 4) ?? []),
  inclusion: ({ log }) => log.inclusion(1, log.published().size).map((hash) => Array.from(hash)),
  'index of an entry': ({ log }) => log.indexOfHash(log.leafHash(3)),
  lookup: async ({ log }) => {
    const to_ms = log.published().map_head_ms;
    return log.lookup({ key: CASE, from_ms: to_ms - 60_000, to_ms });
  },
  append: async (kept) => (await kept.append(note('a')))[0]?.links,
};

async function outcome(kept: KeptLog, act: Act): Promise<string> {
  try {
    return JSON.stringify([await act(kept)]);
  } catch (error) {
    assert.ok(error instanceof LogError, String(error));
    return error.code;
  }
}

async function allOutcomes(kept: KeptLog): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [name, act] of Object.entries(ACTS)) found.set(name, await outcome(kept, act));
  return found;
}

describe('a flipped bit in a row', function () {
  this.timeout(240_000);
  let kept: KeptLog;
  let db: string;
  let good: string;
  let expected: ReadonlyMap<string, string>;
  const letters: string[] = [];

  /** Restores the undamaged database, with one bit flipped in a row under this letter. */
  async function damage(letter: string): Promise<void> {
    // Each attempt continues from the same state, with its own notes.
    kept.notes.clear();
    await rm(kept.folder, { recursive: true });
    await copyUnnoticed(good, kept.folder);
    const level: Level = new ClassicLevel(db, RAW);
    await level.open();
    const rows = await level
      .iterator({ gte: Buffer.from(letter), lt: Buffer.from([letter.charCodeAt(0) + 1]) })
      .all();
    for (const [key, value] of rows) {
      const bent = Buffer.from(value);
      bent[bent.length >> 1]! ^= 1;
      await level.put(key, bent);
    }
    await level.close();
  }

  before(async () => {
    kept = await KeptLog.open();
    await kept.append(note('a'), note('b'));
    await kept.log.append([note('a')], {
      attach: () => [{ key: 'kept', value: Uint8Array.of(1, 2, 3) }],
    });
    assert.equal(await kept.publish(), 8);
    db = join(kept.folder, 'live', '1', 'db');
    good = `${kept.folder}.good`;
    await kept.stop();
    await cp(kept.folder, good, { recursive: true });
    const level: Level = new ClassicLevel(db, RAW);
    for await (const key of level.keys()) {
      const letter = String.fromCharCode(key[0] ?? 0);
      if (!letters.includes(letter)) letters.push(letter);
    }
    await level.close();
    await kept.start();
    expected = await allOutcomes(kept);
    await kept.stop();
  });

  after(async () => {
    await rm(good, { recursive: true, force: true });
    await rm(kept.folder, { recursive: true, force: true });
  });

  it('is reported by every operation that depends on it, for every kind of row', async () => {
    assert.deepEqual(letters.sort(), 'acehklmprt'.split(''), 'every kind of row is there');
    for (const letter of letters) {
      await damage(letter);
      const refused = await kept.start().then(
        () => null,
        (error: unknown) => {
          assert.ok(error instanceof LogError, String(error));
          return error.code;
        },
      );
      let named = refused !== null;
      if (refused === null) {
        for (const [name, found] of await allOutcomes(kept)) {
          const what = `${name} after damage of ${letter}`;
          if (found === 'store_corrupt' || found === 'log_unavailable') named = true;
          else assert.equal(found, expected.get(name), what);
        }
        await kept.stop().catch((error: unknown) => assert.ok(error instanceof LogError));
      } else {
        assert.ok(['store_corrupt', 'log_rolled_back'].includes(refused), `${letter}: ${refused}`);
      }
      if (named) continue;
      await damage(letter);
      const folder = join(kept.folder, 'live', '1');
      const result = await fsck({ folder, types: [NOTE] }).catch((error: unknown) => {
        assert.ok(error instanceof LogError, String(error));
        return { count: 1 };
      });
      assert.ok(result.count > 0, `fsck names the damage of ${letter}`);
    }
  });
});
