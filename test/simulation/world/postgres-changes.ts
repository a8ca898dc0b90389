// The changes of rows that the statements of the simulated PostgreSQL make (postgres-statements.ts).

import type { Change, LeaseRow, RoundRow, SnapshotRow, Tables } from './postgres-tables.ts';

/** An error that PostgreSQL answers with, with its SQLSTATE. */
export class PostgresError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const duplicate = (table: string): PostgresError =>
  new PostgresError('23505', `duplicate key value violates unique constraint "${table}_pkey"`);

/** The parameters of a statement, as pg sends them. */
export type Values = readonly unknown[];

export const text = (value: unknown): string => String(value);
export const bytes = (value: unknown): Buffer => Buffer.from(value as Uint8Array);

/** The name of the only row of the lease. */
export const LEASE = 'lease';

export function insertPart({ snapshots }: Tables, [stream, id, part, seq, rows]: Values): Change {
  const key = JSON.stringify([stream, Number(id), Number(part)]);
  if (snapshots.has(key)) throw duplicate('actlog_snapshot');
  const row = {
    stream: text(stream),
    id: Number(id),
    part: Number(part),
    seq: seq === null ? null : Number(seq),
    rows: bytes(rows),
  };
  return {
    row: `snapshot/${key}`,
    apply(tables) {
      tables.snapshots.set(key, row);
    },
  };
}

/** Deletes what a node has reported. */
export const forget = (key: string): Change => ({
  row: `seen/${key}`,
  apply(tables) {
    tables.seen.delete(key);
  },
});

export const setLease = (lease: LeaseRow): Change => ({
  row: LEASE,
  apply(tables) {
    tables.lease = lease;
  },
});

export const setRegister = (name: string, value: string | null): Change => ({
  row: `register/${name}`,
  apply(tables) {
    if (value === null) tables.register.delete(name);
    else tables.register.set(name, value);
  },
});

export const setSecret = (name: string, sealed: Buffer | null): Change => ({
  row: `secret/${name}`,
  apply(tables) {
    if (sealed === null) tables.secrets.delete(name);
    else tables.secrets.set(name, sealed);
  },
});

export function insertRound(tables: Tables, values: Values): Change {
  const round: RoundRow = {
    stream: text(values[0]),
    seq: Number(values[1]),
    epoch: Number(values[2]),
    digest: bytes(values[3]),
    batch: bytes(values[4]),
  };
  if (tables.of(round.stream).has(round.seq)) throw duplicate('actlog_round');
  return {
    row: `round/${round.stream}/${String(round.seq)}`,
    round,
    apply(to) {
      let rounds = to.rounds.get(round.stream);
      if (rounds === undefined) to.rounds.set(round.stream, (rounds = new Map()));
      rounds.set(round.seq, round);
    },
  };
}

export const deleteRounds = (tables: Tables, stream: string, upTo: number): Change[] =>
  [...tables.of(stream).keys()]
    .filter((seq) => seq <= upTo)
    .map((seq) => ({
      row: `round/${stream}/${String(seq)}`,
      apply(to) {
        to.rounds.get(stream)?.delete(seq);
      },
    }));

export const deleteSnapshots = (tables: Tables, which: (row: SnapshotRow) => boolean): Change[] =>
  [...tables.snapshots]
    .filter(([, row]) => which(row))
    .map(([key]) => ({
      row: `snapshot/${key}`,
      apply(to) {
        to.snapshots.delete(key);
      },
    }));
