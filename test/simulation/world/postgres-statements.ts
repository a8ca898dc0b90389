// The statements that the product sends to PostgreSQL, by their meaning. The text of a statement must be one of these, so
// that a changed product fails until the change is made here too; test/simulation/postgres.test.ts compares them with a
// real PostgreSQL.
//
// A statement reads the tables and says what it answers, what it changes and which rows it locks. The server
// (postgres.ts) decides when the changes are committed.

import {
  bytes,
  deleteRounds,
  deleteSnapshots,
  forget,
  insertPart,
  insertRound,
  LEASE,
  setLease,
  setRegister,
  setSecret,
  text,
} from './postgres-changes.ts';
import type { Values } from './postgres-changes.ts';
import { max } from './postgres-tables.ts';
import type { Change, Lock, SnapshotRow, Tables } from './postgres-tables.ts';

type Answer = readonly Readonly<Record<string, unknown>>[];

/** What a statement does. */
export interface Effect {
  readonly rows: Answer;
  readonly changes?: readonly Change[];
  readonly locks?: readonly Lock[];
}

export interface Statement {
  /** Its name for faults and traces; null for those that no fault aims at. */
  readonly name: string | null;
  readonly run: (tables: Tables, values: Values, now_ms: number) => Effect;
}

const list = (value: unknown): readonly unknown[] => value as readonly unknown[];
/** `bigint` comes as text. */
const big = (value: number | null): string | null => (value === null ? null : String(value));

/** The rows of the CTE `held`: they lock the lease. */
function held(tables: Tables, epoch: unknown): { readonly rows: 0 | 1; readonly locks: Lock[] } {
  if (tables.lease?.epoch !== Number(epoch)) return { rows: 0, locks: [] };
  return { rows: 1, locks: [{ row: LEASE, mode: 'share' }] };
}

const HELD = 'held AS (SELECT 1 FROM actlog_lease WHERE epoch = $1 FOR SHARE)';
const COUNTS =
  'SELECT (SELECT count(*) FROM held) AS held, (SELECT count(*) FROM changed) AS changed';

/** Changes that are made only while the lease has an epoch. */
function whileHeld(tables: Tables, epoch: unknown, changes: () => Change[]): Effect {
  const { rows, locks } = held(tables, epoch);
  return { rows: [], changes: rows === 1 ? changes() : [], locks };
}

/** The answer of a change of the register, which counts what it did. */
function changed(tables: Tables, epoch: unknown, changes: (held: boolean) => Change[]): Effect {
  const { rows, locks } = held(tables, epoch);
  const made = changes(rows === 1);
  return { rows: [{ held: String(rows), changed: String(made.length) }], changes: made, locks };
}

