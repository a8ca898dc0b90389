// The copies of a node compared with the database.
//
// A round states the digest of its history, so one round that both have is enough. A copy that has fewer rounds than the
// database, or as many, is compared at its last round, and one that has more at the last round of the database. No
// comparison is possible
//   - if the database has trimmed the rounds up to that of the copy: the node then fills the copy again;
//   - if the copy no longer keeps the round behind the last one of the database: it then counts as one that continues the
//     database, and `actlog cluster heal` finds that rounds are missing.

import { LogError } from '../../log/index.ts';
import type { ClusterDatabase, StreamPosition } from '../../log/index.ts';
import type { Copies } from './copies.ts';

/** A stream of which the node has more rounds than the database. */
export interface Ahead {
  readonly stream: string;
  /** The last round of the database. */
  readonly last: number;
  /** The last round of the node. */
  readonly seq: number;
  /** The position that both have; null if the database has none that is known to be in the copy. */
  readonly common: StreamPosition | null;
}

/** What a comparison has found. */
export interface Comparison {
  /** A round of the database in whose place the node has another one; null if there is none. */
  readonly forked: { readonly stream: string; readonly seq: number } | null;
  /** Empty if a stream has forked. */
  readonly ahead: readonly Ahead[];
}

/**
 * Compares all copies. The positions are read before the database is asked, so a round that is committed meanwhile is
 * not taken for a lost one.
 *
 * @throws LogError `log_unavailable`
 */
export async function compare(database: ClusterDatabase, copies: Copies): Promise<Comparison> {
  const positions = copies.positions();
  const ahead: Ahead[] = [];
  for (const [stream, { last, common }] of await database.states(positions)) {
    if (common !== null && copies.of(stream).continues(common) === false) {
      return { forked: { stream, seq: common.seq }, ahead: [] };
    }
    const seq = positions.get(stream)?.seq ?? 0;
    if (seq > last) ahead.push({ stream, last, seq, common });
  }
  return { forked: null, ahead };
}

/**
 * Checks that the database has every round of the copies.
 *
 * @throws LogError `log_unavailable` if it lacks some or does not answer, `store_corrupt` if a stream has forked
 */
export async function checkComplete(database: ClusterDatabase, copies: Copies): Promise<void> {
  const { forked, ahead } = await compare(database, copies);
  if (forked !== null) throw new LogError('store_corrupt', forkedMessage(forked));
  if (ahead.length > 0) throw new LogError('log_unavailable', lostMessage(ahead));
}

/** What the node says of a fork. */
export const forkedMessage = ({ stream, seq }: NonNullable<Comparison['forked']>): string =>
  `round ${String(seq)} of ${stream} in the database is not the one that this node has applied: the history has ` +
  'forked. This node serves nothing and can give nothing back. Keep a copy of its data folder, which may have ' +
  'acknowledged entries that the database lacks, find out which history has the receipts that were given out, and ' +
  'start the node on an empty folder only then';

/** What the node says of rounds that it has and the database lacks. */
export function lostMessage(ahead: readonly Ahead[]): string {
  const streams = ahead.map(
    ({ stream, last, seq }) => `${stream} (${String(last)} of ${String(seq)} rounds)`,
  );
  return `the database has lost commits of ${streams.join(', ')}: "actlog cluster heal" on this node gives them back`;
}
