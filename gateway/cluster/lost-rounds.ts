// Rounds that a node has applied and the database lacks: an asynchronous standby was promoted, or an older state restored.
// No node leads until one that has them gives them back.

import { LogError } from '../../log/index.ts';
import type { ClusterDatabase, LostRound, Replica } from '../../log/index.ts';
import { AdminError } from '../tenants/tenants.ts';
import type { Copies } from './copies.ts';

/**
 * The error of a leader whose committed rounds the database lacks; null if it has them, or does not answer. The positions
 * are read first, so rounds in flight are not missed.
 */
export async function lostRound(
  database: ClusterDatabase,
  copies: Copies,
): Promise<LogError | null> {
  const positions = copies.positions();
  const states = await database.states(positions).catch(() => null);
  for (const [stream, { last, differs }] of states ?? []) {
    const seq = positions.get(stream)?.seq ?? 0;
    if (seq <= last && differs !== true) continue;
    const message = `the database lacks round ${String(seq)} of ${stream}, which was committed`;
    return new LogError('rounds_lost', message);
  }
  return null;
}

/** Writes the last rounds of this node to the database. No node leads while the database lacks one of them. */
export async function reportAll(
  database: ClusterDatabase,
  copies: Copies,
  address: string,
): Promise<void> {
  for (const { stream, position } of copies.all()) {
    await database.reportSeen(stream, address, position.seq);
  }
}

/** Why no node may lead: another one has reported rounds that the database lacks. Null if none has. */
export async function reportedLoss(database: ClusterDatabase): Promise<string | null> {
  const [lost] = await database.lost();
  if (lost === undefined) return null;
  return (
    `the database has lost commits of ${lost.stream}: the node at ${lost.address} has applied round ` +
    `${String(lost.seq)}. Run "actlog cluster heal" there`
  );
}

/**
 * Gives rounds that the database has lost back to it, all or none. Returns their number by stream.
 *
 * @throws AdminError if the copies do not have all of them; LogError `store_corrupt` if they do not continue the rounds
 *   of the database
 */
export async function giveBack(
  database: ClusterDatabase,
  copies: Copies,
): Promise<Readonly<Record<string, number>>> {
  const states = await database.states(copies.positions());
  const missing = new Map<string, NonNullable<Awaited<ReturnType<Replica['kept']>>>>();
  for (const replica of copies.all()) {
    const { stream } = replica;
    const last = states.get(stream)?.last ?? 0;
    if (replica.position.seq <= last) continue;
    const kept = await replica.kept(last);
    if (kept === null) {
      throw new AdminError(
        `this node does not have all of the rounds of ${stream} after ${String(last)}: nothing was changed`,
      );
    }
    missing.set(stream, kept);
  }
  if (missing.size > 0) await database.heal(missing);
  return Object.fromEntries([...missing].map(([stream, { rounds }]) => [stream, rounds.length]));
}

/**
 * Withdraws what a node reported before it lost its data folder, so that nodes lead without these rounds. Returns what
 * the database lacked of it. To be called after `giveBack`, which gives back what the node still has.
 */
export async function giveUp(
  database: ClusterDatabase,
  address: string,
): Promise<readonly LostRound[]> {
  const lost = (await database.lost()).filter((one) => one.address === address);
  if (lost.length > 0) await database.withdrawSeen(address);
  return lost;
}