const STATEMENTS: readonly (readonly [sql: string, name: string | null, run: Statement['run']])[] =
  [
    // The lease (log/store/postgres.ts).
    [
      `INSERT INTO actlog_lease AS lease (id, epoch, holder, address, expires_at)
     VALUES (1, 1, $1, $2, clock_timestamp() + $3 * interval '1 millisecond')
     ON CONFLICT (id) DO UPDATE SET epoch = lease.epoch + 1, holder = excluded.holder,
       address = excluded.address, expires_at = excluded.expires_at
     WHERE lease.expires_at <= clock_timestamp() OR lease.holder = excluded.holder RETURNING epoch`,
      'take the lease',
      ({ lease }, [holder, address, lease_ms], now_ms) => {
        // The row is locked whether it is updated or not.
        const locks: Lock[] = [{ row: LEASE, mode: 'update' }];
        if (lease !== null && lease.expires_ms > now_ms && lease.holder !== holder) {
          return { rows: [], locks };
        }
        const epoch = (lease?.epoch ?? 0) + 1;
        const next = { epoch, holder: text(holder), address: text(address) };
        const change = setLease({ ...next, expires_ms: now_ms + Number(lease_ms) });
        return { rows: [{ epoch: String(epoch) }], changes: [change], locks };
      },
    ],
    [
      `UPDATE actlog_lease SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
     WHERE epoch = $1 RETURNING epoch`,
      'renew the lease',
      ({ lease }, [epoch, lease_ms], now_ms) => {
        if (lease?.epoch !== Number(epoch)) return { rows: [] };
        const change = setLease({ ...lease, expires_ms: now_ms + Number(lease_ms) });
        return { rows: [{ epoch: String(lease.epoch) }], changes: [change] };
      },
    ],
    [
      'UPDATE actlog_lease SET expires_at = clock_timestamp() WHERE epoch = $1',
      null,
      ({ lease }, [epoch], now_ms) =>
        lease?.epoch === Number(epoch)
          ? { rows: [], changes: [setLease({ ...lease, expires_ms: now_ms })] }
          : { rows: [] },
    ],
    [
      'SELECT address FROM actlog_lease',
      null,
      ({ lease }) => ({ rows: lease === null ? [] : [{ address: lease.address }] }),
    ],
    [
      'SELECT 1 FROM actlog_lease WHERE epoch = $1',
      null,
      ({ lease }, [epoch]) => ({
        rows: lease?.epoch === Number(epoch) ? [{ '?column?': 1 }] : [],
      }),
    ],
    [
      `SELECT epoch, holder, address, extract(epoch FROM expires_at - clock_timestamp()) * 1000 AS left_ms
     FROM actlog_lease`,
      null,
      ({ lease }, _values, now_ms) => ({
        rows:
          lease === null
            ? []
            : [
                {
                  epoch: String(lease.epoch),
                  holder: lease.holder,
                  address: lease.address,
                  left_ms: String(lease.expires_ms - now_ms),
                },
              ],
      }),
    ],
    [
      'UPDATE actlog_lease SET epoch = epoch + 1, expires_at = clock_timestamp()',
      null,
      ({ lease }, _values, now_ms) => {
        const ended = lease && setLease({ ...lease, epoch: lease.epoch + 1, expires_ms: now_ms });
        return { rows: [], changes: ended === null ? [] : [ended] };
      },
    ],

    // The register (log/store/postgres-register.ts).
    [
      'SELECT name FROM actlog_register ORDER BY name',
      null,
      ({ register }) => ({ rows: [...register.keys()].sort().map((name) => ({ name })) }),
    ],
    [
      'SELECT value FROM actlog_register WHERE name = $1',
      null,
      ({ register }, [name]) => {
        const value = register.get(text(name));
        return { rows: value === undefined ? [] : [{ value }] };
      },
    ],
    [
      `WITH ${HELD}, changed AS (
       INSERT INTO actlog_register (name, value) SELECT $2, $3 FROM held ON CONFLICT DO NOTHING RETURNING 1
     ) ${COUNTS}`,
      'advance the register',
      (tables, [epoch, name, value]) =>
        changed(tables, epoch, (leads) =>
          leads && !tables.register.has(text(name)) ? [setRegister(text(name), text(value))] : [],
        ),
    ],
    [
      `WITH ${HELD}, changed AS (
       UPDATE actlog_register SET value = $3 WHERE name = $2 AND value = $4 AND EXISTS (SELECT 1 FROM held)
       RETURNING 1
     ) ${COUNTS}`,
      'advance the register',
      (tables, [epoch, name, value, before]) =>
        changed(tables, epoch, (leads) =>
          leads && tables.register.get(text(name)) === before
            ? [setRegister(text(name), text(value))]
            : [],
        ),
    ],
    [
      "DELETE FROM actlog_register WHERE name IN ('gateway', 'private', 'folder')",
      null,
      ({ register }) => ({
        rows: [],
        changes: ['gateway', 'private', 'folder']
          .filter((name) => register.has(name))
          .map((name) => setRegister(name, null)),
      }),
    ],

    // Rounds (log/cluster/database.ts).
    [
      `WITH ${HELD}
     INSERT INTO actlog_round (stream, seq, epoch, digest, batch)
     SELECT $2, $3::bigint, $1::bigint, $4, $5 FROM held
     WHERE coalesce((SELECT sealed FROM actlog_secret WHERE name = 'mark'), '') = ANY($7::bytea[])
       AND ($3::bigint = 1 OR EXISTS (
         SELECT 1 FROM actlog_round WHERE stream = $2 AND seq = $3::bigint - 1 AND digest = $6))
     RETURNING seq`,
      'commit a round',
      (tables, [epoch, stream, seq, digest, batch, before, marks]) => {
        const { rows, locks } = held(tables, epoch);
        const mark = tables.secrets.get('mark') ?? Buffer.alloc(0);
        const marked = list(marks).some((one) => mark.equals(bytes(one)));
        const last = tables.of(text(stream)).get(Number(seq) - 1);
        const follows = Number(seq) === 1 || last?.digest.equals(bytes(before)) === true;
        if (rows === 0 || !marked || !follows) return { rows: [], locks };
        const change = insertRound(tables, [stream, seq, epoch, digest, batch]);
        return { rows: [{ seq: text(seq) }], changes: [change], locks };
      },
    ],
    [
      'INSERT INTO actlog_round (stream, seq, epoch, digest, batch) VALUES ($1, $2, $3, $4, $5)',
      'give a round back',
      (tables, values) => ({ rows: [], changes: [insertRound(tables, values)] }),
    ],
    [
      'SELECT digest FROM actlog_round WHERE stream = $1 AND seq = $2',
      null,
      (tables, [stream, seq]) => {
        const found = tables.of(text(stream)).get(Number(seq));
        return { rows: found === undefined ? [] : [{ digest: found.digest }] };
      },
    ],
    [
      'SELECT seq, epoch, digest, batch FROM actlog_round WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3',
      null,
      (tables, [stream, from, limit]) => ({
        rows: [...tables.of(text(stream)).values()]
          .filter(({ seq }) => seq > Number(from))
          .sort((a, b) => a.seq - b.seq)
          .slice(0, Number(limit))
          .map(({ seq, epoch, digest, batch }) => ({
            seq: String(seq),
            epoch: String(epoch),
            digest,
            batch,
          })),
      }),
    ],
    [
      'SELECT seq, digest FROM actlog_round WHERE stream = $1 ORDER BY seq DESC LIMIT 1',
      null,
      (tables, [stream]) => {
        const last = tables.last(text(stream));
        const found = last === null ? undefined : tables.of(text(stream)).get(last);
        return {
          rows: found === undefined ? [] : [{ seq: String(found.seq), digest: found.digest }],
        };
      },
    ],
    [
      `SELECT s.name, greatest(last.seq, (SELECT max(seq) FROM actlog_snapshot p WHERE p.stream = s.name)) AS last,
       common.seq, common.digest
     FROM unnest($1::text[], $2::bigint[]) AS s(name, seq)
     LEFT JOIN LATERAL (
       SELECT seq FROM actlog_round r WHERE r.stream = s.name ORDER BY seq DESC LIMIT 1) last ON true
     LEFT JOIN LATERAL (
       SELECT seq, digest FROM actlog_round r WHERE r.stream = s.name AND r.seq <= s.seq
       ORDER BY seq DESC LIMIT 1) common ON true`,
      null,
      (tables, [names, seqs]) => ({
        rows: list(names).map((name, at) => {
          const stream = text(name);
          const own = Number(list(seqs)[at]);
          const seq = max([...tables.of(stream).keys()].filter((one) => one <= own));
          const digest = tables.of(stream).get(seq ?? 0)?.digest ?? null;
          const last = max([tables.last(stream), tables.snapshot(stream)]);
          return { name: stream, last: big(last), seq: big(seq), digest };
        }),
      }),
    ],
    [
      `SELECT stream, count(*) AS rounds, coalesce(sum(octet_length(batch)), 0) AS bytes
     FROM actlog_round GROUP BY stream ORDER BY stream`,
      null,
      (tables) => ({
        rows: [...tables.rounds]
          .filter(([, rounds]) => rounds.size > 0)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([stream, rounds]) => {
            const sum = [...rounds.values()].reduce((bytes, { batch }) => bytes + batch.length, 0);
            return { stream, rounds: String(rounds.size), bytes: String(sum) };
          }),
      }),
    ],
    [
      `SELECT stream, address, seq FROM actlog_seen s WHERE seq > coalesce(
       (SELECT max(seq) FROM actlog_round r WHERE r.stream = s.stream), 0)
     AND seq > coalesce((SELECT max(seq) FROM actlog_snapshot p WHERE p.stream = s.stream), 0)`,
      null,
      (tables) => ({
        rows: [...tables.seen.values()]
          .filter(
            ({ stream, seq }) =>
              seq > (tables.last(stream) ?? 0) && seq > (tables.snapshot(stream) ?? 0),
          )
          .map(({ stream, address, seq }) => ({ stream, address, seq: String(seq) })),
      }),
    ],
    [
      `INSERT INTO actlog_seen (stream, address, seq) VALUES ($1, $2, $3)
     ON CONFLICT (stream, address) DO UPDATE SET seq = greatest(actlog_seen.seq, excluded.seq)`,
      null,
      ({ seen }, [stream, address, seq]) => {
        const key = JSON.stringify([stream, address]);
        const known = seen.get(key)?.seq ?? 0;
        const row = {
          stream: text(stream),
          address: text(address),
          seq: Math.max(known, Number(seq)),
        };
        return {
          rows: [],
          changes: [
            {
              row: `seen/${key}`,
              apply(tables) {
                tables.seen.set(key, row);
              },
            },
          ],
        };
      },
    ],
    [
      'DELETE FROM actlog_seen WHERE address = $1',
      null,
      ({ seen }, [address]) => ({
        rows: [],
        changes: [...seen].filter(([, row]) => row.address === address).map(([key]) => forget(key)),
      }),
    ],
    [
      `WITH ${HELD} DELETE FROM actlog_round WHERE EXISTS (SELECT 1 FROM held)`,
      'clear a table',
      (tables, [epoch]) =>
        whileHeld(tables, epoch, () =>
          [...tables.rounds.keys()].flatMap((stream) => deleteRounds(tables, stream, Infinity)),
        ),
    ],
    [
      `WITH ${HELD} DELETE FROM actlog_seen WHERE EXISTS (SELECT 1 FROM held)`,
      'clear a table',
      (tables, [epoch]) => whileHeld(tables, epoch, () => [...tables.seen.keys()].map(forget)),
    ],

    // Snapshots (log/cluster/snapshots.ts).
    [
      'INSERT INTO actlog_snapshot (stream, id, part, seq, rows) VALUES ($1, $2, $3, NULL, $4)',
      'write a snapshot',
      (tables, [stream, id, part, rows]) => ({
        rows: [],
        changes: [insertPart(tables, [stream, id, part, null, rows])],
      }),
    ],
    [
      `WITH ${HELD}
       INSERT INTO actlog_snapshot (stream, id, part, seq, rows) SELECT $2, $3::bigint, 0, $4::bigint, $5 FROM held
       WHERE $4::bigint = 0 OR EXISTS (
         SELECT 1 FROM actlog_round WHERE stream = $2 AND seq = $4::bigint AND digest = $6)
       RETURNING seq`,
      'write a snapshot',
      (tables, [epoch, stream, id, seq, rows, digest]) => {
        const lease = held(tables, epoch);
        const round = tables.of(text(stream)).get(Number(seq));
        const there = Number(seq) === 0 || round?.digest.equals(bytes(digest)) === true;
        if (lease.rows === 0 || !there) return { rows: [], locks: lease.locks };
        const change = insertPart(tables, [stream, id, 0, seq, rows]);
        return { rows: [{ seq: text(seq) }], changes: [change], locks: lease.locks };
      },
    ],
    [
      'SELECT rows FROM actlog_snapshot WHERE stream = $1 AND id = $2 AND part = $3',
      null,
      ({ snapshots }, [stream, id, part]) => {
        const found = snapshots.get(JSON.stringify([stream, Number(id), Number(part)]));
        return { rows: found === undefined ? [] : [{ rows: found.rows }] };
      },
    ],
    [
      'SELECT id, rows FROM actlog_snapshot WHERE stream = $1 AND part = 0 ORDER BY seq DESC, id DESC LIMIT 1',
      null,
      (tables, [stream]) => {
        const one = tables.headers(text(stream)).slice(0, 1);
        return { rows: one.map(({ id, rows }) => ({ id: String(id), rows })) };
      },
    ],
    [
      'SELECT id, seq FROM actlog_snapshot WHERE stream = $1 AND part = 0 ORDER BY seq DESC, id DESC LIMIT 2',
      null,
      (tables, [stream]) => {
        const two = tables.headers(text(stream)).slice(0, 2);
        return { rows: two.map(({ id, seq }) => ({ id: String(id), seq: big(seq) })) };
      },
    ],
    [
      `WITH ${HELD} DELETE FROM actlog_snapshot
       WHERE stream = $2 AND NOT (id = ANY($3)) AND EXISTS (SELECT 1 FROM held)`,
      null,
      (tables, [epoch, stream, ids]) => {
        const kept = new Set(list(ids).map(Number));
        const gone = (row: SnapshotRow): boolean => row.stream === stream && !kept.has(row.id);
        return whileHeld(tables, epoch, () => deleteSnapshots(tables, gone));
      },
    ],
    [
      `WITH ${HELD} DELETE FROM actlog_snapshot WHERE EXISTS (SELECT 1 FROM held)`,
      'clear a table',
      (tables, [epoch]) => whileHeld(tables, epoch, () => deleteSnapshots(tables, () => true)),
    ],
    [
      `DELETE FROM actlog_round WHERE stream = $1 AND seq <= $2
     AND seq < (SELECT max(seq) FROM actlog_round WHERE stream = $1)`,
      null,
      (tables, [stream, seq]) => {
        const last = tables.last(text(stream)) ?? 0;
        const upTo = Math.min(Number(seq), last - 1);
        return { rows: [], changes: deleteRounds(tables, text(stream), upTo) };
      },
    ],

    // Secrets (log/cluster/secrets.ts).
    [
      'INSERT INTO actlog_secret (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      null,
      ({ secrets }, [name, sealed]) => ({
        rows: [],
        changes: secrets.has(text(name)) ? [] : [setSecret(text(name), bytes(sealed))],
      }),
    ],
    [
      'SELECT sealed FROM actlog_secret WHERE name = $1',
      null,
      ({ secrets }, [name]) => {
        const sealed = secrets.get(text(name));
        return { rows: sealed === undefined ? [] : [{ sealed }] };
      },
    ],
    [
      'SELECT name, sealed FROM actlog_secret WHERE starts_with(name, $1) ORDER BY name',
      null,
      ({ secrets }, [prefix]) => ({
        rows: [...secrets]
          .filter(([name]) => name.startsWith(text(prefix)))
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, sealed]) => ({ name, sealed })),
      }),
    ],
    [
      `WITH ${HELD}
     INSERT INTO actlog_secret (name, sealed) SELECT s.name, s.sealed
     FROM unnest($2::text[], $3::bytea[]) AS s(name, sealed), held
     ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed RETURNING 1`,
      'put a secret',
      (tables, [epoch, names, sealed]) => {
        const { rows, locks } = held(tables, epoch);
        if (rows === 0) return { rows: [] };
        const changes = list(names).map((name, at) =>
          setSecret(text(name), bytes(list(sealed)[at])),
        );
        return { rows: changes.map(() => ({ '?column?': 1 })), changes, locks };
      },
    ],
    [
      `WITH ${HELD}, gone AS (
       DELETE FROM actlog_secret WHERE name = ANY($2::text[]) AND EXISTS (SELECT 1 FROM held) RETURNING 1
     ) SELECT count(*) AS held FROM held`,
      'delete a secret',
      (tables, [epoch, names]) => {
        const { rows, locks } = held(tables, epoch);
        const gone = rows === 0 ? [] : list(names).map(text);
        return {
          rows: [{ held: String(rows) }],
          changes: gone
            .filter((name) => tables.secrets.has(name))
            .map((name) => setSecret(name, null)),
          locks,
        };
      },
    ],
  ];

const known = new Map<string, Statement>(
  STATEMENTS.map(([sql, name, run]) => [normal(sql), { name, run }]),
);

/** The text of a statement with single spaces. */
export function normal(sql: string): string {
  return sql.replace(/\s+/gu, ' ').trim();
}

/**
 * The meaning of a statement.
 *
 * @param sql with single spaces
 * @throws Error if the product sent no such statement when this file was written
 */
export function statementOf(sql: string): Statement {
  const statement = known.get(sql);
  if (statement === undefined) throw new Error(`the simulated PostgreSQL does not know: ${sql}`);
  return statement;
}

/** The texts of all statements, with single spaces. */
export const statementTexts = (): readonly string[] => [...known.keys()];
