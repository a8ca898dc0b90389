// The rows of the simulated PostgreSQL: the tables of log/store/postgres.ts, log/store/postgres-register.ts and
// log/cluster/database.ts, and a change of one of their rows.

/** A committed round, as its table has it. */
export interface RoundRow {
  readonly stream: string;
  readonly seq: number;
  readonly epoch: number;
  readonly digest: Buffer;
  readonly batch: Buffer;
}

export interface SnapshotRow {
  readonly stream: string;
  readonly id: number;
  readonly part: number;
  readonly seq: number | null;
  readonly rows: Buffer;
}

export interface LeaseRow {
  readonly epoch: number;
  readonly holder: string;
  readonly address: string;
  readonly expires_ms: number;
}

/** The rows of all tables. */
export class Tables {
  lease: LeaseRow | null = null;
  readonly register = new Map<string, string>();
  /** By stream and number. */
  readonly rounds = new Map<string, Map<number, RoundRow>>();
  readonly snapshots = new Map<string, SnapshotRow>();
  readonly secrets = new Map<string, Buffer>();
  readonly seen = new Map<
    string,
    { readonly stream: string; readonly address: string; readonly seq: number }
  >();

  copy(): Tables {
    const copy = new Tables();
    copy.lease = this.lease;
    for (const [key, row] of this.register) copy.register.set(key, row);
    for (const [key, rows] of this.rounds) copy.rounds.set(key, new Map(rows));
    for (const [key, row] of this.snapshots) copy.snapshots.set(key, row);
    for (const [key, row] of this.secrets) copy.secrets.set(key, row);
    for (const [key, row] of this.seen) copy.seen.set(key, row);
    return copy;
  }

  of(stream: string): ReadonlyMap<number, RoundRow> {
    return this.rounds.get(stream) ?? new Map<number, RoundRow>();
  }

  /** The number of the last round of a stream; null if it has none. */
  last(stream: string): number | null {
    let last: number | null = null;
    for (const seq of this.of(stream).keys()) if (last === null || seq > last) last = seq;
    return last;
  }

  /** The largest number of a round in the snapshots of a stream; null if it has none. */
  snapshot(stream: string): number | null {
    const own = [...this.snapshots.values()].filter((row) => row.stream === stream);
    return max(own.map(({ seq }) => seq));
  }

  /** The headers of the snapshots of a stream, the newest first. */
  headers(stream: string): SnapshotRow[] {
    return [...this.snapshots.values()]
      .filter((row) => row.stream === stream && row.part === 0)
      .sort((a, b) => Number(b.seq) - Number(a.seq) || b.id - a.id);
  }
}

export const max = (numbers: readonly (number | null)[]): number | null =>
  numbers.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);

/** One changed row. */
export interface Change {
  /** Names the row: two open transactions never change the same one. */
  readonly row: string;
  apply(tables: Tables): void;
  /** The round that is inserted. */
  readonly round?: RoundRow;
}

/** A lock of a row until the end of the transaction. */
export interface Lock {
  readonly row: string;
  readonly mode: 'share' | 'update';
}
