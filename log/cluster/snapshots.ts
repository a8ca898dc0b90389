// Snapshots of a stream in PostgreSQL: all rows after a round, so that a new node need not apply the whole history.
//
// A snapshot has parts of about 2 MiB, numbered from 1. Part 0 is the header; it is written last, so a snapshot without
// it is unfinished and is not read. The two newest snapshots are kept; older ones, and the rounds that the older of the
// two contains, are deleted. The last round stays, because the next one follows it: both snapshots may contain it. A
// snapshot is written only to a database that has its last round, so a database that has lost commits is recognised.
// Only the node that leads finishes and deletes snapshots: another one would delete the parts of an unfinished one.

import { hash, randomInt } from 'node:crypto';
import { decodeBatch, encodeBatch } from './batch.ts';
import type { ClusterDatabase, StreamPosition } from './database.ts';
import type { Replica } from './replica.ts';
import { LogError } from '../errors.ts';
import { HELD } from '../store/postgres.ts';
import { put, type Write } from '../store/store.ts';

const PART_BYTES = 2 * 1024 * 1024;

interface Header {
  readonly seq: number;
  /** Hex of the digest of the history up to the round. */
  readonly digest: string;
  readonly parts: number;
  readonly bytes: number;
  /** Hex of SHA-256 over the SHA-256 of the parts. */
  readonly sum: string;
}

const INSERT_PART =
  'INSERT INTO actlog_snapshot (stream, id, part, seq, rows) VALUES ($1, $2, $3, NULL, $4)';

/** A snapshot that is made before the first round, when a cluster is founded, follows no round. */
const INSERT_HEADER = `
  WITH ${HELD}
  INSERT INTO actlog_snapshot (stream, id, part, seq, rows)
  SELECT $2, $3::bigint, 0, $4::bigint, $5 FROM held
  WHERE $4::bigint = 0 OR EXISTS (
    SELECT 1 FROM actlog_round WHERE stream = $2 AND seq = $4::bigint AND digest = $6)
  RETURNING seq`;

const DELETE_OTHERS = `
  WITH ${HELD}
  DELETE FROM actlog_snapshot
  WHERE stream = $2 AND NOT (id = ANY($3)) AND EXISTS (SELECT 1 FROM held)`;

/**
 * Writes a snapshot of a copy, while it takes further rounds. Returns the number of bytes.
 *
 * @throws LogError `rounds_lost` if this node no longer leads, or if the database does not have the last round of the
 *   snapshot: it has lost commits, and the snapshot would hide that
 */
export async function writeSnapshot(database: ClusterDatabase, replica: Replica): Promise<number> {
  const { stream } = replica;
  // The lease may be lost and taken again while the parts are written.
  const { epoch } = database.lease;
  const id = Date.now() * 1000 + randomInt(1000);
  let position: StreamPosition | null = null;
  let writes: Write[] = [];
  let size = 0;
  let bytes = 0;
  const sums: Buffer[] = [];
  const flush = async (): Promise<void> => {
    const rows = encodeBatch(writes);
    writes = [];
    size = 0;
    bytes += rows.length;
    sums.push(hash('sha256', rows, 'buffer'));
    await database.postgres.once(INSERT_PART, [stream, id, sums.length, rows]);
  };
  for await (const [key, value] of replica.rows((found) => (position = found))) {
    writes.push(put(key, value));
    size += key.length + value.length;
    if (size >= PART_BYTES) await flush();
  }
  if (writes.length > 0) await flush();
  const at = position as StreamPosition | null;
  if (at === null) throw new Error('a copy has a position before a snapshot of it is written');
  const header: Header = {
    seq: at.seq,
    digest: Buffer.from(at.digest).toString('hex'),
    parts: sums.length,
    bytes,
    sum: hash('sha256', Buffer.concat(sums), 'hex'),
  };
  const [rows, digest] = [Buffer.from(JSON.stringify(header)), Buffer.from(at.digest)];
  const values = [epoch, stream, id, at.seq, rows, digest];
  const written = await database.postgres.once(INSERT_HEADER, values);
  if (written.length === 0) {
    const message =
      `this node no longer leads, or the database lacks round ${String(at.seq)} of ${stream}, the last one of a ` +
      'snapshot';
    throw new LogError('rounds_lost', message);
  }
  await trim(database, stream, epoch);
  return bytes;
}

/** The bytes of the newest snapshot of a stream; null if there is none. */
export async function snapshotBytes(
  database: ClusterDatabase,
  stream: string,
): Promise<number | null> {
  return (await newest(database, stream))?.header.bytes ?? null;
}

/**
 * Fills an empty copy from the newest snapshot. Does nothing if there is none.
 *
 * @param progress receives the share of the snapshot that is applied, from 0 to 1
 * @throws LogError `store_corrupt` if a part is missing or damaged, `log_unavailable` if the snapshot was deleted for newer
 *   ones
 */
export async function loadSnapshot(
  database: ClusterDatabase,
  replica: Replica,
  progress: (share: number) => void,
): Promise<void> {
  const { stream } = replica;
  const found = await newest(database, stream);
  if (found === null) return;
  const { id, header } = found;
  const sums: Buffer[] = [];
  for (let part = 1; part <= header.parts; part += 1) {
    const sql = 'SELECT rows FROM actlog_snapshot WHERE stream = $1 AND id = $2 AND part = $3';
    const [row] = await database.postgres.query(sql, [stream, id, part]);
    if (row === undefined) {
      if ((await newest(database, stream))?.id !== id) {
        throw new LogError('log_unavailable', `newer snapshots of ${stream} were made meanwhile`);
      }
      throw new LogError(
        'store_corrupt',
        `part ${String(part)} of a snapshot of ${stream} is missing`,
      );
    }
    const rows = row['rows'] as Buffer;
    sums.push(hash('sha256', rows, 'buffer'));
    await replica.fill(decodeBatch(rows));
    progress(part / header.parts);
  }
  if (hash('sha256', Buffer.concat(sums), 'hex') !== header.sum) {
    throw new LogError(
      'store_corrupt',
      `the snapshot of ${stream} at round ${String(header.seq)} is damaged`,
    );
  }
  await replica.finish({ seq: header.seq, digest: Buffer.from(header.digest, 'hex') });
}

async function newest(
  database: ClusterDatabase,
  stream: string,
): Promise<{ readonly id: string; readonly header: Header } | null> {
  const [row] = await database.postgres.query(
    'SELECT id, rows FROM actlog_snapshot WHERE stream = $1 AND part = 0 ORDER BY seq DESC, id DESC LIMIT 1',
    [stream],
  );
  if (row === undefined) return null;
  const header = JSON.parse((row['rows'] as Buffer).toString()) as Header;
  return { id: row['id'] as string, header };
}

/** Deletes all snapshots but the two newest, and the rounds that the older of them contains. */
async function trim(
  database: ClusterDatabase,
  stream: string,
  epoch: string | null,
): Promise<void> {
  const rows = await database.postgres.query(
    'SELECT id, seq FROM actlog_snapshot WHERE stream = $1 AND part = 0 ORDER BY seq DESC, id DESC LIMIT 2',
    [stream],
  );
  const ids = rows.map(({ id }) => id as string);
  await database.postgres.query(DELETE_OTHERS, [epoch, stream, ids]);
  const older = rows[1];
  if (older === undefined) return;
  await database.postgres.query(
    `DELETE FROM actlog_round WHERE stream = $1 AND seq <= $2
     AND seq < (SELECT max(seq) FROM actlog_round WHERE stream = $1)`,
    [stream, older['seq']],
  );
}
