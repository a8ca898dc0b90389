// A watch sees the entries of every tenant after its declaration, may refuse new ones, and its rows are a function of
// the log.

import assert from 'node:assert/strict';
import { fsck } from '../../../log/operate/fsck/fsck.ts';
import { reindex } from '../../../log/operate/reindex.ts';
import { LogError } from '../../../log/index.ts';
import type { EntryType, RowReader } from '../../../log/index.ts';
import { DEMO_ACT } from '../../support/demo-types.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';

const TENANT = 'A'.repeat(21) + 'A';
const OTHER = 'B'.repeat(21) + 'A';
const LIMIT = 40;

const countOf = (rows: RowReader, tenant: string): number =>
  (rows.get(`meter/${tenant}`) as number | undefined) ?? 0;

/** Counts the entries of each tenant and records them; the limit applies to tenant B only. */
const METER: EntryType = {
  name: 'meter.mark.v1',
  schema: { type: 'object', properties: {}, additionalProperties: false },
  keys: [],
  watch: {
    admit({ statement }, rows) {
      if (statement['tenant_ref'] === OTHER && countOf(rows, OTHER) >= LIMIT) {
        throw new LogError('log_busy', 'the limit is reached');
      }
    },
    project({ statement, type, index }, rows) {
      const tenant = statement['tenant_ref'] as string;
      rows.put(`meter/${tenant}`, countOf(rows, tenant) + 1);
      // The type of the entry has projected its own rows before.
      rows.put(`meter/at/${String(index)}`, { type, last: rows.get('demo/last') ?? null });
    },
  },
};

const TYPES = [DEMO_ACT, METER];
const act = (n: number, tenant_ref: string) => ({
  type: DEMO_ACT.name,
  tenant_ref,
  members: { n },
});

describe('a watch', () => {
  let test: TestLog;

  beforeEach(async () => {
    test = await openTestLog({ types: [DEMO_ACT] });
    await test.log.registerTenant(TENANT, '0'.repeat(64));
    await test.log.append([act(0, TENANT)]);
    await test.log.declare(TYPES);
    await test.log.registerTenant(OTHER, '1'.repeat(64));
  });
  afterEach(() => test.close());

  it('sees entries of tenants after its declaration, after their own projection', async () => {
    const [seen] = await test.log.append([
      { ...act(1, TENANT), members: { n: 1, case_id: 'a' } },
      { type: 'astl.entity.v1', tenant_ref: TENANT, members: { entity: 'acme', action: 'claim' } },
    ]);
    await test.log.append([{ type: DEMO_ACT.name, members: { n: 2 } }]);
    await test.publish();
    assert.equal(
      test.log.row(`meter/${TENANT}`),
      2,
      'neither the act before nor the one without a tenant',
    );
    assert.equal(test.log.row(`meter/${OTHER}`), 1, 'its registration');
    const at = String(seen?.index);
    assert.deepEqual(test.log.row(`meter/at/${at}`), {
      type: DEMO_ACT.name,
      last: { index: seen?.index },
    });
    await test.stop();
    const { differences } = await fsck({ folder: test.folder, types: TYPES });
    assert.deepEqual(differences, []);
  });

  it('enforces its limit under concurrency, and nothing of a refused group is written', async () => {
    const tries = Array.from({ length: 3 * LIMIT }, (_, n) =>
      test.log.append([act(n, TENANT), act(n, OTHER)]).then(
        () => true,
        (error: unknown) => {
          assert.ok(error instanceof LogError && error.code === 'log_busy');
          return false;
        },
      ),
    );
    const taken = (await Promise.all(tries)).filter(Boolean).length;
    assert.equal(taken, LIMIT - 1, 'the registration counts');
    assert.equal(test.log.row(`meter/${OTHER}`), LIMIT);
    assert.equal(test.log.row(`meter/${TENANT}`), LIMIT - 1);
  });

  it('is rebuilt by a reindex, also if another plugin is not loaded', async () => {
    await test.log.append(
      Array.from({ length: 30 }, (_, n) => act(n, n % 2 === 0 ? TENANT : OTHER)),
    );
    await test.publish();
    await test.stop();
    for (const types of [TYPES, [METER]]) {
      await reindex({ folder: test.folder, types });
      const { differences } = await fsck({ folder: test.folder, types: TYPES });
      assert.deepEqual(differences, []);
    }
    const { untouched } = await reindex({ folder: test.folder, types: [DEMO_ACT] });
    assert.deepEqual(untouched, ['meter']);
    const again = await openTestLog({ data: test.data, types: TYPES });
    assert.equal(again.log.row(`meter/${TENANT}`), 15);
    await again.log.append([act(1, TENANT)]);
    assert.equal(again.log.row(`meter/${TENANT}`), 16);
    await again.check();
    await again.stop();
  });
});
