// The search index compared with a scan of all entries.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import fc from 'fast-check';
import { pino } from 'pino';
import { SearchIndex, statementAt } from '../../gateway/search.ts';
import type { SearchQuery } from '../../gateway/search.ts';
import type { EntryType } from '../../log/index.ts';
import { openTestLog } from '../support/open-test-log.ts';
import type { TestLog } from '../support/open-test-log.ts';

const OUTCOMES = ['PERMIT', 'a/b~c', 'ünï'];

const JUDGED: EntryType = {
  name: 'demo.judged.v1',
  schema: { type: 'object', properties: { outcome: { type: 'string', enum: OUTCOMES } } },
  keys: [],
};
const logger = pino({ level: 'silent' });

describe('gateway/search', () => {
  let test: TestLog;
  let folder = '';
  let index: SearchIndex;

  async function indexed(): Promise<void> {
    const running = index.start({ uptimeMs: () => performance.now() });
    while (index.indexed(test.log) < test.log.published().size) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await running.close();
  }

  async function append(count: number): Promise<void> {
    const drafts = Array.from({ length: count }, (_, n) => {
      const outcome = OUTCOMES[n % 5];
      return { type: JUDGED.name, members: outcome === undefined ? {} : { outcome } };
    });
    for (let n = 0; n < count; n += 50) await test.log.append(drafts.slice(n, n + 50));
    await test.publish();
  }

  before(async () => {
    test = await openTestLog({ types: [JUDGED] });
    folder = await mkdtemp(join(tmpdir(), 'actlog-search-'));
    // More than two slices in one step, then a short one.
    await append(450);
    index = await SearchIndex.open(folder, [test.log], logger);
    await indexed();
    await append(30);
    await indexed();
  });
  after(async () => {
    await index.close();
    await test.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** All pages of a search. */
  async function all(query: SearchQuery): Promise<readonly number[]> {
    const found: number[] = [];
    for (let before: number | null = query.before; before !== null;) {
      const page = await index.search(test.log, { ...query, before });
      assert.ok(page.indexes.length <= query.limit);
      found.push(...page.indexes);
      ({ before } = page);
    }
    return found;
  }

  function read({ facets, before, from }: SearchQuery): readonly number[] {
    const { size } = test.log.published();
    const indexes = Array.from({ length: Math.min(size, before) }, (_, i) => i).slice(from);
    const has = (at: number): boolean => {
      const { type, outcome } = statementAt(test.log, at);
      return (
        (facets.type ?? type) === type &&
        (facets.outcome === undefined || facets.outcome === outcome)
      );
    };
    return indexes.filter(has).reverse();
  }

  it('finds the same entries as a scan, page by page', async () => {
    const { size } = test.log.published();
    const place = fc.integer({ min: 0, max: size + 5 });
    const facets = fc.record(
      {
        type: fc.constantFrom('demo.judged.v1', 'log.open.v1', 'none.v1'),
        outcome: fc.constantFrom(...OUTCOMES, 'PERM'),
      },
      { requiredKeys: [] },
    );
    const queries = fc.record({
      ...{ facets, before: place, from: place },
      limit: fc.integer({ min: 1, max: 120 }),
    });
    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        assert.deepEqual(await all(query), read(query));
      }),
      { numRuns: 60 },
    );
  });

  it('lists the values of a facet', async () => {
    assert.deepEqual([...(await index.values(test.log, 'outcome'))].sort(), [...OUTCOMES].sort());
  });

  it('continues after a restart, and rebuilds an index of another form', async () => {
    await index.close();
    index = await SearchIndex.open(folder, [test.log], logger);
    assert.equal(index.indexed(test.log), test.log.published().size);
    await index.close();
    const db = new ClassicLevel(folder);
    const key = '!live/1';
    const mark = JSON.parse((await db.get(key)) ?? '') as Readonly<Record<string, unknown>>;
    await db.put(key, JSON.stringify({ next: mark['next'], leaf: mark['leaf'] }));
    await db.close();
    index = await SearchIndex.open(folder, [test.log], logger);
    assert.equal(index.indexed(test.log), 0);
    await indexed();
    const query = { facets: { outcome: 'PERMIT' }, before: Infinity, from: 0, limit: 50 };
    assert.deepEqual(await all(query), read(query));
  });
});
