// The statements of the simulated PostgreSQL (world/postgres-statements.ts) against a real one: the same random calls have
// the same answers and the same errors.

import assert from 'node:assert/strict';
import pg from 'pg';
import { ClusterDatabase } from '../../log/index.ts';
import { postgresSuite } from '../support/postgres.ts';
import { PostgresError } from './world/postgres-changes.ts';
import { statementOf, statementTexts } from './world/postgres-statements.ts';
import { Tables } from './world/postgres-tables.ts';
import { Random } from './world/random.ts';

const CALLS = 3000;

/** Draws the value of a parameter: from few values, so that statements meet the rows of others. */
const VALUES = {
  holder: (random) => `00000000-0000-4000-8000-00000000000${String(random.int(3))}`,
  address: (random) => `http://node${String(random.int(3))}.example`,
  // Long, or over when it begins: the clocks of the two differ by milliseconds.
  lease_ms: (random) => random.pick([-60_000, 3_600_000]),
  epoch: (random) => random.between(1, 4),
  register: (random) => random.pick(['gateway', 'live-1', 'folder']),
  value: (random) => `{"n":${String(random.int(3))}}`,
  stream: (random) => random.pick(['gateway', 'live-1']),
  seq: (random) => random.between(1, 6),
  from: (random) => random.int(7),
  limit: (random) => random.between(1, 4),
  bytes: (random) => Buffer.from([random.int(3)]),
  id: (random) => random.between(1, 3),
  part: (random) => random.between(1, 3),
  ids: (random) => [random.between(1, 3), random.between(1, 3)],
  secret: (random) => random.pick(['file/a', 'file/b', 'disclosure/c', 'mark']),
  secrets: (random) =>
    random.pick([
      ['file/a', 'disclosure/c'],
      ['file/b', 'file/a'],
      ['none/d', 'file/b'],
    ]),
  sealed: (random) => [Buffer.from([random.int(3)]), Buffer.from([random.int(3)])],
  marks: (random) => [Buffer.alloc(0), Buffer.from([random.int(3)])],
  prefix: (random) => random.pick(['file/', 'disclosure/', 'x']),
  streams: () => ['gateway', 'live-1', 'none'],
  seqs: (random) => [random.int(7), random.int(7), 0],
} as const satisfies Record<string, (random: Random) => unknown>;

type Parameters = readonly (keyof typeof VALUES)[];

/** The parameters of the statements that begin like this; of several the first one counts. */
const PARAMETERS: readonly (readonly [beginning: string, parameters: Parameters])[] = [
  ['INSERT INTO actlog_lease', ['holder', 'address', 'lease_ms']],
  ['UPDATE actlog_lease SET expires_at = clock_timestamp() + $2', ['epoch', 'lease_ms']],
  ['UPDATE actlog_lease SET epoch', []],
  ['UPDATE actlog_lease', ['epoch']],
  ['SELECT 1 FROM actlog_lease WHERE', ['epoch']],
  ['SELECT value FROM actlog_register', ['register']],
  ['SELECT digest FROM actlog_round', ['stream', 'seq']],
  ['SELECT seq, epoch, digest, batch FROM actlog_round', ['stream', 'from', 'limit']],
  ['SELECT seq, digest FROM actlog_round', ['stream']],
  ['SELECT s.name, greatest', ['streams', 'seqs']],
  ['INSERT INTO actlog_round', ['stream', 'seq', 'epoch', 'bytes', 'bytes']],
  ['INSERT INTO actlog_seen', ['stream', 'address', 'seq']],
  ['DELETE FROM actlog_seen', ['address']],
  [
    'INSERT INTO actlog_snapshot (stream, id, part, seq, rows) VALUES',
    ['stream', 'id', 'part', 'bytes'],
  ],
  ['SELECT rows FROM actlog_snapshot', ['stream', 'id', 'part']],
  ['SELECT id, rows FROM actlog_snapshot', ['stream']],
  ['SELECT id, seq FROM actlog_snapshot', ['stream']],
  ['DELETE FROM actlog_round WHERE', ['stream', 'seq']],
  ['INSERT INTO actlog_secret', ['secret', 'bytes']],
  ['SELECT sealed FROM actlog_secret', ['secret']],
  ['SELECT name, sealed FROM actlog_secret', ['prefix']],
];

const WITH: readonly (readonly [part: string, parameters: Parameters])[] = [
  ['INSERT INTO actlog_register', ['epoch', 'register', 'value']],
  ['UPDATE actlog_register', ['epoch', 'register', 'value', 'value']],
  ['INSERT INTO actlog_round', ['epoch', 'stream', 'seq', 'bytes', 'bytes', 'bytes', 'marks']],
  ['INSERT INTO actlog_snapshot', ['epoch', 'stream', 'id', 'from', 'bytes', 'bytes']],
  ['NOT (id = ANY', ['epoch', 'stream', 'ids']],
  ['INSERT INTO actlog_secret', ['epoch', 'secrets', 'sealed']],
  ['DELETE FROM actlog_secret', ['epoch', 'secrets']],
  ['DELETE FROM', ['epoch']],
];

function parametersOf(sql: string): Parameters {
  const found = sql.startsWith('WITH')
    ? WITH.find(([part]) => sql.includes(part))
    : PARAMETERS.find(([beginning]) => sql.startsWith(beginning));
  if (found !== undefined) return found[1];
  assert.ok(!sql.includes('$'), `the test does not know the parameters of: ${sql}`);
  return [];
}

/** Statements that empty a table, or end a lease, come seldom. */
const seldom = (sql: string): boolean =>
  sql.includes('DELETE FROM') || sql.startsWith('UPDATE actlog_lease');

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Rows as text, sorted if the statement does not sort them. The milliseconds of a lease are rounded. */
function shown(sql: string, rows: Rows): string {
  const texts = rows.map((row) =>
    JSON.stringify(row, (name, value: unknown) =>
      name === 'left_ms' ? Math.round(Number(value) / 1_000_000) : value,
    ),
  );
  const sorted = /ORDER BY [^()]+$/u.test(sql);
  return (sorted ? texts : texts.sort()).join('\n');
}

postgresSuite('the statements of the simulated PostgreSQL', (postgres) => {
  it('answer random calls as PostgreSQL does', async () => {
    const url = await postgres().database();
    const made = await ClusterDatabase.open(url, { address: 'http://node.example' });
    await made.close();
    const client = new pg.Client(url);
    await client.connect();
    const random = new Random('statements');
    const tables = new Tables();
    const texts = statementTexts();
    const called = new Set<string>();
    const answered = new Set<string>();
    try {
      for (let call = 0; call < CALLS; call += 1) {
        const sql = random.pick(texts);
        if (seldom(sql) && random.chance(0.85)) continue;
        const values = parametersOf(sql).map((name) => VALUES[name](random));
        const real = await client.query(sql, values).then(
          ({ rows }) => shown(sql, rows as Rows),
          (error: unknown) => `error ${(error as { code: string }).code}`,
        );
        let own: string;
        try {
          const { rows, changes = [] } = statementOf(sql).run(tables, values, Date.now());
          for (const change of changes) change.apply(tables);
          own = shown(sql, rows);
        } catch (error) {
          if (!(error instanceof PostgresError)) throw error;
          own = `error ${error.code}`;
        }
        assert.equal(own, real, `call ${String(call)}: ${sql} ${JSON.stringify(values)}`);
        called.add(sql);
        if (real !== '') answered.add(sql);
      }
    } finally {
      await client.end();
    }
    assert.equal(called.size, texts.length);
    assert.ok(answered.size > texts.length / 2, `only ${String(answered.size)} had an answer`);
  });
});
